"""Private k-medians: five routes, each charged for all it asks, and far rows pull less than at means."""

from fractions import Fraction

import numpy as np
import pytest

from shoal import DPLloyd, GridKMeans, KMedians, verify
from shoal.algorithms.medians import Medians
from shoal.audit.canaries import canary
from shoal.audit.subject import Subject
from shoal.domain import Unit
from shoal.errors import InvalidInput, MostlyNoise
from shoal.queries import ClusterCost, Direction, SwapCost, Voronoi
from shoal.queries.questions import Histogram, Select, Sums

ROUTES = ["synopsis", "coreset", "swap", "gradient", "projected"]
WANT = np.array([[-0.6, -1.2], [0.6, -1.2], [-0.6, 1.2], [0.6, 1.2]])


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("scaling", ["bounds", "none"])
def test_it_finds_the_groups(route, delta, scaling, blobs):
    how = {"delta": delta, "scaling": scaling, "route": route, "bounds": ([-1, -2], [1, 2])}
    model = KMedians(4, epsilon=50.0, random_state=3, **how).fit(blobs * [1, 2])
    found = model.cluster_centers_[np.lexsort(np.sign(model.cluster_centers_).T)]
    assert found == pytest.approx(WANT, abs=0.15)
    assert model.cluster_sizes_.sum() == pytest.approx(2000, rel=0.05)
    assert np.isinf(model.release_.centre_sd).all()


@pytest.mark.parametrize("route", ["synopsis", "gradient"])
def test_far_rows_pull_less_than_at_means(route):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(-0.3, 0.05, (4000, 2)), np.full((1000, 2), 0.9)])
    model = KMedians(1, epsilon=5.0, bounds=(-1, 1), route=route, random_state=0, max_iter=15).fit(X)
    assert model.cluster_centers_[0] == pytest.approx([-0.3, -0.3], abs=0.08)
    mean = (GridKMeans if route == "synopsis" else DPLloyd)(1, epsilon=5.0, bounds=(-1, 1), random_state=0)
    assert mean.fit(X).cluster_centers_[0, 0] > -0.15
    assert model.score(X) > -np.linalg.norm(X - mean.cluster_centers_, axis=1).sum()
    assert model.score(X) == pytest.approx(
        -np.linalg.norm(X - model.cluster_centers_, axis=1).sum(), rel=1e-4
    )


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES)
def test_a_release_verifies_and_costs_the_budget(route, tmp_path, blobs):
    model = KMedians(3, epsilon=2.0, bounds=(-1, 1), route=route).fit(blobs)
    transcript = model.release_.transcript
    kinds = [type(entry.question) for entry in transcript if entry.charge is not None]
    want = {
        "synopsis": [Histogram] * 2,
        "swap": [Histogram] * 2 + [Select] * 4 + [Histogram],
        "gradient": [Histogram] * 2 + [Sums] * 4,
    }
    if route == "projected":
        swaps = [entry.question.loss.loss for entry in transcript if isinstance(entry.question, Select)]
        assert len(swaps) == 4
        assert not any(loss.squared for loss in swaps)
        assert kinds[-5:] == [Sums] * 5
        want[route] = kinds
    assert route == "coreset" or kinds == want[route]
    # A tree may end early and leave its last levels unspent.
    least = 1.5 if route == "projected" else 1.999
    assert least < sum(charge.amount for charge in transcript.charges) <= 2
    model.release_.save(tmp_path / "release")
    assert verify(tmp_path / "release").ok


def test_the_start_is_chosen_by_the_number_of_columns(behind_gate):
    few, many = behind_gate(np.zeros((10, 5))), behind_gate(np.zeros((10, 6)))
    for curator in (few, many):
        Medians(2, n_starts=2).run(curator)
        descent = [e for e in curator.transcript if isinstance(getattr(e.question, "of", None), Direction)]
        assert len(descent) == 4
        assert float(sum(e.charge.amount for e in descent)) == pytest.approx(0.6, rel=1e-4)
        assert sum(charge.amount for charge in curator.transcript.charges) <= 1
    assert len(few.transcript.charges) == 2 + 4  # a count and a grid
    assert len(many.transcript.charges) > 2 + 4  # a ball after another


