"""Processes that do jobs: spawned, watched, and started again where they were killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from shoal.studio.workshop.jobs import FAILED, OVER, RUNNING, WAITING
from shoal.studio.workshop.store import now

if TYPE_CHECKING:
    from shoal.studio.workshop.archive import Archive

# How often a job is begun again after its process was killed: the third time something is wrong with it.
_TRIES = 3


class Processes:
    """The processes of a studio's jobs.

    Parameters
    ----------
    studio : Archive
        Whose.
    """

    def __init__(self, studio: Archive) -> None:
        self._studio = studio
        self._lock = threading.Lock()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._over = False

    def start(self, job: str) -> None:
        """Start a process for a job and watch it; one that has a process is left alone."""
        with self._lock:
            if job in self._running:
                return
            self._running[job] = self._spawn(job)
        threading.Thread(target=self._watch, args=(job,), name=f"job {job}", daemon=True).start()

    def let_go(self) -> None:
        """Watch no longer; processes go on by themselves."""
        self._over = True

    def _spawn(self, job: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "shoal.studio.workshop.worker", str(self._studio.home), job]
        # A session of its own: what ends the server, such as Ctrl-C, does not end a fit half way.
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )

    def _watch(self, job: str) -> None:
        for attempt in range(1, _TRIES + 1):
            with self._lock:
                process = self._running[job]
            process.wait()
            state = self._studio.job(job).state
            if self._over or state in OVER or state not in (WAITING, RUNNING):
                break
            if attempt == _TRIES:
                self._fail(job)
                break
            with self._lock:
                self._running[job] = self._spawn(job)
        with self._lock:
            del self._running[job]

    def _fail(self, job: str) -> None:
        self._studio.memory.change(
            "UPDATE jobs SET state = ?, message = ?, updated = ? WHERE id = ? AND state IN (?, ?)",
            (
                FAILED,
                f"its process was ended {_TRIES} times, perhaps for want of memory. What was charged is in "
                "the ledger: it can be gone on with, and nothing is spent twice",
                now(),
                job,
                WAITING,
                RUNNING,
            ),
        )
