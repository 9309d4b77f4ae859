"""The command line as people use it: globs, pipes, narrow terminals, and progress."""

import io
import os
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import shoal
from shoal import DPLloyd
from shoal.cli import main
from shoal.estimators.progress import Progress
from shoal.release import load

RNG = np.random.default_rng(2)
TABLE = pa.table({"x": RNG.uniform(0, 10, 4000), "y": RNG.uniform(0, 10, 4000)})
HOW = ["--k", "2", "--epsilon", "5", "--algorithm", "lloyd", "--bounds", "x=0:10", "--bounds", "y=0:10"]


@pytest.fixture
def folder(tmp_path):
    for i in range(2):
        pq.write_table(TABLE.slice(2000 * i, 2000), tmp_path / f"part-{i}.parquet")
    return tmp_path


def command(*args, **how):
    return [sys.executable, "-m", "shoal", *map(str, args)], {"capture_output": True, "timeout": 120, **how}


def run(*args, **how):
    args, how = command(*args, **how)
    return subprocess.run(args, **how)


def test_a_glob_that_the_shell_has_expanded(folder):
    files = sorted(folder.glob("*.parquet"))
    result = CliRunner().invoke(main, ["fit", *map(str, files), *HOW, "--out", str(folder / "r")])
    assert result.exit_code == 0, result.output
    release = load(folder / "r")
    assert release.sizes.sum() == pytest.approx(4000, abs=100)
    out = folder / "labels.csv"
    result = CliRunner().invoke(main, ["predict", str(folder / "r"), *map(str, files), "--out", str(out)])
    assert result.exit_code == 0, result.output
    labels = np.array(out.read_text().split()[1:], dtype=int)
    assert np.array_equal(labels, release.predict(TABLE))


@pytest.mark.slow
def test_the_standard_input_is_a_csv(folder):
    text = io.BytesIO()
    pa.csv.write_csv(TABLE, text)
    result = run("fit", "-", *HOW, "--out", folder / "r", input=text.getvalue())
    assert result.returncode == 0, result.stderr
    assert load(folder / "r").sizes.sum() == pytest.approx(4000, abs=100)
    assert shoal.verify(folder / "r").ok
    result = run("fit", "-", folder / "part-0.parquet", *HOW, "--out", folder / "s", input=b"")
    assert result.returncode == 2
    assert b"cannot be read together" in result.stderr


@pytest.fixture
def release(tmp_path):
    DPLloyd(40, epsilon=5.0, bounds=(0, 10)).fit(TABLE).release_.save(tmp_path / "release")
    return tmp_path / "release"


@pytest.mark.slow
@pytest.mark.parametrize("what", [["show"], ["show", "--json"], ["verify"]])
def test_a_reader_that_leaves_is_no_error(release, what):
    args, _ = command(what[0], release, *what[1:])
    first = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert first.stdout.readline()
    first.stdout.close()
    assert first.stderr.read() == b""
    first.stderr.close()
    assert first.wait(timeout=60) == 0


@pytest.mark.slow
def test_a_terminal_that_knows_ascii_alone(release):
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "100"}
    result = run("show", release, env=env)
    assert result.returncode == 0, result.stderr
    lines = [line for line in result.stdout.decode("ascii").splitlines() if line.startswith("|")]
    assert "+/-" in lines[2]
    assert len({len(line) for line in lines}) == 1
    assert run("explain", "absent.csv", *HOW, "--rows", "1e5", env=env).stderr.decode("ascii")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("shoal fit t --algorithm l", {"lloyd", "lsh-tree"}),
        ("shoal fit t --missing d", {"drop"}),
        ("shoal fit t --scaling e", {"earth"}),
        ("shoal pl", {"plan", "plot"}),
    ],
)
def test_a_shell_completes_values(words, wanted):
    env = {
        "_SHOAL_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    result = CliRunner().invoke(main, prog_name="shoal", env=env)
    assert {line.split(",")[1] for line in result.output.split()} == wanted


class Terminal(io.StringIO):
    def isatty(self):
        return True


def moved(progress, clock, steps):
    for seconds, step in steps:
        clock[0] = seconds
        step(progress)
    return progress._stream.getvalue()


STEPS = [
    (0.0, lambda p: p.charged("counts")),
    (1.0, lambda p: p.saw(1_000_000)),
    (2.0, lambda p: p.charged("sums")),
    (7.0, lambda p: p.saw(500_000)),
    (8.0, lambda p: p.charged("sums")),
]


def test_progress_where_somebody_looks_and_where_nobody_does():
    clock = [0.0]
    on_screen = moved(Progress(4, Terminal(), clock=lambda: clock[0]), clock, STEPS)
    assert "million rows/s" in on_screen
    assert "question 3 of about 4: sums" in on_screen
    assert "left" in on_screen
    assert "\n" not in on_screen
    clock = [0.0]
    in_a_log = moved(Progress(4, io.StringIO(), clock=lambda: clock[0]), clock, STEPS)
    # A line every few seconds, and nothing that tells how many rows there are.
    assert in_a_log == "question 3 of about 4: sums; about 0:00:08 left\n"


@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_a_fit_that_is_watched_is_the_same_fit(monkeypatch, capsys):
    plain = DPLloyd(2, epsilon=1.0, bounds=(0, 10), random_state=0).fit(TABLE)
    times = iter(np.arange(0, 1e6, 60.0))
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    monkeypatch.setattr(Progress.__init__, "__defaults__", (None, time.monotonic))
    watched = DPLloyd(2, epsilon=1.0, bounds=(0, 10), random_state=0, verbose=True).fit(TABLE)
    assert watched.certificate_.transcript == plain.certificate_.transcript
    said = capsys.readouterr().err
    assert "question 5 of about 5" in said
    assert "rows" not in said.replace("sums of rows", "")
