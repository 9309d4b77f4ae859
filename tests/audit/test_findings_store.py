"""An audit that is interrupted loses nothing, and goes on."""

import io
import json
import math
from dataclasses import replace

import pytest
from click.testing import CliRunner
from rich.console import Console

from shoal.audit import Finding
from shoal.audit.command import audit_command
from shoal.audit.findings_store import Kept
from shoal.audit.progress import Bar
from shoal.audit.subject import Job
from shoal.audit.suite import Watch, _work, audit_all, together

FOUND = Finding("lloyd", 1.0, "black box", "alone", True, "fine", 0.41, 1.0)
SURE = 0.999


@pytest.fixture
def path(tmp_path):
    return tmp_path / "audit.jsonl"


def find(kept, **facts):
    f = replace(FOUND, **facts)
    return kept.get(f.algorithm, f.epsilon, f.audit, f.case)


def test_what_is_kept_comes_back_for_the_same_question_only(path):
    Kept(path, 20, SURE).add(FOUND)
    again = Kept(path, 20, SURE)
    assert find(again) == FOUND
    for other in ({"algorithm": "grid"}, {"epsilon": 3.0}, {"audit": "exact"}, {"case": "tie"}):
        assert find(again, **other) is None
    assert find(Kept(path, 40, SURE)) is None
    assert find(Kept(path, 20, 0.9999)) is None
    assert find(Kept(path, 20, 0.99)) == FOUND  # a bound that holds more surely will do


def test_a_loss_without_end_is_kept(path):
    endless = replace(FOUND, measured=math.inf, passed=False)
    Kept(path, 20, SURE).add(endless)
    assert find(Kept(path, 20, SURE)) == endless


def test_a_line_says_all_that_is_needed_to_judge_it(path):
    Kept(path, 20, SURE).add(FOUND)
    line = json.loads(path.read_text())
    assert (line["runs"], line["confidence"]) == (20, SURE)
    assert {"date", "machine", "shoal", "numpy"} <= line["facts"].keys()


def test_a_torn_line_is_set_aside(path):
    kept = Kept(path, 20, SURE)
    kept.add(FOUND)
    path.write_bytes(path.read_bytes() + b'{"algorithm": "gr')
    again = Kept(path, 20, SURE)
    assert find(again) == FOUND
    assert "audit.jsonl.damaged" in again.complaint


def test_what_changed_is_forgotten_and_the_old_file_put_aside(path):
    kept = Kept(path, 20, SURE)
    kept.add(FOUND)
    kept.add(replace(FOUND, algorithm="grid"))
    kept.forget(["grid", "lsh-tree"])
    for now in (kept, Kept(path, 20, SURE)):
        assert find(now) == FOUND
        assert find(now, algorithm="grid") is None
    assert len(path.with_name("audit.jsonl.previous").read_text().splitlines()) == 2


def test_controls_stay_whatever_the_runs(path):
    control = replace(FOUND, algorithm="seeded", passed=False, role="control")
    Kept(path, 0, SURE).add(control)
    assert list(Kept(path, 20, 0.9999).controls()) == [control]


class Seen(Watch):
    def __init__(self):
        self.told = []

    def begin(self, runs, kept):
        self.told.append((runs, kept))

    def complain(self, text):
        self.told.append(text)

    def finished(self, algorithm, epsilon, findings):
        self.told.append(algorithm)


def test_interrupted_it_goes_on(path):
    done = []

    def job(name):
        def work():
            if name == stops:
                raise KeyboardInterrupt
            done.append(name)
            return replace(FOUND, algorithm=name)

        return Job(name, FOUND.epsilon, FOUND.audit, FOUND.case, work, runs=40)

    jobs, stops = [job("a"), job("b"), job("c")], "b"
    with pytest.raises(KeyboardInterrupt):
        list(_work(jobs, Kept(path, 20, SURE), Watch()))
    stops, seen = "", Seen()
    found = list(_work(jobs, Kept(path, 20, SURE), seen))
    assert done == ["a", "b", "c"]
    assert [f.algorithm for f in found] == ["a", "b", "c"]
    assert seen.told == [(80, 1), "b", "c"]


@pytest.mark.slow
def test_a_second_audit_makes_no_runs_and_reports_the_same(path, monkeypatch):
    monkeypatch.setattr("shoal.audit.suite.noise_jobs", lambda epsilon, hurry: ())  # which takes longest
    how = {"algorithms": ["lloyd"], "epsilons": [1.0], "runs": 20, "canaries": ["empty"], "processes": 1}
    seen = Seen()
    one, two = audit_all(**how, results=path, seed=0), audit_all(**how, results=path, watch=seen)
    assert one == two
    assert seen.told == [(0, len(one.findings))]
    assert len(path.read_text().splitlines()) == len(one.findings)
    path.write_bytes(path.read_bytes() + b"{")
    torn = Seen()
    assert audit_all(**how, results=path, watch=torn) == one
    assert "audit.jsonl.damaged" in torn.told[0]


def test_interrupting_the_command_says_how_to_go_on(path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("shoal.audit.command._run", interrupt)
    done = CliRunner().invoke(audit_command, ["lloyd", "--results", str(path)])
    assert done.exit_code == 130
    assert "the same command goes on" in done.stderr


def test_lines_where_nobody_looks():
    out = io.StringIO()
    with Bar(Console(file=out, width=200)) as bar:
        bar.say("what it can show")
        bar.begin(80, kept=3)
        bar.advance(40)
        bar.finished("grid", 0.5, [FOUND, replace(FOUND, passed=False)])
    said = out.getvalue().splitlines()
    assert said.pop(0) == "what it can show"
    assert said[0] == "3 findings are there already; 80 runs to go"
    assert said[1].startswith("grid at 0.5: 1 of 2 audits found a leak")
    assert "40 of 80 runs, about 0:00:00 left" in said[1]


def test_a_line_every_few_seconds_where_nobody_looks(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("shoal.audit.progress.time.monotonic", lambda: now[0])
    out = io.StringIO()
    with Bar(Console(file=out, width=200)) as bar:
        bar.begin(1000, kept=0)
        for _ in range(60):  # a minute
            now[0] += 1.0
            bar.advance(10)
    said = out.getvalue().splitlines()
    assert len(said) == 12
    assert said[-1] == "600 of 1,000 runs, about 0:00:40 left"


def test_a_case_more_asks_for_the_same_confidence():
    assert together(400) == together(401)
    assert 400 * (1 - together(400)) <= 0.001 * (1 + 1e-9)
