"""Compiled loops over relative offsets and tree keys give the bits of the NumPy ones."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.accounting import budget_of
from shoal.audit import pair_loss
from shoal.domain import STEPS, Chunk, Unit
from shoal.errors import InvalidInput
from shoal.queries import RehearsalCurator, Relative, ReplayCurator, Shells, Voronoi, kernels
from shoal.queries.kernels import relative as relative_kernels


def random_case(seed, columns=3, n=300, cells=4):
    rng = np.random.default_rng(seed)
    rows = (rng.integers(-STEPS, STEPS + 1, (columns, n)) / STEPS).astype(np.float32)
    rows[:, :4] = np.array([-1, 1, 0, 0.5], dtype=np.float32)
    anchors = rng.integers(-STEPS, STEPS + 1, (cells, columns))
    # As wide as the domain's diagonal, which balls may be; most far narrower.
    widest = 2 * STEPS * columns**0.5
    radii = np.maximum(16, (widest * rng.random((cells, columns)) ** 6).astype(np.int64))
    return rows, rng.integers(0, cells, n).astype(np.int32), anchors, radii


@pytest.fixture
def plainly(monkeypatch):
    def run(function, *arguments):
        with monkeypatch.context() as patch:
            patch.setattr(kernels.dispatch, "compiles", lambda: False)
            return function(*arguments)

    return run


@pytest.mark.skipif(not kernels.compiles(), reason="numba is switched off")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ball", [False, True])
def test_compiled_and_plain_agree(seed, ball, plainly):
    rows, labels, anchors, radii = random_case(seed, columns=1 + seed)
    for function in (relative_kernels.relative, relative_kernels.relative_reach):
        arguments = rows, labels, anchors, radii, ball
        assert np.array_equal(function(*arguments), plainly(function, *arguments))
    metric = None if ball else np.random.default_rng(seed).uniform(0.1, 3, len(rows))
    arguments = rows, labels, anchors, radii[:, 0], metric
    cost = relative_kernels.relative_cost
    assert np.array_equal(cost(*arguments), plainly(cost, *arguments))
    axes = tuple(np.random.default_rng(seed).permutation(np.repeat(np.arange(len(rows)), 5)).tolist())
    keys = relative_kernels.tree_keys
    assert np.array_equal(keys(rows, axes, 21), plainly(keys, rows, axes, 21))


@given(st.integers(0, 10**6))
def test_a_ball_holds_its_offsets(seed):
    rows, labels, anchors, radii = random_case(seed, columns=1 + seed % 7, n=50)
    steps = relative_kernels.relative(rows, labels, anchors, radii, True).astype(object)
    assert max((steps * steps).sum(axis=0)) <= STEPS**2


def test_sums_are_in_radii():
    of = Relative(np.zeros((1, 2)), np.array([[0.5, 0.25]]), reaches=np.array([1.0]))
    chunk = Chunk(np.array([[0.25, 1.0], [0.25, -0.125]], dtype=np.float32))
    totals = of.exact_totals(Voronoi(np.zeros((1, 2))), chunk, None)
    # 0.25/0.5 and a cut 1; a whole 1 and -0.5; two rows; 2 (0.125) - 1 and 2 (1) - 1.
    assert totals.tolist() == [[STEPS * 3 // 2, STEPS // 2, 2 * STEPS, STEPS // 4]]


def test_shells_count_distances():
    shells = Shells(np.zeros((1, 2)), np.full((1, 2), 0.5), "ball", (0.5, 1.0, 2.0))
    rows = np.array([[0.0, 0.25, 0.25, 0.5, 1.0], [0.0, 0.0, 0.25, 0.5, 1.0]], dtype=np.float32)
    assert shells.assign(rows, None).tolist() == [0, 0, 1, 2, 3]


def test_a_ball_may_be_as_wide_as_the_domain_is_long():
    # Rows of 100 columns that fill the domain lie 5.8 from its middle: a ball of radius 2 would cut them all.
    rows = np.where(np.random.default_rng(0).random((100, 50)) < 0.7, 1, -1).astype(np.float32)
    for body, radius, kept in (("ball", 10.0, 10.0), ("ball", 99.0, 20.0), ("box", 10.0, 2.0)):
        of = Relative(np.zeros((1, 100)), np.full((1, 100), radius), body)
        assert of.radii.max() == kept
        totals = of.exact_totals(Voronoi(np.zeros((1, 100))), Chunk(rows), None)
        assert totals[0, :100] / STEPS * kept == pytest.approx(rows.sum(axis=1), abs=1e-2)
    shells = Shells(np.zeros((1, 100)), np.full((1, 100), 0.1), "ball", (64.0, 128.0))
    assert set(shells.assign(rows, None).tolist()) == {1}
    with pytest.raises(InvalidInput, match="at most 160"):
        Shells(np.zeros((1, 100)), np.ones((1, 100)), "ball", (161.0,))


def test_bad_shapes_are_refused():
    with pytest.raises(InvalidInput, match="need radii alike"):
        Relative(np.zeros((2, 2)), np.ones((1, 2)))
    with pytest.raises(InvalidInput, match="one reach for each"):
        Relative(np.zeros((2, 2)), np.ones((2, 2)), reaches=np.ones(3))
    with pytest.raises(InvalidInput, match="edges must rise"):
        Shells(np.zeros((1, 1)), np.ones((1, 1)), "box", (1.0, 0.5))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("costs", [False, True])
def test_a_ball_has_cylinder_noise_under_a_pure_budget(behind_gate, blobs, neighbours, costs):
    centres = np.array([[-0.6, -0.6], [-0.6, 0.6], [0.6, -0.6], [0.6, 0.6]])
    of = Relative(centres, np.full((4, 2), 0.3), "ball", np.full(4, 0.5) if costs else None)
    curator = behind_gate(blobs, epsilon=2.0, unit=Unit(neighbours))
    answer = curator.sums(Voronoi(centres), of=of, share=Fraction(1))
    (charge,) = curator.transcript.charges
    assert charge.mechanism.startswith("discrete cylinder(rate=")
    assert float(charge.amount) == pytest.approx(2.0, rel=1e-5)
    # Of d values and x beside them: (m + 1)(m + 2) / (d + 2) and / 3 squared widths over e^2.
    m, e = 3 + costs, 2.0 if neighbours == "add-remove" else 1.0
    assert answer.sum_sd**2 == pytest.approx((m + 1) * (m + 2) / 4 / e**2, rel=2e-3)
    assert answer.count_sd**2 == pytest.approx((m + 1) * (m + 2) / 3 / e**2, rel=2e-3)
    replay = ReplayCurator(curator.transcript)
    assert np.array_equal(replay.sums(Voronoi(centres), of=of, share=Fraction(1)).sums, answer.sums)
    rehearsal = RehearsalCurator(curator.domain, budget_of(2.0), 2000.0)
    assert rehearsal.sums(Voronoi(centres), of=of, share=Fraction(1)).sum_sd == answer.sum_sd
    # A row far from its centre is cut to the ball; with its count it moves the totals by a whole radius.
    other = blobs.copy()
    other[0] = [-1.0, -1.0]
    pair = (blobs, other) if neighbours == "replace" else (blobs, np.vstack([blobs, [[-1.0, -1.0]]]))
    found = pair_loss(curator.transcript, *pair)
    assert found.passed
    assert found.true == pytest.approx(2.0, rel=1e-5) if neighbours == "add-remove" else found.true <= 2.0
