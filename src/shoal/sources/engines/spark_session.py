"""Connecting to Spark, and the things that go wrong there before anything is spent."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from shoal.errors import EngineFailed, EngineUnavailable, InvalidInput

# Seconds to wait for a master.
_PATIENCE = 15
# Seconds to wait for an executor, if a setting of the session does not say: a cluster may have to start one.
_SETTING, _PATIENCE_FOR_EXECUTORS = "spark.shoal.patience", 120.0
# Seconds from one look at a job to the next.
_LOOK = 1.0


@contextmanager
def session_at(address: str | None) -> Iterator[Any]:
    """Open a session of Spark for a while: the one that there is, or a new one, which is closed again.

    Parameters
    ----------
    address : str, optional
        ``host:port`` of a master; the one that Spark's own settings name, if not given, or this machine.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise EngineUnavailable("Spark is not installed here: pip install 'shoal[spark]'") from None
    if address is not None:
        _check_master(address)
    before = SparkSession.getActiveSession()
    if before is None and not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise EngineUnavailable(
            "Spark runs on Java, and there is none on the path nor in JAVA_HOME: install Java 17 or newer; "
            "nothing was spent"
        )
    # Executors of this machine run the Python that runs here; others, what the settings of their cluster say.
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("shoal").config("spark.ui.showConsoleProgress", "false")
    if address is not None:
        builder = builder.master(f"spark://{address}")
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        session = builder.getOrCreate()
    except Exception as error:  # of py4j, of pyspark, of Java
        name = getattr(error, "getCondition", lambda: None)() or type(error).__name__
        raise EngineUnavailable(
            f"Spark does not start ({name}): it wants Java 17 or newer, and settings that fit; nothing was "
            "spent"
        ) from None
    try:
        check_executors(session)
        yield session
    finally:
        if before is None:
            session.stop()


def _check_master(address: str) -> None:
    """Refuse a master that does not answer: Spark itself would try for a minute, and then say little."""
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal()):
        raise InvalidInput(f"the master of Spark is {address!r}; give spark://host:port")
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except OSError:
        raise EngineUnavailable(
            f"no master of Spark answers at {address}: start one, or look at the address; nothing was spent"
        ) from None


def check_executors(session: Any) -> None:
    """Refuse a session that was stopped, or for which no executor takes up work."""
    try:
        patience(session)
        # At work for us: whoever else keeps executors busy may do so for hours.
        with attended(session, _never_at_work):
            session.range(0, 1, 1, 1).collect()
    except InvalidInput:
        raise
    except Exception as error:  # of py4j, of pyspark, of Java
        why = stopped() or (str(error) if isinstance(error, EngineFailed) else type(error).__name__)
        raise EngineUnavailable(
            f"Spark does not work ({why}): look at its master and its executors, or open a new session; "
            "nothing was spent"
        ) from None


@contextmanager
def attended(session: Any, at_work: Callable[[Any], bool] | None = None) -> Iterator[None]:
    """Give up what is done meanwhile, once no executor has been at work for too long: Spark waits for ever.

    Parameters
    ----------
    session : SparkSession
        Of the job.
    at_work : callable
        Says whether executors are; by default, whether they have a task, or ended one since the last look.
    """
    tag, over, gave_up = f"shoal-{os.urandom(8).hex()}", threading.Event(), threading.Event()
    look = at_work or _Watch().at_work

    def watch() -> None:
        idle = 0.0
        with suppress(Exception):  # the session is gone: whoever waits for it is told so
            while not over.wait(_LOOK):
                idle = 0.0 if look(session) else idle + _LOOK
                if idle >= patience(session):
                    gave_up.set()
                    context.cancelJobsWithTag(tag)
                    return

    watcher = threading.Thread(target=watch, daemon=True)
    # Of the context: a session does not know its tags in another thread, and could not cancel from there.
    context = session.sparkContext
    context.addJobTag(tag)
    watcher.start()
    try:
        yield
    except Exception:
        if gave_up.is_set():
            raise EngineFailed(
                f"no executor of Spark took up work in {patience(session):g} seconds: free or start some, or "
                f"raise {_SETTING}"
            ) from None
        raise
    finally:
        over.set()
        with suppress(Exception):
            context.removeJobTag(tag)


def patience(session: Any) -> float:
    """Return how many seconds a job waits for an executor: a setting of the session."""
    given = session.conf.get(_SETTING, str(_PATIENCE_FOR_EXECUTORS))
    try:
        return float(given)
    except ValueError:
        raise InvalidInput(f"{_SETTING} is {given!r}; it must be a number of seconds, such as 120") from None


class _Watch:
    """Looks at the tasks of a session, whoever's: as long as some begin or end, there are executors."""

    def __init__(self) -> None:
        self._seen: Any = None

    def at_work(self, session: Any) -> bool:
        tracker = session.sparkContext.statusTracker()
        if not tracker.getActiveJobsIds():  # Spark itself is at work: it plans
            return True
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        found = [(stage.stageId, stage.numCompletedTasks) for stage in stages if stage is not None]
        before, self._seen = self._seen, found
        return found != before or any(stage is not None and stage.numActiveTasks for stage in stages)


def _never_at_work(_: Any) -> bool:
    return False


def stopped() -> str | None:
    """Return a sentence if the session was stopped, or its Java is gone; None if it is there."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    with suppress(Exception):  # Java does not answer
        if context is not None and not context._jsc.sc().isStopped():
            return None
    return "the session of Spark was stopped: open a new one, and fit again"
