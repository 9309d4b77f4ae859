"""How figures look: one colour for a method wherever it appears, plain words on the axes."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from shoal.bench.experiment import Metric, Over


@dataclass(frozen=True)
class Look:
    """Colour, line, marker and thickness of a method."""

    colour: str
    line: str = "-"
    marker: str = "o"
    width: float = 1.8


# Colours that stay apart for colour-blind eyes; variants of one algorithm share a hue.
_LOOKS = {
    "DPLloyd": Look("#0060a8"),
    "DPLloyd, Laplace": Look("#58a6dd", "--", "s"),
    "DPLloyd-Impr": Look("#0060a8", "--", "s"),
    "DPLloyd, uniform": Look("#9cc9ea", ":", "v"),
    "SuLQ, packed starts": Look("#0060a8", "--", "s"),
    "SuLQ, k-means++ on the rows: no guarantee": Look("#9cc9ea", ":", "v"),
    "diffprivlib": Look("#c4501b", ":", "D"),
    "diffprivlib, true epsilon": Look("#e6a02e", "-.", "^"),
    "scikit-learn, one start": Look("#707070", "-", "v"),
    "KMeans": Look("#111111", width=3.0),
    "TreeKMeans": Look("#7cb342", "-", "s"),
    "SwapLloyd": Look("#3949ab", "--", "D"),
    "LSHTreeKMeans": Look("#d81b60", "-", "D"),
    "CoresetKMeans": Look("#26b5c9", "-.", "P"),
    "KVariates": Look("#90a4ae", "-.", "X"),
    "GridKMeans": Look("#00846b"),
    "EUGkM": Look("#5fbfa5", "--", "s"),
    "HybridKMeans": Look("#a0477a"),
    "Hybrid": Look("#d193b6", "--", "s"),
    "MergingKMeans": Look("#7a6a00"),
    "allocation_nk": Look("#9e9d24"),
    "allocation_nk, Ward": Look("#d81b60", "-", "D"),
    "average_nk": Look("#6d4c41"),
    "GeneticKMeans": Look("#6a51a3", "-", "v"),
    "PGkM": Look("#6a51a3"),
    "ConvergentKMeans": Look("#00838f", "--", "^"),
    "SubClusterKMeans": Look("#5e35b1", "-", "s"),
    "SubCluster, repaired": Look("#5e35b1", "-", "s"),
    "SubCluster as published: no guarantee": Look("#a58fd8", "--", "s"),
    "SubCluster, 2 inner: no guarantee": Look("#4fc3f7", "--"),
    "SubCluster, 3 inner: no guarantee": Look("#26a69a", "--", "s"),
    "SubCluster, 4 inner: no guarantee": Look("#8bc34a", "--", "D"),
    "SubCluster, 5 inner: no guarantee": Look("#ab47bc", "--", "^"),
    "KMeans-Guarantee, repaired": Look("#c4501b", "-", "^"),
    "KMeans-Guarantee as published: no guarantee": Look("#e6a02e", "--", "^"),
    "KMedians": Look("#ad1457", ":", "P"),
    "KMedians, gradient": Look("#ad1457", "-", "P"),
    "KMedians, synopsis": Look("#5e35b1", "-", "s"),
    "KMedians, coreset": Look("#26b5c9", "-", "D"),
    "KMedians, swap": Look("#e6a02e", "-", "^"),
    "ProjectedKMeans": Look("#2f7d32", "-", "^"),
    "Balcan et al.": Look("#8bc34a", "--", "s"),
    "SampleAggregateKMeans": Look("#8c5a3c", "-", "v"),
    "GkM-3K": Look("#8c5a3c"),
    "GkM": Look("#c49c6b"),
    "GkM-3K, matched": Look("#b98a6d", "--", "s"),
    "EUGkM, our search": Look("#00846b", "-", "s"),
    "EUGkM and one step": Look("#a0477a", "-", "^"),
    "EUG grid": Look("#5fbfa5", "--", "s"),
    "Coreset": Look("#26b5c9", "-", "P"),
    "Coreset, GoodRadius": Look("#c4501b", "--", "D"),
    "Coreset, not refined": Look("#5e35b1", "-.", "^"),
    "Coresets of blocks": Look("#7a6a00", "-.", "s"),
    "KMedians on a grid": Look("#ad1457", "-", "s"),
    "k-variates++, repaired": Look("#90a4ae", "-.", "X"),
    "KMeans-Guarantee, stays: no guarantee": Look("#b3261e", ":", "v"),
    "average_k": Look("#1e88e5", "--", "v"),
    "allocation_k": Look("#00897b", "-", "^"),
    "KMeans, delta = 1e-6": Look("#666666", "--", "s", width=2.4),
    "KMeans, loose bounds": Look("#c4501b", "--", "s"),
    "KMeans, private bounds": Look("#1e88e5", "-.", "^"),
    "GkM, 10 blocks": Look("#d9b382"),
    "GkM, 30 blocks": Look("#c08a4e", "-", "s"),
    "GkM, 100 blocks": Look("#96602c", "-", "D"),
    "GkM, 300 blocks": Look("#6a3d16", "-", "^"),
    "GkM, 1000 blocks": Look("#371d08", "-", "v"),
    "Lloyd, 1 round": Look("#9cc9ea"),
    "Lloyd, 3 rounds": Look("#58a6dd", "-", "s"),
    "Lloyd, 5 rounds": Look("#1f78b4", "-", "D"),
    "Lloyd, 10 rounds": Look("#08407a", "-", "^"),
    "genetic, 1 round": Look("#d4b9da"),
    "genetic, 3 rounds": Look("#b07cc6", "-", "s"),
    "genetic, 8 rounds": Look("#8453a8", "-", "D"),
    "genetic, 20 rounds": Look("#4a1486", "-", "^"),
    "EUGkM, theta = 5": Look("#a6dbc9"),
    "EUGkM, theta = 20": Look("#2a9d80"),
    "EUGkM, theta = 50": Look("#0b5f4b"),
    "Hybrid, always refined": Look("#a0477a", "-", "s"),
    "k-variates++ as published, epsilon: no guarantee": Look("#607d8b", "--", "X"),
    "k-variates++ as published, ln N: no guarantee": Look("#455a64", ":", "P"),
    "Coreset, published shares": Look("#e6a02e", "--", "v"),
    "Google LSH, stored": Look("#d81b60", ":", "D"),
    "FastLloyd, stored": Look("#5e35b1", ":", "s"),
    "DPLloyd of FastLloyd, stored": Look("#58a6dd", ":", "^"),
    "diffprivlib, stored": Look("#c4501b", ":", "v"),
}
_SPARE = ("#2f7d32", "#ad1457", "#5e35b1", "#00838f", "#9e9d24", "#6d4c41", "#d81b60", "#3949ab")

AXES: dict[Over, str] = {
    "epsilon": "epsilon (smaller is more private)",
    "k": "number of groups k",
    "d": "number of columns d",
    "n": "number of rows N",
}
METRICS: dict[Metric, str] = {
    "nicv": "NICV: mean squared distance to the nearest centre",
    "ratio": "NICV ÷ best non-private",
    "excess": "NICV minus best non-private",
    "cost_gap": "CostGap to non-private",
    "distance": "mean distance to the nearest centre",
    "seconds": "seconds",
    "memory": "extra memory, MB",
    "centre_error": "squared error of a centre",
    "points": "weighted points",
}


def look(label: str) -> Look:
    """Return the look of a method; one that is not known here still has its own.

    Examples
    --------
    >>> look("DPLloyd").colour
    '#0060a8'
    """
    return _LOOKS.get(label) or Look(_SPARE[zlib.crc32(label.encode()) % len(_SPARE)])


def number(value: float) -> str:
    """Write a number the way a person would.

    Examples
    --------
    >>> [number(v) for v in (1.0, 0.05, 30000, 1234567, 1.2345, 0.0000123)]
    ['1', '0.05', '30,000', '1,234,567', '1.23', '1.23e-05']
    """
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:.3g}"
