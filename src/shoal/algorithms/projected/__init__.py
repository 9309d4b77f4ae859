"""Balcan et al. 2017: groups in a few random columns, centres in all. Begin with `projected.py`."""
