"""What is written down: who asked for which kind of page, when, how it went. No query, cell or message."""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
import secrets
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

# Bytes of a log file, and how many are kept: some months of a small office.
_SIZE, _KEPT = 5_000_000, 5
# Loggers of the libraries below us: their words may hold addresses, and errors may hold cells.
_LIBRARIES = ("nicegui", "uvicorn", "uvicorn.error", "asyncio", "socketio", "engineio", "concurrent.futures")
_ACCESS = "shoal.studio.access"


class AccessLog:
    """One line of JSON for each request: time, user, method, template of the route, status."""

    def __init__(self, path: Path | None, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._handler: logging.Handler = logging.NullHandler()
        if path is not None:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
            self._handler = _PrivateFile(path, maxBytes=_SIZE, backupCount=_KEPT, encoding="utf-8")

    def write(self, user: str | None, method: str, template: str | None, status: int) -> None:
        """Take down one request. An address that is not declared has no template, and is not written."""
        at = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds")
        line = {"time": at, "user": user, "method": method, "route": template, "status": status}
        record = logging.LogRecord(_ACCESS, logging.INFO, "", 0, json.dumps(line), None, None)
        self._handler.handle(record)

    def close(self) -> None:
        """Let go of the file."""
        self._handler.close()


class _PrivateFile(logging.handlers.RotatingFileHandler):
    def _open(self):  # type: ignore[no-untyped-def]  # the type of a text file is typeshed's own affair
        return open(self.baseFilename, "a", encoding=self.encoding, opener=_opened)


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def places(error: BaseException) -> str:
    """Where an error came from, without what it says: its words may hold a cell."""
    chain, seen = [], set[int]()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        chain.append(f"{type(current).__name__} at {_frames(current.__traceback__)}")
        current = current.__cause__ or current.__context__
    return "; from ".join(chain)


def _frames(trace: TracebackType | None) -> str:
    last = traceback.extract_tb(trace)[-6:]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(last)) or "nowhere"


def incident(error: BaseException) -> str:
    """Write down where an error came from, under a number that its page may show."""
    number = secrets.token_hex(4)
    logging.getLogger("shoal.studio").error("incident %s: %s", number, places(error))
    return number


class _NoWords(logging.Filter):
    """Keeps of a library's record its level and its place; of an error, where it came from."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING and record.name.startswith("uvicorn"):
            return True  # started, stopped, where it listens: written by the server about itself
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(record.msg, BaseException):
            error = record.msg
        where = places(error) if error else f"{Path(record.pathname).name}:{record.lineno}"
        record.msg, record.args = f"{record.levelname.lower()} in {record.name}: {where}", None
        record.exc_info = record.exc_text = record.stack_info = None
        return True


def quieten() -> None:
    """Let no library write words of its own: only where it would have said them."""
    for name in _LIBRARIES:
        logger = logging.getLogger(name)
        if not any(isinstance(known, _NoWords) for known in logger.filters):
            logger.addFilter(_NoWords())
