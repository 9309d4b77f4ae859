"""Runs in spawned processes: finished ones survive an interrupt, nothing is run twice."""

import io
import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from shoal import datasets
from shoal.bench import measure as measuring
from shoal.bench.experiment import Data, Method
from shoal.bench.measure import costs, measure, nicv
from shoal.bench.plan import plan, references
from shoal.bench.report import build
from shoal.bench.runner import run


@pytest.fixture
def console():
    return Console(file=io.StringIO(), width=200)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_end_to_end(tiny, tmp_path, console):
    results, out = tmp_path / "results", tmp_path / "report"
    first = run([tiny], results=results, quick=True, processes=1, console=console)
    assert first == 1 + 2  # a reference, two methods on one table at one epsilon
    # The full protocol goes on from the quick one.
    second = run([tiny], results=results, processes=2, console=console)
    records = lines(results / "tiny.jsonl")
    assert len(records) == 2 * 2 * 2 * 2
    assert len({record["id"] for record in records}) == len(records)
    assert second == len(records) - 2 + 2  # and better references for two tables
    assert run([tiny], results=results, processes=1, console=console) == 0
    said = console.file.getvalue()
    assert "waiting for algorithm 'not-there-yet'" in said
    assert "16 runs are done already" in said
    for record in records:
        assert not record.get("error")
        assert record["nicv"] >= record["polished"] > 0
        assert record["seconds"] > 0
        assert record["versions"]["shoal"]
        assert record["seed"] == int(record["id"][:8], 16) % (2**31 - 1)
    # Again from its seed: the same result.
    again = next(c for c in tiny.cases(tiny.methods) if c.id == records[0]["id"])
    assert measure(again, 1, 60.0)["nicv"] == records[0]["nicv"]

    assert build(results, out, experiments=[tiny]) == ()
    page = (out / "report.html").read_text()
    assert "http" not in page.replace("http://www.w3.org", "")  # nothing is loaded from elsewhere
    assert page.count("data:image/svg+xml;base64,") == 2 + 2  # and verdicts, and stored figures of peers
    text = (out / "report.md").read_text()
    for figure in ("tiny-overview", "tiny-curves"):
        assert (out / "figures" / f"{figure}.png").stat().st_size > 1000
        assert f"figures/{figure}.png" in text
    assert "| nobody | less noise is better |" in text
    assert "waits for" in text
    assert "cores" in text


