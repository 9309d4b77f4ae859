"""An experiment is a value: its runs, their identity, and what waits for what."""

from dataclasses import replace

import pytest

from shoal.algorithms import REGISTRY
from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep
from shoal.bench.experiments import EXPERIMENTS, lookup
from shoal.bench.methods import everything, waiting
from shoal.bench.plan import awaited, methods_of
from shoal.errors import InvalidInput

LLOYD = Method.of("DPLloyd", "lloyd")


def sweep(over, values, *data, **how):
    return Experiment("e", "t", "p", data, (LLOYD,), Sweep(over, values), runs=1, **how)


def test_every_run_has_an_identity_of_its_own(tiny):
    cases = list(tiny.cases(tiny.methods))
    assert len(cases) == 2 * 2 * 3 * 2  # tables, epsilons, methods, runs
    assert len({case.id for case in cases}) == len(cases)
    assert len({case.seed for case in cases}) == len(cases)


def test_identity_is_that_of_the_parameters_not_of_their_names(tiny):
    case = next(tiny.cases(tiny.methods))
    same = replace(case, series="other", x=9.0, method=replace(case.method, label="other", runs=7))
    assert same.id == case.id
    for change in ({"epsilon": 0.6}, {"k": 3}, {"run": 1}, {"rows": 10}, {"delta": 1e-6}):
        assert replace(case, **change).id != case.id


def test_identity_does_not_change_from_one_process_to_the_next():
    case = next(sweep("epsilon", (1.0,), Data.of("iris")).cases((LLOYD,)))
    assert case.id == "99558c3eb379de7b"


def test_quick_leaves_out_but_never_adds(tiny):
    every = {case.id for case in tiny.cases(tiny.methods)}
    quick = {case.id for case in tiny.cases(tiny.methods, quick=True)}
    assert quick < every
    assert len(quick) == 3


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_declared_experiments_are_sound(name):
    experiment = EXPERIMENTS[name]
    methods = methods_of(experiment)
    labels = {method.label for method in methods}
    for claim in experiment.claims:
        assert set(claim.methods) <= labels, f"{claim.text!r} needs what {name} does not run"
        assert bool(claim.reading) == (claim.otherwise is not None)
    chosen = experiment.quick.data
    assert chosen is None or set(chosen) <= {data.label for data in experiment.data}
    # Quick runs are among the full ones, so that the full protocol goes on from them.
    short = replace(experiment, data=experiment.tables(quick=True)[:1])
    one = (replace(methods[0], runs=None),)
    full = {case.id for case in replace(short, runs=experiment.quick.runs).cases(one)}
    assert {case.id for case in short.cases(one, quick=True)} <= full


def test_sweeps_change_what_they_say():
    made = Data.of("gaussians", d=3)
    [by_k] = sweep("k", (7,), made).cases((LLOYD,))
    [by_d] = sweep("d", (4,), made).cases((LLOYD,))
    [by_n] = sweep("n", (50,), made).cases((LLOYD,))
    [cut] = sweep("n", (50,), Data.of("iris")).cases((LLOYD,))
    [other_k] = sweep("k", (7,), Data.of("iris")).cases((LLOYD,))
    assert (by_k.k, dict(by_k.data.parameters)) == (7, {"d": 3, "k": 7})
    assert dict(by_d.data.parameters) == {"d": 4}
    assert (by_n.rows, dict(by_n.data.parameters)) == (None, {"d": 3, "n": 50})
    assert (cut.rows, cut.k) == (50, 3)
    assert (other_k.k, other_k.data) == (7, Data.of("iris"))
    with pytest.raises(InvalidInput, match="no parameter 'd'"):
        list(sweep("d", (4,), Data.of("iris")).cases((LLOYD,)))


def test_a_papers_own_number_of_runs_counts_except_when_quick():
    own = (LLOYD, Method.of("seldom", "lloyd", runs=1, max_iter=2))
    experiment = replace(sweep("epsilon", (1.0,), Data.of("iris")), runs=3, quick=Quick(2))
    assert [c.method.label for c in experiment.cases(own)].count("seldom") == 1
    assert len(list(experiment.cases(own))) == 4
    assert len(list(experiment.cases(own, quick=True))) == 3


def test_what_is_not_registered_is_waited_for(tiny):
    assert awaited(tiny) == ("algorithm 'not-there-yet'",)
    assert waiting(Method.of("odd", "lloyd", wings=2)) == "parameter 'wings' of DPLloyd"
    assert waiting(Method.of("peer", "peer:nobody")).startswith("peer 'nobody'")


def test_all_means_every_registered_algorithm():
    assert set(REGISTRY) <= {method.algorithm for method in everything()} | {
        name for name, row in REGISTRY.items() if row.status.value == "claimed only"
    }
    assert not any(method.algorithm.startswith("peer:") for method in everything(delta=1e-6))


def test_unknown_experiments_get_the_near_ones():
    with pytest.raises(InvalidInput, match="no experiment 'su-figure1'; did you mean 'su-figure-1'"):
        lookup("su-figure1")


def test_values_may_be_chosen_and_are_the_same_runs(tiny):
    methods = tiny.methods[:2]
    chosen = [case.id for case in tiny.at((4.0, 7.0)).cases(methods)]
    assert chosen == [case.id for case in tiny.cases(methods) if case.epsilon == 4.0]
    with pytest.raises(InvalidInput, match=r"tiny is not run at any of these; its epsilon are 0\.5, 4"):
        tiny.at((7.0,))


def test_methods_may_be_chosen_and_are_the_same_runs(tiny):
    chosen = tiny.of(("DPLloyd, Laplace", "nobody"))
    assert [method.label for method in chosen.methods] == ["DPLloyd, Laplace"]
    wanted = [case.id for case in tiny.cases(tiny.methods[:2]) if case.method == tiny.methods[1]]
    assert [case.id for case in chosen.cases(chosen.methods)] == wanted
    with pytest.raises(
        InvalidInput, match="tiny has none of these methods; it has DPLloyd; DPLloyd, Laplace"
    ):
        tiny.of(("nobody",))


def test_fewer_runs_are_the_first_of_all(tiny):
    often = replace(tiny, runs=3, methods=(tiny.methods[0], replace(tiny.methods[1], runs=5)))
    some = often.with_runs(2)
    assert len(list(some.cases(some.methods))) == some.n_cases(some.methods) == 2 * 2 * (2 + 2)
    assert {c.id for c in some.cases(some.methods)} < {c.id for c in often.cases(often.methods)}
    assert often.with_runs(9) == often


def test_a_method_may_be_for_some_tables_only(tiny):
    iris = replace(tiny.methods[0], only=("iris",))
    assert {case.series for case in tiny.cases((iris,))} == {"iris"}
    # It is the same run as without.
    assert {c.id for c in tiny.cases((iris,))} < {c.id for c in tiny.cases((tiny.methods[0],))}
