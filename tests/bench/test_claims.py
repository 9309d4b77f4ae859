"""Verdicts on made-up results, each of which could go either way."""

import math

import pytest

from shoal.bench.claims import (
    Claim,
    Verdict,
    better,
    bounds,
    gain,
    near,
    no_worse,
    order,
    predicts,
    slope,
    steeper,
)
from shoal.bench.results import Results, best_known, relative


@pytest.fixture
def results(made_up):
    """Results with one run a cell: `results({"a": {1.0: 0.5}})`."""

    def make(table, metric="nicv", **facts):
        return Results(
            made_up(method, x=x, **{metric: value}, **facts)
            for method, points in table.items()
            for x, value in points.items()
        )

    return make


def test_better_counts_cells(results):
    mixed = results({"a": {0.1: 1.0, 1.0: 1.0, 2.0: 3.0}, "b": {0.1: 2.0, 1.0: 2.0, 2.0: 2.0}})
    assert better("a", "b")(mixed) == Verdict("holds", "a is lower in 2 of 3 cells (median ratio 0.5)")
    assert better("b", "a")(mixed).outcome == "does not hold"
    assert better("a", "b", share=0.9)(mixed).outcome == "does not hold"
    assert better("a", "b", share=0.9, x=(0, 1))(mixed).outcome == "holds"
    assert better("a", "b", data=("elsewhere",))(mixed).outcome == "not testable here"
    assert better("b", "a", share=0.9, but=("s", 1.5))(mixed).outcome == "holds"


def test_better_compares_means_over_runs(made_up):
    runs = [made_up("a", run=i, nicv=v) for i, v in enumerate((1.0, 9.0))]
    runs += [made_up("b", run=i, nicv=4.0) for i in range(2)]
    assert better("b", "a")(Results(runs)).outcome == "holds"


def several(made_up, **values):
    return Results(
        made_up(method, x=x, run=i, nicv=v, epsilon=x)
        for method, cells in values.items()
        for x, runs in cells.items()
        for i, v in enumerate(runs)
    )


def test_standard_errors_are_told(made_up):
    runs = several(
        made_up, a={1.0: (1.0, 1.1, 0.9), 2.0: (1.0, 3.0)}, b={1.0: (2.0, 2.1, 1.9), 2.0: (2.5, 1.0)}
    )
    why = better("a", "b")(runs).why
    assert why.endswith("by two standard errors lower in 1, higher in 0)")
    assert better("b", "a")(runs).why.endswith("lower in 0, higher in 1)")
    assert "b in 1 of 2 cells, above in 0" in order(("a", "b"))(runs).why


def test_no_worse_needs_to_be_sure(made_up):
    unsure = several(made_up, a={1.0: (1.0, 3.0)}, b={1.0: (1.5, 2.0)})
    worse = several(made_up, a={1.0: (3.0, 3.1), 9.0: (1.0, 1.1)}, b={1.0: (1.5, 1.6), 9.0: (1.5, 1.6)})
    assert no_worse("a", "b")(unsure).outcome == "holds"
    assert no_worse("a", "b")(worse).outcome == "does not hold"
    assert no_worse("a", "b", given=lambda run: run["epsilon"] > 5)(worse).outcome == "holds"
    assert (
        no_worse("a", "b")(several(made_up, a={1.0: (3.0,)}, b={1.0: (1.0,)})).outcome == "not testable here"
    )


def test_near(results):
    pair = results({"a": {1.0: 1.0, 2.0: 3.0, 3.0: 1.3}, "b": {1.0: 1.0, 2.0: 1.0, 3.0: 1.0}})
    assert near("a", "b", 1.5)(pair).outcome == "holds"
    assert near("b", "a", 1.2)(pair).outcome == "does not hold"


def test_bounds(made_up):
    runs = [made_up(x=x, bound=2.0, measured=m) for x, m in ((1.0, 0.1), (2.0, 1.9))]
    assert bounds("a", "bound", "measured")(Results(runs)).outcome == "holds"
    runs.append(made_up(x=3.0, bound=2.0, measured=2.1))
    assert bounds("a", "bound", "measured")(Results(runs)).outcome == "does not hold"


