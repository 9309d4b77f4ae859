"""Made-up tables, the same for the same seed: the papers' Gaussian families and a stand-in for TIGER."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.datasets.dataset import Dataset, box, check_options
from shoal.errors import InvalidInput

_MADE = "made up by Shoal"
_LICENCE = "none needed: generated"
# Su et al. say "well separated"; here no two centres are nearer than six standard deviations.
_SPREAD = 0.05
_APART = 6 * _SPREAD


def gaussians(*, n: int = 10_000, d: int = 2, k: int = 5, seed: int = 0) -> Dataset:
    """Make well separated Gaussian groups of equal size in [-1, 1]^d, after Su et al., section 5.1.

    Parameters
    ----------
    n, d, k : int
        Rows (10,000 in the paper), columns and groups (2 to 10 in the paper).
    seed : int
        Another seed, another table.

    Examples
    --------
    >>> gaussians(d=3, k=4).X.shape
    (10000, 3)
    """
    check_options("gaussians", {"n": n, "d": d, "k": k, "seed": seed}, {"d": 1, "k": 1})
    rng = np.random.default_rng([seed, d, k])
    centres = _separated(k, d, rng)
    labels = rng.permutation(np.arange(n) % k)
    X = np.clip(centres[labels] + rng.normal(0, _SPREAD, (n, d)), -1.0, 1.0)
    return Dataset(
        name="gaussians",
        title=f"Su's Gaussians, d = {d}, k = {k}",
        X=X,
        names=_names(d),
        bounds=box(-1, 1, d),
        bounds_source="documented: generated inside [-1, 1]",
        k=k,
        source=f"{_MADE}, after Su et al. 2016, section 5.1",
        licence=_LICENCE,
        labels=labels,
    )


def balcan_gaussians(*, n: int = 100_000, d: int = 100, k: int = 64, seed: int = 0) -> Dataset:
    """Make unit Gaussians with means uniform in [0, 100]^d and equal weights, after Balcan et al., section 6.

    Examples
    --------
    >>> balcan_gaussians(n=1000, d=3, k=4).k
    4
    """
    check_options("balcan_gaussians", {"n": n, "d": d, "k": k, "seed": seed}, {"d": 1, "k": 1})
    rng = np.random.default_rng([seed, d, k])
    means = rng.uniform(0, 100, (k, d))
    labels = rng.integers(0, k, n)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X += means[labels].astype(np.float32)
    return Dataset(
        name="balcan_gaussians",
        title=f"Balcan's Gaussians, d = {d}, k = {k}",
        X=X,
        names=_names(d),
        bounds=box(-5, 105, d),
        bounds_source="documented: means in [0, 100], five standard deviations beyond",
        k=k,
        source=f"{_MADE}, after Balcan et al. 2017, section 6",
        licence=_LICENCE,
        labels=labels,
    )


# Washington and New Mexico: west, east, south, north; how many towns stand in for the road network.
_STATES = ((-124.4, -117.1, 45.7, 48.9, 25), (-108.9, -103.1, 31.8, 36.9, 20))


def tiger_stand_in(*, n: int = 16_281, seed: int = 0) -> Dataset:
    """Make two groups of towns far apart: a stand-in for the TIGER road crossings of Su et al.

    The paper's sample of road crossings in the states of Washington and New Mexico is not to be had. These
    are *made-up* points of the same number in the two states' boxes: a third anywhere, the rest in towns.

    Examples
    --------
    >>> tiger_stand_in().n_rows
    16281
    """
    check_options("tiger_stand_in", {"n": n, "seed": seed}, {})
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    X = np.empty((n, 2))
    for state, (west, east, south, north, n_towns) in enumerate(_STATES):
        rows = np.flatnonzero(labels == state)
        low, high = np.array([west, south]), np.array([east, north])
        towns = rng.uniform(low, high, (n_towns, 2))
        popularity = rng.dirichlet(np.full(n_towns, 0.7))
        place = towns[rng.choice(n_towns, len(rows), p=popularity)] + rng.normal(0, 0.18, (len(rows), 2))
        anywhere = rng.uniform(low, high, (len(rows), 2))
        X[rows] = np.clip(np.where(rng.random((len(rows), 1)) < 1 / 3, anywhere, place), low, high)
    return Dataset(
        name="tiger_stand_in",
        title="Stand-in for TIGER: two groups of towns",
        X=X,
        names=("longitude", "latitude"),
        bounds=(np.array([-125.0, 31.0]), np.array([-103.0, 49.0])),
        bounds_source="documented: box around the states of Washington and New Mexico, whole degrees",
        k=2,
        source=f"{_MADE}; stands in for the TIGER sample of Su et al. 2016, which is not to be had",
        licence=_LICENCE,
        labels=labels,
    )


def _separated(k: int, d: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    edge = 1 - 3 * _SPREAD
    centres = np.empty((k, d))
    placed = failed = 0
    while placed < k:
        candidate = rng.uniform(-edge, edge, d)
        if (((centres[:placed] - candidate) ** 2).sum(axis=1) >= _APART**2).all():
            centres[placed] = candidate
            placed, failed = placed + 1, 0
        elif (failed := failed + 1) > 10_000:
            raise InvalidInput(f"gaussians: {k} well separated groups do not fit into {d} columns")
    return centres


def _names(d: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(d))
