"""One published algorithm a file. Each asks a curator; none has ever seen a row."""

from shoal.algorithms.lloyd import Lloyd
from shoal.algorithms.registry import PIPELINE_STEPS, REGISTRY, SYNOPSES, AlgorithmInfo, Status, lookup
from shoal.algorithms.shared.bounds import SHARE_FOR_BOUNDS, WithPrivateBounds, estimate_bounds, with_bounds
from shoal.algorithms.shared.clipped import (
    SHARE_FOR_CLIPPED,
    WithClipped,
    clipped_shares,
    counts_clipped,
    prepared,
)
from shoal.algorithms.shared.clustering import Algorithm, Clustering

__all__ = [
    "PIPELINE_STEPS",
    "REGISTRY",
    "SHARE_FOR_BOUNDS",
    "SHARE_FOR_CLIPPED",
    "SYNOPSES",
    "Algorithm",
    "AlgorithmInfo",
    "Clustering",
    "Lloyd",
    "Status",
    "WithClipped",
    "WithPrivateBounds",
    "clipped_shares",
    "counts_clipped",
    "estimate_bounds",
    "lookup",
    "prepared",
    "with_bounds",
]
