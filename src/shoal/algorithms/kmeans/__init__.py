"""The flagship: a start from released boxes, then rounds that follow the rows. Begin with `kmeans.py`."""
