"""A choice in every cell: a row has a say in its own only, up to the width, and the charge covers it."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.accounting import budget_of
from shoal.audit import pair_loss
from shoal.domain import STEPS, Bounds, Chunk, Domain, Unit, to_steps
from shoal.errors import InvalidInput
from shoal.queries import Grid, OffsetCost, RehearsalCurator, ReplayCurator, Voronoi, kernels
from shoal.queries.kernels import reference
from shoal.queries.losses.cluster_cost import WIDTH

value = st.sampled_from([-1.0, 1.0, 0.0, 1 / STEPS, np.nan, np.inf, 7.0]) | st.floats(-1.2, 1.2)
point = st.sampled_from([-1.0, -0.5, 0.0, 1.0]) | st.floats(-1, 1)


def points(draw, *shape):
    size = int(np.prod(shape))
    return np.array(draw(st.lists(point, min_size=size, max_size=size))).reshape(shape)


@st.composite
def cases(draw):
    k, m, d = draw(st.integers(1, 3)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    partition = draw(st.sampled_from([Voronoi(points(draw, k, d)), Grid((k,) + (1,) * (d - 1))]))
    anchors, candidates = points(draw, k, d), points(draw, k, m, d)
    if draw(st.booleans()):
        candidates[:] = anchors[:, np.newaxis]  # nothing to choose between
    loss = OffsetCost(partition, anchors, candidates, draw(st.sampled_from([1e-6, 0.1, 1.0, 50.0])))
    rows = np.array(draw(st.lists(st.lists(value, min_size=d, max_size=d), min_size=1, max_size=20)))
    weights = draw(st.none() | st.lists(st.floats(-1, 3), min_size=len(rows), max_size=len(rows)))
    bounds = Bounds((-1.0,) * d, tuple(1.0 + 0.5 * j for j in range(d)))
    scaling = draw(st.sampled_from(["bounds", "none"]))
    domain = Domain(bounds, scaling, max_weight=None if weights is None else 2.0)
    return domain, rows, None if weights is None else np.array(weights), loss


def losses_of(domain, rows, weights, loss):
    return loss.exact_cell_losses(domain.encode(list(rows.T), weights), domain.metric)


@given(cases())
def test_one_row_raises_the_losses_of_its_own_cell_up_to_the_width(case):
    domain, rows, weights, loss = case
    with_row = losses_of(domain, rows, weights, loss)
    without = losses_of(domain, rows[1:], None if weights is None else weights[1:], loss)
    change = with_row - without
    assert change.dtype == np.int64
    assert change.shape == (loss.n_cells, loss.n_candidates)
    assert (change >= 0).all()
    assert (change <= WIDTH).all()
    own = loss.partition.assign(domain.encode(list(rows[:1].T)).columns, domain.metric)[0]
    assert not np.delete(change, own, axis=0).any()
    # The row's own loss, whatever the others are.
    alone = losses_of(domain, rows[:1], None if weights is None else weights[:1], loss)
    assert np.array_equal(change, alone)


@given(cases())
def test_the_compiled_loop_and_numpy_agree_to_the_bit(case):
    domain, rows, weights, loss = case
    chunk = domain.encode(list(rows.T), weights)
    metric = np.ones(loss.n_columns) if domain.metric is None else domain.metric
    labels = loss.partition.assign(chunk.columns, domain.metric)
    how = to_steps(loss.candidates), to_steps(loss.anchors)
    scales = WIDTH / (2 * loss.reach(domain.metric))
    plain = reference.cell_costs(chunk.columns, labels, *how, metric, scales, WIDTH, chunk.weights)
    fast = kernels.cell_costs(chunk.columns, labels, *how, domain.metric, scales, WIDTH, chunk.weights)
    assert np.array_equal(plain, fast)


def test_many_rows_agree_however_they_are_cut():
    rng = np.random.default_rng(3)
    columns = (np.rint(rng.uniform(-1, 1, (5, 20_000)) * STEPS) / STEPS).astype(np.float32)
    shares = rng.integers(0, STEPS + 1, 20_000).astype(np.int32)
    anchors = rng.uniform(-0.5, 0.5, (4, 5))
    near = np.clip(anchors[:, np.newaxis] + rng.uniform(-0.1, 0.1, (4, 7, 5)), -1, 1)
    cost = OffsetCost(Voronoi(anchors), anchors, near, 0.3)
    for metric, weights in itertools.product((None, rng.uniform(0.1, 1, 5)), (None, shares)):
        whole = cost.exact_cell_losses(Chunk(columns, weights), metric)
        parts = [slice(i, i + 7001) for i in range(0, 20_000, 7001)]
        cut = sum(
            cost.exact_cell_losses(Chunk(columns[:, p], None if weights is None else weights[p]), metric)
            for p in parts
        )
        assert np.array_equal(whole, cut)
        every, scales = np.ones(5) if metric is None else metric, WIDTH / (2 * cost.reach(metric))
        labels = cost.partition.assign(columns, metric)
        args = labels, to_steps(cost.candidates), to_steps(cost.anchors), every, scales, WIDTH, weights
        assert np.array_equal(whole, reference.cell_costs(columns, *args))


def test_the_loss_is_the_cost_less_that_of_the_anchor_and_the_bound_is_reached():
    anchors, near = np.array([[0.0, 0.0]]), np.array([[[0.0, 0.0], [0.25, 0.0], [0.0, -0.5]]])
    cost = OffsetCost(Voronoi(anchors), anchors, near, 10.0)
    [reach] = cost.reach(None)
    assert reach == pytest.approx(0.5 * 2 * np.sqrt(8))  # the diameter of the domain, not the radius
    for row in itertools.product((-1.0, 0.3, 1.0), repeat=2):
        found = cost.exact_cell_losses(Chunk(np.array(row, dtype=np.float32)[:, np.newaxis]), None)[0]
        true = ((np.array(row) - near[0]) ** 2).sum(axis=1) - np.square(row).sum()
        assert found / WIDTH * 2 * reach - reach == pytest.approx(true, abs=1e-5)
    line = OffsetCost(Voronoi(np.zeros((1, 1))), np.zeros((1, 1)), np.array([[[0.5], [-0.5]]]), 0.25)
    far = line.exact_cell_losses(Chunk(np.array([[1.0]], dtype=np.float32)), None)
    assert far.tolist() == [[0, WIDTH]]  # a row further out than the radius has no more to say


def law_of(losses, rate):
    weights = np.exp(-float(rate) * (losses - losses.min()))
    return weights / weights.sum()


CELLS = np.array([[-0.5], [0.5]])
CHOICE = OffsetCost(Voronoi(CELLS), CELLS, np.array([[[-0.5], [-0.9]], [[0.5], [0.1]]]), 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_gate_chooses_by_the_law_it_charges_for(behind_gate, neighbours):
    X = np.array([[-0.9], [-0.8], [-0.3], [0.9], [0.2]])
    curator = behind_gate(X, epsilon=3000.0, delta=1e-6, unit=Unit(neighbours))
    drawn = np.array([curator.select_each(CHOICE, share=Fraction(1, 2000)) for _ in range(1500)])
    law = curator.law(curator.transcript.entries[0].question)
    losses = losses_of(curator.domain, X, None, CHOICE)
    for cell in range(2):
        expected = law_of(losses[cell], law.rate)
        assert np.bincount(drawn[:, cell], minlength=2) / 1500 == pytest.approx(expected, abs=0.05)
    # Cells choose independently.
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.1
    # Every neighbour on a few points: bounded range, squared and over eight, added up over the cells.
    for p in np.linspace(-1, 1, 21):
        near = np.vstack([X, [[p]]]) if neighbours == "add-remove" else np.vstack([X[1:], [[p]]])
        other = losses_of(curator.domain, near, None, CHOICE)
        rho = sum(
            np.ptp(np.log(law_of(a, law.rate)) - np.log(law_of(b, law.rate))) ** 2 / 8
            for a, b in zip(losses, other, strict=True)
        )
        assert rho <= float(law.amount) * (1 + 1e-9)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_charged_recorded_replayed_and_within_the_charge(behind_gate, delta):
    X = np.linspace(-1, 1, 30)[:, np.newaxis]
    curator = behind_gate(X, delta=delta)
    chosen = curator.select_each(CHOICE, share=Fraction(1))
    assert chosen.shape == (2,)
    [entry] = curator.transcript.entries
    assert curator._allowance.spent == entry.charge.amount <= curator.budget.amount
    replay = ReplayCurator(curator.transcript)
    assert replay.price(entry.question) == entry.charge
    assert np.array_equal(replay.select_each(CHOICE, share=Fraction(1)), chosen)
    # The worst row is one that a candidate is all for and the other all against.
    lost = pair_loss(curator.transcript, X, np.vstack([X, [[1.0]]]))
    assert lost.passed
    assert lost.true > 0


def test_bad_questions_cost_nothing(behind_gate, blobs):
    curator = behind_gate(blobs)
    with pytest.raises(InvalidInput, match="columns"):
        curator.select_each(CHOICE, share=Fraction(1))
    two = Voronoi(np.zeros((2, 2)))
    for anchors, near in [
        (np.zeros((1, 2)), np.zeros((1, 3, 2))),
        (np.zeros((2, 2)), np.zeros((2, 3, 1))),
        (np.zeros((2, 2)), np.zeros((2, 0, 2))),
        (np.zeros((2, 2)), np.full((2, 1, 2), np.nan)),
    ]:
        with pytest.raises(InvalidInput, match="for 2 cells"):
            OffsetCost(two, anchors, near, 1.0)
    with pytest.raises(InvalidInput, match="radius"):
        OffsetCost(two, np.zeros((2, 2)), np.zeros((2, 1, 2)), 0.0)
    assert curator._allowance.spent == 0


def test_a_rehearsal_takes_the_first_of_each():
    curator = RehearsalCurator(Domain(Bounds.parse((-1, 1), 1)), budget_of(1.0), rows=100.0)
    assert curator.select_each(CHOICE, share=Fraction(1)).tolist() == [0, 0]
    assert curator.transcript.charges[0].amount <= 1
