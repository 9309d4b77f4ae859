"""A weighted row changes one cell, by no more than the declared body, and never by more than its weight."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import DPLloyd
from shoal.domain import STEPS, Bounds, Chunk, Domain, Unit
from shoal.queries import Ball, Box, Grid, Offset, Outer, Squares, Value, Voronoi, WithCost
from shoal.queries.statistics.aggregates import exact_count
from shoal.sources import Table

cell = st.sampled_from([-1.0, 1.0, 0.0, 0.5, 1 / STEPS, 0.5 + 1 / STEPS, np.nan, np.inf, 7.0]) | st.floats(
    -1, 1
)
weight = st.sampled_from(
    [0.0, 3.0, 3.0 * (1 - 1 / STEPS), 1.5, 1e-9, -1.0, 1e300, np.nan, np.inf, -np.inf]
) | st.floats(0, 3)
rows = st.lists(st.tuples(cell, cell, weight), max_size=12)
anchors = np.array([[-0.5, 0.25], [0.5, 1 / 3]])
STATS = [
    Value(),
    Squares(),
    *(Outer(Offset(anchors, shape)) for shape in (Box(0.3), Ball(0.7))),
    *(Offset(anchors, shape) for shape in (Box(0.3), Ball(0.3), Box(1.7), Ball(1e-5))),
    *(WithCost(Offset(anchors, shape)) for shape in (Box(0.7), Ball(0.7))),
]


def encoded(table, max_weight=3.0):
    x, y, w = (
        np.array(values, dtype=np.float64) for values in (zip(*table, strict=True) if table else [()] * 3)
    )
    return Domain(Bounds.parse((-1, 1), 2), max_weight=max_weight).encode([x, y], w)


@given(rows, st.tuples(cell, cell, weight), st.sampled_from(STATS))
def test_one_weighted_row_changes_one_cell_by_at_most_its_weight(table, extra, stat):
    partition = Voronoi(anchors)
    before = stat.exact_totals(partition, encoded(table), None)
    after = stat.exact_totals(partition, encoded([extra, *table]), None)
    change, body = after - before, stat.change(2)
    touched = np.flatnonzero((change != 0).any(axis=1))
    assert len(touched) <= 1
    share = int(encoded([extra]).weights[0])
    assert 0 <= share <= STEPS
    for vector in change[touched].tolist():
        reach = body.width * share // STEPS
        assert vector[body.n_values] == reach <= body.width  # the count, in shares of the largest weight
        assert max(map(abs, vector)) <= body.width
        alone = stat.exact_totals(partition, Chunk(encoded([extra]).columns), None)[touched[0]].tolist()
        assert vector == [(abs(v) * share // STEPS) * (1 if v > 0 else -1) for v in alone]
        if body.ball:
            assert sum(v * v for v in vector[: body.n_values]) <= body.width**2


@given(rows, st.tuples(cell, cell, weight))
def test_one_weighted_row_changes_one_count_by_at_most_its_weight(table, extra):
    partition = Grid((3, 2))
    before = exact_count(partition, encoded(table), None)
    change = exact_count(partition, encoded([*table, extra]), None) - before
    share = int(encoded([extra]).weights[0])
    assert sorted(change.tolist()) == [0] * (partition.n_cells - 1) + [share]


@given(st.lists(weight, min_size=1, max_size=10), st.sampled_from([1e-300, 0.1, 3.0, 1e300]))
def test_weights_are_clipped_and_never_rounded_up(weights, most):
    found = encoded([(0.0, 0.0, w) for w in weights], most).weights
    for steps, given_weight in zip(found.tolist(), weights, strict=True):
        clipped = 0.0 if math.isnan(given_weight) else min(max(given_weight, 0.0), most)
        assert 0 <= steps <= STEPS
        assert Fraction(steps, STEPS) <= Fraction(clipped) / Fraction(most) * (1 + Fraction(1, 2**50))
        assert abs(steps - clipped / most * STEPS) <= 1


def test_without_weights_rows_are_at_the_maximum():
    domain = Domain(Bounds.parse((-1, 1), 1), max_weight=3.0)
    assert domain.encode([np.zeros(4)]).weights.tolist() == [STEPS] * 4


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_is_drawn_for_the_largest_weight(behind_gate, neighbours, delta):
    X = np.zeros((10, 1))
    how = {"epsilon": 1.0, "delta": delta, "unit": Unit(neighbours)}
    plain = behind_gate(X, **how)
    weighted = behind_gate(X, **how, max_weight=7.0)
    share = Fraction(1, 2)
    assert weighted.count_sd(share=share) == pytest.approx(7 * plain.count_sd(share=share), rel=0.3)
    assert weighted.noise_sd(share=share)[0] >= 6.9 * plain.noise_sd(share=share)[0]


def test_totals_are_weighted():
    X = np.array([[-0.5], [0.5]] * 500)
    w = np.where(X[:, 0] > 0, 3.0, 1.0)
    model = DPLloyd(2, epsilon=500.0, bounds=(-1, 1), max_weight=3.0).fit(X, sample_weight=w)
    order = np.argsort(model.cluster_centers_[:, 0])
    assert model.cluster_sizes_[order] == pytest.approx([500, 1500], abs=20)
    one = DPLloyd(1, epsilon=500.0, bounds=(-1, 1), max_weight=3.0).fit(X, sample_weight=w)
    assert one.cluster_centers_[0, 0] == pytest.approx((1500 * 0.5 - 500 * 0.5) / 2000, abs=0.02)


def test_weights_of_every_kind():
    rng = np.random.default_rng(0)
    X, w = rng.uniform(-1, 1, (400, 2)), rng.uniform(0, 3, 400)
    how = {"epsilon": 10.0, "bounds": (-1, 1), "max_weight": 2.0, "random_state": 2}

    def centres(X, weights):
        return DPLloyd(2, **how).fit(X, sample_weight=weights).cluster_centers_.tobytes()

    want = centres(X, w)
    assert centres(X, w.tolist()) == want
    assert centres(X, pd.Series(w)) == want
    assert centres(X, pd.Series(w, dtype="Float64")) == want
    assert centres(X, pl.Series(w)) == want
    frame = pl.DataFrame({"a": X[:, 0], "w": w, "b": X[:, 1]})
    assert centres(frame.drop("w"), w) == want
    model = DPLloyd(2, **how).fit(frame, sample_weight="w")
    assert model.cluster_centers_.tobytes() == want
    assert list(model.feature_names_in_) == ["a", "b"]
    assert np.array_equal(model.predict(frame), model.predict(frame.drop("w")))
    labels = DPLloyd(2, **how).fit_predict(frame, sample_weight="w")
    assert np.array_equal(labels, model.predict(frame))


def test_without_weights_a_maximum_changes_nothing():
    X = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    plain, known = (
        DPLloyd(2, epsilon=10.0, bounds=(-1, 1), random_state=0, max_weight=m).fit(X) for m in (None, 50.0)
    )
    assert np.array_equal(plain.cluster_centers_, known.cluster_centers_)


def test_weights_are_read_with_their_rows():
    table = Table(np.arange(10.0).reshape(-1, 1), weights=np.arange(10))
    pieces = [table.read(part) for part in table.parts(3)]
    for piece in pieces:
        assert np.array_equal(piece.columns[0], piece.weights)
    assert sum(piece.n_rows for piece in pieces) == 10
