"""Connecting to Spark, and the things that go wrong there before anything is spent."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shoal.errors import EngineUnavailable, InvalidInput

# Seconds to wait for a master, and for an executor: a cluster may have to start some.
_PATIENCE = 15
_PATIENCE_FOR_EXECUTORS = 120


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
    tag, gave_up = f"shoal-{os.urandom(8).hex()}", threading.Event()

    def give_up() -> None:
        gave_up.set()
        session.interruptTag(tag)

    timer = threading.Timer(_PATIENCE_FOR_EXECUTORS, give_up)
    timer.start()
    try:
        session.addTag(tag)
        session.range(0, 1, 1, 1).collect()
        session.removeTag(tag)
    except Exception as error:  # of py4j, of pyspark, of Java
        why = (
            f"no executor took up work in {_PATIENCE_FOR_EXECUTORS} seconds"
            if gave_up.is_set()
            else type(error).__name__
        )
        raise EngineUnavailable(
            f"Spark does not work ({why}): look at its master and its executors, or open a new session; "
            "nothing was spent"
        ) from None
    finally:
        timer.cancel()
