"""The curators: what algorithms are given instead of rows, and the record of what they were told."""