SCRIPT = """
import sys
from dataclasses import replace
from pathlib import Path
from shoal.bench.experiment import Data, Experiment, Method, Sweep
from shoal.bench.runner import run

EXPERIMENT = Experiment(
    "long", "t", "p", (Data.of("gaussians", n=100, d=2, k=2),), (Method.of("DPLloyd", "lloyd"),),
    Sweep("epsilon", (1.0,)), runs=10_000, metrics=("seconds",),
)
if __name__ == "__main__":
    run([EXPERIMENT], results=Path(sys.argv[1]), processes=1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupt_and_resume(tmp_path, console, how):
    script, results = tmp_path / "script.py", tmp_path / "results"
    script.write_text(SCRIPT)
    path = results / "long.jsonl"
    process = subprocess.Popen(
        [sys.executable, str(script), str(results)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 180  # a busy machine takes long to start Python
    while time.monotonic() < deadline and (not path.exists() or path.read_bytes().count(b"\n") < 5):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    process.send_signal(how)
    process.stderr.close()
    process.wait(timeout=30)
    before = lines(path)
    assert len(before) >= 5
    # No worker goes on without its parent.
    time.sleep(1.0)
    assert len(lines(path)) == len(before)

    scope = {"__name__": "script"}
    exec(script.read_text(), scope)
    short = replace(scope["EXPERIMENT"], runs=len(before) + 3)
    run([short], results=results, processes=1, console=console)
    after = lines(path)
    assert after[: len(before)] == before
    assert len({record["id"] for record in after}) == len(after)
    assert {case.id for case in short.cases(short.methods)} <= {record["id"] for record in after}


def test_a_damaged_file_is_said_and_only_the_lost_runs_are_run_again(tiny, tmp_path, made_up):
    cases = list(tiny.cases(tiny.methods[:2]))
    path = tmp_path / "tiny.jsonl"
    path.write_text("".join(json.dumps(made_up() | {"id": case.id}) + "\n" for case in cases) + '{"id": "cut')
    work = plan(tiny, tmp_path, quick=False)
    assert "set aside as tiny.jsonl.damaged" in work.store.complaint
    assert work.cases == []
    path.write_text("\n".join(path.read_text().splitlines()[:-3]) + "\ngarbage\n")
    assert [case.id for case in plan(tiny, tmp_path, quick=False).cases] == [case.id for case in cases[-3:]]


def test_runs_of_another_experiment_are_taken_over(tiny, tmp_path, console, monkeypatch):
    monkeypatch.setattr("shoal.bench.runner._as_finished", made_up_runs := Runs())
    monkeypatch.setattr("shoal.bench.runner.EXPERIMENTS", {"other": None, "tiny": None})
    tiny = replace(tiny, metrics=("seconds",))  # no references
    other = replace(tiny, name="other", runs=1)
    run([other], results=tmp_path, processes=1, console=console)
    assert run([tiny, replace(tiny, name="same")], results=tmp_path, processes=1, console=console) == 8
    assert made_up_runs.seen == [case.id for case in [*other.cases(tiny.methods[:2])]] + [
        case.id for case in tiny.cases(tiny.methods[:2]) if case.run == 1
    ]
    own, same = lines(tmp_path / "tiny.jsonl"), lines(tmp_path / "same.jsonl")
    assert sorted(r["id"] for r in own) == sorted(r["id"] for r in same)
    assert len(own) == 16
    assert plan(tiny, tmp_path, quick=False).cases == []
    # What is begun anew is run anew.
    assert run([tiny], results=tmp_path, processes=1, fresh=True, console=console) == 16


class Runs:
    """Instead of fits: what would be fitted."""

    def __init__(self):
        self.seen = []

    def __call__(self, pool, cases, *_):
        for case in cases:
            self.seen.append(case.id)
            yield measuring.describe(case)


def test_errors_are_results_and_are_tried_again(tiny, tmp_path):
    broken = replace(tiny, methods=(Method.of("bad", "lloyd", noise="wrong"), *tiny.methods))
    case = next(broken.cases(broken.methods))
    record = measure(case, 1, 60.0)
    assert record["error"].startswith("InvalidInput: noise is 'wrong'")
    work = plan(broken, tmp_path, quick=True)
    work.store.append(record)
    assert len(plan(broken, tmp_path, quick=False).cases) == 3 * 2 * 2 * 2


def test_slow_runs_are_stopped_and_not_tried_again_when_quick(tiny, tmp_path, monkeypatch):
    fit_began = []

    def sleepy(*_, **__):
        fit_began.append(True)
        time.sleep(30)

    # Loading code has no limit: an alarm in the middle of an import breaks every later fit of the process.
    monkeypatch.setattr(measuring, "_warm_up", lambda *_: time.sleep(0.4))
    monkeypatch.setattr(measuring, "fit", sleepy)
    case = next(tiny.cases(tiny.methods, quick=True))
    started = time.monotonic()
    record = measure(case, 1, 0.2)
    assert record["error"] == "TooSlow: took longer than 0.2 seconds"
    assert fit_began
    assert time.monotonic() - started < 10
    work = plan(tiny, tmp_path, quick=True)
    work.store.append(record)
    assert case.id not in [c.id for c in plan(tiny, tmp_path, quick=True).cases]
    assert case.id in [c.id for c in plan(tiny, tmp_path, quick=False).cases]


def test_references_are_shared_and_made_better(tiny, tmp_path, made_up):
    def wanted(quick, experiment=tiny):
        return [
            c.table
            for w in references([plan(experiment, tmp_path, quick=quick)], tmp_path, quick=quick)
            for c in w.cases
        ]

    assert wanted(True) == ["iris / 3 groups"]
    assert wanted(False) == ["gaussians d=2 k=2 n=400 / 2 groups", "iris / 3 groups"]
    quick = made_up(algorithm="non-private") | {
        "table": "iris / 3 groups",
        "method_parameters": {"n_init": 10},
    }
    (tmp_path / "references.jsonl").write_text(json.dumps(quick) + "\n")
    assert wanted(True) == []
    assert wanted(False) == ["gaussians d=2 k=2 n=400 / 2 groups", "iris / 3 groups"]
    # An experiment on wide tables is content with fewer.
    assert wanted(False, replace(tiny, starts=10)) == ["gaussians d=2 k=2 n=400 / 2 groups"]


def test_tables_that_cannot_be_had_are_skipped_and_named(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path / "none"))
    work = plan(replace(tiny, data=(Data.of("lifesci"), Data.of("iris"))), tmp_path, quick=False)
    assert {case.data.name for case in work.cases} == {"iris"}
    assert any("lifesci skipped" in remark and "Put lifesci.parquet" in remark for remark in work.remarks)


def test_only_some_data_sets(tiny, tmp_path):
    work = plan(tiny, tmp_path, quick=False, only=("gaussians",))
    assert {case.data.name for case in work.cases} == {"gaussians"}


def test_fresh_sets_results_aside(tiny, tmp_path, made_up):
    (tmp_path / "tiny.jsonl").write_text(json.dumps(made_up()) + "\n")
    assert len(plan(tiny, tmp_path, quick=False, fresh=True).cases) == 16
    assert (tmp_path / "tiny.jsonl.previous").exists()


def test_nicv_is_the_mean_squared_distance():
    rng = np.random.default_rng(0)
    rows, centres = rng.uniform(-1, 1, (300, 4)), rng.uniform(-1, 1, (5, 4))
    plain = ((rows[:, None] - centres) ** 2).sum(axis=2).min(axis=1).mean()
    assert nicv(rows, centres) == pytest.approx(plain, rel=1e-12)
    distances = np.sqrt(((rows[:, None] - centres) ** 2).sum(axis=2)).min(axis=1)
    assert costs(rows, centres)[1] == pytest.approx(distances.mean(), rel=1e-9)


def test_the_error_of_a_round_is_measured_and_predicted():
    from shoal.bench.probe import centre_error
    from shoal.estimators import DPLloyd

    data = datasets.load("gaussians", n=20_000, d=2, k=2)
    errors = []
    for seed in range(40):
        model = DPLloyd(2, epsilon=5.0, bounds=(-1, 1), noise="laplace", max_iter=1, random_state=seed)
        errors.append(centre_error(model.fit(data.X), data.scaled()))
    ratios = [e["centre_error"] / e["predicted_sizes"] for e in errors]
    assert 0.5 < np.mean(ratios) < 1.7
    # Some starts cut the groups evenly, as the paper assumes, and some do not.
    assert 0 < sum("balanced_error" in e for e in errors) < 40
    # Su et al. (7): 2 d (1 + (2 rho)^2) (k t (d + 1) / (N epsilon))^2 with t = 1.
    by_hand = 2 * 2 * (1 + 0.45**2) * (2 * 3 / (20_000 * 5.0)) ** 2
    assert errors[0]["predicted"] == pytest.approx(by_hand, rel=0.01)


def test_the_error_of_a_grid_is_measured_and_predicted():
    from shoal.bench.probe import centre_error
    from shoal.estimators import GridKMeans, HybridKMeans

    data = datasets.load("gaussians", n=20_000, d=2, k=2)
    rows, how = data.scaled(), {"bounds": (-1, 1), "n_rows": 20_000, "epsilon": 0.2, "resolution": 20}
    errors = [
        centre_error(GridKMeans(2, n_starts=2, random_state=seed, **how).fit(data.X), rows)
        for seed in range(30)
    ]
    mean = {name: np.mean([e[name] for e in errors]) for name in errors[0]}
    # What the noise adds is as predicted from every group's own cells, and the whole is below its bound.
    assert 0.5 < mean["noise_error"] / mean["predicted_sizes"] < 1.7
    assert mean["noise_error"] < 1.5 * mean["centre_error"] < mean["bound"]
    # Su et al. (9): 2 d M k^((d-2)/d) / (3 (N epsilon)^2).
    assert mean["predicted"] == pytest.approx(2 * 2 * 400 / (3 * (20_000 * 0.2) ** 2), rel=0.01)
    refined = HybridKMeans(2, gate="always", noise="laplace", n_starts=2, random_state=0, **how).fit(data.X)
    found = centre_error(refined, rows)
    # (13): one round at half the budget, with the discrete law's own variance.
    by_hand = 2 * 2 * (1 + 0.45**2) * (2 * 3 / (20_000 * 0.1)) ** 2
    assert found["predicted"] == pytest.approx(by_hand, rel=0.01)
