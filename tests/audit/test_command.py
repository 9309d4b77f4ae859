"""`shoal audit` as people type it, and the pages it makes."""

import json
import math
from dataclasses import replace

import pytest
from click.testing import CliRunner

from shoal.audit import Finding, Report, suite
from shoal.audit.audited import audited
from shoal.audit.command import audit_command
from shoal.audit.distinguish import epsilon_resolved
from shoal.audit.pages import html, markdown, write
from shoal.audit.suite import cases_for

QUICK = ["--runs", "20", "--canary", "empty", "--processes", "1"]


def call(*args):
    return CliRunner().invoke(audit_command, list(args))


@pytest.mark.slow
def test_a_verdict_with_both_numbers():
    done = call("lloyd", "--epsilon", "1", *QUICK)
    assert done.exit_code == 0, done.output
    assert "not detected: lloyd, lower bound" in done.stdout
    assert "claimed 1" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["PrivateScaler", "pca", "bounds", "GridSynopsis", "privtree-synopsis"])
def test_steps_and_synopses_by_name_or_class(name):
    done = call(name, *QUICK, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["findings"]
    assert {"black box", "exact", "law", "replay", "contents"} <= {
        f["audit"] for f in found if f["algorithm"] == audited(name)
    }


@pytest.mark.slow
def test_what_it_could_have_shown_is_said_before_and_after():
    done = call("lloyd", *QUICK[:1], "60", *QUICK[2:])
    most = f"{epsilon_resolved(60, 0.999):.2f}"
    assert f"60 runs on each table: a leak shows up to an epsilon of {most}" in done.stderr
    assert f"could have shown an epsilon of up to {most}" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("args", "runs"),
    [
        (["lloyd"], None),
        (["lloyd", "--thorough"], 2000),
        (["lloyd", "--runs", "50"], 50),
        (["lloyd", "--results", "kept.jsonl"], 400),
        (["--all"], 600),
        (["--all", "--thorough"], 20_000),
    ],
)
def test_how_many_runs(args, runs, monkeypatch, tmp_path):
    asked = []

    def spy(**how):
        asked.append(how["runs"])
        return Report((FOUND,), runs=20, confidence=0.999)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shoal.audit.suite.audit_all", spy)
    assert call(*args).exit_code == 0
    assert asked == [runs]


@pytest.mark.parametrize(
    ("seconds", "processes", "runs"),
    [(0.010, 2, 1000), (0.010, 1, 500), (0.001, 2, suite.MOST), (1.0, 2, suite.FEWEST)],
)
def test_a_minute_is_not_exceeded(seconds, processes, runs, monkeypatch):
    # Three pairs, two tables each: so many rounds of six runs fit in the black box's part of the minute.
    now = [0.0]

    def takes(*_):
        now[0] += seconds

    monkeypatch.setattr(suite, "look", takes)
    monkeypatch.setattr(suite.time, "perf_counter", lambda: now[0])
    cases = [("lloyd", 1.0, cases_for("lloyd", 1.0, ["empty", "alone", "corner"]))]
    assert suite.runs_in_a_minute(cases, processes) == runs
    assert runs == suite.FEWEST or runs * 6 * seconds / processes <= suite.BLACK_BOX_SECONDS < 60


@pytest.mark.slow
def test_json():
    done = call("lloyd", *QUICK, "--json")
    found = json.loads(done.stdout)
    assert found["passed"] is True
    assert {"black box", "exact", "law", "replay", "contents"} == {f["audit"] for f in found["findings"]}
    assert all(f["verdict"].startswith("not detected") for f in found["findings"])


@pytest.mark.slow
def test_pages(tmp_path):
    done = call("lloyd", *QUICK, "--out", str(tmp_path / "deep" / "audit"))
    assert done.exit_code == 0
    text = (tmp_path / "deep" / "audit.md").read_text()
    page = (tmp_path / "deep" / "audit.html").read_text()
    assert "| black box | empty |" in text
    assert "No leak was detected" in text
    assert "no bound can exceed" in text
    assert "Not in these results" in text  # controls are for those who have the tests
    assert "<html" in page
    assert "http" not in page  # needs nothing else


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "name an algorithm, or use --all"),
        (["lloyd", "--all"], "name an algorithm, or use --all"),
        (["loyd"], "did you mean 'lloyd'"),
        (["lloyd", "--canary", "parrot"], "there is no canary 'parrot'"),
        (["lloyd", "--epsilon", "0", *QUICK], "epsilon"),
        (["lloyd", "--canary", "tie", "--every-canary"], "name canaries, or use --every-canary"),
        (["lloyd", "--fresh", "lloyd"], "say where, with --results"),
        (["lloyd", "--runs", "2", "--processes", "1"], "at least 20"),
        (["lloyd", "--runs", "50", "--thorough"], "how many --runs, or be --thorough"),
        (["PrivateScalar"], "did you mean 'PrivateScaler'"),
    ],
)
def test_bad_usage(args, says):
    done = call(*args)
    assert done.exit_code == 2
    assert says in done.stderr


FOUND = Finding("lloyd", 1.0, "black box", "alone", True, "fine", 0.41, 1.0)


def test_a_leak_ends_with_one(monkeypatch):
    leak = replace(FOUND, measured=2.5, passed=False, detail="<b> told apart")
    report = Report((FOUND, leak), runs=20, confidence=0.999)
    monkeypatch.setattr("shoal.audit.command._run", lambda *args: report)
    done = call("lloyd")
    assert done.exit_code == 1
    assert "leaks: lloyd, lower bound 2.50, claimed 1" in done.stdout
    assert not report.passed
    assert report.epsilon_lower == 2.5
    assert "**2.50: leaks**" in markdown(report)
    assert "&lt;b&gt; told apart" in html(report)


def test_pages_go_beside_each_other(tmp_path):
    report = Report((FOUND,), runs=20, confidence=0.999)
    assert [path.name for path in write(report, tmp_path / "audit.html")] == ["audit.md", "audit.html"]
    assert FOUND.verdict == "not detected: lower bound 0.41, claimed 1"


CONTROL = Finding("swapped", 1.0, "law", "5 draws", False, "does not fit: x", 2.66, 1.0, role="control")
TWIN = replace(CONTROL, case="5 draws, honest", passed=True, measured=1.0, role="twin")


def test_a_loss_without_end_can_be_shown():
    report = Report((replace(FOUND, audit="exact", measured=math.inf, passed=False),), 1000, 0.999)
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["findings"][0]["measured"] == "inf"
    assert "inf %: leaks" in html(report)


def test_controls_must_be_caught():
    good = Report((FOUND, CONTROL, TWIN), runs=1000, confidence=0.999)
    assert good.passed
    assert "| swapped | law, 5 draws | 1 | 2.66 of 1, does not fit: x | caught | 1.00 of 1 |" in markdown(
        good
    )
    assert "Known mistakes were caught by 1 of 1 audits." in markdown(good)
    assert not replace(good, findings=(FOUND, replace(CONTROL, passed=True))).passed
    assert not replace(good, findings=(FOUND, replace(TWIN, passed=False))).passed


def test_what_is_published_without_a_proof_may_be_caught():
    caught = replace(FOUND, algorithm="convergent-published", measured=2.0, passed=False)
    report = Report((FOUND, caught), runs=1000, confidence=0.999)
    assert report.passed
    assert "was caught: convergent-published" in markdown(report)
    assert "No leak was detected in 1 audits" in markdown(report)
