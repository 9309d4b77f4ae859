"""`shoal audit` as people type it, and the pages it makes."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from shoal.audit import Finding, Report
from shoal.audit.command import audit_command
from shoal.audit.pages import html, markdown, write

QUICK = ["--runs", "20", "--canary", "empty", "--processes", "1"]


def call(*args):
    return CliRunner().invoke(audit_command, list(args))


def test_a_verdict_with_both_numbers():
    done = call("lloyd", "--epsilon", "1", *QUICK)
    assert done.exit_code == 0, done.output
    assert "not detected: lloyd, lower bound" in done.stdout
    assert "claimed 1" in done.stdout


def test_json():
    done = call("lloyd", *QUICK, "--json")
    found = json.loads(done.stdout)
    assert found["passed"] is True
    assert {"black box", "exact", "law", "replay", "contents"} == {f["audit"] for f in found["findings"]}
    assert all(f["verdict"].startswith("not detected") for f in found["findings"])


def test_pages(tmp_path):
    done = call("lloyd", *QUICK, "--out", str(tmp_path / "deep" / "audit"))
    assert done.exit_code == 0
    text = (tmp_path / "deep" / "audit.md").read_text()
    page = (tmp_path / "deep" / "audit.html").read_text()
    assert "| black box | empty |" in text
    assert "No leak was detected" in text
    assert "<html" in page
    assert "http" not in page  # needs nothing else


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "name an algorithm, or use --all"),
        (["lloyd", "--all"], "name an algorithm, or use --all"),
        (["loyd"], "did you mean 'lloyd'"),
        (["lloyd", "--canary", "parrot"], "there is no canary 'parrot'"),
        (["lloyd", "--epsilon", "0", *QUICK], "epsilon"),
        (["lloyd", "--runs", "2", "--processes", "1"], "at least 20"),
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
