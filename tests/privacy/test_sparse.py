"""Sparse histograms: exactly the law of noise on every cell and then a threshold, charged like it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shoal.accounting import budget_of
from shoal.domain import Bounds, Domain, Unit
from shoal.errors import BudgetExceeded, InvalidInput
from shoal.mechanisms import SeededEntropy, discrete_laplace, laplace_log_pmf
from shoal.queries import Grid, RehearsalCurator, ReplayCurator, Transcript
from shoal.queries.gate.codec import digest, from_plain, plain
from shoal.queries.questions.occupied import Occupied, draw, exact_cells, merge, threshold_for

ONE = Fraction(1)
COUNTS = np.array([0, 2, 0, 0, 5, 1, 0, 0, 0])
RATE, TAU = Fraction(1, 2), 2
RUNS = 3000


def occupied(counts):
    cells = np.flatnonzero(counts)
    return Occupied(cells, counts[cells])


@pytest.fixture(scope="module")
def both():
    """Values of every cell, 0 where it is dropped: by filtering, and by noise on all cells."""
    entropy = SeededEntropy(5)
    filtered = np.zeros((RUNS, len(COUNTS)), dtype=np.int64)
    for row in filtered:
        cells, counts = draw(occupied(COUNTS), len(COUNTS), RATE, TAU, entropy)
        assert (np.diff(cells) > 0).all()
        row[cells] = counts
    noisy = COUNTS + discrete_laplace(SeededEntropy(6), RATE, RUNS * len(COUNTS)).reshape(RUNS, -1)
    return filtered, np.where(noisy >= TAU, noisy, 0)


def homogeneous(one, other):
    values, place = np.unique(np.concatenate([one, other]), return_inverse=True)
    table = np.stack([np.bincount(half, minlength=len(values)) for half in np.split(place, 2)])
    rare = table.sum(axis=0) < 20
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    return stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue


@pytest.mark.slow
@pytest.mark.parametrize("cell", [0, 1, 4, 5, 8])
def test_every_cell_has_the_law_of_noise_and_threshold(both, cell):
    filtered, direct = both
    assert homogeneous(filtered[:, cell], direct[:, cell]) > 1e-5
    # And against the law itself, without a sample between.
    values = np.arange(TAU, TAU + 40)
    kept = np.exp(laplace_log_pmf(values - COUNTS[cell], RATE))
    expected = RUNS * np.append(kept, 1 - kept.sum())
    found = np.append([(filtered[:, cell] == v).sum() for v in values], (filtered[:, cell] == 0).sum())
    common = expected > 10
    rest = expected[~common].sum()
    chi2 = ((found - expected)[common] ** 2 / expected[common]).sum()
    chi2 += (found[~common].sum() - rest) ** 2 / max(rest, 1e-9) if rest > 5 else 0.0
    assert stats.chi2.sf(chi2, common.sum()) > 1e-5


def test_kept_cells_come_in_an_order_that_tells_nothing():
    # Sorted by key, so that nobody can see which were occupied.
    for seed in range(20):
        cells, _ = draw(occupied(COUNTS), len(COUNTS), RATE, TAU, SeededEntropy(seed))
        assert (np.diff(cells) > 0).all()


@pytest.mark.slow
def test_cells_are_kept_independently(both):
    filtered, direct = both
    assert homogeneous((filtered > 0).sum(axis=1), (direct > 0).sum(axis=1)) > 1e-5
    # All sets of empty cells, and an empty cell beside an occupied one.
    for places in ([0, 2, 3], [0, 1], [7, 8]):
        code = 2 ** np.arange(len(places))
        one, other = ((table[:, places] > 0) @ code for table in both)
        assert homogeneous(one, other) > 1e-5


def log_law(counts, rate, tau, top):
    """Log probability of every set of released cells and values up to `top`, by the filter's own steps."""
    q = math.exp(-float(rate))
    n, p = len(counts), q**tau / (1 + q)
    found = {}
    for released in itertools.product([None, *range(tau, top + 1)], repeat=n):
        total = 0.0
        # Sum over the sets that the binomial and the uniform choice can pick.
        for lifted in itertools.product([False, True], repeat=n):
            b = sum(lifted)
            chance = stats.binom.pmf(b, n, p) / math.comb(n, b)
            for count, value, up in zip(counts, released, lifted, strict=True):
                if count > 0:
                    noise = np.exp(laplace_log_pmf(np.arange(tau, 400) - count, rate))
                    chance *= 1 - noise.sum() if value is None else noise[value - tau]
                elif up:
                    chance *= 0.0 if value is None else (1 - q) * q ** (value - tau)
                else:
                    chance *= 1.0 if value is None else 0.0
            total += chance
        found[released] = math.log(total)
    return found


@pytest.mark.parametrize(("rate", "tau"), [(Fraction(1, 2), 1), (Fraction(1), 2)])
def test_the_loss_by_enumeration_is_what_is_charged(rate, tau):
    # A row comes to an empty cell, which becomes occupied, or to an occupied one.
    worst = 0.0
    for before, after in [((0, 0), (1, 0)), ((2, 0), (2, 1)), ((1, 1), (2, 1)), ((3, 0), (4, 0))]:
        a, b = (log_law(counts, rate, tau, tau + 5) for counts in (before, after))
        worst = max(worst, *(abs(a[o] - b[o]) for o in a))
    assert worst <= float(rate) * (1 + 1e-9)
    assert worst >= float(rate) * (1 - 1e-6)


