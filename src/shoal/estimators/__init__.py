"""The scikit-learn face of the algorithms."""

from shoal.estimators.bounds import PrivateBounds
from shoal.estimators.grid import GridKMeans, HybridKMeans
from shoal.estimators.lloyd import DPLloyd
from shoal.estimators.merging import MergingKMeans

__all__ = ["DPLloyd", "GridKMeans", "HybridKMeans", "MergingKMeans", "PrivateBounds"]
