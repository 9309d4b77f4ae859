"""The coreset stands for the rows, says what is too much to ask of it, and takes any table."""

import warnings

import numpy as np
import pandas as pd
import pytest

from shoal import Accountant, CoresetKMeans, PrivateCoreset, verify
from shoal.accounting import budget_of
from shoal.algorithms.coreset.sketch import CoresetSketch, schedule, smallest_epsilon
from shoal.algorithms.coreset.small_ball import SmallBall
from shoal.domain import Unit
from shoal.errors import InfeasibleEpsilon, InvalidInput, MostlyNoise
from shoal.estimators.explanation import explain
from shoal.queries.questions import WithoutNearest


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(3)
    centres = np.array([[-0.6, -0.5], [0.1, 0.7], [0.6, -0.3]])
    return centres, centres[rng.integers(0, 3, 20_000)] + rng.normal(0, 0.06, (20_000, 2))


@pytest.mark.parametrize(
    "how",
    [
        {"epsilon": 1.0},
        {"epsilon": 1.0, "refine": False},
        {"epsilon": 1.0, "delta": 1e-6},
        {"epsilon": 2.0, "neighbours": "replace", "n_rows": 20_000},
        {"epsilon": 20.0, "search": "published"},
        {"epsilon": 1.0, "scaling": "none"},
        {"epsilon": 60.0, "search": "published", "refine": False, "shares": "published"},
    ],
    ids=str,
)
def test_it_finds_the_groups(how, groups):
    centres, X = groups
    model = CoresetKMeans(3, bounds=(-1, 1), random_state=0, **how).fit(X)
    order = np.argsort(model.cluster_centers_[:, 0])
    assert model.cluster_centers_[order] == pytest.approx(centres, abs=0.06)
    assert model.cluster_sizes_.sum() == pytest.approx(20_000, rel=0.03)
    assert np.isinf(model.release_.centre_sd).all()


def test_more_columns():
    rng = np.random.default_rng(0)
    centres = rng.uniform(-0.7, 0.7, (2, 4))
    X = centres[rng.integers(0, 2, 20_000)] + rng.normal(0, 0.05, (20_000, 4))
    model = CoresetKMeans(2, epsilon=3.0, bounds=(-1, 1), random_state=0).fit(X)
    assert -model.score(X) / len(X) < 3 * 4 * 0.05**2


def test_the_coreset_answers_for_the_rows(groups):
    _, X = groups
    release = PrivateCoreset(3, epsilon=2.0, bounds=(-1, 1), random_state=0).fit(X).release_
    assert (release.weights > 0).all()
    assert release.weights.sum() == pytest.approx(20_000, rel=0.03)
    rng = np.random.default_rng(1)
    for k in (1, 2, 3):
        centres = rng.uniform(-1, 1, (k, 2))
        exact = ((X[:, None] - centres[None]) ** 2).sum(axis=2).min(axis=1).sum()
        assert release.cost(centres) == pytest.approx(exact, rel=0.1)


def test_the_schedule_is_public_and_ends():
    # Feldman et al. count 8k/3 ln(n/t_min) rounds, which is 369 here; the schedule has 13 more.
    weights = schedule(100_000, 20)
    assert next(i for i in range(400) if 100_000 - sum(weights[:i]) <= 100) == 382
    assert [len(schedule(n, 3)) for n in (0, 1, 2)] == [1, 1, 2]
    assert sum(schedule(12_345, 7)) == 12_345


