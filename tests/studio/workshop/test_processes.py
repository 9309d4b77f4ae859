"""Real processes, killed: a fit goes on from the ledger, and nothing is spent twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from shoal import Accountant, verify
from shoal.studio.workshop import Studio, worker

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are found by /proc"),
]

# Seconds that a slow machine may take until something has happened.
PATIENCE = 300.0
# Runs in every process of a job: a fit stands still at the second question that this process pays for, before
# it is answered, until it may go on. So it is met half way, however fast or slow the machine is.
STANDS = """
import sys
if "shoal.studio.workshop.worker" in sys.orig_argv:
    import time
    from shoal.studio.workshop.tasks import Task
    plain = Task.watch
    def watch(self, model, *given):
        plain(self, model, *given)
        paid, asked = model.on_charge, []
        def stand(charge):
            paid(charge)
            asked.append(charge)
            while len(asked) > 1 and not (self.home / "go on").exists():
                time.sleep(0.1)
        model.on_charge = stand
    Task.watch = watch
"""

SERVER = """
import sys, time
from shoal.studio.workshop import Studio
studio = Studio(sys.argv[1])
studio.studies()[0].release("good")
time.sleep(600)
"""


@pytest.fixture
def study(tmp_path, trips, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(STANDS)
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    studio = Studio(tmp_path / "home")
    studio.create_dataset("trips", epsilon=4)
    bounds = {"lon": (-74.3, -73.6), "lat": (40.5, 40.9)}
    study = studio.open(trips, dataset="trips", columns=("lon", "lat"), bounds=bounds, k=2)
    yield study
    studio.close()
    for pid in workers(study):  # what a test that failed has left standing
        os.kill(pid, signal.SIGKILL)


def ledger(study):
    return Accountant.open(study.studio.ledger, "trips")


def records(study):
    return [(record.kind, record.content) for record in ledger(study).records()]


def until(happens):
    end = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.1)


def count(study, kind):
    return [found for found, _ in records(study)].count(kind)


def half_way(study):
    """Return whether one question of the fit is answered, and another one paid for."""
    kinds = [kind for kind, _ in records(study)]
    return "answered" in kinds and kinds[-1] == "charged"


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


def test_an_interrupt_that_is_lost_is_sent_again(monkeypatch):
    sent, over = [], threading.Event()
    monkeypatch.setattr(worker, "_AGAIN", 0.01)
    monkeypatch.setattr(worker.os, "kill", lambda *what: sent.append(what))
    asked = SimpleNamespace(is_to_stop=True)
    watching = threading.Thread(target=worker._watch, args=(asked, over))
    watching.start()
    until(lambda: len(sent) >= 3)
    over.set()
    watching.join(PATIENCE)
    assert set(sent) == {(os.getpid(), signal.SIGINT)}


def test_a_fit_that_is_stopped_and_one_that_is_killed_go_on(study):
    job = study.release("good")
    until(lambda: half_way(study))
    assert job.stop().wait(PATIENCE).state == "stopped"
    assert study.release("good").state == "stopped"  # a reload does not begin it anew
    charged = count(study, "charged")
    job = job.resume()
    until(lambda: count(study, "charged") >= charged + 2)  # what was answered is not asked again
    assert count(study, "resumed") == 1
    (pid,) = workers(study)
    (study.studio.home / "go on").touch()
    os.kill(pid, signal.SIGKILL)
    job = job.wait(PATIENCE)
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
    (study.studio.home / "go on").touch()
    job = job.wait(PATIENCE)
    again.close()
    assert (job.state, job.message) == ("done", "")
    check_spent_once(study)
