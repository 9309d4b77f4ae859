"""Means, spreads and components come from answers alone, and their row statistics are what they say."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.algorithms.column_stats import ColumnSpreads, PrincipalComponents
from shoal.audit.pairs import pair_loss
from shoal.audit.replay import check_cells
from shoal.domain import STEPS, Bounds, Chunk
from shoal.queries import Ball, Box, Grid, Offset, Outer, ReplayCurator, RowStat, Squares, Voronoi
from shoal.queries.gate.codec import digest, from_plain, plain
from shoal.queries.statistics.second_moments import symmetric

ALGORITHMS = [ColumnSpreads(), PrincipalComponents(1), PrincipalComponents(2)]
STATS = [Squares(), Outer(Offset(np.full((1, 2), 0.25), Ball(1.5)))]


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
@pytest.mark.parametrize("bounds", [(-1, 1), Bounds.not_known(2)])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_replay_is_bit_identical(algorithm, bounds, delta, behind_gate, blobs):
    rows = blobs.copy()
    curator = behind_gate(rows, delta=delta, bounds=bounds, epsilon=5.0)
    live = algorithm.run(curator)
    rows[:] = 1e6
    replay = ReplayCurator(curator.transcript)
    again = algorithm.run(replay)
    replay.finish()
    assert digest(again) == digest(live)
    if isinstance(bounds, tuple):
        check_cells(curator.transcript, blobs[:50])
    spent = sum(charge.amount for charge in curator.transcript.charges)
    assert spent <= curator.budget.amount


@pytest.mark.parametrize("of", STATS, ids=["squares", "outer"])
def test_the_noise_told_beforehand_is_that_of_the_answer(of, behind_gate, blobs):
    curator = behind_gate(blobs)
    answer = curator.sums(Grid.whole(2), of=of, share=Fraction(1))
    told = behind_gate(blobs).noise_sd(of=of, share=Fraction(1))
    assert (answer.sum_sd, answer.count_sd) == pytest.approx(told)


def encoded(values):
    return np.asarray(np.array(values).T, dtype=np.float32)


@given(st.lists(st.tuples(*[st.integers(-STEPS, STEPS)] * 3), min_size=1, max_size=8))
def test_squares_are_exact(rows):
    chunk = Chunk(encoded(np.array(rows) / STEPS))
    totals = Squares().exact_totals(Grid.whole(3), chunk, None)[0].tolist()
    for j in range(3):
        assert totals[j] == sum(row[j] for row in rows)
        assert totals[3 + j] == sum(2 * row[j] ** 2 // STEPS - STEPS for row in rows)
    assert totals[6] == len(rows) * STEPS


@given(
    st.lists(st.tuples(*[st.integers(-STEPS, STEPS)] * 3), min_size=1, max_size=8),
    st.sampled_from([Ball(0.01), Ball(0.7), Ball(2.0), Box(0.3), Box(1.0)]),
)
def test_products_are_exact_and_within_the_body(rows, shape):
    offset = Outer(Offset(np.array([[0.1, -0.2, 0.3], [0.0, 0.5, -1.0]]), shape)).of
    outer, cells = Outer(offset), Voronoi(np.array([[0.0, 0.0, 0.0], [0.5, 0.5, 0.5]]))
    columns = encoded(np.array(rows) / STEPS)
    labels = cells.assign(columns, None)
    values = offset.exact_offsets(columns, labels)
    want = np.zeros((2, 7), dtype=object)
    for u, label in zip(values.T.tolist(), labels, strict=True):
        line = []
        for i in range(3):
            for j in range(i, 3):
                product = u[i] * u[j]
                line.append((1 if product > 0 else -1) * (abs(product) // offset.width))
        body = outer.change(3)
        assert max(map(abs, line)) <= body.width
        if body.ball:
            assert sum(v * v for v in line) <= body.width**2
        assert sum(map(abs, line)) <= body.l1
        want[label] += np.array([*line, offset.width], dtype=object)
    assert outer.exact_totals(cells, Chunk(columns), None).tolist() == want.tolist()


def test_many_rows_are_summed_in_parts(monkeypatch):
    rng = np.random.default_rng(0)
    columns = encoded(rng.integers(-STEPS, STEPS + 1, (500, 4)) / STEPS)
    weights = rng.integers(0, STEPS + 1, 500).astype(np.int32)
    outer = Outer(Offset(np.zeros((1, 4)), Ball(1.0)))
    for chunk in (Chunk(columns), Chunk(columns, weights)):
        whole = outer.exact_totals(Grid.whole(4), chunk, None)
        with monkeypatch.context() as patch:
            patch.setattr("shoal.queries.statistics.second_moments._HELD", 77)
            assert np.array_equal(outer.exact_totals(Grid.whole(4), chunk, None), whole)


def test_the_ball_is_reached_by_a_row_along_an_axis():
    outer = Outer(Offset(np.zeros((1, 3)), Ball(1.0)))
    totals = outer.exact_totals(Grid.whole(3), Chunk(encoded([[1.0, 0.0, 0.0]])), None)
    assert totals[0].tolist() == [STEPS, 0, 0, 0, 0, 0, STEPS]


@given(st.integers(1, 6), st.integers(0, 1000))
def test_a_matrix_comes_back_from_its_triangle(d, seed):
    matrix = np.random.default_rng(seed).normal(size=(d, d))
    matrix = matrix + matrix.T
    assert np.array_equal(symmetric(matrix[np.triu_indices(d)], d), matrix)


@pytest.mark.parametrize("of", STATS, ids=["squares", "outer"])
def test_statistics_come_back_from_a_file(of):
    assert digest(from_plain(RowStat, plain(of))) == digest(of)


CANARIES = {
    "empty": (np.zeros((0, 2)), np.array([[0.3, -0.2]])),
    "corner": (np.full((5, 2), -0.5), np.vstack([np.full((5, 2), -0.5), [[1.0, 1.0]]])),
    "axis": (np.zeros((9, 2)), np.vstack([np.zeros((9, 2)), [[1.0, 0.0]]])),
    "missing": (np.full((5, 2), 0.9), np.vstack([np.full((5, 2), 0.9), [[np.nan, 7.0]]])),
}


@pytest.mark.parametrize("pair", CANARIES.values(), ids=CANARIES)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_no_question_loses_more_than_it_is_charged(algorithm, pair, delta, behind_gate):
    for table in pair:
        curator = behind_gate(table, delta=delta)
        algorithm.run(curator)
        found = pair_loss(curator.transcript, *pair)
        assert found.passed, str(found)
        assert found.charged <= float(curator.budget.amount)


def test_laplace_noise_for_products_is_nearly_tight():
    # A row along the diagonal reaches the declared sum of absolute values.
    d = 4
    outer = Outer(Offset(np.zeros((1, d)), Ball(2.0)))
    totals = outer.exact_totals(Grid.whole(d), Chunk(encoded(np.ones((1, d)))), None)[0]
    assert np.abs(totals[:-1]).sum() == pytest.approx(outer.change(d).l1, rel=1e-4)
