"""`shoal bench` as it is typed."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from shoal.bench.command import bench_group
from shoal.bench.experiment import Method
from shoal.bench.experiments import EXPERIMENTS


@pytest.fixture
def shoal(monkeypatch, tmp_path):
    monkeypatch.setenv("SHOAL_PEERS", str(tmp_path / "peers"))
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(bench_group, words)


def test_list_names_every_experiment(shoal):
    said = shoal("list")
    assert said.exit_code == 0
    assert all(name in said.output for name in EXPERIMENTS)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "su-figure1"), "did you mean 'su-figure-1'"),
        (("run", "time-n", "--data", "adlt"), "did you mean 'adult'"),
        (("run",), "name an experiment, or 'all'"),
        (("run", "time-n", "--processes", "0"), "0 is not in the range"),
        (("report", "su-figure1"), "did you mean 'su-figure-1'"),
        (("report",), "no results in"),
        (("peers", "setup", "difprivlib"), "did you mean 'diffprivlib'"),
    ],
)
def test_bad_input_is_named_with_exit_code_2(shoal, words, says):
    said = shoal(*words)
    assert said.exit_code == 2
    assert says in " ".join(said.output.split())


def test_an_experiment_that_only_waits_runs_nothing(shoal, monkeypatch):
    waits = replace(EXPERIMENTS["su-figure-1"], methods=(Method.of("a better one", "not-there-yet"),))
    monkeypatch.setitem(EXPERIMENTS, "su-figure-1", waits)
    said = shoal("run", "su-figure-1", "--quick")
    assert said.exit_code == 0
    assert "waiting for" in said.output
    assert "0 new results" in said.output


def test_interrupt_leaves_with_130(shoal, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("shoal.bench.runner.run", stop)
    said = shoal("run", "time-n")
    assert said.exit_code == 130
    assert "Finished runs are kept" in said.output


def test_peers_are_listed_with_their_state(shoal):
    assert "diffprivlib: not installed" in shoal("peers", "list").output
