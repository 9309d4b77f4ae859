"""Shoal: differentially private clustering for people who hold other people's data.

>>> from shoal import DPLloyd
>>> DPLloyd(n_clusters=5, epsilon=1.0, bounds=(0, 1))
DPLloyd(bounds=(0, 1), epsilon=1.0, n_clusters=5)

The public names are loaded when first used, so that ``import shoal`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import audit
    from shoal.accounting import Accountant
    from shoal.estimators import (
        ConvergentKMeans,
        CoresetKMeans,
        DPLloyd,
        GeneticKMeans,
        GridKMeans,
        GridSynopsis,
        HybridKMeans,
        KMeans,
        KMedians,
        KVariates,
        LSHTreeKMeans,
        MaskedGridSynopsis,
        MergingKMeans,
        PrivateBounds,
        PrivateCoreset,
        PrivatePCA,
        PrivateScaler,
        PrivTreeSynopsis,
        ProjectedKMeans,
        SampleAggregateKMeans,
        SubClusterKMeans,
        SwapLloyd,
        TreeKMeans,
    )
    from shoal.release import Certificate, CoresetRelease, Release, verify
    from shoal.sources import FileTable

__version__ = "0.2.0.dev0"

__all__ = [
    "Accountant",
    "Certificate",
    "ConvergentKMeans",
    "CoresetKMeans",
    "CoresetRelease",
    "DPLloyd",
    "FileTable",
    "GeneticKMeans",
    "GridKMeans",
    "GridSynopsis",
    "HybridKMeans",
    "KMeans",
    "KMedians",
    "KVariates",
    "LSHTreeKMeans",
    "MaskedGridSynopsis",
    "MergingKMeans",
    "PrivTreeSynopsis",
    "PrivateBounds",
    "PrivateCoreset",
    "PrivatePCA",
    "PrivateScaler",
    "ProjectedKMeans",
    "Release",
    "SampleAggregateKMeans",
    "SubClusterKMeans",
    "SwapLloyd",
    "TreeKMeans",
    "__version__",
    "audit",
    "verify",
]

_HOMES = {
    "Accountant": "shoal.accounting",
    "Certificate": "shoal.release",
    "ConvergentKMeans": "shoal.estimators",
    "CoresetKMeans": "shoal.estimators",
    "CoresetRelease": "shoal.release",
    "DPLloyd": "shoal.estimators",
    "FileTable": "shoal.sources",
    "GeneticKMeans": "shoal.estimators",
    "GridKMeans": "shoal.estimators",
    "GridSynopsis": "shoal.estimators",
    "HybridKMeans": "shoal.estimators",
    "KVariates": "shoal.estimators",
    "KMeans": "shoal.estimators",
    "KMedians": "shoal.estimators",
    "LSHTreeKMeans": "shoal.estimators",
    "MaskedGridSynopsis": "shoal.estimators",
    "MergingKMeans": "shoal.estimators",
    "PrivTreeSynopsis": "shoal.estimators",
    "PrivateBounds": "shoal.estimators",
    "PrivatePCA": "shoal.estimators",
    "PrivateScaler": "shoal.estimators",
    "PrivateCoreset": "shoal.estimators",
    "ProjectedKMeans": "shoal.estimators",
    "Release": "shoal.release",
    "SampleAggregateKMeans": "shoal.estimators",
    "SubClusterKMeans": "shoal.estimators",
    "SwapLloyd": "shoal.estimators",
    "TreeKMeans": "shoal.estimators",
    "verify": "shoal.release",
}


# Whole modules that are loaded when first used.
_MODULES = ("audit",)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"shoal.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'shoal' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
