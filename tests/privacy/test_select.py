"""Private choice: one row raises each loss by a whole number up to the width, and the charge covers it."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.accounting import budget_of
from shoal.domain import STEPS, Bounds, Chunk, Domain, Unit, to_steps
from shoal.errors import BudgetExceeded, InvalidBudget, InvalidInput
from shoal.queries import ClusterCost, RehearsalCurator, ReplayCurator, kernels
from shoal.queries.kernels import reference
from shoal.queries.laws.choices import PermuteAndFlip, choice_loss, design_choice
from shoal.queries.losses.cluster_cost import WIDTH

SETS = np.array([[[-0.5, 0.0], [0.5, 0.0]], [[0.0, 0.0], [1.0, 1.0]], [[-1.0, 1.0], [0.3, 0.2]]])
value = st.sampled_from([-1.0, 1.0, 0.0, 1 / STEPS, np.nan, np.inf, 7.0]) | st.floats(-1.2, 1.2)


@st.composite
def cases(draw):
    m, k, d = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    flat = draw(
        st.lists(st.sampled_from([-1.0, 0.0, 1.0]) | st.floats(-1, 1), min_size=m * k * d, max_size=m * k * d)
    )
    rows = np.array(draw(st.lists(st.lists(value, min_size=d, max_size=d), min_size=1, max_size=20)))
    weights = draw(st.none() | st.lists(st.floats(-1, 3), min_size=len(rows), max_size=len(rows)))
    bounds = Bounds((-1.0,) * d, tuple(1.0 + 0.5 * j for j in range(d)))
    scaling = draw(st.sampled_from(["bounds", "none"]))
    domain = Domain(bounds, scaling, max_weight=None if weights is None else 2.0)
    return domain, rows, None if weights is None else np.array(weights), np.array(flat).reshape(m, k, d)


def losses_of(domain, rows, weights, sets, squared=True):
    return ClusterCost(sets, squared).exact_losses(domain.encode(list(rows.T), weights), domain.metric)


@given(cases(), st.booleans())
def test_one_row_raises_each_loss_by_a_whole_number_up_to_the_width(case, squared):
    domain, rows, weights, sets = case
    with_row = losses_of(domain, rows, weights, sets, squared)
    without = losses_of(domain, rows[1:], None if weights is None else weights[1:], sets, squared)
    change = with_row - without
    assert change.dtype == np.int64
    assert (change >= 0).all()
    assert (change <= WIDTH).all()
    # The row's own loss, whatever the others are.
    alone = losses_of(domain, rows[:1], None if weights is None else weights[:1], sets, squared)
    assert np.array_equal(change, alone)


@given(cases(), st.booleans())
def test_the_compiled_loop_and_numpy_agree_to_the_bit(case, squared):
    domain, rows, weights, sets = case
    cost, chunk = ClusterCost(sets, squared), domain.encode(list(rows.T), weights)
    metric = np.ones(sets.shape[2]) if domain.metric is None else domain.metric
    scale, steps = WIDTH / cost.reach(domain.metric), to_steps(cost.sets)
    plain = reference.set_costs(chunk.columns, steps, metric, scale, WIDTH, chunk.weights, squared)
    fast = kernels.set_costs(chunk.columns, steps, domain.metric, scale, WIDTH, chunk.weights, squared)
    assert np.array_equal(plain, fast)


def test_many_rows_agree_however_they_are_cut():
    rng = np.random.default_rng(3)
    columns = (np.rint(rng.uniform(-1, 1, (5, 3000)) * STEPS) / STEPS).astype(np.float32)
    weights = rng.integers(0, STEPS + 1, 3000).astype(np.int32)
    cost = ClusterCost(rng.uniform(-1, 1, (6, 4, 5)))
    for metric, shares in itertools.product((None, rng.uniform(0.1, 1, 5)), (None, weights)):
        whole = cost.exact_losses(Chunk(columns, shares), metric)
        cut = sum(
            cost.exact_losses(
                Chunk(columns[:, i : i + 700], None if shares is None else shares[i : i + 700]), metric
            )
            for i in range(0, 3000, 700)
        )
        assert np.array_equal(whole, cut)
        every = np.ones(5) if metric is None else metric
        scale = WIDTH / cost.reach(metric)
        again = reference.set_costs(columns, to_steps(cost.sets), every, scale, WIDTH, shares)
        assert np.array_equal(whole, again)


def test_the_loss_is_the_cost_and_the_bound_is_reached():
    cost = ClusterCost(SETS)
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=2)), dtype=np.float32)
    per_row = np.array([cost.exact_losses(Chunk(np.ascontiguousarray(c[:, None])), None) for c in corners])
    exact = [[min(((c - w) ** 2).sum() for w in s) for s in cost.sets] for c in corners]
    assert per_row == pytest.approx(np.array(exact) * WIDTH / cost.reach(None), abs=1)
    apart = ClusterCost(SETS, squared=False)
    of_rows = np.array([apart.exact_losses(Chunk(np.ascontiguousarray(c[:, None])), None) for c in corners])
    assert of_rows == pytest.approx(np.sqrt(exact) * WIDTH / apart.reach(None), abs=1)
    one = ClusterCost(np.ones((1, 1, 2)))
    assert one.reach(None) == 8
    assert one.exact_losses(Chunk(-np.ones((2, 1), dtype=np.float32)), None)[0] == WIDTH


@pytest.mark.parametrize("unit", [Unit(), Unit("replace"), Unit(max_rows=3), Unit("replace", max_rows=3)])
@pytest.mark.parametrize("n", [1, 10])
def test_charges(unit, n):
    pure = design_choice(n, Fraction(1, 3), "epsilon", unit)
    e = pure.rate * WIDTH * unit.rows_apart
    assert pure.name == "permute and flip"
    assert Fraction(1, 3) * Fraction(9999, 10000) < pure.amount == n * e <= Fraction(1, 3)
    rho = design_choice(n, Fraction(1, 3), "rho", unit)
    e = rho.rate * WIDTH * unit.rows_apart
    assert rho.name == "exponential mechanism"
    assert Fraction(1, 3) * Fraction(9999, 10000) < rho.amount == n * e**2 / 8 <= Fraction(1, 3)
    # Permute and flip has no bounded range to claim.
    assert choice_loss(PermuteAndFlip, rho.rate, n, unit, "rho") == 4 * rho.amount


def exponential_law(losses, rate):
    weights = np.exp(-float(rate) * (losses - losses.min()))
    return weights / weights.sum()


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_gate_chooses_by_the_law_it_charges_for(behind_gate, neighbours):
    X, unit = np.array([[0.9, 0.8], [-0.4, 0.1], [0.5, -0.1]]), Unit(neighbours)
    losses = losses_of(Domain(Bounds.parse((-1, 1), 2)), X, None, SETS)
    curator = behind_gate(X, epsilon=3000.0, delta=1e-6, unit=unit)
    draws = [int(curator.select(ClusterCost(SETS), share=Fraction(1, 2000))[0]) for _ in range(1500)]
    law = curator.law(curator.transcript.entries[0].question)
    expected = exponential_law(losses, law.rate)
    assert np.bincount(draws, minlength=3) / 1500 == pytest.approx(expected, abs=0.06)
    # Every neighbour of this table on a few points: the loss of the drawn rate is within the charge.
    points = np.array(list(itertools.product((-1.0, -0.2, 0.5, 1.0), repeat=2)))
    near = (
        [np.vstack([X, p]) for p in points]
        if neighbours == "add-remove"
        else [np.vstack([X[:2], p]) for p in points]
    )
    for table in near:
        other = exponential_law(losses_of(curator.domain, table, None, SETS), law.rate)
        ratios = np.log(other) - np.log(expected)
        assert np.ptp(ratios) ** 2 / 8 <= float(law.amount) * (1 + 1e-9)


def test_charged_before_rows_are_read_and_recorded(behind_gate, blobs, monkeypatch):
    curator = behind_gate(blobs)
    chosen = curator.select(ClusterCost(SETS), share=Fraction(1, 2), n=2)
    assert len(set(chosen.tolist())) == 2
    entry = curator.transcript.entries[0]
    replay = ReplayCurator(curator.transcript)
    assert replay.price(entry.question) == entry.charge
    assert np.array_equal(replay.select(ClusterCost(SETS), share=Fraction(1, 2), n=2), chosen)
    replay.finish()

    def interrupted(*_):
        assert curator._allowance.spent > Fraction(3, 5)
        raise KeyboardInterrupt

    monkeypatch.setattr(curator._source, "reduce", interrupted)
    with pytest.raises(KeyboardInterrupt):
        curator.select(ClusterCost(SETS), share=Fraction(1, 4))
    with pytest.raises(BudgetExceeded):
        curator.select(ClusterCost(SETS), share=Fraction(1, 2))


def test_bad_questions_cost_nothing(behind_gate, blobs):
    curator = behind_gate(blobs)
    with pytest.raises(InvalidInput, match="4 of 3 candidates"):
        curator.select(ClusterCost(SETS), share=Fraction(1), n=4)
    with pytest.raises(InvalidInput, match="columns"):
        curator.select(ClusterCost(np.zeros((2, 2, 3))), share=Fraction(1))
    with pytest.raises(InvalidBudget, match="Fraction"):
        curator.select(ClusterCost(SETS), share=0.5)
    for wrong in (np.zeros((2, 2)), np.zeros((0, 1, 2)), np.full((1, 1, 2), np.nan)):
        with pytest.raises(InvalidInput, match="sets of shape"):
            ClusterCost(wrong)
    assert curator._allowance.spent == 0


def test_a_rehearsal_takes_the_first():
    curator = RehearsalCurator(Domain(Bounds.parse((-1, 1), 2)), budget_of(1.0), rows=100.0)
    assert curator.select(ClusterCost(SETS), share=Fraction(1), n=2).tolist() == [0, 1]
    assert curator.transcript.charges[0].amount <= 1