@given(
    st.lists(st.lists(st.floats(-1.2, 1.2) | st.just(np.nan), min_size=2, max_size=2), max_size=20),
    st.lists(st.floats(-1.2, 1.2), min_size=2, max_size=2),
    st.sampled_from([(3, 5), (2**20, 2**20), (2**31, 2**31)]),
    st.integers(1, 7),
)
def test_one_row_changes_one_count_by_one(rows, extra, shape, cut):
    domain, grid = Domain(Bounds.parse((-1, 1), 2)), Grid(shape)

    def count(table):
        chunks = [domain.encode(list(t.T)) for t in (table[:cut], table[cut:])]
        parts = merge(*(exact_cells(grid, chunk) for chunk in chunks))
        return dict(zip(parts.cells.tolist(), parts.counts.tolist(), strict=True))

    table = np.array(rows, dtype=np.float64).reshape(-1, 2)
    before, after = count(table), count(np.vstack([np.array([extra]), table]))
    changes = [after.get(c, 0) - before.get(c, 0) for c in after | before]
    assert sorted(changes)[-1] == 1
    assert sum(map(abs, changes)) == 1
    assert all(0 <= cell < grid.n_cells for cell in after)


def test_keys_are_the_labels_of_a_small_grid():
    columns = np.random.default_rng(0).integers(-(2**20), 2**20 + 1, (3, 500)).astype(np.float32) / 2**20
    grid = Grid((4, 3, 5))
    assert np.array_equal(grid.keys(columns), grid.assign(columns, None))
    sides = [[(2 * i + 1) / m - 1 for i in range(m)] for m in grid.shape]
    assert np.array_equal(grid.centres(), list(itertools.product(*sides)))
    assert np.array_equal(np.ravel_multi_index(tuple(grid.places(np.arange(60))), grid.shape), np.arange(60))


@pytest.mark.parametrize("unit", [Unit(), Unit("replace"), Unit("replace", max_rows=3)])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_charges_of_every_unit(behind_gate, blobs, unit, delta):
    curator = behind_gate(blobs, unit=unit, delta=delta)
    answer = curator.sparse_histogram(Grid((2**20, 2**20)), share=Fraction(1, 2), spurious=20)
    entry = curator.transcript.entries[0]
    rate = curator.law(entry.question).blocks[0].parameter
    pure = rate * unit.rows_apart
    assert entry.charge.amount == (pure if not delta else pure**2 / 2) <= curator.budget.amount / 2
    assert curator.price(entry.question) == entry.charge
    assert float(entry.charge.amount) == pytest.approx(float(curator.budget.amount) / 2, rel=1e-4)
    assert answer.threshold == threshold_for(2**40, rate, 20)


def test_it_is_charged_first_and_streams(behind_gate, blobs, monkeypatch):
    curator = behind_gate(blobs, chunk_rows=100, threads=3)
    whole = behind_gate(blobs)
    grid = Grid((100, 100))
    one, other = (c.sparse_histogram(grid, share=ONE, spurious=9) for c in (curator, whole))
    assert digest(one) == digest(other)
    monkeypatch.setattr(curator._source, "reduce", lambda *_: pytest.fail("read without budget"))
    with pytest.raises(BudgetExceeded):
        curator.sparse_histogram(grid, share=ONE, spurious=9)


def test_replay_and_plain_text(behind_gate, blobs):
    curator = behind_gate(blobs, epsilon=5)
    answer = curator.sparse_histogram(Grid((30, 30)), share=ONE, spurious=9)
    stored = {}
    transcript = from_plain(Transcript, plain(curator.transcript, stored), stored)
    assert digest(transcript) == digest(curator.transcript)
    replay = ReplayCurator(transcript)
    again = replay.sparse_histogram(Grid((30, 30)), share=ONE, spurious=9)
    replay.finish()
    assert digest(again) == digest(answer)
    assert answer.counts.min() >= answer.threshold
    assert len(answer.cells) > 50


def test_rehearsal_makes_up_few_cells():
    curator = RehearsalCurator(Domain(Bounds.parse((0, 1), 2)), budget_of(1.0), 5000.0)
    answer = curator.sparse_histogram(Grid((2**31, 2**31)), share=ONE, spurious=5)
    assert len(answer.cells) == 1000
    assert answer.counts.sum() == pytest.approx(5000)
    assert answer.cells[-1] < 2**62


def test_refusals_spend_nothing(behind_gate, blobs):
    big = Grid((2**31, 2**31))
    curator, weighted = behind_gate(blobs), behind_gate(blobs, max_weight=2.0)
    with pytest.raises(InvalidInput, match="weights"):
        weighted.sparse_histogram(big, share=ONE, spurious=5)
    with pytest.raises(InvalidInput, match="sparse histogram"):
        curator.histogram(big, share=ONE)
    with pytest.raises(InvalidInput, match="columns"):
        curator.sparse_histogram(Grid((2, 2, 2)), share=ONE, spurious=5)
    for spurious in (0.0, -1.0, math.nan, math.inf, 1e9):
        with pytest.raises(InvalidInput, match="spurious"):
            curator.sparse_histogram(big, share=ONE, spurious=spurious)
    assert not curator.transcript.entries
    assert curator._allowance.spent == weighted._allowance.spent == 0
    with pytest.raises(InvalidInput, match=r"2\*\*62"):
        Grid((2**31, 2**31, 2))
    with pytest.raises(InvalidInput, match="keys"):
        big.assign(np.zeros((2, 1), dtype=np.float32), None)