def test_swaps_are_scored_by_distance(behind_gate, blobs):
    curator = behind_gate(blobs)
    Medians(2, route="swap").run(curator)
    losses = [e.question.loss for e in curator.transcript if isinstance(e.question, Select)]
    assert [type(loss) for loss in losses] == [SwapCost, SwapCost, ClusterCost]
    assert not any(loss.squared for loss in losses)


def test_noise_of_a_pull_does_not_grow_with_the_columns_under_zcdp(behind_gate):
    # A row pulls with one, however many columns it has.
    few, many = (
        behind_gate(np.zeros((1, d)), delta=1e-6).noise_sd(
            of=Direction(np.zeros((1, d)), 0.1), share=Fraction(1)
        )
        for d in (2, 200)
    )
    assert few == pytest.approx(many, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    "table",
    [np.zeros((0, 1)), np.array([[0.3]]), np.full((50, 1), 0.3), np.zeros((0, 3)), np.full((5, 2), np.nan)],
    ids=["no rows", "one row", "all equal", "no rows of three", "all missing"],
)
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_odd_tables_are_like_any_other(route, table, k):
    model = KMedians(k, epsilon=1.0, bounds=(-1, 1), route=route).fit(table)
    assert model.cluster_centers_.shape == (k, table.shape[1])
    assert np.abs(model.cluster_centers_).max() <= 1


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("n_rows", [None, 2000])
def test_too_little_budget_is_warned_of_from_public_values(route, n_rows, blobs):
    for seed in range(3):
        with pytest.warns(MostlyNoise, match="mostly noise"):
            KMedians(4, epsilon=0.001, bounds=(-1, 1), n_rows=n_rows, route=route, random_state=seed).fit(
                blobs
            )


@pytest.mark.slow
@pytest.mark.parametrize("route", ["swap", "gradient", "projected"])
def test_no_question_loses_more_than_it_is_charged(route):
    # The registry's own audits take the route for few columns.
    subject = Subject("medians", 1.0, {"route": route}, seed=0)
    pairs = [canary(name) for name in ("alone", "corner", "empty", "outlier", "person", "two ends")]
    found = subject.exact(pairs, 0.0)
    assert found.passed, found.detail
    model = subject.estimator(canary("corner"), 0.0, n_clusters=2)
    for found in (subject.law(model, fits=40), subject.replay(model), subject.contents(model)):
        assert found.passed, found.detail


@pytest.mark.parametrize("unit", [Unit(), Unit("replace"), Unit(max_rows=3)])
def test_directions_cost_what_they_are_charged_under_any_unit(unit, behind_gate):
    curator = behind_gate(np.zeros((5, 2)), delta=1e-6, unit=unit)
    cells = Voronoi(np.zeros((1, 2)))
    curator.sums(cells, of=Direction(np.zeros((1, 2)), 0.1), share=Fraction(1))
    [charge] = curator.transcript.charges
    sigma = curator.law(curator.transcript.entries[0].question).blocks[0].parameter
    # One row: length 1 of the pull and 1 of the count. Replaced in its cell: 2 of the pull alone.
    squares = {"add-remove": 2, "replace": 4}[unit.neighbours] * unit.max_rows**2
    assert charge.amount >= Fraction(squares * 2**40) / (2 * sigma**2)
    assert charge.amount <= curator.budget.amount


@pytest.mark.parametrize("how", [{"max_iter": 0}, {"n_starts": 0}, {"route": "scenic"}, {"resolution": 0}])
def test_bad_parameters(how, blobs):
    with pytest.raises(InvalidInput, match=next(iter(how))):
        KMedians(2, epsilon=1.0, bounds=(-1, 1), **how).fit(blobs)
