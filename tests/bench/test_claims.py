"""Verdicts on made-up results, each of which could go either way."""

import math
from dataclasses import replace

import pytest

from shoal.bench.claims import Claim
from shoal.bench.comparisons import better, gain, near, no_worse, order
from shoal.bench.experiments import EXPERIMENTS
from shoal.bench.report import load
from shoal.bench.results import Results, best_known, relative
from shoal.bench.surely import LEAST_RUNS, Cells, Verdict, decide
from shoal.bench.trends import NO_NOISE, bounds, noise_dominates, predicts, slope, sooner, steeper
from shoal.bench.verdicts import judged


@pytest.fixture
def results(made_up):
    """Results with as many runs a cell as it takes, all alike: `results({"a": {1.0: 0.5}})`."""

    def make(table, metric="nicv", **facts):
        return Results(
            made_up(method, x=x, run=i, **{metric: value}, **facts)
            for method, points in table.items()
            for x, value in points.items()
            for i in range(LEAST_RUNS)
        )

    return make


def often(*records):
    """The same runs as often as it takes to be sure of them."""
    return Results(record | {"run": i} for record in records for i in range(LEAST_RUNS))


def test_better_counts_cells(results):
    mixed = results({"a": {0.1: 1.0, 1.0: 1.0, 2.0: 3.0}, "b": {0.1: 2.0, 1.0: 2.0, 2.0: 2.0}})
    why = "a is lower in 2 of 3 cells (median ratio 0.5); surely: s 2 for, 1 against"
    assert better("a", "b")(mixed) == Verdict("in part", why, (Cells(2, 1, 0),))
    assert better("b", "a")(mixed).outcome == "in part"
    assert better("a", "b", share=0.9, x=(0, 1))(mixed).outcome == "holds"
    assert better("b", "a", x=(0, 1))(mixed).outcome == "does not hold"
    assert better("a", "b", data=("elsewhere",))(mixed).outcome == "not run"
    assert better("b", "a", share=0.9, but=("s", 1.5))(mixed).outcome == "holds"


def test_better_compares_means_over_runs(made_up):
    runs = [made_up("a", run=i, nicv=v) for i, v in enumerate((1.0, 9.0, 5.0))]
    runs += [made_up("b", run=i, nicv=4.0) for i in range(3)]
    # Too close to tell is that, whichever way the means are.
    for one, other in ("ab", "ba"):
        told = better(one, other)(Results(runs))
        assert (told.outcome, told.cells) == ("in part", (Cells(0, 0, 1),))
        assert told.why.endswith("; too close to tell")


def test_a_share_is_of_the_cells_that_are_sure(made_up):
    low, high, wide = (1.0, 1.1, 0.9), (2.0, 2.1, 1.9), (0.1, 3.0, 2.0)
    cells = [(low, high)] * 3 + [(wide, low)] * 2  # three sure, two lost by chance
    runs = several(made_up, a=dict(enumerate(a for a, _ in cells)), b=dict(enumerate(b for _, b in cells)))
    assert better("a", "b", share=0.9)(runs).cells == (Cells(3, 0, 2),)
    assert better("a", "b", share=0.9)(runs).outcome == "holds"
    cells = [(low, high)] * 6 + [(high, low)]
    runs = several(made_up, a=dict(enumerate(a for a, _ in cells)), b=dict(enumerate(b for _, b in cells)))
    assert better("a", "b", share=0.8)(runs).outcome == "holds"
    assert better("a", "b", share=0.9)(runs).outcome == "in part"


def test_a_cell_of_two_runs_decides_nothing(made_up):
    few = several(made_up, a={1.0: (1.0, 1.0), 2.0: (1.0, 1.0, 1.0)}, b={1.0: (2.0,) * 9, 2.0: (2.0,) * 9})
    assert better("a", "b")(few).cells == (Cells(1, 0, 1),)
    fewer = Results(r for r in few if r["x"] == 1.0)
    for check in (better("a", "b"), no_worse("a", "b"), near("a", "b", 3.0), order(("a", "b"))):
        assert check(fewer).outcome == "not run"


@pytest.mark.parametrize(
    ("mostly", "signs", "outcome"),
    [
        (True, (1, 1, 1, 1, 1, -1), "holds"),
        (True, (1, 1, 1, 1, -1), "in part"),  # a fifth is the other way
        (False, (1, 1, 1, 1, -1), "in part"),
        (False, (-1, -1, -1, -1, -1, 1), "does not hold"),
        (True, (-1, -1, -1, -1, -1, 1), "in part"),
        (True, (1, 0, 0, 0, 0), "holds"),
        (True, (1, 0, 0, 0, 0, 0), "in part"),
        (False, (-1, 0, 0, 0, 0, 0), "in part"),
        (False, (-1, None, 0, 0, 0), "does not hold"),
        (True, (None, None), "not run"),
    ],
)
def test_verdicts_are_the_same_both_ways(mostly, signs, outcome):
    other = {"holds": "does not hold", "does not hold": "holds"}.get(outcome, outcome)
    assert decide(mostly, signs, "").outcome == outcome
    assert decide(not mostly, [s and -s for s in signs], "").outcome == other


