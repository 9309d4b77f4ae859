"""Made-up families that are hard for private k-means in different ways, the same for the same seed.

All lie in [-1, 1]^d. Centres are the best separated of 200 draws, so that a family's difficulty is its shape
and not bad luck.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from shoal._typing import Array
from shoal.datasets.dataset import Dataset, box, check_options

Rng: TypeAlias = np.random.Generator
Draw: TypeAlias = Callable[[Rng, int, int, int], Array]

_DRAWS = 200


def centres_apart(rng: Rng, k: int, d: int, span: float = 0.8) -> tuple[Array, float]:
    """Return the best separated of many sets of centres in [-span, span]^d, and their smallest distance."""
    best, gap = np.zeros((k, d)), -1.0
    pairs = np.triu_indices(k, 1)
    for _ in range(_DRAWS):
        centres = rng.uniform(-span, span, (k, d))
        apart = np.sqrt(((centres[:, np.newaxis] - centres[np.newaxis]) ** 2).sum(axis=2))[pairs]
        if (least := float(apart.min()) if k > 1 else 1.0) > gap:
            best, gap = centres, least
    return best, gap


def _gauss(rng: Rng, n: int, d: int, k: int) -> Array:
    centres, gap = centres_apart(rng, k, d)
    sd = min(0.12, gap / 8 if d <= 2 else gap / (4 * np.sqrt(d)))
    return centres[rng.integers(0, k, n)] + rng.normal(0, sd, (n, d))


def _sized(rng: Rng, n: int, d: int, k: int, sizes: Array) -> Array:
    centres, gap = centres_apart(rng, k, d)
    return centres[rng.choice(k, n, p=sizes / sizes.sum())] + rng.normal(0, gap / 12, (n, d))


def _few_heavy(rng: Rng, n: int, d: int, k: int) -> Array:
    return _sized(rng, n, d, k, np.array([0.37, 0.33, 0.225, *[0.015] * (k - 3)])[:k])


def _hundred_to_one(rng: Rng, n: int, d: int, k: int) -> Array:
    return _sized(rng, n, d, k, np.geomspace(100, 1, k))


def _boxes(rng: Rng, n: int, d: int, k: int) -> Array:
    centres, gap = centres_apart(rng, k, d, 0.75)
    return centres[rng.integers(0, k, n)] + rng.uniform(-gap / 2.5, gap / 2.5, (n, d))


def _rings(rng: Rng, n: int, d: int, k: int) -> Array:
    centres, gap = centres_apart(rng, k, d, 0.7)
    out = rng.normal(size=(n, d))
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    return centres[rng.integers(0, k, n)] + out * gap / 2.5 + rng.normal(0, gap / 40, (n, d))


def _arcs(rng: Rng, n: int, d: int, k: int) -> Array:
    centres, gap = centres_apart(rng, k, d, 0.65)
    group = rng.integers(0, k, n)
    angle = rng.uniform(0, 1, n) * np.pi + group
    arc = np.zeros((n, d))
    arc[:, 0] = np.cos(angle)
    arc[:, 1:2] = np.sin(angle)[:, np.newaxis]
    return np.asarray(centres[group] + gap / 2.2 * arc + rng.normal(0, gap / 40, (n, d)))


def _corner(rng: Rng, n: int, d: int, k: int) -> Array:
    side = 0.001 ** (1 / d)
    where = rng.uniform(-0.9, 0.9, d)
    return np.asarray(where + side * np.clip(_gauss(rng, n, d, k), -1, 1))


def _crowded(rng: Rng, n: int, d: int, _: int) -> Array:
    rows = rng.normal(0, 0.07, (n, d)) * np.geomspace(1, 0.3, d)
    rows = rows @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    knots = rng.normal(0, 0.1, (12, d))
    knot = knots[rng.integers(0, 12, n)]
    rows = np.where(rng.random((n, 1)) < 0.5, rows, knot + rng.normal(0, 0.015, (n, d)))
    far = rng.random(n)
    small, thin = far < 0.05, far > 0.96
    rows[small] = rng.normal(0, 0.01, (int(small.sum()), d)) + 0.5
    rows[thin] = rng.normal(0, 0.2, (int(thin.sum()), d))
    return np.asarray(rows - 0.25)


def _line(rng: Rng, n: int, d: int, k: int) -> Array:
    start, end = rng.uniform(-0.9, 0.9, d), rng.uniform(-0.9, 0.9, d)
    along = (rng.integers(0, k, n) + rng.uniform(0.1, 0.9, n)) / k
    return np.asarray(start + along[:, np.newaxis] * (end - start) + rng.normal(0, 0.01, (n, d)))


def _tails(rng: Rng, n: int, d: int, k: int) -> Array:
    centres, gap = centres_apart(rng, k, d, 0.7)
    return np.asarray(centres[rng.integers(0, k, n)] + gap / 12 * rng.standard_t(2, (n, d)))


def _broad(rng: Rng, n: int, d: int, k: int) -> Array:
    centres, gap = centres_apart(rng, k, d)
    return centres[rng.integers(0, k, n)] + rng.normal(0, gap / 3.5, (n, d))


def _overlapping(rng: Rng, n: int, d: int, _: int) -> Array:
    axis = rng.normal(size=d)
    axis /= np.linalg.norm(axis)
    side = np.where(rng.random((n, 1)) < 0.5, 1, -1)
    return side * 0.25 * axis + rng.normal(0, 0.2, (n, d))


# name: what it is, how it is drawn, least number of columns and of groups
_FAMILIES: dict[str, tuple[str, Draw, int, int]] = {
    "arcs": ("Groups as arcs, in the first two columns", _arcs, 2, 1),
    "boxes": ("Groups as even boxes", _boxes, 1, 1),
    "broad_gaussians": ("Gaussians so broad that neighbours overlap", _broad, 1, 1),
    "corner": ("Gaussians in a thousandth of the box", _corner, 1, 1),
    "crowded": ("Rows crowding around twelve knots, a small group and a spread far off", _crowded, 1, 1),
    "heavy_tails": ("Groups with tails of Student's t with two degrees of freedom", _tails, 1, 1),
    "hundred_to_one": ("Gaussians whose sizes fall from 100 to 1", _hundred_to_one, 1, 1),
    "line": ("Pieces of a line in a wide box", _line, 1, 1),
    "overlapping": ("Two Gaussians that overlap", _overlapping, 1, 1),
    "rings": ("Groups as rings, or shells", _rings, 2, 1),
    "separated_gaussians": ("Gaussians of equal size, as the stored figures of peers are on", _gauss, 1, 1),
    "unequal": ("Three heavy Gaussians, and others of 1.5 % of the rows each", _few_heavy, 1, 4),
}  # fmt: skip


def _family(name: str) -> Callable[..., Dataset]:
    title, draw, least_d, least_k = _FAMILIES[name]

    def make(
        *, n: int = 10_000, d: int = max(2, least_d), k: int = max(5, least_k), seed: int = 0
    ) -> Dataset:
        check_options(name, {"n": n, "d": d, "k": k, "seed": seed}, {"d": least_d, "k": least_k})
        rows = np.clip(draw(np.random.default_rng(seed), n, d, k), -1.0, 1.0)
        return Dataset(
            name=name,
            title=f"{title}, d = {d}, k = {k}",
            X=rows,
            names=tuple(f"x{i}" for i in range(d)),
            bounds=box(-1, 1, d),
            bounds_source="documented: generated inside [-1, 1]",
            k=k,
            source="made up by Shoal",
            licence="none needed: generated",
        )

    return make


FAMILIES: dict[str, Callable[..., Dataset]] = {name: _family(name) for name in _FAMILIES}
