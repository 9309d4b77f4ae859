"""One published algorithm a file. Each asks a curator; none has ever seen a row."""

from shoal.algorithms.clustering import Algorithm, Clustering
from shoal.algorithms.lloyd import Lloyd
from shoal.algorithms.registry import REGISTRY, Registered, Status, lookup

__all__ = ["REGISTRY", "Algorithm", "Clustering", "Lloyd", "Registered", "Status", "lookup"]
