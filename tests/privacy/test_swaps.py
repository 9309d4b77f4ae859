"""All swaps scored at once: each has a k-means cost, which a row raises by a whole number up to the width."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.domain import STEPS, Bounds, Chunk, Domain, to_steps
from shoal.errors import InvalidInput
from shoal.queries import ClusterCost, SwapCost, kernels
from shoal.queries.kernels import reference
from shoal.queries.losses import swaps
from shoal.queries.losses.cluster_cost import WIDTH

point = st.sampled_from([-1.0, 0.0, 1.0]) | st.floats(-1, 1)
value = st.sampled_from([-1.0, 1.0, 0.0, 1 / STEPS, np.nan, 7.0]) | st.floats(-1.2, 1.2)


@st.composite
def cases(draw):
    k, m, d = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    flat = np.array(draw(st.lists(point, min_size=(k + m) * d, max_size=(k + m) * d))).reshape(k + m, d)
    rows = np.array(draw(st.lists(st.lists(value, min_size=d, max_size=d), min_size=1, max_size=20)))
    weights = draw(st.none() | st.lists(st.floats(-1, 3), min_size=len(rows), max_size=len(rows)))
    bounds = Bounds((-1.0,) * d, tuple(1.0 + 0.5 * j for j in range(d)))
    domain = Domain(
        bounds, draw(st.sampled_from(["bounds", "none"])), max_weight=None if weights is None else 2.0
    )
    return (
        domain,
        rows,
        None if weights is None else np.array(weights),
        SwapCost(flat[:k], flat[k:], draw(st.booleans())),
    )


def losses_of(domain, rows, weights, loss):
    return loss.exact_losses(domain.encode(list(rows.T), weights), domain.metric)


@given(cases())
def test_one_row_raises_each_loss_by_a_whole_number_up_to_the_width(case):
    domain, rows, weights, loss = case
    whole = losses_of(domain, rows, weights, loss)
    without = losses_of(domain, rows[1:], None if weights is None else weights[1:], loss)
    alone = losses_of(domain, rows[:1], None if weights is None else weights[:1], loss)
    assert whole.dtype == np.int64
    assert np.array_equal(whole - without, alone)
    assert ((alone >= 0) & (alone <= WIDTH)).all()


@given(cases())
def test_the_bound_holds_at_every_corner(case):
    domain, _, _, loss = case
    weights = np.ones(loss.n_columns) if domain.metric is None else domain.metric
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=loss.n_columns)))
    for i in range(loss.n_candidates):
        square = ((corners[:, None] - loss.after(i)) ** 2 @ weights).min(axis=1)
        furthest = square.max() if loss.squared else np.sqrt(square.max())
        assert furthest <= loss.reach(domain.metric) * (1 + 1e-12)


@given(cases())
def test_a_swap_costs_what_the_centres_after_it_cost(case):
    domain, rows, weights, loss = case
    chunk = domain.encode(list(rows.T), weights)
    metric = np.ones(loss.n_columns) if domain.metric is None else domain.metric
    scale = WIDTH / loss.reach(domain.metric)
    sets = np.stack([to_steps(loss.after(i)) for i in range(loss.n_candidates)])
    how = metric, scale, WIDTH, chunk.weights, loss.squared
    expected = reference.set_costs(chunk.columns, sets, *how)
    found = loss.exact_losses(chunk, domain.metric)
    assert np.array_equal(found, expected)
    points = to_steps(loss.centres), to_steps(loss.candidates)
    plain = reference.swap_costs(chunk.columns, *points, *how)
    assert np.array_equal(plain.ravel(), found)


def test_many_rows_agree_however_they_are_cut(monkeypatch):
    rng = np.random.default_rng(3)
    columns = (np.rint(rng.uniform(-1, 1, (5, 3000)) * STEPS) / STEPS).astype(np.float32)
    shares = rng.integers(0, STEPS + 1, 3000).astype(np.int32)
    points = rng.uniform(-1, 1, (4, 5)), rng.uniform(-1, 1, (6, 5))
    for squared, weights in itertools.product((True, False), (None, shares)):
        loss = SwapCost(*points, squared)
        whole = loss.exact_losses(Chunk(columns, weights), None)
        cut = [
            loss.exact_losses(
                Chunk(columns[:, i : i + 700], None if weights is None else weights[i : i + 700]), None
            )
            for i in range(0, 3000, 700)
        ]
        assert np.array_equal(whole, sum(cut))
        assert swaps.dispatch is kernels.dispatch
        monkeypatch.setattr(kernels.dispatch, "compiles", lambda: False)
        assert np.array_equal(loss.exact_losses(Chunk(columns, weights), None), whole)
        monkeypatch.undo()


def test_the_width_is_reached():
    one = SwapCost(np.zeros((1, 2)), np.ones((1, 2)))
    assert one.reach(None) == 8
    assert one.exact_losses(Chunk(-np.ones((2, 1), dtype=np.float32)), None)[0] == WIDTH
    # Swapping a centre for itself leaves the cost as it is.
    two = SwapCost(np.array([[-0.5], [0.5]]), np.array([[0.5]]))
    both = ClusterCost(np.array([[[-0.5], [0.5]]]))
    rows = Chunk(np.array([[-1.0, 0.3, 0.5]], dtype=np.float32))
    same = two.exact_losses(rows, None)[1] * two.reach(None)
    assert same == pytest.approx(both.exact_losses(rows, None)[0] * both.reach(None), rel=1e-5)


@pytest.mark.parametrize(
    ("centres", "candidates"),
    [
        (np.zeros((0, 2)), np.zeros((1, 2))),
        (np.zeros((1, 2)), np.zeros((1, 3))),
        (np.zeros(2), np.zeros((1, 2))),
    ],
)
def test_bad_points_are_refused(centres, candidates):
    with pytest.raises(InvalidInput):
        SwapCost(centres, candidates)