def test_order(results):
    three = results({"a": {1.0: 1.0, 2.0: 5.0}, "b": {1.0: 2.0, 2.0: 6.0}, "c": {1.0: 9.0}})
    assert order(("a", "b"))(three).outcome == "holds"
    assert order(("b", "a"))(three) == Verdict("does not hold", "best first: a 2.24, b 3.46")
    assert order(("a", "b", "c"))(three).why == "best first: a 1, b 2, c 9"  # only where all were run


def test_slope_is_within_tables(made_up):
    # Two tables of very different size, both growing like x squared.
    runs = [
        made_up(series=s, x=x, seconds=scale * x**2)
        for s, scale, xs in (("s", 1, (1.0, 2.0)), ("t", 1e4, (8.0, 9.0)))
        for x in xs
    ]
    assert slope("a", 1.9, 2.1)(Results(runs)).outcome == "holds"
    assert slope("a", 0.9, 1.1)(Results(runs)).why == "exponent 2.00 (claimed 0.9 to 1.1)"
    assert slope("a", 1, 2)(Results(runs[:1])).outcome == "not testable here"


def test_steeper_uses_means_of_cells(made_up):
    runs = [
        made_up(series=f"{d} {k}", k=k, columns=d, excess=float(k**2 * d), run=0)
        for d in (2, 4)
        for k in (2, 8)
    ]
    assert steeper(("a", "k"), ("a", "columns"))(Results(runs)).outcome == "holds"
    assert steeper(("a", "columns"), ("a", "k"))(Results(runs)).outcome == "does not hold"


def test_gain(made_up):
    runs = [made_up("a", "s", cost_gap=1.0), made_up("b", "s", cost_gap=4.0)]
    assert gain("a", "b", {"s": 4.1})(Results(runs)).outcome == "holds"
    assert gain("a", "b", {"s": 8.0})(Results(runs)).outcome == "does not hold"
    assert gain("a", "b", {"s": 4.1, "t": 1.0})(Results(runs)).outcome == "not testable here"


def test_predicts(made_up):
    runs = [made_up(x=x, predicted=1.0, measured=m) for x, m in ((1.0, 1.4), (2.0, 0.7), (3.0, 30.0))]
    assert predicts("a", "predicted", "measured", 2.0)(Results(runs)).outcome == "holds"
    assert predicts("a", "predicted", "measured", 1.2)(Results(runs)).outcome == "does not hold"


def test_a_claim_without_results_or_check_is_not_testable(results):
    some = results({"a": {1.0: 1.0}})
    assert Claim("x", ("a", "b"), better("a", "b")).judge(some) == Verdict(
        "not testable here", "no results of b"
    )
    assert Claim("x", untestable="no data").judge(some) == Verdict("not testable here", "no data")


def test_failed_runs_are_no_results(made_up):
    found = Results([made_up(nicv=1.0), made_up(run=1, error="Boom: broke")])
    assert len(found) == 1
    assert len(found.failed) == 1


def test_the_best_known_is_the_smallest_of_all_starts_and_polishes(made_up):
    records = [
        made_up("k-means", algorithm="non-private", nicv=2.0),
        made_up("a", nicv=0.1, polished=1.5),  # a private NICV is no candidate
        made_up("a", series="t", nicv=3.0),
    ]
    best = best_known(records)
    assert best == {"s / 2 groups": 1.5}
    private = next(r for r in relative([made_up("a", nicv=3.0)], best))
    assert private["ratio"] == 2.0
    assert private["excess"] == 1.5
    assert private["cost_gap"] == 1.0
    assert "ratio" not in next(relative([made_up("a", series="t", nicv=3.0)], best))


def test_summary(made_up):
    found = Results(made_up(run=i, nicv=float(i)) for i in range(11)).summary("nicv")
    assert (found.n, found.mean, found.low, found.high) == (11, 5.0, 1.0, 9.0)
    assert found.se == pytest.approx(math.sqrt(11) / math.sqrt(11))
    assert Results([]).summary("nicv") is None
