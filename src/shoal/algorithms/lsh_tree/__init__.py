"""Chang et al. 2021: a tree of random cuts, and k-means on its leaves. Begin with `lsh_tree.py`."""
