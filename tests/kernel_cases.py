"""Rows and centres on the lattice that are hard to tell apart, and what kernels must say of them."""

from __future__ import annotations

import numpy as np

ONE = 2**20
KINDS = ("uniform", "coarse", "border", "narrow", "between")


def integers(rng, shape, kind):
    """Lattice steps: spread out; few, so full of ties and copies; corners; even; or within a few steps."""
    if kind == "uniform":
        return rng.integers(-ONE, ONE + 1, shape)
    if kind == "coarse":
        return rng.integers(-2, 3, shape) * (ONE // 2)
    if kind == "border":
        return rng.choice([-ONE, ONE], shape)
    if kind == "between":
        return rng.integers(-ONE // 2, ONE // 2 + 1, shape) * 2
    return ONE - 7 + rng.integers(-3, 4, shape)


def chunk(steps):
    return np.ascontiguousarray(steps / ONE, dtype=np.float32)


def case(seed, d, k, n, kind):
    rng = np.random.default_rng(seed)
    centres = integers(rng, (k, d), kind)
    centres[rng.integers(k)] = centres[rng.integers(k)]  # perhaps a copy
    if kind != "between":
        return integers(rng, (d, n), kind), centres
    rows = (
        centres[rng.integers(k, size=n)] + centres[rng.integers(k, size=n)]
    ) // 2  # as far from one as the other
    rows[np.arange(n), rng.integers(d, size=n)] += rng.integers(-1, 2, n)  # but for a step
    return np.clip(rows.T, -ONE, ONE), centres


def brute(steps, centres):
    """Nearest centre in Python's own integers."""
    points = [[int(v) for v in c] for c in centres]
    rows = [[int(v) for v in x] for x in steps.T]
    costs = ([sum((a - b) ** 2 for a, b in zip(x, p, strict=True)) for p in points] for x in rows)
    return np.array([min(range(len(points)), key=cost.__getitem__) for cost in costs], dtype=np.int32)


def totals(steps, labels, k):
    np.add.at(sums := np.zeros((k, len(steps)), dtype=np.int64), labels, steps.T)
    return sums, np.bincount(labels, minlength=k)


def same(a, b):
    for left, right in zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]:
        np.testing.assert_array_equal(left, right, strict=True)  # values, shape and type
