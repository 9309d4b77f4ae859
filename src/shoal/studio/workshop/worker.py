"""The process of one job: `python -m shoal.studio.workshop.worker HOME JOB`.

A lock says that a job has one process, whoever started it and whatever became of the server. Nothing is
printed or logged; what is told goes to the studio's database, and comes of public or released values.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from pathlib import Path

from shoal.errors import ShoalError, ShoalWarning
from shoal.studio.workshop.jobs import DONE, FAILED, OVER, PREPARE, RUNNING, STOPPED
from shoal.studio.workshop.locks import GivenUp, locked
from shoal.studio.workshop.preparing import prepare
from shoal.studio.workshop.releasing import release
from shoal.studio.workshop.tasks import Task

# Jobs that compute at the same time; others wait. Each uses all cores while it reads rows.
_AT_ONCE = 2
# Seconds between two looks at whether somebody asked to stop.
_LOOK = 0.25
# Seconds after which an interrupt that changed nothing is sent once more.
_AGAIN = 5.0

_STOPPED = "stopped. What was charged until then counts, and is in the ledger; it can be gone on with"


def work(home: Path, job: str) -> None:
    """Do one job, unless it is over or another process has it until it is.

    Parameters
    ----------
    home : Path
        The studio's folder.
    job : str
        Its id.
    """
    task = Task(home, job)
    slots = [home / "locks" / f"slot-{i}" for i in range(_AT_ONCE)]
    with locked(home / "locks" / f"job-{job}"):
        if task.state in OVER:
            return
        try:
            with locked(slots, given_up=lambda: task.is_to_stop):
                task.become(RUNNING, "")
                _run(task)
        except GivenUp:
            task.become(STOPPED, "stopped before it began; nothing was spent")


def _run(task: Task) -> None:
    over = threading.Event()
    threading.Thread(target=_watch, args=(task, over), daemon=True).start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShoalWarning)  # certificates say them
            result = prepare(task) if task.kind == PREPARE else release(task)
        task.become(DONE, "", result)
    except KeyboardInterrupt:
        over.set()  # first: a second interrupt would come between
        task.become(STOPPED, _STOPPED)
    except ShoalError as error:
        task.become(FAILED, str(error))
    except Exception as error:
        # Not the message of somebody else's error: it may quote a row.
        task.become(
            FAILED, f"it failed ({type(error).__name__}); what was charged until then is in the ledger"
        )
    finally:
        over.set()


def _watch(task: Task, over: threading.Event) -> None:
    """Interrupt the work when somebody asks to stop: between two steps, as Ctrl-C would."""
    while not over.wait(_LOOK):
        if task.is_to_stop:
            os.kill(os.getpid(), signal.SIGINT)
            # Then again: Python drops an interrupt where it cannot raise it, such as in a callback.
            over.wait(_AGAIN)


if __name__ == "__main__":
    work(Path(sys.argv[1]), sys.argv[2])
