"""The flagship's run: who the best other is, what is held against what, that it goes on where it stopped."""

from dataclasses import asdict

import pytest
from click.testing import CliRunner

from shoal.bench.command import bench_group
from shoal.bench.flagship import cells, judge
from shoal.bench.flagship.cells import OTHERS, Cell
from shoal.bench.flagship.found import FlagshipStore, Found
from shoal.bench.flagship.parts import PARTS, REGRET_EPSILONS, Scope, best_other, regret
from shoal.bench.flagship.tables import HELD_OUT

SCOPE = Scope(("iris",), seeds=1000, picking=0, runs=4, picks=5, screen=2)


def result(cell, seed, ratio):
    return {**asdict(cell), "seed": seed, "ratio": ratio, "cpu": 1.0}


def run_all(part, ratio, scope=SCOPE):
    """Answer what a part asks for until it asks for no more; return what was found, and the jobs."""
    found, asked = Found(), []
    while jobs := part(scope, found):
        asked += jobs
        for cell, seed in jobs:
            found.add(result(cell, seed, ratio(cell, seed)))
    return found, asked


@pytest.fixture
def no_rows(monkeypatch):
    """Judge without reading a table."""
    monkeypatch.setattr(judge, "one_mean_ratio", lambda *_: 2.0)
    monkeypatch.setattr(judge, "spread_ratio", lambda *_: 10.0)


def by_algorithm(**ratios):
    return lambda cell, seed: ratios.get(cell.algorithm, 9.0) + 1e-3 * (seed % 3)


def test_the_best_other_is_picked_on_seeds_that_nothing_is_compared_on():
    # Best on the seeds for picking, worst on those for comparing: a picker that peeks would take the tree.
    def ratio(cell, seed):
        return (
            {"grid": 1.0, "tree": 1.2}.get(cell.algorithm, 9.0)
            if seed < 1000
            else 5.0 - 2 * (cell.algorithm == "tree")
        )

    found, jobs = run_all(regret, ratio)
    assert best_other("iris", 0.1, SCOPE, found) == Cell("iris", 0.1, algorithm="grid")
    assert len(jobs) == len(set(jobs))
    compared = {cell.algorithm for cell, seed in jobs if seed >= 1000}
    assert compared == {"auto", "grid"}


def test_others_that_are_far_behind_get_few_runs_and_all_get_some():
    _, jobs = run_all(regret, by_algorithm(auto=1.0, grid=1.0, tree=1.2))
    runs = {other: sum(cell.algorithm == other and seed < 1000 for cell, seed in jobs) for other in OTHERS}
    assert runs["grid"] == runs["tree"] == SCOPE.picks * len(REGRET_EPSILONS)
    assert runs["lloyd"] == SCOPE.screen * len(REGRET_EPSILONS)


@pytest.mark.parametrize(("ours", "says"), [(1.0, "0, at most 0 wanted: holds"), (1.5, "**does not hold**")])
def test_regret_is_judged(ours, says):
    found, _ = run_all(regret, by_algorithm(auto=ours, grid=1.1))
    page = judge.judge(SCOPE, found, ["regret"])
    much = next(line for line in page.splitlines() if "more than 5 %:" in line)
    assert says in much
    assert f"{(ours + 1e-3) / (1.1 + 1e-3):.3f}" in page


def test_a_fit_that_collapses_is_seen_against_one_mean(no_rows):
    fine, _ = run_all(PARTS["one-mean"], lambda cell, seed: 1.9 + 0.01 * (seed % 2))
    bad, _ = run_all(PARTS["one-mean"], lambda cell, seed: 2.5 + 0.01 * (seed % 2))
    assert "surely above: 0, at most 0 wanted: holds" in judge.judge(SCOPE, fine, ["one-mean"])
    assert "**does not hold**" in judge.judge(SCOPE, bad, ["one-mean"])


def test_loose_boxes_are_judged_by_their_own_tight_one():
    found, jobs = run_all(PARTS["loose"], lambda cell, _: 1.0 if cell.box != "x100" else 1.2)
    assert {cell.box for cell, _ in jobs} == {"tight", "x10", "x100", "middle", "none"}
    page = judge.judge(SCOPE, found, ["loose"])
    # 1.2 is allowed at epsilon 0.1 alone.
    assert ": 2, at most 0 wanted: **does not hold**" in page


