"""A projection maps each row by itself alone, exactly, into the box that all else relies on."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.domain import STEPS, Bounds, Domain
from shoal.errors import InvalidInput
from shoal.queries import ClusterCost, Grid, Projected, ProjectedLoss, Projection, Value, Voronoi, kernels
from shoal.queries.kernels import reference
from shoal.queries.losses.cluster_cost import WIDTH

entry = st.sampled_from([-1.0, 0.0, 1.0, 1 / STEPS]) | st.floats(-1, 1)
cell = st.sampled_from([-1.0, 1.0, 0.0, 1 / STEPS, np.nan, np.inf, 7.0]) | st.floats(-1.2, 1.2)


@st.composite
def cases(draw):
    p, d = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    matrix = np.array(draw(st.lists(entry, min_size=p * d, max_size=p * d))).reshape(p, d)
    rows = np.array(draw(st.lists(st.lists(cell, min_size=d, max_size=d), min_size=1, max_size=20)))
    domain = Domain(Bounds.parse((-1, 1), d), draw(st.sampled_from(["bounds", "none"])))
    centres = np.array(draw(st.lists(entry, min_size=3 * p, max_size=3 * p))).reshape(3, p)
    return domain, rows, Projection(matrix), centres


def encoded(domain, rows):
    return domain.encode(list(rows.reshape(-1, domain.n_columns).T))


@given(cases())
def test_images_are_exact_clipped_and_on_the_lattice(case):
    domain, rows, projection, _ = case
    columns = encoded(domain, rows).columns
    image = projection.apply(columns)
    assert image.tobytes() == reference.project(columns, projection.matrix).tobytes()
    assert image.dtype == np.float32
    assert np.abs(image).max() <= 1
    for row, found in zip(columns.T, image.T, strict=True):
        for direction, value in zip(projection.matrix, found, strict=True):
            true = sum(Fraction(float(m)) * Fraction(float(x)) for m, x in zip(direction, row, strict=True))
            clipped = min(max(true, Fraction(-1)), Fraction(1))
            assert int(value * STEPS) == int(clipped * STEPS)  # both toward zero
            assert value * STEPS == int(value * STEPS)


@given(cases())
def test_one_row_changes_one_cell_and_no_other_rows_cell(case):
    domain, rows, projection, centres = case
    for inner in (Voronoi(centres), Grid((3,) * projection.n_directions)):
        cells = Projected(projection, inner)
        labels = cells.assign(encoded(domain, rows).columns, domain.metric)
        assert np.array_equal(cells.assign(encoded(domain, rows[1:]).columns, domain.metric), labels[1:])
        totals = [
            Value().exact_totals(cells, encoded(domain, some), domain.metric) for some in (rows, rows[1:])
        ]
        change = totals[0] - totals[1]
        assert np.flatnonzero((change != 0).any(axis=1)).tolist() == [labels[0]]
        assert np.abs(change).max() <= STEPS


@given(cases())
def test_one_row_raises_each_loss_by_a_whole_number_up_to_the_width(case):
    domain, rows, projection, centres = case
    loss = ProjectedLoss(projection, ClusterCost(centres[:, np.newaxis]))
    whole, without, alone = (
        loss.exact_losses(encoded(domain, some), domain.metric) for some in (rows, rows[1:], rows[:1])
    )
    assert np.array_equal(whole - without, alone)
    assert ((alone >= 0) & (alone <= WIDTH)).all()


@pytest.mark.parametrize("d", [30, 3000])
def test_a_matrix_product_gives_no_row_other_bits_elsewhere(d):
    # Whatever the order in which a library adds products up.
    rng = np.random.default_rng(d)
    columns = (np.rint(rng.uniform(-1, 1, (d, 400)) * STEPS) / STEPS).astype(np.float32)
    projection = Projection.random(5, d, rng)
    whole = projection.apply(columns)
    assert whole.tobytes() == reference.project(columns, projection.matrix).tobytes()
    keep = rng.permutation(400)[:77]
    assert np.array_equal(projection.apply(np.ascontiguousarray(columns[:, keep])), whole[:, keep])
    one_by_one = np.column_stack([projection.apply(columns[:, [i]])[:, 0] for i in range(20)])
    assert np.array_equal(one_by_one, whole[:, :20])
    exact = np.array([[int(m) for m in row] for row in projection.matrix * STEPS], dtype=object) @ np.array(
        [[int(x) for x in row] for row in columns[:, :20].astype(np.float64) * STEPS], dtype=object
    )
    steps = np.array([[int(Fraction(v, STEPS)) for v in row] for row in exact])
    assert np.array_equal(whole[:, :20] * STEPS, np.clip(steps, -STEPS, STEPS))


def test_random_directions_keep_distances_and_clip_few():
    rng = np.random.default_rng(1)
    d, p = 200, 8
    projection = Projection.random(p, d, rng)
    columns = (np.rint(rng.uniform(-1, 1, (d, 500)) * STEPS) / STEPS).astype(np.float32)
    image = projection.apply(columns).astype(np.float64)
    assert (np.abs(image) < 1).mean() > 0.98
    true = ((columns[:, :250] - columns[:, 250:]).astype(np.float64) ** 2).sum(axis=0)
    found = ((image[:, :250] - image[:, 250:]) ** 2).sum(axis=0) * 1.5**2 * d / p
    assert found.mean() == pytest.approx(true.mean(), rel=0.1)


def test_few_columns_are_left_as_they_are():
    metric = np.array([1.0, 0.25])
    rng = np.random.default_rng(0)
    assert np.array_equal(Projection.random(4, 2, rng).matrix, np.eye(2))
    assert np.array_equal(Projection.random(2, 2, rng, metric).matrix, np.diag([1.0, 0.5]))
    # A direction that no row can exceed is not scaled down further than that.
    one = Projection.random(1, 2, rng).matrix
    assert np.abs(one).sum() == pytest.approx(1, abs=1e-5) or np.sqrt((one**2).sum()) > 1 / 1.5 - 1e-5


@pytest.mark.parametrize("matrix", [np.zeros(3), np.zeros((0, 2)), [[1.5]], [[np.nan]], np.ones((1, 8193))])
def test_bad_matrices_are_refused(matrix):
    with pytest.raises(InvalidInput):
        Projection(np.array(matrix))


def test_without_the_compiler(monkeypatch):
    columns = np.array([[1.0, -0.25], [0.5, 1.0]], dtype=np.float32)
    projection = Projection(np.array([[0.5, -0.5], [1.0, 1.0], [-1e-6, 0.0]]))
    compiled = projection.apply(columns)
    monkeypatch.setattr(kernels.dispatch, "compiles", lambda: False)
    assert projection.apply(columns).tobytes() == compiled.tobytes()
    with pytest.raises(InvalidInput, match="for 2 columns"):
        projection.apply(columns[:1])


def test_a_loss_of_another_image_is_refused():
    with pytest.raises(InvalidInput, match="the image has 1"):
        ProjectedLoss(Projection(np.ones((1, 2)) / 2), ClusterCost(np.zeros((1, 1, 2))))


def test_cells_of_the_image_through_the_gate(behind_gate):
    X = np.array([[0.9, 0.9]] * 30 + [[-0.9, -0.8]] * 10)
    curator = behind_gate(X, epsilon=1e6)
    cells = Projected(Projection(np.full((1, 2), 0.5)), Grid((2,)))
    answer = curator.sums(cells, share=Fraction(1, 2))
    assert answer.counts.round(2).tolist() == [10, 30]
    chosen = curator.select(
        ProjectedLoss(cells.projection, ClusterCost(np.array([[[-1.0]], [[1.0]]]))), share=Fraction(1, 2)
    )
    assert chosen.tolist() == [1]
