"""Real processes, killed: a fit goes on from the ledger, and nothing is spent twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal import Accountant, verify
from shoal.studio.workshop import Studio

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are found by /proc"),
]

# So that a fit of many questions takes a few seconds, and can be met half way.
ROWS = 2_000_000

SERVER = """
import sys, time
from shoal.studio.workshop import Studio
studio = Studio(sys.argv[1])
studio.studies()[0].release("good")
time.sleep(600)
"""


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    path = tmp_path_factory.mktemp("big") / "big.parquet"
    rng = np.random.default_rng(0)
    X = rng.normal(0, 0.1, (ROWS, 2)) + rng.integers(2, size=(ROWS, 1))
    pq.write_table(pa.table({"x": X[:, 0], "y": X[:, 1]}), path, row_group_size=100_000)
    return path


@pytest.fixture
def study(tmp_path, big):
    studio = Studio(tmp_path / "home")
    studio.create_dataset("big", epsilon=4)
    bounds = {"x": (-2, 3), "y": (-2, 3)}
    yield studio.open(big, dataset="big", columns=("x", "y"), bounds=bounds, k=8)
    studio.close()


def ledger(study):
    return Accountant.open(study.studio.ledger, "big")


def records(study):
    return [(record.kind, record.content) for record in ledger(study).records()]


def until(happens, seconds=240.0):
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def half_way(study):
    """Return whether the fit is under way, with an answer that was paid for."""
    answers = sum(kind == "answered" for kind, _ in records(study))
    return answers > 0 and any(fit.open for fit in ledger(study).book.fits.values())


def workers(study):
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"shoal.studio.workshop.worker" in words and str(study.studio.home).encode() in words:
                found.append(int(entry.name))
    return found


def check_spent_once(study, epsilon=1.0):
    """Check that there is one fit, and that no question whose answer is known was charged twice."""
    (fit,) = ledger(study).book.fits.values()
    assert not fit.open
    answered = Counter(content["number"] for kind, content in records(study) if kind == "answered")
    assert set(answered.values()) == {1}
    unanswered = float(fit.unanswered)  # charged as the process was killed: that is gone, and counts
    assert float(fit.spent) - unanswered <= epsilon
    kept: set[int] = set()
    for kind, content in records(study):
        if kind == "answered":
            kept.add(content["number"])
        if kind == "charged":
            assert content["number"] not in kept
    (record,) = study.releases()
    assert verify(record._folder / "centres").ok


def test_a_fit_that_is_stopped_and_one_that_is_killed_go_on(study):
    job = study.release("good")
    until(lambda: half_way(study))
    assert job.stop().wait(60).state == "stopped"
    assert study.release("good").state == "stopped"  # a reload does not begin it anew
    resumed = [kind for kind, _ in records(study)].count("resumed")
    job = job.resume()
    until(lambda: [kind for kind, _ in records(study)].count("resumed") > resumed)
    for pid in workers(study):
        os.kill(pid, signal.SIGKILL)
    job = job.wait(300)
    assert (job.state, job.message) == ("done", "")
    check_spent_once(study)


def test_a_server_is_killed_then_its_fit_and_the_next_server_goes_on(study):
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(study.studio.home)])
    try:
        until(lambda: half_way(study))
        assert study.current_job().state == "running"
    finally:
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
    (first,) = workers(study)  # it lives on
    again = Studio(study.studio.home)
    (job,) = again.recover()
    until(lambda: len(workers(study)) == 2)  # the next one waits for the lock of the first
    assert "resumed" not in [kind for kind, _ in records(study)]
    os.kill(first, signal.SIGKILL)
    job = job.wait(300)
    again.close()
    assert (job.state, job.message) == ("done", "")
    check_spent_once(study)
