"""Feldman et al. 2017: a private coreset, one small ball after another. Begin with `coreset.py`."""