def several(made_up, **values):
    return Results(
        made_up(method, x=x, run=i, nicv=v, epsilon=x)
        for method, cells in values.items()
        for x, runs in cells.items()
        for i, v in enumerate(runs)
    )


def test_standard_errors_are_told(made_up):
    runs = several(
        made_up,
        a={1.0: (1.0, 1.1, 0.9), 2.0: (1.0, 3.0, 2.0)},
        b={1.0: (2.0, 2.1, 1.9), 2.0: (2.5, 1.0, 2.0)},
    )
    assert better("a", "b")(runs).cells == (Cells(1, 0, 1),)
    assert better("b", "a")(runs).cells == (Cells(0, 1, 1),)
    assert order(("a", "b"))(runs).why == "best first: a 1.41, b 1.91; a before b: holds (1 / 0 / 1)"


def test_no_worse_needs_to_be_sure(made_up):
    low, high = (1.5, 1.6, 1.55), (3.0, 3.1, 3.05)
    unsure = several(made_up, a={1.0: (1.0, 3.0, 2.0)}, b={1.0: (1.5, 2.0, 2.2)})
    worse = several(made_up, a={1.0: high, 9.0: low}, b={1.0: low, 9.0: low})
    assert no_worse("a", "b")(unsure).outcome == "in part"
    assert no_worse("a", "b")(worse).outcome == "in part"
    assert no_worse("a", "b", x=(0, 1))(worse).outcome == "does not hold"
    assert no_worse("a", "b", given=lambda run: run["epsilon"] > 5)(worse).outcome == "holds"


def test_near(results):
    pair = results({"a": {1.0: 1.0, 2.0: 1.4, 3.0: 1.3}, "b": {1.0: 1.0, 2.0: 1.0, 3.0: 1.0}})
    assert near("a", "b", 1.5)(pair).outcome == "holds"
    assert near("b", "a", 1.2)(pair).outcome == "in part"
    assert near("b", "a", 1.2, x=(2, 3))(pair).outcome == "does not hold"
    far = results({"a": {1.0: 1.0, 2.0: 1.0, 3.0: 9.0}, "b": {1.0: 1.0, 2.0: 1.0, 3.0: 1.0}})
    assert near("a", "b", 1.5)(far).cells == (Cells(2, 1, 0),)
    assert near("a", "b", 1.5)(far).outcome == "in part"  # by the median it is near


def test_bounds(made_up):
    runs = [made_up(x=x, bound=2.0, measured=m) for x, m in ((1.0, 0.1), (2.0, 1.9))]
    assert bounds("a", "bound", "measured")(often(*runs)).outcome == "holds"
    runs.append(made_up(x=3.0, bound=2.0, measured=2.1))
    assert bounds("a", "bound", "measured")(often(*runs)).outcome == "in part"
    assert bounds("a", "bound", "measured")(often(runs[-1])).outcome == "does not hold"


def test_order(results):
    three = results({"a": {1.0: 1.0, 2.0: 5.0}, "b": {1.0: 2.0, 2.0: 6.0}, "c": {1.0: 9.0}})
    assert order(("a", "b"))(three).outcome == "holds"
    why = "best first: a 2.24, b 3.46; b before a: does not hold (0 / 2 / 0)"
    assert order(("b", "a"))(three) == Verdict("does not hold", why, (Cells(0, 2, 0),))
    assert order(("a", "b", "c"))(three).why.startswith("best first: a 1, b 2, c 9;")  # where all were run


def test_slope_is_within_tables(made_up):
    # Two tables of very different size, both growing like x squared.
    runs = [
        made_up(series=s, x=x, seconds=scale * x**2)
        for s, scale, xs in (("s", 1, (1.0, 2.0)), ("t", 1e4, (8.0, 9.0)))
        for x in xs
    ]
    assert slope("a", 1.9, 2.1)(often(*runs)).outcome == "holds"
    assert slope("a", 0.9, 1.1)(often(*runs)).why == "exponent 2.00 (claimed 0.9 to 1.1)"
    assert slope("a", 0.9, 1.1)(often(*runs)).cells == (Cells(0, 2, 0),)
    assert slope("a", 1, 2)(often(runs[0])).outcome == "not run"
    assert slope("a", 1, 2)(Results(runs)).outcome == "not run"


