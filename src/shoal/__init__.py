"""Shoal: differentially private clustering for people who hold other people's data.

>>> from shoal import DPLloyd
>>> DPLloyd(n_clusters=5, epsilon=1.0, bounds=(0, 1))
DPLloyd(bounds=(0, 1), epsilon=1.0, n_clusters=5)

The public names are loaded when first used, so that ``import shoal`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names as in `__all__`, for type checkers; a test compares
    from shoal import audit
    from shoal.accounting import Accountant
    from shoal.domain import Zones
    from shoal.estimators import (
        ConvergentKMeans,
        CoresetKMeans,
        DPLloyd,
        EvenGroups,
        Explanation,
        GeneticKMeans,
        GridKMeans,
        GridSynopsis,
        GroupProfile,
        HybridKMeans,
        KMeans,
        KMedians,
        KVariates,
        LSHTreeKMeans,
        MaskedGridSynopsis,
        MergingKMeans,
        Plan,
        PrivateBounds,
        PrivateCoreset,
        PrivatePCA,
        PrivateScaler,
        PrivateSearchCV,
        PrivTreeSynopsis,
        ProjectedKMeans,
        SampleAggregateKMeans,
        SubClusterKMeans,
        SwapLloyd,
        TreeKMeans,
        explain,
        plan,
    )
    from shoal.release import (
        Certificate,
        CoresetRelease,
        CoresetStream,
        Release,
        StepRelease,
        SynopsisRelease,
        ZonedRelease,
        compare,
        load,
        sign,
        verify,
    )
    from shoal.sources import FileTable

__version__ = "0.2.0.dev0"

__all__ = [
    "Accountant",
    "Certificate",
    "ConvergentKMeans",
    "CoresetKMeans",
    "CoresetRelease",
    "CoresetStream",
    "DPLloyd",
    "EvenGroups",
    "Explanation",
    "FileTable",
    "GeneticKMeans",
    "GridKMeans",
    "GridSynopsis",
    "GroupProfile",
    "HybridKMeans",
    "KMeans",
    "KMedians",
    "KVariates",
    "LSHTreeKMeans",
    "MaskedGridSynopsis",
    "MergingKMeans",
    "Plan",
    "PrivTreeSynopsis",
    "PrivateBounds",
    "PrivateCoreset",
    "PrivatePCA",
    "PrivateScaler",
    "PrivateSearchCV",
    "ProjectedKMeans",
    "Release",
    "SampleAggregateKMeans",
    "StepRelease",
    "SubClusterKMeans",
    "SwapLloyd",
    "SynopsisRelease",
    "TreeKMeans",
    "ZonedRelease",
    "Zones",
    "__version__",
    "audit",
    "compare",
    "explain",
    "load",
    "plan",
    "sign",
    "verify",
]

# Where public names live, the lightest first: each lists its own in `__all__`.
_HOMES = ("accounting", "domain", "sources", "release", "estimators")
# Whole modules that are loaded when first used.
_MODULES = ("audit",)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"shoal.{name}")
    if name in __all__:
        for home in _HOMES:
            package = import_module(f"shoal.{home}")
            if name in package.__all__:
                return getattr(package, name)
    raise AttributeError(f"module 'shoal' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
