"""One published algorithm a file. Each asks a curator; none has ever seen a row."""

from shoal.algorithms.lloyd import Lloyd
from shoal.algorithms.registry import (
    PIPELINE_STEPS,
    PROFILES,
    REGISTRY,
    SYNOPSES,
    AlgorithmInfo,
    Status,
    lookup,
)
from shoal.algorithms.shared.bounds import SHARE_FOR_BOUNDS, estimate_bounds
from shoal.algorithms.shared.clustering import Algorithm, Clustering
from shoal.algorithms.shared.prepare import (
    SHARE_FOR_CLIPPED,
    Runs,
    clipped_shares,
    counted_zone,
    counts_clipped,
    run_prepared,
    shared_out,
)

__all__ = [
    "PIPELINE_STEPS",
    "PROFILES",
    "REGISTRY",
    "SHARE_FOR_BOUNDS",
    "SHARE_FOR_CLIPPED",
    "SYNOPSES",
    "Algorithm",
    "AlgorithmInfo",
    "Clustering",
    "Lloyd",
    "Runs",
    "Status",
    "clipped_shares",
    "counted_zone",
    "counts_clipped",
    "estimate_bounds",
    "lookup",
    "run_prepared",
    "shared_out",
]
