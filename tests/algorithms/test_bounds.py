"""Bounds estimated inside the budget."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

from shoal import Accountant, DPLloyd, GridKMeans, PrivateBounds
from shoal.algorithms import estimate_bounds
from shoal.algorithms.shared.bounds import alike, magnitude, tighten
from shoal.algorithms.shared.prepare import bounded, portion_left
from shoal.domain import Bounds, Domain
from shoal.domain.magnitude import BUCKETS, bucket, edges
from shoal.errors import InvalidInput, MostlyNoise
from shoal.queries.partitions.cells import Marginal


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-(2.0**63), max_value=2.0**63))
def test_a_cell_lies_in_its_bucket(value):
    low, high = edges(int(bucket(np.array([value]))[0]))
    assert low <= value <= high or abs(value) < 2.0**-64


@given(
    st.lists(st.floats() | st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0**-70, 1e300]), min_size=1, max_size=20)
)
def test_the_grid_over_a_column_of_unknown_bounds_counts_its_buckets(values):
    column = np.array(values)
    chunk = Domain(Bounds.not_known(1)).encode([column])
    assert np.array_equal(Marginal(0, BUCKETS).assign(chunk.columns, None), bucket(column))


def table(n=20_000):
    rng = np.random.default_rng(1)
    return np.column_stack([rng.normal(-74, 0.05, n), rng.uniform(0, 1000, n), rng.normal(0, 3, n)])


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_bounds_hold_the_rows_and_not_much_more(behind_gate, delta):
    X = table()
    curator = behind_gate(X, epsilon=4, delta=delta, bounds=None)
    bounds = estimate_bounds(curator, Fraction(1, 2))
    for j in range(3):
        inside = np.mean((X[:, j] >= bounds.lower[j]) & (X[:, j] <= bounds.upper[j]))
        width = np.quantile(X[:, j], 0.999) - np.quantile(X[:, j], 0.001)
        assert inside > 0.95
        assert bounds.upper[j] - bounds.lower[j] < 8 * width
    spent = sum(charge.amount for charge in curator.transcript.charges)
    assert spent <= curator.budget.amount / 2


def test_only_unknown_columns_are_paid_for(behind_gate):
    bounds = Bounds((-75.0, -np.inf, -9.0), (-73.0, np.inf, 9.0))
    curator = behind_gate(table(), bounds=bounds)
    found = estimate_bounds(curator, Fraction(1, 2))
    assert (found.lower[0], found.upper[2]) == (-75.0, 9.0)
    asked = [entry.question.partition.column for entry in curator.transcript]
    assert set(asked) == {1}


@pytest.mark.slow
def test_without_bounds_a_fit_pays_a_tenth_for_them():
    model = DPLloyd(2, epsilon=5.0, random_state=3).fit(table())
    charges = model.certificate_.charges
    for_bounds = [c for c in charges if "intervals of column" in c.question]
    assert float(sum(c.amount for c in for_bounds)) == pytest.approx(0.5, rel=1e-4)
    assert float(sum(c.amount for c in charges)) == pytest.approx(5.0, rel=1e-4)
    assert "10%" in model.certificate_.bounds["source"]
    assert -75 < model.cluster_centers_[0, 0] < -73
    assert len(model.predict(table())) == 20_000


@pytest.mark.filterwarnings("ignore:the noise of a centre")
def test_where_there_is_nothing_to_see_a_warning_says_that_bounds_are_a_guess():
    with pytest.warns(MostlyNoise, match="a guess"):
        model = DPLloyd(2, epsilon=0.01).fit(np.full((3, 1), 1e6))
    low, high = model.certificate_.bounds["columns"]["x0"]
    assert low <= high


def test_a_pipeline_shares_one_budget():
    budget = Accountant(epsilon=2.0)
    steps = make_pipeline(
        PrivateBounds(epsilon=1.0, budget=budget), DPLloyd(2, epsilon=1.0, bounds=(-1, 1), budget=budget)
    ).fit(table())
    assert float(budget.spent) == pytest.approx(2.0, rel=1e-4)
    centres = steps[0].inverse_transform(steps[1].cluster_centers_)
    assert (np.abs(centres[:, 0] + 74) < 2).all()


def test_the_globe_is_a_preset():
    frame = pd.DataFrame({"pickup_lat": [1.0], "pickup_lon": [2.0]})
    bounds = Bounds.parse("latlon", 2, tuple(frame.columns))
    assert bounds.upper == (90.0, 180.0)
    assert bounds.source == "preset latlon"


def test_what_cannot_work_is_refused_before_bounds_are_paid_for():
    budget = Accountant(epsilon=1)
    with pytest.raises(InvalidInput, match="cells"):
        GridKMeans(2, epsilon=1.0, resolution=2**11, budget=budget).fit(np.zeros((9, 6)))
    assert budget.spent == 0


def test_no_side_of_a_column_is_cut_off():
    # Even rows from -0.9 to 0.85: one power of two of one sign stands out alone, and half would be cut off.
    counts = np.zeros(BUCKETS)
    counts[bucket(np.array([-0.6, -0.3, -0.2, 0.2, 0.3, 0.6]))] = (
        5300.0,
        2800.0,
        1300.0,
        1500.0,
        2900.0,
        4000.0,
    )
    seen = magnitude(counts, 566.0)
    assert (seen.low, seen.high, seen.sure) == (-1.0, 1.0, True)


def test_small_shares_of_rows_near_the_others_are_kept():
    counts = np.zeros(BUCKETS)
    counts[bucket(np.array([3.0, 6.0, -3.0, 2.0**40]))] = 10_000.0, 300.0, 250.0, 20.0
    assert magnitude(counts, 10.0)[:2] == (-8.0, 8.0)


def test_what_noise_could_hide_is_kept_and_what_it_could_not_is_not():
    # Ages: of the other sign, or nearer to 0, 0.1 % of the rows could lie, or not.
    counts = np.zeros(BUCKETS)
    counts[bucket(np.array([20.0, 40.0, 70.0]))] = 3000.0, 5000.0, 2000.0
    assert magnitude(counts, 5.0)[:2] == (-128.0, 128.0)
    assert magnitude(counts, 0.01)[:2] == (16.0, 128.0)


def test_cells_that_are_0_say_nothing_of_magnitude():
    counts = np.zeros(BUCKETS)
    counts[bucket(np.array([0.0, 70.0, 200.0]))] = 9000.0, 500.0, 400.0
    seen = magnitude(counts, 10.0)
    assert (seen.low, seen.high, seen.rows) == (-256.0, 256.0, 9900.0)


def even_rows(rng, n_rows, power=0, sd=400.0):
    """Noisy counts of even rows of both signs, up to 2^power: noise elsewhere is as high as any of them."""
    counts = rng.laplace(0, sd / np.sqrt(2), BUCKETS)
    for i in range(1, 8):
        counts[bucket(2.0 ** (power - i) * np.array([1.2, -1.2]))] += n_rows / 2 ** (i + 1)
    return counts


def test_where_no_bucket_stands_out_neighbours_of_both_signs_do():
    rng = np.random.default_rng(0)
    for n, sure in ((8000.0, True), (3000.0, False)):
        seen = [magnitude(even_rows(rng, n), 400.0) for _ in range(60)]
        assert np.mean([one.sure == sure for one in seen]) > 0.8
        assert np.mean([one.low <= -1.0 and one.high >= 1.0 for one in seen]) > 0.85


@pytest.mark.parametrize("power", [-9, 0, 7, 20])
def test_a_guess_is_seldom_far_above_the_rows(power):
    # A centre that noise puts 2^24 times too far away costs 2^48 times as much; so little is sure here that
    # an even prior would guess a power at random.
    rng = np.random.default_rng(power + 10)
    high = [magnitude(even_rows(rng, 1500.0, power), 400.0).high for _ in range(200)]
    assert np.mean(np.array(high) > 2.0 ** (max(power, 0) + 24)) < 0.03


def test_empty_columns_seldom_show_a_magnitude_and_never_an_unusual_one():
    rng = np.random.default_rng(1)
    seen = [magnitude(rng.laplace(0, 1 / np.sqrt(2), BUCKETS), 1.0) for _ in range(2000)]
    sure = [one for one in seen if one.sure]
    assert len(sure) <= 20  # one in 200 is claimed
    assert all(max(one.high, -one.low) < 2.0**45 for one in sure)


def test_a_magnitude_that_noise_hides_is_worth_more_of_the_budget(behind_gate):
    rng = np.random.default_rng(0)
    for n, least, most in ((50_000, 0.1, 0.1), (2_000, 0.12, 0.3), (10, 0.3, 0.3)):
        curator = behind_gate(rng.uniform(-1000, 1000, (n, 4)), epsilon=0.3, bounds=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MostlyNoise)
            inner = bounded(curator)
        spent = float(sum(charge.amount for charge in curator.transcript.charges)) / 0.3
        assert least - 1e-3 < spent < most + 1e-9
        assert float(portion_left(curator.transcript)) == pytest.approx(1 - spent, abs=1e-3)
        # What follows has what is left, and no more.
        inner.histogram(Marginal(0, 2), share=Fraction(1))
        assert float(sum(charge.amount for charge in curator.transcript.charges)) == pytest.approx(0.3)
        if n > 1000:
            assert np.abs(inner.domain.bounds.lower).max() < 1e4


def test_where_quantiles_would_be_noise_magnitudes_are_counted_again(behind_gate):
    for n, again in ((2_000, True), (200_000, False)):
        curator = behind_gate(np.tile([[-3.0, 0.5], [2.0, 6.0]], (n, 1)), epsilon=0.2, bounds=None)
        found = estimate_bounds(curator, Fraction(1))
        asked = [entry.question.partition.cells for entry in curator.transcript]
        assert asked == ([BUCKETS] * 4 if again else [BUCKETS] * 2 + [256] * 4)
        assert (np.array(found.lower) <= [-3, 0.5]).all()
        assert (np.array(found.upper) >= [2, 6]).all()
        spent = sum(charge.amount for charge in curator.transcript.charges)
        assert float(spent) == pytest.approx(0.2, rel=1e-4)


def test_ranges_of_similar_width_become_alike_and_others_do_not():
    assert alike([(-1.0, 1.0), (0.0, 8.0), (-16.0, 16.0), (0.0, 1e4)]) == [
        (-1.0, 1.0),
        (-12.0, 20.0),
        (-16.0, 16.0),
        (0.0, 1e4),
    ]
    assert alike([(0.0, 0.0)]) == [(0.0, 0.0)]


def test_where_noise_hides_rows_bounds_are_tightened_with_a_margin():
    counts = np.zeros(32)
    counts[12:20] = 1000.0
    sure = tighten(counts, 0.01, 0.0, 32.0)
    unsure = tighten(counts, 20.0, 0.0, 32.0)
    assert sure == (12.0, 20.0)
    assert unsure == (7.0, 25.0)