def test_the_published_share_of_a_round_is_three_eighths_of_k_ln_n(groups):
    _, X = groups
    how = {"epsilon": 60.0, "bounds": (-1, 1), "n_rows": 20_000, "refine": False}
    model = PrivateCoreset(3, shares="published", **how).fit(X)
    spent = [float(charge.amount) for charge in model.release_.parts[0].transcript.charges]
    rounds = len(model.release_.weights)
    assert sum(spent) == pytest.approx(60.0 * rounds * 3 / (8 * 3 * np.log(20_000)), rel=1e-3)
    # Nothing is asked in the end: weights are those of the schedule, and rows that are left are in none.
    assert model.release_.weights.tolist() == schedule(20_000, 3)[:rounds]
    fitted = PrivateCoreset(3, **how).fit(X).release_
    assert fitted.weights.sum() > model.release_.weights.sum()
    assert smallest_epsilon(
        20_000, CoresetSketch(3, refine=False, shares="published"), budget_of(1.0), Unit()
    ) > 3 * smallest_epsilon(20_000, CoresetSketch(3, refine=False), budget_of(1.0), Unit())
    with pytest.raises(InvalidInput, match="refine=False"):
        CoresetSketch(3, shares="published")
    with pytest.raises(InvalidInput, match="shares is 'even'"):
        CoresetSketch(3, shares="even")


def test_rounds_are_the_same_whatever_the_rows(behind_gate, groups):
    _, X = groups
    asked = []
    for rows in (X, np.zeros_like(X)):
        model = CoresetKMeans(3, epsilon=1.0, bounds=(-1, 1), n_rows=20_000).fit(rows)
        taken = [e.question.n for e in model.release_.transcript if isinstance(e.question, WithoutNearest)]
        assert taken == schedule(20_000, 3)[: model.n_iter_]
        asked.append(model.n_iter_)
    assert asked[0] == asked[1]


def test_an_infeasible_epsilon_is_refused_where_rows_are_public(groups):
    _, X = groups
    budget = Accountant(epsilon=1)
    how = {"bounds": (-1, 1), "n_rows": 20_000, "budget": budget}
    for make in (CoresetKMeans, PrivateCoreset):
        with pytest.raises(InfeasibleEpsilon, match=r"at least 0\.0878") as caught:
            make(3, epsilon=0.01, **how).fit(X)
    assert budget.spent == 0
    least = caught.value.least
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CoresetKMeans(3, epsilon=1.01 * least, **how).fit(X)
    with pytest.raises(InfeasibleEpsilon):
        explain(CoresetKMeans(3, epsilon=0.99 * least, **how), ["a", "b"], rows=20_000)


def test_the_smallest_epsilon_grows_with_clusters_and_falls_with_rows():
    def least(n, k, unit=None, delta=0.0):
        return smallest_epsilon(n, CoresetSketch(k), budget_of(1.0, delta), unit or Unit())

    assert least(10**5, 1) < least(10**5, 5) < least(10**5, 10)
    assert least(10**6, 5) == pytest.approx(least(10**5, 5) / 10, rel=0.01)
    assert least(10**5, 5, Unit("replace")) == pytest.approx(2 * least(10**5, 5), rel=0.01)
    assert least(10**5, 5, delta=1e-6) < 3 * least(10**5, 5)


