"""Rows on many machines: Dask and Spark do on their workers what is done here with a table in memory."""
