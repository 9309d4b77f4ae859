"""Assignment at the limits of its arithmetic: roundings that conspire, the border, very many columns."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from kernel_cases import ONE, brute, case, chunk, integers, same, totals
from shoal.queries import kernels
from shoal.queries.kernels import reference


@pytest.mark.parametrize("d", [3, 64, 130])
def test_near_ties_that_float32_cannot_see(d):
    rng = np.random.default_rng(d)
    base = integers(rng, d, "uniform") // 4 * 2
    centres = np.repeat(base[np.newaxis], 40, axis=0)
    for j in range(1, 40):
        centres[j, -1 - (j % min(d, 9))] += int(rng.integers(-2, 3))
    centres[:, 0] += rng.choice([0, ONE // 3], 40)
    steps = np.repeat(base[:, np.newaxis], 700, axis=1) + rng.integers(-3, 4, (d, 700))
    columns, points = chunk(steps), (centres / ONE).astype(np.float32)
    expected = brute(steps, centres)
    unchecked = np.argmin((points * points).sum(1)[:, np.newaxis] / 2 - points @ columns, axis=0)
    assert np.any(unchecked != expected), "this case no longer tests the settling"
    same(kernels.assign(columns, centres), expected)


@pytest.mark.parametrize("d", [5, 16, 128, 129, 300, 2000])
def test_roundings_that_all_go_one_way(d):
    """A product just below one is rounded to one, again and again: float32 errs by more than near ties."""
    # Sums run from d / 2 to -d / 2, where so few steps are mostly less than half a last bit.
    little = max(1, 2 ** int(np.log2(d / 2)) // 16 - 1)
    along = math.isqrt(d * little**2)
    for sign, off in product((1, -1), (0, 1)):
        centres = np.full((2, d), ONE - little)
        centres[1] = ONE
        centres[1, -1] -= along + off  # as far from a row of ones, but for a step or less
        steps = np.full((d, 40), ONE)
        for points in (centres, centres[::-1]):
            same(kernels.assign(chunk(sign * steps), sign * points), brute(steps, points))


@pytest.mark.parametrize("d", [1, 8, 9])
def test_sums_of_many_rows_at_the_border(d):
    """Steps add up to beyond what 32 bits hold, in one cell and in several."""
    steps = np.full((d, 30_000), ONE)
    steps[:, 20_000:] = -ONE
    for k in (1, 2, 6):
        centres = np.linspace(-ONE, ONE, k).astype(np.int64)[:, np.newaxis] * np.ones(d, dtype=np.int64)
        labels = np.repeat(brute(steps[:, [0, -1]], centres), [20_000, 10_000])
        same(kernels.assign_sums(chunk(steps), centres), totals(steps, labels, k))
        same(kernels.assign_sums(chunk(steps), centres, np.ones(d)), totals(steps, labels, k))


def test_exact_beyond_float64():
    """Above 2,048 columns sums of squares pass 2^53; one step at the end still decides."""
    d = 5000
    centres = np.full((3, d), -ONE)
    centres[1, -1] += 1
    steps = np.full((d, 3), ONE)
    steps[-1] = [-ONE, -ONE + 1, ONE]
    for module in (kernels, reference):
        assert module.assign(chunk(steps), centres).tolist() == [0, 1, 1]


@pytest.mark.parametrize(("d", "kind"), [(1, "uniform"), (7, "border"), (64, "uniform"), (200, "border")])
def test_the_filter_errs_within_its_bound(d, kind):
    from numba import njit

    from shoal.queries.kernels import compiled

    @njit  # the loop has no way in from Python of its own
    def score(*work):
        compiled._score(*work)

    steps, centres = case(3, d, 8, compiled.ROWS, kind)
    points, half, norms, gap = compiled.prepare(centres)
    scores = np.zeros((8, compiled.ROWS), dtype=np.float32)
    score(chunk(steps), 0, points, half, scores)
    true = (norms[:, np.newaxis] - 2 * centres @ steps) / (2 * ONE**2)
    finite = np.isfinite(half)
    assert np.abs(scores[finite] - true[finite]).max() <= gap / 2
    assert gap < 1e-4 * max(d, 10), "a bound this loose would settle everything"
