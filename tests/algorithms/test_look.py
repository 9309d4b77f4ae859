"""The look of KMeans: what each path spends, counts that agree, odd tables, wide boxes, small groups."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shoal.algorithms.kmeans.believed import Believed, _away, _unexplained, believed, standing_out
from shoal.algorithms.kmeans.centre_round import RoundResult
from shoal.algorithms.kmeans.few_columns import find
from shoal.algorithms.kmeans.kmeans import KMeans
from shoal.algorithms.kmeans.look import look, look_again
from shoal.algorithms.kmeans.parts import joined, moved_to
from shoal.algorithms.kmeans.tree_record import Cells, least_squares
from shoal.algorithms.shared.clustering import RowCount, count_rows
from shoal.domain import Unit
from shoal.postprocess.mixture import NoisyBoxes
from shoal.queries import ReplayCurator
from shoal.queries.questions import Parts

SHARE = Fraction(1, 2)


def squares(n=4000, seed=3, spread=0.05):
    """Four groups that are not in the middle, one of them far from the others."""
    rng = np.random.default_rng(seed)
    centres = np.array([[-0.7, -0.6], [-0.3, -0.6], [-0.5, -0.1], [0.7, 0.8]])
    return np.clip(centres[np.arange(n) % 4] + rng.normal(0, spread, (n, 2)), -1, 1)


def cost(X, centres):
    return float(((X[:, np.newaxis, :] - centres) ** 2).sum(axis=2).min(axis=1).mean())


def spent_on_paths(transcript):
    """Add up, from the questions alone, what share was spent on every path of the tree."""
    asked = [entry.question for entry in transcript if isinstance(entry.question, Parts)]
    assert len({question.axes for question in asked}) == 1
    ends = [question.nodes.ends(len(question.axes)) for question in asked]
    borders = np.unique(np.concatenate([q.nodes.starts for q in asked] + ends))
    spent = np.zeros(len(borders), dtype=np.int64)
    for question, behind in zip(asked, ends, strict=True):
        for start, end, share in zip(question.nodes.starts, behind, question.shares, strict=True):
            spent[(borders >= start) & (borders < end)] += share
    return spent[:-1] / 2**40  # the last border is behind the last leaf


TABLES = {
    "groups": squares(),
    "no rows": np.zeros((0, 2)),
    "one row": np.full((1, 2), 0.3),
    "all rows equal": np.full((3000, 2), 0.3),
    "a corner of a wide box": 0.01 * squares() + 0.5,
}


@pytest.mark.parametrize("again", [False, True], ids=["once", "counted again"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("table", TABLES)
def test_no_path_spends_more_than_the_share_and_every_path_nearly_all(behind_gate, table, delta, again):
    X = TABLES[table]
    curator = behind_gate(X, epsilon=0.5, delta=delta)
    rows, _ = count_rows(curator, adaptive=True)
    seen = look(curator, rows, 4, SHARE)
    share = SHARE
    if again:
        look_again(curator, seen, Fraction(1, 4), rows.estimate, 4)
        share += Fraction(1, 4)
    spent = spent_on_paths(curator.transcript)
    assert spent.max() <= share
    # Every share is rounded down by less than 1/128; nothing else is left, in empty space either.
    assert spent.min() > float(share) * (1 - 1 / 128) * (1 - 1e-6)


def test_cells_counted_again_are_parted_where_a_group_may_be_in_one(behind_gate):
    X = squares(spread=0.003)  # nearly all rows of a group are in one cell
    curator = behind_gate(X, epsilon=0.5, n_rows=len(X))
    once = look(curator, RowCount(4000.0, 4000.0), 4, SHARE)
    twice = look_again(curator, once, SHARE, 4000.0, 4)
    again = curator.count_sd(share=SHARE) ** 2
    full = once.boxes.counts > 0.25 * 4000 / 4
    assert 3 < full.sum() < len(full) / 2
    for lower, upper, before, parted in zip(
        once.boxes.lower, once.boxes.upper, once.boxes.variances, full, strict=True
    ):
        parts = ((twice.boxes.lower >= lower) & (twice.boxes.upper <= upper)).all(axis=1)
        left = twice.boxes.variances[parts]
        assert (len(left) > 1) if parted else (len(left) == 1)
        # The count before takes off the noise of a part what it tells of the sum of all parts.
        told = again - again**2 / (len(left) * again + before)
        assert left == pytest.approx(np.full(len(left), told), rel=0.03)  # shares are rounded


def random_tree(rng):
    """Boxes in the order of their counting: some are divided in turn, at last all that are not."""
    parents, leaves, n = [np.zeros(1, np.int64)], [0], 1
    for turn in range(rng.integers(1, 5)):
        divided = rng.permutation(leaves)[: rng.integers(1, len(leaves) + 1)] if turn else [0]
        of = np.repeat(divided, rng.integers(2, 5))
        parents.append(of)
        leaves = [i for i in leaves if i not in set(divided)] + list(range(n, n + len(of)))
        n += len(of)
    of = np.repeat(leaves, rng.integers(1, 4, len(leaves)))
    return [*parents, of]


@pytest.mark.parametrize("seed", range(20))
def test_least_squares_is_what_a_dense_solver_finds(seed):
    rng = np.random.default_rng(seed)
    parents = random_tree(rng)
    counts = [rng.normal(50, 40, len(p)) for p in parents]
    variances = [rng.uniform(0.1, 30, len(p)) for p in parents]
    all_parents = np.concatenate(parents)
    n, last = len(all_parents), len(parents[-1])
    above = np.zeros((n, last))  # which cells each box is made of
    for cell in range(last):
        i = n - last + cell
        above[i, cell] = 1
        while i:
            i = all_parents[i]
            above[i, cell] = 1
    weights = 1 / np.concatenate(variances)
    information = above.T @ (weights[:, np.newaxis] * above)
    dense = np.linalg.solve(information, above.T @ (weights * np.concatenate(counts)))
    given = [part.copy() for part in counts]
    found, total, variance = least_squares(counts, variances, parents)
    assert found == pytest.approx(dense)
    assert total == pytest.approx(dense.sum())
    assert variance == pytest.approx(np.linalg.inv(information).sum())
    assert all(np.array_equal(a, b) for a, b in zip(given, counts, strict=True))


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_cells_fill_the_domain_and_count_the_rows_inside(behind_gate, d):
    rng = np.random.default_rng(d)
    X = np.clip(rng.choice([-0.7, 0.4], (3000, 1)) + rng.normal(0, 0.06, (3000, d)), -1, 0.999)
    curator = behind_gate(X, epsilon=2000.0, n_rows=3000)  # noise far below one row
    seen = look(curator, RowCount(3000.0, 3000.0), 2, Fraction(1))
    boxes = seen.boxes
    assert len(boxes.counts) > 64
    assert boxes.widths.prod(axis=1).sum() == pytest.approx(2.0**d)
    points = np.vstack([rng.uniform(-1, 1, (300, d)), X[:300]])
    inside = ((points[:, np.newaxis] >= boxes.lower) & (points[:, np.newaxis] < boxes.upper)).all(axis=2)
    assert (inside.sum(axis=1) == 1).all()
    full = np.argsort(-boxes.counts)[:50]
    held = ((X[:, np.newaxis] >= boxes.lower[full]) & (X[:, np.newaxis] < boxes.upper[full])).all(axis=2)
    assert boxes.counts[full] == pytest.approx(held.sum(axis=0), abs=3)  # rows on a side are rounded
    assert boxes.counts.sum() == pytest.approx(3000, abs=1)
    assert seen.total_sd == 0.0


def test_the_column_with_the_wider_unit_is_halved_first(behind_gate):
    X = squares() * [1.0, 50.0]
    curator = behind_gate(X, bounds=([-1, -50], [1, 50]), scaling="none", n_rows=4000)
    seen = look(curator, RowCount(4000.0, 4000.0), 4, Fraction(1))
    full = seen.boxes.widths[np.argsort(-seen.boxes.counts)[:20]]
    assert (full.max(axis=1) / full.min(axis=1)).max() < 4  # nearly square in the units of distance


WAYS = {
    "rows not public": {},
    "public rows": {"n_rows": "as many"},
    "replace": {"n_rows": "as many", "unit": Unit("replace")},
    "people": {"unit": Unit(max_rows=3)},
    "delta": {"delta": 1e-6},
    "own units": {"scaling": "none"},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("table", ["groups", "no rows", "one row", "all rows equal"])
def test_a_look_of_any_table_is_sound_and_replays(behind_gate, table, way):
    X, options = TABLES[table], dict(WAYS[way])
    if "n_rows" in options:
        options["n_rows"] = len(X)
    curator = behind_gate(X, epsilon=1.0, **options)
    rows, rest = count_rows(curator, adaptive=True)

    def run(curator, k):
        found = find(curator, k, rows, rest)
        assert np.isfinite(found.result.centres).all()
        assert np.abs(found.result.centres).max() <= 1
        assert (found.result.centre_variance > 0).all()
        assert (found.believed.weights > 0).all()
        assert (found.believed.noise >= 0).all()
        return found.result

    first = run(curator, 3)
    replayed = ReplayCurator(curator.transcript)
    count_rows(replayed, adaptive=True)
    again = run(replayed, 3)
    assert np.array_equal(first.centres, again.centres)
    assert np.array_equal(first.centre_variance, again.centre_variance)
    spent = sum((charge.amount for charge in curator.transcript.charges), Fraction(0))
    assert curator.budget.amount * Fraction(98, 100) < spent <= curator.budget.amount
    if table == "all rows equal" and way == "public rows":
        nearest = np.abs(first.centres - 0.3).max(axis=1).min()
        assert nearest < 0.02


def test_the_error_of_a_size_is_that_of_a_group_with_rows(behind_gate):
    # Seven of eight centres have next to no rows, and so no noise: theirs is not the error of the eighth.
    errors = []
    for seed in range(6):
        curator = behind_gate(np.full((3000, 2), 0.3), seed=seed)
        rows, rest = count_rows(curator, adaptive=True)
        result = find(curator, 8, rows, rest).result
        errors.append((result.counts.max() - 3000) / result.count_sd)
        assert np.isinf(result.centre_variance[result.counts == 0]).all()
    assert np.sqrt(np.mean(np.square(errors))) < 2


def test_counts_that_are_nothing_but_noise_still_give_places(behind_gate):
    curator = behind_gate(np.zeros((0, 2)))
    seen = look(curator, RowCount(1.0, 1.0, 5.0), 3, Fraction(1))
    empty = replace(seen, boxes=replace(seen.boxes, counts=-np.ones(len(seen.levels))), total=-9.0)
    for at_least in (1, 3):
        shown = believed(empty, 3, np.random.default_rng(0), at_least)
        assert len(shown.weights) > 0
        assert (shown.weights > 0).all()
        assert np.isfinite(shown.kmeans(3, np.random.default_rng(0)).centres).all()


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("too_wide", [(-150, 50), (-100, 100)], ids=["rows aside", "rows in the middle"])
def test_a_box_a_hundred_times_too_wide_costs_little(behind_gate, delta, too_wide):
    X = squares()
    tight, wide = [], []
    for seed in range(3):
        for bounds, costs in (((-1, 1), tight), (too_wide, wide)):
            curator = behind_gate(X, epsilon=1.0, delta=delta, bounds=bounds, seed=seed)
            low, high = bounds
            centres = KMeans(4).run(curator).centres * (high - low) / 2 + (high + low) / 2
            costs.append(cost(X, centres))
    assert np.mean(wide) <= 1.3 * np.mean(tight)


def test_rows_around_the_middle_of_many_columns_are_found(behind_gate):
    # Halves that met in the middle would part all rows into 2^5 boxes, at every level.
    rng = np.random.default_rng(3)
    places = rng.uniform(-0.8, 0.8, (3, 5))
    X = places[np.arange(6000) % 3] + rng.normal(0, 0.05, (6000, 5))
    for seed in range(2):
        curator = behind_gate(X, epsilon=0.25, bounds=(-100, 100), seed=seed)
        assert cost(X, 100 * KMeans(3).run(curator).centres) < 1.5 * cost(X, places)


def test_cells_of_a_look_fill_the_domain_and_end_at_its_bounds(behind_gate):
    curator = behind_gate(squares(), epsilon=1.0)
    boxes = look(curator, RowCount(4000.0, 4000.0, 0.0), 4, Fraction(1)).boxes
    assert boxes.lower.min() == -1.0
    assert boxes.upper.max() == 1.0
    assert boxes.widths.min() > 0
    assert boxes.widths.prod(axis=1).sum() == pytest.approx(4.0)


@pytest.mark.slow
def test_a_small_far_group_is_found(behind_gate):
    rng = np.random.default_rng(0)
    places = np.array([[-0.6, -0.5], [0.5, -0.6], [0.0, 0.1], [0.75, 0.8]])
    sizes = [1310, 1310, 1320, 60]  # the last has 1.5 % of the rows
    X = np.clip(np.repeat(places, sizes, axis=0) + rng.normal(0, 0.04, (4000, 2)), -1, 1)
    for seed in range(5):
        centres = KMeans(4).run(behind_gate(X, epsilon=1.0, seed=seed)).centres
        assert np.abs(centres - places[3]).max(axis=1).min() < 0.08
        assert cost(X, centres) < 1.2 * cost(X, places)


@pytest.mark.slow
def test_noise_far_from_all_rows_is_seldom_sure(behind_gate):
    # _SURE_ALARMS = 0.001 of a box over a whole look: of 20 looks in one of 5,000 such there are two.
    X = 0.002 * squares(2000) + 0.5
    alarms = 0
    for seed in range(20):
        curator = behind_gate(X, epsilon=0.3, seed=seed, n_rows=len(X))
        seen = look(curator, RowCount(2000.0, 2000.0), 4, Fraction(1))
        _, alone = standing_out(seen)
        far = (np.abs(np.clip(0.5, seen.boxes.lower, seen.boxes.upper) - 0.5) > 0.01).any(axis=1)
        alarms += int((alone & far).sum())
    assert alarms <= 1


def test_what_is_believed_has_no_negative_weight_and_all_rows(behind_gate):
    X = squares()
    curator = behind_gate(X, epsilon=0.5, n_rows=len(X))
    seen = look(curator, RowCount(4000.0, 4000.0), 4, Fraction(1))
    assert (seen.boxes.counts < 0).any()
    shown = believed(seen, 4, np.random.default_rng(0), at_least=4)
    assert (shown.weights > 0).all()
    assert shown.weights.sum() == pytest.approx(4000, rel=0.15)
    assert (shown.spreads(shown.kmeans(4, np.random.default_rng(0)).centres) > 0).all()


def test_a_group_that_was_asked_for_needs_less_evidence_than_one_that_is_counted():
    # A grid of 32 x 32 boxes with noise of scale 1: three groups of 400 rows, and 18 rows at a corner of four
    # boxes that lie far from them.
    rng = np.random.default_rng(4)
    edges = np.linspace(-1, 1, 33)[:-1]
    lower = np.stack([grid.ravel() for grid in np.meshgrid(edges, edges, indexing="ij")], axis=1)
    counts = rng.laplace(0, 1, len(lower))
    for i, j in ((5, 6), (9, 4), (7, 11)):
        counts[32 * i + j] += 400
    for i, j in ((27, 26), (27, 27), (28, 26), (28, 27)):
        counts[32 * i + j] = 4.5
    boxes = NoisyBoxes(lower, lower + 1 / 16, counts, np.full(len(counts), 2.0))
    seen = Cells(boxes, np.full(len(counts), 10), 1218.0, 0.0)
    held = {}
    for at_least in (1, 4):
        shown = believed(seen, 4, np.random.default_rng(0), at_least)
        held[at_least] = shown.weights[(shown.places > 0.4).all(axis=1)].sum()
    assert held[1] < 1
    assert held[4] > 10


@pytest.mark.parametrize(("at", "found"), [(20, True), (31, True), (12_000, False)])
def test_a_few_rows_far_from_all_others_need_more_evidence_than_near_ones(at, found):
    # Three groups on a grid of 32 x 32 boxes with noise of scale 1, and a box with 13 rows near them, or as
    # far as noise may be high in bounds that are far too wide: k-means would give it one of their centres.
    edges = np.linspace(-1, 1, 33)[:-1]
    lower = np.stack([grid.ravel() for grid in np.meshgrid(edges, edges, indexing="ij")], axis=1)
    counts = np.random.default_rng(4).laplace(0, 1, len(lower))
    counts[[32 * 5 + 6, 32 * 9 + 4, 32 * 7 + 11]] += 400
    counts = np.append(counts, 13.0)
    lower = np.vstack([lower, [-1 + at / 16, 1.0]])
    boxes = NoisyBoxes(lower, lower + 1 / 16, counts, np.full(len(counts), 2.0))
    seen = Cells(boxes, np.full(len(counts), 10), 1213.0, 0.0)
    shown = believed(seen, 4, np.random.default_rng(0), 4)
    centres = shown.kmeans(4, np.random.default_rng(0)).centres
    assert bool((centres[:, 1] > 0.9).any()) == found


@pytest.mark.parametrize("rows", [0, 9])
def test_far_boxes_hold_rows_that_stand_out_together(rows):
    # Three groups on a grid of 32 x 32 boxes with noise of scale 1, and rows in a third of 90 wider boxes to
    # the right of it, with three times the noise: none of these stands out.
    edges = np.linspace(-1, 0, 33)[:-1]
    lower = np.stack([grid.ravel() for grid in np.meshgrid(edges, edges, indexing="ij")], axis=1)
    wide = np.stack(
        [grid.ravel() for grid in np.meshgrid(2 + np.arange(9.0), np.arange(10.0), indexing="ij")], axis=1
    )
    for seed in range(5):
        rng = np.random.default_rng(seed)
        counts, far = rng.laplace(0, 1, len(lower)), rng.laplace(0, 3, len(wide))
        counts[[32 * 5 + 6, 32 * 9 + 4, 32 * 7 + 11]] += 400
        far[::3] += rows
        boxes = NoisyBoxes(
            np.vstack([lower, wide]),
            np.vstack([lower + 1 / 32, wide + 1]),
            np.concatenate([counts, far]),
            np.repeat([2.0, 18.0], [len(counts), len(far)]),
        )
        levels = np.repeat([10, 2], [len(counts), len(far)])
        shown = believed(Cells(boxes, levels, 1200.0 + 30 * rows, 0.0), 4, np.random.default_rng(0), 3)
        held = shown.weights[shown.places[:, 0] > 1].sum()
        assert (held > 15 * rows) if rows else (held < 1)


def test_a_few_rows_just_beyond_the_others_are_not_looked_for_in_the_farthest_boxes():
    # Three groups on a grid of 32 x 32 boxes with noise of scale 1, a few rows in each of 30 boxes beside it
    # with three times the noise, and none in 60 boxes that are a hundred times as wide and far away.
    edges = np.linspace(-1, 0, 33)[:-1]
    lower = np.stack([grid.ravel() for grid in np.meshgrid(edges, edges, indexing="ij")], axis=1)
    beside = np.stack([grid.ravel() for grid in np.meshgrid([1.0, 1.5, 2.0], np.arange(10) / 4 - 2)], axis=-1)
    beside, away = beside.reshape(-1, 2), np.column_stack([np.full(60, 200.0), 100.0 * np.arange(60) - 3000])
    for seed in range(5):
        rng = np.random.default_rng(seed)
        counts = np.concatenate([rng.laplace(0, scale, n) for scale, n in ((1, len(lower)), (3, 90))])
        counts[[32 * 5 + 6, 32 * 9 + 4, 32 * 7 + 11]] += 400
        counts[len(lower) : len(lower) + 30] += 9
        boxes = NoisyBoxes(
            np.vstack([lower, beside, away]),
            np.vstack([lower + 1 / 32, beside + 0.25, away + 100]),
            counts,
            np.repeat([2.0, 18.0], [len(lower), 90]),
        )
        levels = np.repeat([10, 5, 0], [len(lower), 30, 60])
        shown = believed(Cells(boxes, levels, 1470.0, 0.0), 4, np.random.default_rng(0), 3)
        assert shown.weights[(shown.places[:, 0] > 0.5) & (shown.places[:, 0] < 3)].sum() > 50
        assert shown.weights[shown.places[:, 0] > 100].sum() < 1e-3


def test_far_rows_are_believed_where_all_others_are_in_one_box():
    # Rows without spread: every other box is more spreads away than can be counted.
    lower = np.stack([grid.ravel() for grid in np.meshgrid(np.arange(10.0), np.arange(10.0))], axis=1)
    counts = np.random.default_rng(0).laplace(0, 1, 100) + 3
    counts[55] = 5000.0
    boxes = NoisyBoxes(lower, lower + 1, counts, np.full(100, 2.0))
    explained = np.where(np.arange(100) == 55, counts, 0.0)
    away = _away(boxes.middles, explained, explained > 0)
    assert away[55] == 0 < 1 < np.delete(away, 55).min()
    more = _unexplained(
        Cells(boxes, np.full(100, 6), float(counts.sum()), 0.0), explained, np.ones(100), away
    )
    assert np.isfinite(more).all()
    assert more.sum() > 100


def test_rows_of_a_wide_box_beside_a_group_lie_at_its_side():
    # Two groups at the right of a fine grid, and a wide box beside it with a few rows and much noise: in its
    # middle these would be worth a centre, and the groups would share the other one.
    edges = np.linspace(-1, 0, 33)
    lower = np.stack([grid.ravel() for grid in np.meshgrid(edges[:-1], edges[:-1], indexing="ij")], axis=1)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = np.repeat([[-0.02, -0.6], [-0.02, -0.45]], 600, axis=0) + rng.normal(0, 0.02, (1200, 2))
        X[:, 0] = np.minimum(X[:, 0], -1e-6)
        counts = np.histogram2d(*X.T, bins=[edges, edges])[0].ravel() + rng.laplace(0, 1, len(lower))
        boxes = NoisyBoxes(
            np.vstack([lower, [[0.0, -4.0]]]),
            np.vstack([lower + 1 / 32, [[8.0, 4.0]]]),
            np.append(counts, 9.0),
            np.append(np.full(len(counts), 2.0), 162.0),
        )
        levels = np.append(np.full(len(counts), 10), 3)
        shown = believed(Cells(boxes, levels, 1209.0, 5.0), 2, np.random.default_rng(0), 2)
        assert 0 < shown.weights[shown.places[:, 0] > 0].sum() < 40
        assert shown.kmeans(2, np.random.default_rng(0)).centres[:, 0].max() < 0


def test_in_more_columns_a_speck_of_the_domain_is_reached_by_few_passes(behind_gate):
    # Four groups in a hundredth of every one of five columns: 33 halvings away, for 1,500 rows x epsilon.
    rng = np.random.default_rng(8)
    groups = rng.uniform(-0.8, 0.8, (4, 5))
    near = groups[np.arange(6000) % 4] + rng.normal(0, 0.08, (6000, 5))
    X = 0.01 * near + np.array([0.31, -0.57, 0.13, 0.62, -0.44])
    passes, ratios = [], []
    for seed in range(3):
        curator = behind_gate(X, epsilon=0.25, seed=seed)
        centres = KMeans(4).run(curator).centres
        passes.append(sum(isinstance(entry.question, Parts) for entry in curator.transcript))
        ratios.append(cost(X, centres) / cost(X, np.array([X[i::4].mean(axis=0) for i in range(4)])))
    assert max(passes) <= 16
    assert np.median(ratios) < 1.5


@pytest.mark.parametrize(("n", "columns", "levels"), [(150, 4, 2), (6000, 4, 4), (150, 3, 4), (6000, 3, 4)])
def test_in_more_columns_16_parts_are_for_rows_that_can_be_divided_again(behind_gate, n, columns, levels):
    curator = behind_gate(np.random.default_rng(0).uniform(-1, 1, (n, columns)), n_rows=n)
    look(curator, RowCount.of(curator, float(n), 0.0), 3, Fraction(1))
    first = next(entry.question for entry in curator.transcript if isinstance(entry.question, Parts))
    assert first.deeper.tolist() == [levels]


def levels_asked(curator):
    """Return how many levels below its boxes every question of the look counted, in their order."""
    return [
        set(np.asarray(entry.question.deeper).tolist())
        for entry in curator.transcript
        if isinstance(entry.question, Parts)
    ]


@pytest.mark.parametrize(
    ("epsilon", "wanted"), [(0.05, [{4}]), (0.15, [{4}, {0}])], ids=["counted at once", "counted twice"]
)
def test_a_small_table_that_fills_its_box_is_counted_in_wide_cells(behind_gate, epsilon, wanted):
    X = np.random.default_rng(5).uniform(-1, 1, (400, 4))
    for seed in range(5):
        curator = behind_gate(X, epsilon=epsilon, seed=seed)
        seen = look(curator, RowCount.of(curator, 400.0, 0.0), 3, Fraction(1))
        assert seen.coarse
        assert len(seen.levels) == 16
        assert levels_asked(curator) == wanted


def test_a_small_table_in_one_cell_is_divided_further(behind_gate):
    X = np.random.default_rng(5).normal(0.8, 0.02, (400, 4))
    for seed in range(5):
        curator = behind_gate(X, epsilon=0.19, seed=seed)
        seen = look(curator, RowCount.of(curator, 400.0, 0.0), 3, Fraction(1))
        assert not seen.coarse
        assert levels_asked(curator)[0] == {4}
        assert seen.levels.max() > 4


@pytest.mark.parametrize(("reach", "fill"), [(1.0, True), (20.0, False)], ids=["own box", "wide box"])
def test_a_look_that_has_enough_leaves_the_rest_on_every_path(behind_gate, reach, fill):
    X = squares(spread=0.1)
    curator = behind_gate(X, epsilon=0.5, bounds=(-reach, reach))
    rows, _ = count_rows(curator, adaptive=True)
    seen = look(curator, rows, 4, SHARE, Fraction(2, 5))
    assert (seen.unspent > 0) == fill
    if fill:
        assert seen.unspent == pytest.approx(float(SHARE - Fraction(2, 5)), abs=2**-19)
    spent = spent_on_paths(curator.transcript)
    assert spent.max() <= SHARE - seen.unspent
    assert spent.min() > float(SHARE - seen.unspent) * (1 - 1 / 64)


@pytest.mark.parametrize(
    ("clear", "epsilon", "said"),
    [
        (9.0, 1.0, "which are clear: then the rows of groups were followed"),
        (1.5, 0.25, "group: then the rows of groups were followed"),
        (1.0, 0.25, "in the smallest: cells were counted twice"),
        (1.5, 0.4, "then the rows of parts of them were followed"),
        (1.0, 0.4, "then the rows of parts of them were followed"),
        (1.0, 1.0, "then the rows of parts of them were followed, and those of groups"),
    ],
)
def test_groups_are_followed_as_far_as_they_are_clear(behind_gate, monkeypatch, clear, epsilon, said):
    monkeypatch.setattr("shoal.algorithms.kmeans.few_columns.clearness", lambda *_: clear)
    X = squares(6000)
    for seed in range(3):
        curator = behind_gate(X, epsilon=epsilon, seed=seed)
        rows, rest = count_rows(curator, adaptive=True)
        found = find(curator, 4, rows, rest)
        assert found.why.endswith(said)
        assert cost(X, found.result.centres) < 1.1 * cost(X, [X[i::4].mean(axis=0) for i in range(4)])


def test_groups_of_few_rows_are_counted_again(behind_gate, monkeypatch):
    # Clear as they are: their 600 rows x epsilon are taken for few, three fifths of which the look tells.
    monkeypatch.setattr("shoal.algorithms.kmeans.few_columns.clearness", lambda *_: 9.0)
    curator = behind_gate(squares(6000), epsilon=0.4)
    rows, rest = count_rows(curator, adaptive=True)
    monkeypatch.setattr("shoal.algorithms.kmeans.few_columns._FOUND", 400.0)
    assert find(curator, 4, rows, rest).why.endswith("in the smallest: cells were counted twice")


def test_groups_of_parts_state_the_errors_that_the_noise_of_parts_gives_them():
    """Two groups, of three parts whose places and numbers a round tells with known noise."""
    rng, scale = np.random.default_rng(8), np.array([2.0, 1.0])
    parts = np.array([[0.0, 0.0], [0.2, 0.1], [1.6, 0.8]])  # in units of distance, as all but what moved
    rows, sd, place_sd = np.array([300.0, 600.0, 400.0]), 30.0, np.array([0.02, 0.01, 0.03])
    known = Believed(parts, rows, np.full((3, 2), 1e-4), np.full(3, 1e9), np.full(3, 1e9))
    truth = np.array([(300 * parts[0] + 600 * parts[1]) / 900, parts[2]]) / scale
    errors, stated, sizes = [], [], []
    for _ in range(2000):
        moved = RoundResult(
            centres=parts / scale + rng.normal(0, place_sd[:, np.newaxis], (3, 2)),
            counts=rows + rng.normal(0, sd, 3),
            variances=np.repeat(place_sd[:, np.newaxis] ** 2, 2, axis=1),
            centre_variance=np.full((3, 2), 1e-6),
            count_sd=sd,
            typical_sd=1.0,
        )
        places = moved_to(known, parts, moved, scale)
        found = joined(known, parts, moved, places, truth * scale, scale)
        means = places.weights[:2] @ places.places[:2] / places.weights[:2].sum(), places.places[2]
        errors.append(np.array(means) / scale - truth)
        stated.append(found.variances)
        sizes.append((found.counts - [900, 400]) / found.count_sd)
        assert (found.centre_variance < found.variances).all()
    assert np.mean(np.square(errors), axis=0) == pytest.approx(np.mean(stated, axis=0), rel=0.1)
    assert np.mean(np.square(sizes)) == pytest.approx(1.0, rel=0.2)