EDGES = {
    "no rows": np.zeros((0, 2)),
    "one row": np.array([[0.3, -0.2]]),
    "equal rows": np.full((3000, 2), 0.25),
    "one column": np.random.default_rng(0).uniform(-1, 1, (500, 1)),
    "outside": np.random.default_rng(0).normal(0, 1e6, (500, 2)),
    "missing": np.where(np.random.default_rng(0).random((500, 2)) < 0.3, np.nan, 0.5),
    "three columns": np.random.default_rng(0).uniform(-1, 1, (500, 3)),
    "twelve columns": np.random.default_rng(0).uniform(-1, 1, (500, 12)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_any_table_gets_k_centres_within_bounds(name, delta):
    X = EDGES[name]
    model = CoresetKMeans(6, epsilon=2.0, delta=delta, bounds=(-1, 1), n_starts=3).fit(X)
    assert model.cluster_centers_.shape == (6, X.shape[1])
    assert (np.abs(model.cluster_centers_) <= 1).all()


def test_equal_rows_are_found():
    model = CoresetKMeans(1, epsilon=1.0, bounds=(-1, 1), random_state=1).fit(EDGES["equal rows"])
    assert model.cluster_centers_ == pytest.approx(np.array([[0.25, 0.25]]), abs=0.01)


@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_more_groups_than_points():
    release = PrivateCoreset(1, epsilon=5.0, bounds=(-1, 1)).fit(np.zeros((4, 2))).release_
    assert release.kmeans(30).centres.shape == (30, 2)


def test_weights_and_people(groups):
    _, X = groups
    heavy = np.where(X[:, 0] > 0.3, 4.0, 0.5)
    model = CoresetKMeans(3, epsilon=3.0, bounds=(-1, 1), max_weight=4.0, random_state=0)
    model.fit(X, sample_weight=heavy)
    assert model.cluster_sizes_.sum() == pytest.approx(heavy.sum(), rel=0.05)
    right = model.cluster_centers_[:, 0].argmax()
    assert model.cluster_sizes_[right] == pytest.approx(4 * (X[:, 0] > 0.3).sum(), rel=0.1)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(who=np.arange(20_000) // 2)
    people = CoresetKMeans(3, epsilon=3.0, bounds={"a": (-1, 1), "b": (-1, 1)}, unit="who", max_rows=2)
    assert people.fit(frame).cluster_sizes_.sum() == pytest.approx(20_000, rel=0.03)


def test_bad_parameters_cost_nothing():
    budget = Accountant(epsilon=9)
    X = np.zeros((10, 3))
    usual = {"n_clusters": 2, "epsilon": 1.0, "bounds": (0, 1), "budget": budget}
    for how, says in (
        ({"search": "published"}, "one or two columns"),
        ({"search": "published", "bounds": None}, "one or two columns"),
        ({"search": "best"}, "search"),
        ({"strength": 0}, "strength"),
        ({"strength": float("nan")}, "strength"),
        ({"n_starts": 0}, "n_starts"),
        ({"n_clusters": 0}, "n_clusters"),
    ):
        with pytest.raises(InvalidInput, match=says):
            CoresetKMeans(**{**usual, **how}).fit(X)
    assert budget.spent == 0


def test_grids_and_parts_are_public():
    assert [SmallBall("windows", 2, n).cells for n in (0, 1e3, 1e5, 1e7)] == [256, 256, 512, 1024]
    assert SmallBall("windows", 3, 1e5).grid is None
    assert SmallBall("windows", 2, 1e5).parts(2)[0] == 256
    for d in range(1, 9):
        parts = SmallBall("windows", d, 1e4).parts(d)
        assert parts[-1] == 1
        assert parts[0] ** d <= 2**16


@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_a_release_verifies(tmp_path, blobs):
    model = CoresetKMeans(2, epsilon=2.0, bounds=(-1, 1)).fit(blobs)
    spent = sum(charge.amount for charge in model.release_.transcript.charges)
    assert 1.99 < spent <= 2
    model.release_.save(tmp_path / "release")
    assert verify(tmp_path / "release").ok


def test_a_noisy_number_of_rows_warns_with_the_smallest_epsilon(blobs):
    with pytest.warns(MostlyNoise) as said:
        CoresetKMeans(5, epsilon=0.05, bounds=(-1, 1)).fit(blobs)
    assert any("epsilon of at least" in str(warning.message) for warning in said)


@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_the_same_however_rows_are_cut_and_ordered(behind_gate, blobs, columns):
    rows = np.column_stack([blobs, blobs[:, 0] * blobs[:, 1]])[:, :columns]
    whole = CoresetKMeans(2, epsilon=1.0, bounds=(-1, 1))._choose(weighted=False)[1]
    found = [
        whole.run(behind_gate(table, chunk_rows=cut, threads=threads)).centres.tobytes()
        for table, cut, threads in ((rows, 65_536, 1), (rows, 300, 2), (rows[::-1].copy(), 77, 1))
    ]
    assert found[0] == found[1] == found[2]
