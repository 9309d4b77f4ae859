"""Bells fitted to noisy counts: they find groups, never count below nothing, and all passes agree."""

import numpy as np
import pytest
from scipy.special import ndtr

from shoal.postprocess import bell_loops
from shoal.postprocess.mixture import Bells, NoisyBoxes, Sides, fit_bells


def grid(n, d=1):
    """Return the corners of n^d boxes that fill [-1, 1]^d."""
    edges = np.linspace(-1, 1, n + 1)
    lower = np.stack(np.meshgrid(*[edges[:-1]] * d, indexing="ij"), axis=-1).reshape(-1, d)
    return lower, lower + 2 / n


def counted(X, n, sd, rng):
    """Count rows in a grid, with Laplace noise."""
    lower, upper = grid(n, X.shape[1])
    exact = np.histogramdd(X, bins=n, range=[(-1, 1)] * X.shape[1])[0].ravel()
    noise = rng.laplace(0, sd / 2**0.5, len(exact))
    return NoisyBoxes(lower, upper, exact + noise, np.full(len(exact), float(sd) ** 2))


def passed(loop, seed, d, final, k=5):
    """Run a pass over boxes of several sizes, and return all that it filled."""
    rng = np.random.default_rng(seed)
    coarse, fine = grid(4, d), grid(8, d)
    quarter = (coarse[0] < 0).all(axis=1)
    small = (fine[0] < 0).all(axis=1)
    lower, upper = (np.vstack([c[~quarter], f[small]]) for c, f in zip(coarse, fine, strict=True))
    n = len(lower)
    boxes = NoisyBoxes(lower, upper, rng.normal(40, 60, n), rng.uniform(1, 900, n))
    means, spreads, rows = (
        rng.uniform(-0.8, 0.8, (k, d)),
        rng.uniform(0.02, 0.4, (k, d)),
        rng.uniform(0, 900, k),
    )
    rows[0] = 0.0  # a bell that has lost its rows
    sides = Sides.of(lower, upper)
    filled = [np.full(shape, 7.0) for shape in (n, n, (n, d), k, k, (k, d), (k, d))]
    loop(
        sides.kinds, sides.groups, boxes.counts, boxes.variances, rng.random(n) < 0.3,
        *sides.reached(means, spreads), rows, *sides.tables(means, spreads), means, spreads, final, *filled,
    )  # fmt: skip
    return filled


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize(("seed", "d"), [(0, 1), (1, 2), (2, 3)])
def test_the_compiled_pass_its_loop_and_its_numpy_twin_agree(seed, d, final):
    loops = bell_loops._pass_loop, bell_loops.one_pass(), bell_loops._pass_numpy
    plain, compiled, twin = (passed(loop, seed, d, final) for loop in loops)
    for one, two, three in zip(compiled, twin, plain, strict=True):
        assert np.array_equal(one, two)  # which of them runs depends on how much there is to do
        assert three == pytest.approx(one, rel=1e-12)  # Python's own powers differ in last bits
    assert plain[0].max() > 1  # the bells put something somewhere


def test_what_a_bell_puts_into_boxes_is_its_law():
    lower, upper = grid(20)
    boxes = NoisyBoxes(lower, upper, np.zeros(20), np.ones(20))
    bell = Bells(np.array([[0.13]]), np.array([[0.2]]), np.array([500.0]))
    _, denoised = fit_bells(boxes, bell, 0, 0.01)
    law = 500 * (ndtr((upper - 0.13) / 0.2) - ndtr((lower - 0.13) / 0.2))[:, 0]
    assert denoised.expected == pytest.approx(law, abs=1e-3)


def test_rows_lie_inside_their_boxes_and_none_are_negative():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = np.clip(rng.normal([0.3, -0.2], 0.1, (300, 2)), -1, 1)
        boxes = counted(X, 12, 30.0, rng)
        start = Bells(rng.uniform(-1, 1, (4, 2)), rng.uniform(0.05, 0.5, (4, 2)), np.full(4, 75.0))
        bells, denoised = fit_bells(boxes, start, 25, 0.01, sure=boxes.counts > 90)
        assert (boxes.counts < 0).any()
        assert (denoised.counts >= 0).all()
        assert (bells.rows >= 0).all()
        assert (bells.spreads >= 0.01).all()
        assert ((denoised.trust >= 0) & (denoised.trust <= 1)).all()
        slack = 1e-9
        assert (denoised.places >= boxes.lower - slack).all()
        assert (denoised.places <= boxes.upper + slack).all()


def test_a_group_narrower_than_a_box_is_found_between_its_neighbours():
    # Boxes are 0.2 wide; the group is 0.04 wide and a third of its rows are beyond the side at 0.2.
    rng = np.random.default_rng(1)
    errors, alone = [], []
    for _ in range(10):
        X = np.clip(rng.normal([0.182, -0.1], 0.04, (3000, 2)), -1, 1)
        boxes = counted(X, 10, 15.0, rng)
        start = Bells(np.array([[0.1, -0.1]]), np.full((1, 2), 0.3), np.array([2000.0]))
        bells, _ = fit_bells(boxes, start, 50, 0.005)
        errors.append(bells.means[0, 0] - 0.182)
        alone.append((boxes.middles[:, 0] @ boxes.counts) / boxes.counts.sum() - 0.182)
        assert bells.rows[0] == pytest.approx(3000, rel=0.1)
        assert 0.01 < bells.spreads[0, 0] < 0.09
    assert np.abs(errors).mean() < 0.01 < np.abs(alone).mean()


def test_a_bell_that_explains_nothing_gains_nothing():
    rng = np.random.default_rng(0)
    boxes = counted(np.clip(rng.normal(0.5, 0.1, (1000, 1)), -1, 1), 40, 10.0, rng)
    start = Bells(np.array([[0.5], [-0.6]]), np.full((2, 1), 0.1), np.array([1000.0, 200.0]))
    _, denoised = fit_bells(boxes, start, 0, 0.01)
    assert denoised.gains[0] > 50
    assert denoised.gains[1] < 0
