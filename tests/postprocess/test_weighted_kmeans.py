"""k-means on released points."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from shoal.errors import InvalidInput
from shoal.postprocess import grid_loops, lloyd_loops, packing, search_loops
from shoal.postprocess.merge import merge, merge_weights
from shoal.postprocess.packing import pack
from shoal.postprocess.weighted_kmeans import _swap, greedy_plus_plus, lloyd, plus_plus, weighted_kmeans


def points(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, 2)), rng.exponential(1, n)


@pytest.mark.parametrize(("d", "n"), [(1, 700), (2, 3000), (2, 1), (9, 600), (20, 1)])
def test_compiled_and_numpy_agree(d, n):
    """To the last bit: which of them runs depends on how much there is to do."""
    rng = np.random.default_rng(d)
    columns, w, centres = rng.uniform(-1, 1, (d, n)), rng.exponential(1, n), rng.uniform(-1, 1, (7, d))
    w[::5] *= -0.3
    centres[3] = centres[1]
    one, two = (np.empty((7, d)), np.empty(7)), (np.empty((7, d)), np.empty(7))
    a = lloyd_loops.sweep()(columns, w, centres, *one)
    b = lloyd_loops._sweep_numpy(columns, w, centres, *two, np.empty(n, np.int64), np.empty(n), None)
    assert a == b
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])
    near = [rng.uniform(0, 1, n)] * 2
    near[1] = near[0].copy()
    lloyd_loops.nearest()(columns, centres[0], near[0])
    lloyd_loops._nearest_numpy(columns, centres[0], near[1])
    assert np.array_equal(*near)


@pytest.mark.parametrize(("d", "n", "k"), [(1, 700, 5), (2, 3000, 9), (6, 1500, 30)])
def test_a_pass_that_remembers_is_one_that_does_not(d, n, k):
    """To the last bit, whichever centres move, and where several are as near as each other."""
    rng = np.random.default_rng(d)
    columns, w = np.round(rng.uniform(-1, 1, (d, n)), 1), rng.normal(1, 1, n)
    centres, step = np.round(rng.uniform(-1, 1, (k, d)), 1), lloyd_loops.sweep()
    filled = np.empty((3, k, d)), np.empty((3, k))
    for moving in (k, 1, 0, 2, k // 2, 1, k):
        centres = centres.copy()
        which = rng.choice(k, moving, replace=False)
        centres[which] = np.round(centres[which] + rng.normal(0, 0.3, (moving, d)), 1)
        centres[-1] = centres[0]
        labels, squares = np.empty(n, np.int64), np.empty(n)
        costs = [
            step(columns, w, centres, filled[0][0], filled[1][0]),
            lloyd_loops.sweep()(columns, w, centres, filled[0][1], filled[1][1]),
            lloyd_loops._sweep_numpy(
                columns, w, centres, filled[0][2], filled[1][2], labels, squares, np.arange(k)
            ),
        ]
        for values in (np.array(costs), *filled):
            assert np.array_equal(values[0], values[1])
            assert np.array_equal(values[0], values[2])


def test_a_pass_begins_with_what_is_known():
    rng = np.random.default_rng(0)
    columns, w = rng.uniform(-1, 1, (2, 900)), rng.exponential(1, 900)
    centres = rng.uniform(-1, 1, (8, 2))
    labels, squares = np.empty(900, np.int64), np.empty(900)
    search_loops.two_nearest()(columns, centres, labels, squares, np.empty(900))
    known = lloyd_loops.Nearest(centres, labels, squares)
    swapped = centres.copy()
    swapped[3] = 0.5
    one, two = ((np.empty((8, 2)), np.empty(8)) for _ in range(2))
    steps = lloyd_loops.sweep(known.copy()), lloyd_loops.sweep()
    assert steps[0](columns, w, swapped, *one) == steps[1](columns, w, swapped, *two)
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])
    assert np.array_equal(labels, known.labels)  # a copy was written to


def cells(shape):
    """Middles of all cells of a grid, one line per column."""
    axes = [(np.arange(m) + 0.5) / m * 2 - 1 for m in shape]
    return np.stack([places.ravel() for places in np.meshgrid(*axes, indexing="ij")])


@pytest.mark.parametrize("shape", [(700,), (40, 30), (3, 1, 900), (600, 5), (4,) * 6])
def test_a_pass_over_a_grid_is_one_over_its_cells(shape):
    """And compiled and NumPy agree to the last bit."""
    rng = np.random.default_rng(len(shape))
    columns, d = cells(shape), len(shape)
    w, centres = rng.normal(1, 2, columns.shape[1]), rng.uniform(-1, 1, (5, d))
    sums, masses = np.empty((3, 5, d)), np.empty((3, 5))
    expected = lloyd_loops.sweep()(columns, w, centres, sums[0], masses[0])
    found = grid_loops.grid_sweep(columns, shape)(columns, w, centres, sums[1], masses[1])
    assert found == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(sums[1], sums[0], atol=1e-9)
    np.testing.assert_allclose(masses[1], masses[0], atol=1e-9)
    cut = grid_loops._middle(shape)
    behind = int(np.prod(shape[cut:]))
    parts = columns[:cut, ::behind].copy(), columns[cut:, :behind].copy()
    assert grid_loops._pairs_numpy(*parts, w, centres, sums[2], masses[2]) == found
    assert np.array_equal(sums[1], sums[2])
    assert np.array_equal(masses[1], masses[2])


def test_a_grid_is_clustered_as_its_cells_are():
    shape = (30, 25, 8)
    places = cells(shape).T
    tops = np.random.default_rng(1).uniform(-1, 1, (6, 3))
    hills = np.exp(-8 * ((places[:, np.newaxis] - tops) ** 2).sum(2))
    w = hills.sum(1) + np.random.default_rng(2).normal(0, 0.05, len(places))
    for published in (False, True):
        one, other = (
            weighted_kmeans(places, w, 6, np.random.default_rng(0), published=published, shape=known)
            for known in (None, shape)
        )
        np.testing.assert_allclose(other.centres, one.centres, atol=1e-6)
        assert other.cost == pytest.approx(one.cost)


@pytest.mark.parametrize("d", [1, 2, 7, 17])
def test_compiled_search_and_numpy_agree(d):
    rng = np.random.default_rng(d)
    P, w = rng.uniform(-1, 1, (d, 1300)), rng.exponential(1, 1300)
    uniforms = rng.random((9, 4))
    one, two = np.empty((9, d)), np.empty((9, d))
    search_loops.seed()(P, w, uniforms, one)
    search_loops._seed_numpy(P, w, uniforms, two)
    assert np.array_equal(one, two)
    w[::3] *= -0.4
    found = [(np.empty(1300, dtype=np.int64), np.empty(1300), np.empty(1300)) for _ in range(2)]
    search_loops.two_nearest()(P, one, *found[0])
    search_loops._two_nearest_numpy(P, one, *found[1])
    for compiled, plain in zip(*found, strict=True):
        assert np.array_equal(compiled, plain)
    labels, first, second = found[0]
    place, sums, loss = P[:, 5].copy(), np.empty((2, d)), np.empty((2, 9))
    entered = search_loops.enter()(P, w, place, first, sums[0])
    assert entered == search_loops._enter_numpy(P, w, place, first, sums[1])
    gain = search_loops.leave()(P, w, place, labels, first, second, loss[0])
    assert gain == search_loops._leave_numpy(P, w, place, labels, first, second, loss[1])
    assert np.array_equal(*sums)
    assert np.array_equal(*loss)


def test_what_a_swap_changes_is_what_its_cost_changes_by():
    P, w = points()
    w[::5] *= -0.3
    columns, centres, place = np.ascontiguousarray(P.T), P[:6].copy(), P[77].copy()
    labels, first, second = np.empty(len(w), dtype=np.int64), np.empty(len(w)), np.empty(len(w))
    search_loops.two_nearest()(columns, centres, labels, first, second)
    loss = np.empty(6)
    gain = search_loops.leave()(columns, w, place, labels, first, second, loss)

    def cost(centres):
        return (w * ((P[:, None] - centres[None]) ** 2).sum(axis=2).min(axis=1)).sum()

    for j in range(6):
        swapped = centres.copy()
        swapped[j] = place
        assert cost(swapped) - cost(centres) == pytest.approx(loss[j] - gain)


def test_greedy_starts_are_better_than_plain_ones():
    P, w = points()
    columns = np.ascontiguousarray(P.T)

    def cost(start, seed):
        centres = start(columns, w, 12, np.random.default_rng(seed))
        return lloyd(columns, w, centres, max_iter=0, least_mass=0.0).cost

    greedy, plain = (np.mean([cost(f, s) for s in range(20)]) for f in (greedy_plus_plus, plus_plus))
    assert greedy < 0.9 * plain


def test_one_swap_mends_two_centres_in_one_group_and_none_in_another():
    rng = np.random.default_rng(0)
    corners = np.array([[-0.8, -0.8], [-0.8, 0.8], [0.8, -0.8], [0.8, 0.8]])
    P = corners[rng.integers(0, 4, 2000)] + rng.normal(0, 0.02, (2000, 2))
    columns, w = np.ascontiguousarray(P.T), np.ones(2000)
    stuck = np.array([[-0.8, -0.81], [-0.8, -0.79], [-0.8, 0.8], [0.8, 0.0]])

    def run(centres, rounds, known=None):
        return lloyd(columns, w, centres, max_iter=rounds, least_mass=0.0, step=lloyd_loops.sweep(known))

    before = run(stuck, 50)
    after = _swap(before, columns, w, w, run, np.random.default_rng(0), 1)
    assert before.cost > 100 * after.cost


def test_lloyd_is_lloyd_on_positive_weights():
    P, w = points()
    start = P[:6].copy()
    ours = lloyd(np.ascontiguousarray(P.T), w, start, max_iter=200, least_mass=0.0)
    theirs = KMeans(6, init=start, n_init=1, max_iter=200, tol=1e-8).fit(P, sample_weight=w)
    assert ours.cost == pytest.approx(theirs.inertia_, rel=1e-3)


@pytest.mark.slow
def test_many_starts_and_swaps_are_as_good_as_scikit_learn():
    P, w = points()
    ours = weighted_kmeans(P, w, 12, np.random.default_rng(0))
    theirs = KMeans(12, n_init=30, random_state=0).fit(P, sample_weight=w)
    assert ours.cost <= theirs.inertia_ * 1.003


def test_compiled_packing_and_numpy_agree():
    rng = np.random.default_rng(0)
    placed = rng.uniform(-1, 1, (30, 3))
    for gap in (0.01, 0.3, 0.9, 4.0):
        candidates = rng.uniform(-1, 1, (100, 3))
        found = packing._first_free()(candidates, placed, 20, gap)
        assert found == packing._first_free_numpy(candidates, placed, 20, gap)


def test_negative_weights_cancel_instead_of_pulling():
    # Pure noise around the true mass: dropping negative weights would pull the centre to the middle.
    rng = np.random.default_rng(1)
    P = rng.uniform(-1, 1, (4000, 1))
    w = rng.normal(0, 5, 4000)
    w[np.abs(P[:, 0] - 0.8) < 0.05] += 60.0
    signed = lloyd(np.ascontiguousarray(P.T), w, np.array([[0.0]]), max_iter=5, least_mass=1.0)
    clipped = lloyd(
        np.ascontiguousarray(P.T), np.maximum(w, 0), np.array([[0.0]]), max_iter=5, least_mass=1.0
    )
    assert abs(signed.centres[0, 0] - 0.8) < 0.5 * abs(clipped.centres[0, 0] - 0.8)


def test_the_best_iterate_is_kept():
    P, w = points(500)
    w -= 0.9  # many negative
    found = weighted_kmeans(P, w, 5, np.random.default_rng(0), n_starts=6, n_swaps=8)
    columns = np.ascontiguousarray(P.T)
    again = lloyd_loops.sweep()(columns, w, found.centres, np.empty((5, 2)), np.empty(5))
    assert again == pytest.approx(found.cost)


def test_the_same_public_randomness_gives_the_same_centres():
    P, w = points()
    one = weighted_kmeans(P, w, 5, np.random.default_rng(3))
    two = weighted_kmeans(P, w, 5, np.random.default_rng(3))
    assert np.array_equal(one.centres, two.centres)


def test_fewer_points_than_centres():
    found = weighted_kmeans(np.array([[0.1, 0.2]]), np.array([3.0]), 4, np.random.default_rng(0))
    assert found.centres.shape == (4, 2)
    chosen = plus_plus(np.array([[0.1], [0.2]]), np.array([1.0]), 3, np.random.default_rng(0))
    assert chosen.shape == (3, 2)


def test_bad_counts():
    with pytest.raises(InvalidInput):
        weighted_kmeans(np.zeros((2, 1)), np.ones(2), 0, np.random.default_rng(0))


@pytest.mark.parametrize("how", ["published", "ward", "kmeans"])
def test_merging_negative_sizes_stays_inside(how):
    centres = np.array([[-0.9], [-0.8], [0.8], [0.9]])
    weights = merge_weights(np.array([-5.0, 4.0, 3.0, -2.0]), 1.0, how)
    merged, labels = merge(centres, weights, 2, how, np.random.default_rng(0))
    assert merged.min() >= -0.9
    assert merged.max() <= 0.9
    assert labels[0] == labels[1] != labels[2] == labels[3]


@pytest.mark.parametrize("how", ["published", "ward", "kmeans"])
def test_merging_measures_in_stretched_columns(how):
    # Two rows of two: which pairs belong together depends on the unit of each column.
    centres, sizes = np.array([[-0.5, -0.4], [-0.5, 0.4], [0.5, -0.4], [0.5, 0.4]]), np.ones(4)
    for column_scale, pairs in (((1.0, 1.0), [0, 0, 1, 1]), ((0.1, 1.0), [0, 1, 0, 1])):
        rng = np.random.default_rng(0)
        merged, labels = merge(centres, sizes, 2, how, rng, np.array(column_scale))
        assert (labels == labels[0]).tolist() == (np.array(pairs) == 0).tolist()
        assert np.allclose(merged[labels[0]], centres[np.array(pairs) == 0].mean(axis=0))


def test_a_column_of_no_width_is_left_in_the_middle():
    points = np.array([[-0.5, 0.3], [0.5, -0.3]])
    rng = np.random.default_rng(0)
    found = weighted_kmeans(points, np.ones(2), 2, rng, column_scale=np.array([1.0, 0.0]))
    assert np.allclose(np.sort(found.centres[:, 0]), [-0.5, 0.5])
    assert not found.centres[:, 1].any()


def test_packing_spreads_points():
    for k, d in [(2, 1), (5, 2), (30, 2), (9, 3)]:
        found = pack(k, d, np.random.default_rng(0))
        gaps = np.linalg.norm(found[:, None] - found[None], axis=2) + np.eye(k) * 9
        random = np.random.default_rng(0).uniform(-1, 1, (k, d))
        loose = np.linalg.norm(random[:, None] - random[None], axis=2) + np.eye(k) * 9
        assert gaps.min() > loose.min()
        assert np.abs(found).max() <= 1
