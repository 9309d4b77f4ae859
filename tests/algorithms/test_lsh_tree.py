"""The tree of random cuts: what it pays for, and what it finds."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Accountant, LSHTreeKMeans
from shoal.algorithms.lsh_tree.cells import best_cut
from shoal.algorithms.lsh_tree.lsh_tree import LSHTree, lsh_start
from shoal.domain import Unit
from shoal.errors import InvalidBudget, MostlyNoise
from shoal.queries import Hyperplanes
from shoal.queries.questions import Histogram, Sums


def groups(n, d, k, seed=0, sd=0.08):
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-0.8, 0.8, (k, d))
    return centres[rng.integers(0, k, n)] + rng.normal(0, sd, (n, d)), centres


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("row", [[1.0, 1.0], [0.0, 0.0], [-0.3, 7.0], [np.nan, 0.2]])
def test_a_row_is_in_one_cell_of_the_root_of_every_level_and_of_the_leaves(behind_gate, blobs, delta, row):
    curator = behind_gate(blobs, delta=delta)
    lsh_start(curator, 4, Fraction(1))
    asked = [entry.question for entry in curator.transcript if entry.charge is not None]
    levels = 1 + 5  # 1 + log2(8 k)
    assert [type(question) for question in asked] == [Sums, *[Histogram] * levels, Sums]
    assert asked[0].partition.n_cells == 1
    chunk = curator.domain.encode([np.array([value]) for value in row])
    for question in asked:
        change = question.exact_lines(chunk, curator.terms)
        counts = change[:, -1] // (change[:, -1].max())
        assert (change.any(axis=1) == (counts == 1)).all()  # L0: one cell
        assert counts.sum() == 1  # L1: one row
    # A row is counted by L + 2 questions, and all are paid for.
    shares = [question.share for question in asked]
    assert sum(shares) == 1
    assert sum(charge.amount for charge in curator.transcript.charges) <= curator.budget.amount


@pytest.mark.parametrize("share", [Fraction(1, 5), Fraction(1)])
@pytest.mark.parametrize("unit", ["add-remove", "replace"])
def test_a_start_costs_its_share(behind_gate, blobs, share, unit):
    curator = behind_gate(blobs, epsilon=2.0, unit=Unit(unit))
    start = lsh_start(curator, 3, share)
    spent = sum(charge.amount for charge in curator.transcript.charges)
    assert 2 * share * Fraction(999, 1000) < spent <= 2 * share
    assert start.centres.shape == (3, 2)
    assert start.n_leaves.sum() == len(start.leaves.weights)
    assert start.counts.sum() == pytest.approx(start.leaves.weights.sum())


@pytest.mark.parametrize(("delta", "ratio"), [(0.0, 2.0), (1e-6, 1.6)])
def test_it_finds_many_groups_in_many_columns(behind_gate, delta, ratio):
    X, centres = groups(20_000, 40, 8)
    found = LSHTree(8).run(behind_gate(X, delta=delta))

    def cost(points):
        return np.min([((X - p) ** 2).sum(axis=1) for p in points], axis=0).mean()

    assert cost(found.centres) < ratio * cost(centres)
    assert found.sizes.sum() == pytest.approx(20_000, rel=0.2)


@pytest.mark.slow
def test_the_tree_alone_has_honest_errors(behind_gate):
    # Two far groups: the spread of a centre over many runs is what is said of it.
    X = np.repeat([[-0.5] * 3, [0.5] * 3], 1000, axis=0)
    found = [LSHTree(2, max_iter=0).run(behind_gate(X, seed=seed)) for seed in range(40)]
    low = [c.centres[:, 0].argmin() for c in found]
    errors = np.array([(c.centres[i] + 0.5) / c.centre_sd[i] for c, i in zip(found, low, strict=True)])
    assert np.median(np.abs(errors)) == pytest.approx(0.67, abs=0.35)


def test_own_units_are_heeded(behind_gate):
    # The second column is a hundred times as wide: in own units it alone tells the groups apart.
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-1, 1, 8000), rng.choice([-50.0, 50.0], 8000) + rng.normal(0, 5, 8000)])
    curator = behind_gate(X, bounds=([-1, -100], [1, 100]), scaling="none")
    assert np.sort(LSHTree(2).run(curator).centres[:, 1]) == pytest.approx([-0.5, 0.5], abs=0.05)


ODD = {
    "no rows": np.zeros((0, 3)),
    "one row": np.array([[0.1, 0.2, 0.3]]),
    "one column": np.random.default_rng(0).uniform(0, 1, (300, 1)),
    "constant columns": np.column_stack([np.full(500, 0.5), np.linspace(0, 1, 500)]),
    "equal rows": np.full((100, 2), 0.7),
    "missing": np.full((50, 2), np.nan),
}


@pytest.mark.parametrize("table", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("how", [{}, {"delta": 1e-6, "max_iter": 0}, {"scaling": "none"}, {"n_rows": 0}])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_odd_tables_give_k_finite_centres(table, how):
    model = LSHTreeKMeans(5, **{"epsilon": 1.0, "bounds": (0, 1), "n_starts": 2, **how}).fit(table)
    assert model.cluster_centers_.shape == (5, table.shape[1])
    assert ((model.cluster_centers_ >= 0) & (model.cluster_centers_ <= 1)).all()


def test_a_constant_column_in_own_units():
    X = np.column_stack([np.full(2000, 3.0), np.repeat([0.0, 1.0], 1000)])
    model = LSHTreeKMeans(2, epsilon=5.0, bounds=([3, 0], [3, 1]), scaling="none").fit(X)
    assert (model.cluster_centers_[:, 0] == 3.0).all()
    assert np.sort(model.cluster_centers_[:, 1]) == pytest.approx([0, 1], abs=0.1)


def test_too_little_budget_is_told():
    with pytest.warns(MostlyNoise):
        LSHTreeKMeans(8, epsilon=0.01, bounds=(-1, 1)).fit(groups(500, 20, 8)[0])


def test_a_budget_that_cannot_be_drawn_for_is_refused_unspent(blobs):
    accountant = Accountant(epsilon=1)
    with pytest.raises(InvalidBudget, match="raise epsilon"):
        LSHTreeKMeans(4, epsilon=1e-11, bounds=(-1, 1), budget=accountant).fit(blobs)
    assert accountant.spent == 0


counts = st.lists(st.floats(-50, 500), min_size=4, max_size=12)


@given(counts, st.floats(1, 100))
def test_a_cut_leaves_enough_on_both_sides(values, least):
    edges = np.linspace(-1, 1, len(values) - 1)
    at = best_cut(edges, np.array(values), least)
    sides = [(sum(values[: i + 1]), sum(values[i + 1 :])) for i in range(len(edges))]
    if at is None:
        assert not any(min(pair) >= least * (1 + 1e-9) for pair in sides)
    else:
        assert min(sides[at]) >= least * (1 - 1e-9)


def test_leaves_cover_the_domain(behind_gate, blobs):
    curator = behind_gate(blobs)
    lsh_start(curator, 4, Fraction(1))
    tree = [e.question.partition for e in curator.transcript if e.charge is not None][-1]
    assert isinstance(tree, Hyperplanes)
    labels = tree.assign(curator.domain.encode(list(blobs.T)).columns, None)
    assert labels.min() >= 0
    assert labels.max() < tree.n_cells
    assert len(np.unique(labels)) > 4
