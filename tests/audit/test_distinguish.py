"""The black-box test itself: its bounds, what it sees, and how it runs."""

import logging
import warnings

import numpy as np
import pytest
from controls import FloatNoise
from scipy import stats

from shoal import DPLloyd
from shoal.audit import audit
from shoal.audit.columns import lowest_bit
from shoal.audit.events import lower_bound, upper_bound
from shoal.errors import InvalidBudget, InvalidInput

SURE = 1 - 1e-6
D, D_PRIME = np.zeros((9, 1)), np.zeros((10, 1))


def is_larger(table):
    return len(table) == 10


def looks_alike(table, seed=None):
    return np.random.default_rng(seed).normal(size=3)


def raises(table, seed=None):
    if is_larger(table):
        raise ValueError("too many")


def warns(table, seed=None):
    if is_larger(table):
        warnings.warn("too many", stacklevel=2)


def logs(table, seed=None):
    logging.getLogger("some.library").info("%d rows", len(table))


def prints(table, seed=None):
    if is_larger(table):
        print("too many")


def prints_noise(table, seed=None):
    print(("mean" if is_larger(table) else "average"), np.random.default_rng(seed).normal())


def grows(table, seed=None):
    return list(np.random.default_rng(seed).normal(size=len(table)))


def lacks_a_key(table, seed=None):
    return {"a": 1} if is_larger(table) else {"a": 1, "b": None}


def permutes(table, seed=None):
    rng = np.random.default_rng(seed)
    return rng.permutation([5.0, 5.0, 9.0 if is_larger(table) else 8.0]) + rng.normal(0, 0.01, 3)


def adds_up(table, seed=None):
    # No coordinate tells; their sum does.
    noise = np.random.default_rng(seed).normal(size=4)
    noise[3] = -noise[:3].sum() + (0.5 if is_larger(table) else 0.0)
    return {"a": noise[0], "b": noise[1], "c": noise[2], "d": noise[3]}


def sometimes_nan(table, seed=None):
    return np.nan if is_larger(table) and seed % 2 else np.random.default_rng(seed).normal()


class Hides:
    def __init__(self, n):
        self._secret = {"deep": (n,)}


def hides(table, seed=None):
    return Hides(len(table))


LEAKS = [
    raises,
    warns,
    logs,
    prints,
    prints_noise,
    grows,
    lacks_a_key,
    permutes,
    adds_up,
    sometimes_nan,
    hides,
]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", LEAKS, ids=lambda f: f.__name__)
def test_everything_that_can_be_seen_is_looked_at(mechanism):
    found = audit(mechanism, D, D_PRIME, epsilon=1.0, runs=600, confidence=SURE, seed=0)
    assert not found.passed, found


def test_what_looks_alike_passes():
    found = audit(looks_alike, D, D_PRIME, epsilon=0.1, confidence=SURE, seed=0)
    assert found.passed
    assert "not detected: lower bound 0.00, claimed 0.1" in str(found)


def test_what_never_varies_passes():
    found = audit(is_larger, D, D, epsilon=1.0, runs=20)
    assert (found.passed, found.epsilon_lower, found.event) == (True, 0.0, "no run differed from another")


def test_more_statistics_can_be_given():
    mechanism, statistics = looks_alike, {"mean": np.mean}
    found = audit(mechanism, D, D_PRIME, epsilon=1.0, runs=100, seed=0, statistics=statistics)
    assert found.passed


@pytest.mark.slow
def test_a_tight_claim_is_nearly_reached():
    # Randomised response is the mechanism that this test measures best.
    def tells(table, seed):
        truth = np.random.default_rng(seed).random() < np.e / (1 + np.e)
        return is_larger(table) == truth

    found = audit(tells, D, D_PRIME, epsilon=1.0, runs=8000, seed=3)
    assert 0.85 < found.epsilon_lower <= 1.0


def test_delta_is_allowed_for():
    def seldom(table, seed):
        return is_larger(table) and np.random.default_rng(seed).random() < 0.1

    assert not audit(seldom, D, D_PRIME, epsilon=1.0, confidence=SURE, seed=0).passed
    assert audit(seldom, D, D_PRIME, epsilon=1.0, delta=0.15, confidence=SURE, seed=0).passed


@pytest.mark.slow
def test_a_wrong_alarm_is_as_rare_as_promised():
    # Laplace noise of exactly epsilon: the bound exceeds it in at most one audit of ten at 0.9.
    def count(table, seed):
        return len(table) + np.random.default_rng(seed).laplace()

    def alarmed(seed):
        return not audit(count, D, D_PRIME, epsilon=1.0, runs=400, confidence=0.9, seed=seed).passed

    alarms = sum(alarmed(seed) for seed in range(30))
    assert stats.binom.sf(alarms - 1, 30, 0.1) > 1e-4


@pytest.mark.parametrize("hits", [0, 1, 37, 99, 100])
def test_bounds_are_clopper_and_pearsons(hits):
    interval = stats.binomtest(hits, 100).proportion_ci(0.95, "exact")
    counts = np.array([hits])
    assert lower_bound(counts, 100, 0.025)[0] == pytest.approx(interval.low)
    assert upper_bound(counts, 100, 0.025)[0] == pytest.approx(interval.high)


def test_lowest_bits():
    values = np.array([0.75, -6.0, 2.0**-30, 5e-324, np.nan, np.inf, 0.1])
    assert lowest_bit(values)[:4].tolist() == [-2, 1, -30, -1074]
    assert np.isnan(lowest_bit(values)[4:6]).all()
    assert lowest_bit(values)[6] == -55


@pytest.mark.slow
def test_spawned_processes_give_the_same_as_one():
    mechanism = FloatNoise(1.0, honest=False)
    one, two = (
        audit(mechanism, D[:0], D[:1], epsilon=1.0, runs=1000, seed=4, processes=n, confidence=SURE)
        for n in (1, 2)
    )
    assert one.hits == two.hits
    assert one.event == two.event
    assert not two.passed


def test_an_estimator_can_be_given_as_it_is():
    found = audit(DPLloyd(1, epsilon=1.0, bounds=(-1, 1), max_iter=1), D, D_PRIME, 1.0, runs=20, seed=0)
    assert found.passed
    assert found.seconds_per_run > 0


def test_progress_counts_every_run():
    done = []
    audit(looks_alike, D, D_PRIME, epsilon=1.0, runs=120, progress=done.append)
    assert sum(done) == 240


def test_bad_input_is_refused():
    with pytest.raises(InvalidInput, match="at least 20"):
        audit(looks_alike, D, D_PRIME, 1.0, runs=3)
    with pytest.raises(InvalidBudget, match="epsilon"):
        audit(looks_alike, D, D_PRIME, -1.0)
    with pytest.raises(InvalidInput, match="confidence"):
        audit(looks_alike, D, D_PRIME, 1.0, confidence=95)
    with pytest.raises(InvalidInput, match="function of a table"):
        audit("lloyd", D, D_PRIME, 1.0)
    with pytest.raises(InvalidInput, match="processes"):
        audit(looks_alike, D, D_PRIME, 1.0, processes=0)
    with pytest.raises(InvalidInput, match="cannot be sent"):
        audit(lambda table: 0, D, D_PRIME, 1.0, processes=2)


def test_a_mechanism_that_always_fails_is_not_passed():
    with pytest.raises(InvalidInput, match=r"nothing was audited: TypeError"):
        audit(lambda table: len(table, unexpected=1), D, D_PRIME, 1.0, runs=20)
