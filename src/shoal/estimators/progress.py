"""How far a fit is, on the data holder's own screen: a line that moves, or one every few seconds.

How fast rows are read tells about how many there are, so it is shown where somebody looks, and never written
to a log.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self, TextIO

from shoal.errors import ShoalError
from shoal.queries.kernels import telling_of_compiling

if TYPE_CHECKING:
    from shoal.accounting import Charge
    from shoal.domain import Schema

# Seconds between two lines where nobody looks, and between two changes of a line where somebody does.
_SILENCE, _FLICKER = 5.0, 0.1
# Seconds before anything is said: most fits are over by then.
_PATIENCE = 1.0
# From this share of the work on, how long the rest takes can be guessed.
_EARLY = 0.03


class Progress:
    """Shows questions, rows per second and the time left.

    Parameters
    ----------
    questions : int or callable, optional
        How many questions a rehearsal of the fit asks, or what rehearses it, as soon as anything is to be
        said: a small fit is over before.
    stream : text stream, optional
        Where to; the standard error, if not given.
    clock : callable, optional
        Seconds.

    Examples
    --------
    >>> import io
    >>> seconds, out = iter([0.0, 1.0, 6.0, 12.0]), io.StringIO()
    >>> progress = Progress(4, out, clock=lambda: next(seconds))
    >>> for _ in range(3):
    ...     progress.charged("counts")
    >>> print(out.getvalue(), end="")
    question 2 of about 4: counts; about 0:00:18 left
    question 3 of about 4: counts; about 0:00:12 left
    """

    def __init__(
        self,
        questions: int | Callable[[], int | None] | None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._questions = None if callable(questions) else questions
        self._rehearse, self._clock = questions if callable(questions) else None, clock
        self._stream = sys.stderr if stream is None else stream
        self._watched = self._stream.isatty() or "ipykernel" in sys.modules
        self._lock, self._rehearsing = threading.Lock(), threading.Lock()
        self._asked, self._what = 0, "reading"
        self._rows, self._pass, self._whole = 0, 0, 0
        self._width, self._open = 0, ExitStack()
        self._start = self._spoke = clock()

    def __enter__(self) -> Self:
        if self._watched:
            self._open.enter_context(telling_of_compiling(self._compiles))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self._clear()

    def _clear(self) -> None:
        if self._width:  # take the line away
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()

    def _compiles(self) -> None:
        with self._lock:
            self._clear()
            self._stream.write("compiling loops for this machine; later fits find them on disk\n")
            self._stream.flush()

    def charged(self, question: str | Charge) -> None:
        """Take note that a question was paid for; what it asks comes now."""
        with self._lock:
            self._asked += 1
            self._whole = max(self._whole, self._pass)
            self._pass = 0
            self._what = question if isinstance(question, str) else question.question
        self._show()

    def saw(self, rows: int) -> None:
        """Take note of rows that were read; several threads may do so at once."""
        with self._lock:
            self._rows += rows
            self._pass += rows
        if self._watched:
            self._show()

    def _show(self) -> None:
        now = self._clock()
        since, every = now - self._spoke, _FLICKER if self._watched else _SILENCE
        if since < every or now - self._start < _PATIENCE:
            return
        self._spoke = now
        with self._rehearsing:
            if self._rehearse is not None:
                self._questions, self._rehearse = self._rehearse(), None
        line = self._line(now - self._start)
        if self._watched:
            line = line[:100]
            self._stream.write("\r" + line.ljust(self._width))
            self._width = max(self._width, len(line))
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

    def _line(self, elapsed: float) -> str:
        of = f" of about {self._questions}" if self._questions and self._asked <= self._questions else ""
        parts = [f"question {self._asked}{of}: {self._what[:50]}"]
        if self._watched and self._rows:
            parts.append(f"{_short(self._rows / max(elapsed, 1e-9))} rows/s")
        done = self._asked - 1 + (min(self._pass / self._whole, 1.0) if self._whole else 0.0)
        share = done / self._questions if self._questions else 0.0
        if _EARLY < share < 1:
            parts.append(f"about {timedelta(seconds=round(elapsed * (1 - share) / share))} left")
        return "; ".join(parts)


def rehearsed_questions(model: Any, schema: Schema) -> int | None:
    """Return about how many questions a fit will ask; None where no rehearsal can tell."""
    from shoal.estimators.explanation import explain
    from shoal.estimators.fitting import PrivateEstimator

    if not isinstance(model, PrivateEstimator):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return len(explain(model, schema, rows=1e6).charges)
    except ShoalError:
        return None  # the fit itself says what is wrong


def _short(rate: float) -> str:
    """Write a rate with two digits.

    Examples
    --------
    >>> _short(1_234_567), _short(45_600), _short(320)
    ('1.2 million', '46 thousand', '320')
    """
    for size, word in ((1e9, " billion"), (1e6, " million"), (1e3, " thousand"), (1.0, "")):
        if rate >= size:
            found = rate / size
            return f"{found:.1f}{word}" if found < 10 and word else f"{float(f'{found:.2g}'):.0f}{word}"
    return f"{rate:.1f}"