def test_peers_stand_beside_ours_on_their_own_denominators(monkeypatch):
    stored = judge.stored_peers()["denominators"]["iris"]
    monkeypatch.setattr(judge, "denominator", lambda *_: 2 * stored)
    found, _ = run_all(PARTS["peers"], lambda *_: 1.1)
    page = judge.judge(SCOPE, found, ["peers"])
    assert "geometric mean at 1: 2.2, at most 1.1 wanted: **does not hold**" in page
    assert "9.311" in page  # diffprivlib on Iris at 0.1, as stored


def test_tuning_sees_no_table_that_is_held_out_and_no_seed_of_the_run():
    tuning, final, held = Scope.of(tuning=True), Scope.of(), Scope.of(held_out=True)
    assert not set(tuning.tables) & HELD_OUT
    assert set(held.tables) == HELD_OUT
    assert set(final.tables) == set(tuning.tables) | HELD_OUT
    used = [range(s, s + 20) for s in (tuning.seeds, tuning.picking, final.seeds, final.picking)]
    assert not any(set(a) & set(b) for a in used for b in used if a is not b)


def test_results_are_packed_and_gone_on_with(tmp_path):
    cell, store = Cell("iris", 0.1), FlagshipStore(tmp_path / "run.jsonl")
    store.append(result(cell, 1, 1.5))
    store.pack()
    store.append(result(cell, 2, 2.5))
    store.append({**result(cell, 3, 0.0), "error": "ValueError: no"})
    store.append({**result(Cell("iris", 1.0, algorithm="hybrid"), 4, 0.0), "error": "TooSlow: took long"})
    again = Found(store.read())
    slow = Cell("iris", 0.1, algorithm="hybrid")
    assert [again.done(cell, seed) for seed in (1, 2, 3)] == [True, True, False]
    assert [again.done(slow, seed) for seed in (4, 5)] == [True, True]
    store.pack()
    assert not store.path.exists()
    assert len(FlagshipStore(tmp_path / "run.jsonl").read()) == 3
    store.retire()
    assert not FlagshipStore(tmp_path / "run.jsonl").read()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("flagship", "--tuning", "--held-out"), "leave no table"),
        (("flagship", "--part", "regrets"), "there is no part 'regrets'"),
        (("flagship", "--data", "adlt"), "there is no table 'adlt'"),
        (("flagship", "time-n"), "run by itself"),
        (("time-n", "--tuning"), "are for 'flagship'"),
    ],
)
def test_bad_words_are_named(words, says, tmp_path):
    said = CliRunner().invoke(bench_group, ["run", *words, "--results", str(tmp_path)])
    assert said.exit_code == 2
    assert says in " ".join(said.output.split())


@pytest.mark.slow
def test_a_run_as_it_is_typed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cells._known.cache_clear()
    words = ["run", "peers", "--quick", "--data", "iris", "--processes", "1", "--results", str(tmp_path)]
    said = CliRunner().invoke(bench_group, words)
    assert said.exit_code == 0, said.output
    assert "30 new results" in said.output
    assert "| iris | 0.1 |" in (tmp_path / "flagship.md").read_text()
    assert "0 new results" in CliRunner().invoke(bench_group, words).output
    assert "0 new results" in CliRunner().invoke(bench_group, [*words, "--runs", "2"]).output
    assert "2 runs of what is compared" in (tmp_path / "flagship.md").read_text()
    cells._known.cache_clear()


def test_the_clock_starts_when_the_code_is_loaded(monkeypatch):
    """An alarm in the middle of an import breaks every later fit of a process."""
    told = []
    monkeypatch.setattr(cells, "_warm_up", lambda algorithm: told.append(algorithm))
    monkeypatch.setattr(cells, "stop_after", told.append)
    assert "error" not in cells.measure(Cell("iris", 1.0, algorithm="lloyd"), 1, limit=60.0)
    assert told == ["lloyd", 60.0, float("inf")]