def test_slope_is_undecided_where_runs_scatter(made_up):
    def grown(spread):
        return Results(
            made_up(x=x, run=i, seconds=x * (1 + spread * (-1) ** i)) for x in (1.0, 2.0) for i in range(10)
        )

    assert slope("a", 0.5, 1.5)(grown(0.01)).outcome == "holds"
    assert slope("a", 0.5, 1.5)(grown(0.9)).outcome == "in part"


def test_steeper_uses_means_of_cells(made_up):
    runs = often(
        *(
            made_up(series=f"{d} {k}", k=k, columns=d, excess=float(k**2 * d))
            for d in (2, 4, 8)
            for k in (2, 4, 8)
        )
    )
    assert steeper(("a", "k"), ("a", "columns"))(runs).outcome == "holds"
    assert steeper(("a", "columns"), ("a", "k"))(runs).outcome == "does not hold"


def test_steeper_is_undecided_where_runs_scatter(made_up):
    def grown(spread):
        return Results(
            made_up(m, series=f"{k}", run=i, k=k, excess=k**power * (1 + spread * (-1) ** i))
            for m, power in (("a", 1.1), ("b", 1.0))
            for k in range(2, 9)
            for i in range(10)
        )

    steep = steeper(("a", "k"), ("b", "k"))
    assert steep(grown(0.01)).outcome == "holds"
    assert "exponent of a in k 1.1, of b in k 1 (their difference" in steep(grown(0.01)).why
    assert steep(grown(0.9)).outcome == "in part"
    assert steeper(("b", "k"), ("a", "k"))(grown(0.01)).outcome == "does not hold"
    assert steeper(("b", "k"), ("a", "k"))(grown(0.9)).outcome == "in part"


def test_steeper_is_undecided_where_tables_scatter(made_up):
    # Runs agree; but of six tables one decides all of it.
    grown = {2: 1.0, 3: 1.0, 4: 1.0, 5: 1.0, 6: 1.0, 7: 30.0}
    runs = Results(
        made_up(m, series=f"{k}", run=i, k=k, excess=grown[k] if m == "a" else 1.0)
        for m in "ab"
        for k in grown
        for i in range(5)
    )
    assert steeper(("a", "k"), ("b", "k"))(runs).outcome == "in part"


def test_steeper_in_absolute_terms_holds_others_fixed(made_up):
    grow = {"a": lambda d, k: 100.0 + 3 * k + 50 * d, "b": lambda d, k: 1.0 + 2 * k}
    runs = Results(
        made_up(m, series=f"{d} {k}", run=i, k=k, columns=d, excess=f(d, k))
        for m, f in grow.items()
        for d, k in ((2, 2), (2, 4), (2, 8), (4, 4), (4, 8), (8, 4), (8, 8))  # not balanced
        for i in range(3)
    )
    assert steeper(("a", "k"), ("b", "k"))(runs).outcome == "does not hold"
    verdict = steeper(("a", "k"), ("b", "k"), absolute=True)(runs)
    assert verdict.outcome == "holds"
    assert verdict.why.startswith("7 tables: slope of a in k 3, of b in k 2 ")


def test_steeper_looks_only_where_both_were_run(made_up):
    curves = {"a": lambda k: k**1.2 if k < 8 else 1.0, "b": lambda k: float(k)}
    runs = [
        made_up(m, series=f"{k}", run=i, k=k, excess=f(k))
        for m, f in curves.items()
        for k in (2, 3, 4, 5, 6, 8)
        for i in range(3)
        if (m, k) != ("b", 8)
    ]
    assert steeper(("a", "k"), ("b", "k"))(Results(runs)).outcome == "holds"


def test_gain(made_up):
    runs = [made_up("a", "s", cost_gap=1.0), made_up("b", "s", cost_gap=4.0)]
    assert gain("a", "b", {"s": 4.1})(often(*runs)).outcome == "holds"
    assert gain("a", "b", {"s": 8.0})(often(*runs)).outcome == "does not hold"
    assert gain("a", "b", {"s": 4.1, "t": 1.0})(often(*runs)).outcome == "not run"
    runs += [made_up("a", "t", cost_gap=1.0), made_up("b", "t", cost_gap=1.0)]
    assert gain("a", "b", {"s": 4.1, "t": 2.0})(often(*runs)).cells == (Cells(1, 1, 0),)
    assert gain("a", "b", {"s": 4.1, "t": 2.0})(often(*runs)).outcome == "in part"


def test_predicts(made_up):
    runs = [made_up(x=x, predicted=1.0, measured=m) for x, m in ((1.0, 1.4), (2.0, 0.7), (3.0, 30.0))]
    assert predicts("a", "predicted", "measured", 2.0)(often(*runs[:2])).outcome == "holds"
    assert predicts("a", "predicted", "measured", 2.0)(often(*runs)).outcome == "in part"
    assert predicts("a", "predicted", "measured", 1.2)(often(*runs)).outcome == "does not hold"


def test_a_claim_without_results_or_check_is_not_testable(results):
    some = results({"a": {1.0: 1.0}})
    assert Claim("x", ("a", "b"), better("a", "b")).judge(some) == Verdict("not run", "no results of b")


def test_what_the_paper_leaves_open_is_told_where_it_decides(made_up):
    runs = several(made_up, a={1.0: (1.0, 1.1, 1.0)}, b={1.0: (2.0, 2.1, 2.0)}, c={1.0: (0.5, 0.6, 0.5)})
    claim = Claim("a wins", ("a", "b"), better("a", "b"), ("over c", ("a", "c"), better("a", "c")), "over b")
    verdict = claim.judge(runs)
    assert verdict.outcome == "depends on what the paper leaves open"
    assert "over b: holds" in verdict.why
    assert "over c: does not hold" in verdict.why
    assert verdict.cells == (Cells(1, 0, 0), Cells(0, 1, 0))
    wide = several(made_up, a={1.0: (1.0, 1.1, 1.0)}, b={1.0: (2.0, 2.1, 2.0)}, c={1.0: (0.5, 2.6, 0.1)})
    assert claim.judge(wide).outcome == "in part"  # over c it was too close to tell
    same = Claim("a wins", ("a", "b"), better("a", "b"), ("again", ("a", "b"), better("a", "b")), "once")
    assert same.judge(runs).outcome == "holds"
    assert replace(claim, otherwise=("over d", ("d",), better("a", "d"))).judge(runs).outcome == "not run"


def test_an_order_holds_in_part(results):
    three = results({"a": {1.0: 1.0}, "b": {1.0: 3.0}, "c": {1.0: 2.0}})
    verdict = order(("a", "b", "c"))(three)
    assert verdict.outcome == "in part"
    assert verdict.why.endswith("a before b: holds (1 / 0 / 0); b before c: does not hold (0 / 1 / 0)")


def test_an_order_holds_in_part_where_a_fifth_is_surely_the_other_way(made_up):
    low, high = (1.0, 1.1, 0.9), (2.0, 2.1, 1.9)
    apart = {float(x): (low, high) for x in range(1, 4)} | {9.0: (high, low)}
    runs = several(made_up, a={x: p[0] for x, p in apart.items()}, b={x: p[1] for x, p in apart.items()})
    assert order(("a", "b"))(runs).outcome == "in part"
    assert order(("a", "b"))(Results(r for r in runs if r["x"] < 9)).outcome == "holds"


def test_noise_is_told_from_the_rest_of_an_error(made_up):
    runs = [made_up(x=x, series=s, excess=e) for s, x, e in (("s", 1.0, 1.0), ("s", NO_NOISE, 0.1))]
    assert noise_dominates("a", 1.0)(often(*runs)).outcome == "holds"
    other = [made_up(x=x, series="t", excess=1.0) for x in (1.0, NO_NOISE)]
    assert noise_dominates("a", 1.0)(often(*runs, *other)).outcome == "in part"
    assert noise_dominates("a", 1.0)(often(*other)).outcome == "does not hold"
    assert noise_dominates("a", 1.0)(often(other[0])).outcome == "not run"


def test_who_converges_sooner(results):
    found = results({"a 3": {1.0: 1.05}, "a 9": {1.0: 1.0}, "b 3": {1.0: 2.0}, "b 9": {1.0: 1.0}})
    assert sooner(("a 3", "a 9"), ("b 3", "b 9"))(found).outcome == "holds"
    assert sooner(("b 3", "b 9"), ("a 3", "a 9"))(found).outcome == "does not hold"


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


def test_every_verdict_on_a_paper_says_its_cells(request):
    """From the kept results: nothing is judged without saying what is sure."""
    kept = request.config.rootpath / "benchmarks" / "results"
    every = tuple(EXPERIMENTS.values())
    for one in judged(every, load(kept, every).results):
        assert bool(one.verdict.cells) == (one.verdict.outcome != "not run"), one.claim.text
        for cells in one.verdict.cells:
            if one.verdict.outcome == "holds":
                assert cells.against < 0.2 * (cells.agree + cells.against + cells.undecided), one.claim.text
