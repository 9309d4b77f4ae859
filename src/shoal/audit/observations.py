"""All that can be seen of one run of a mechanism, taken apart into named numbers.

A mechanism may return anything: a fitted model, an array, a dictionary, or nothing because it raised. What
comes back is walked through, private attributes included, since whoever gets a pickle gets those too. Text
becomes a number by hashing, so that every sight is a column that events can be chosen on.
"""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import numbers
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from hashlib import blake2b
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Path: TypeAlias = str

# Beyond this many numbers an array is shown by a sample and its sums.
LARGEST_ARRAY = 256
_OPAQUE = (FunctionType, BuiltinFunctionType, MethodType, ModuleType, type, np.random.Generator)


class Part(NamedTuple):
    """Where some numbers of a sight come from: an array of this shape, or one hashed text."""

    path: Path
    shape: tuple[int, ...]
    is_text: bool


Layout: TypeAlias = tuple[Part, ...]


@dataclass
class Sight:
    """One run: numbers, laid out by parts."""

    parts: list[Part] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    texts: dict[float, str] = field(default_factory=dict)
    _walked: dict[int, Any] = field(default_factory=dict)

    def number(self, path: Path, value: Any) -> None:
        """Note an array of numbers."""
        if type(value) is float:
            self.parts.append(Part(path, (), False))
            self.values.append([value])
            return
        array = np.asarray(value, dtype=np.float64)
        if array.size > LARGEST_ARRAY:
            flat = array.ravel()
            self.text(f"shape of {path}", str(array.shape))
            self.number(path + ".sum", flat.sum())
            self.number(path + ".squares", (flat**2).sum())
            array = flat[np.linspace(0, flat.size - 1, LARGEST_ARRAY).astype(np.int64)]
        self.parts.append(Part(path, array.shape, False))
        self.values.append(array.ravel())

    def text(self, path: Path, value: str) -> None:
        """Note a text by its hash, which a float holds exactly."""
        code = _code(value)
        self.texts.setdefault(code, value if len(value) <= 200 else value[:200] + "...")
        self.parts.append(Part(path, (), True))
        self.values.append([code])

    def walk(self, path: Path, value: Any) -> None:
        """Take a value apart; an object that is met again says nothing new."""
        kind = type(value)
        if kind is str or value is None or isinstance(value, bool | np.bool_ | str | bytes | Enum):
            self.text(path, str(value))
        elif kind is float:
            self.number(path, value)
        elif isinstance(value, numbers.Number):
            self._scalar(path, value)
        elif isinstance(value, _OPAQUE):
            return
        elif isinstance(value, np.ndarray):
            self._array(path, value)
        elif hasattr(value, "to_numpy"):
            self.text(f"columns of {path}", str(list(getattr(value, "columns", ()))))
            self._array(path, np.asarray(value.to_numpy()))
        elif hasattr(value, "toarray"):
            self._array(path, np.asarray(value.toarray()))
        elif id(value) not in self._walked:
            self._walked[id(value)] = value
            for name, inner in _members(value):
                self.walk(f"{path}{name}" if path else name.lstrip("."), inner)

    def _scalar(self, path: Path, value: Any) -> None:
        try:
            self.number(path, float(value))
        except (OverflowError, TypeError, ValueError):  # too large, complex, or a signalling NaN
            self.text(path, str(value))

    def _array(self, path: Path, value: npt.NDArray[Any]) -> None:
        if value.dtype.kind in "fiub":
            self.number(path, value)
        else:
            self.text(path, str(value.tolist()))


@lru_cache(maxsize=4096)
def _code(text: str) -> float:
    return float(int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=6).digest(), "big"))


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f"[{key!r}]", inner) for key, inner in value.items())
    elif isinstance(value, set | frozenset):
        yield "", str(sorted(map(str, value)))
    elif isinstance(value, Sequence):
        try:
            array = np.asarray(value)
        except ValueError:  # ragged
            array = np.empty(0, dtype=object)
        if array.dtype.kind in "fiub" and array.size:
            yield "", array
        else:
            yield from ((f"[{i}]", inner) for i, inner in enumerate(value))
    else:
        yield from ((f".{name}", inner) for name, inner in getattr(value, "__dict__", {}).items())


# A part of this name says that a run has raised.
RAISED = "type of exception"

Statistics: TypeAlias = Mapping[str, Callable[[Any], Any]]


def look(mechanism: Callable[..., Any], table: Any, seed: int | None, statistics: Statistics) -> Sight:
    """Run a mechanism once and note what it returned, raised, warned of, logged and printed."""
    sight, heard, output, raised = Sight(), io.StringIO(), None, "nothing"
    with _listening(heard):
        try:
            output = mechanism(table) if seed is None else mechanism(table, seed)
        except Exception as error:  # whatever it raises is something to be seen
            raised = f"{type(error).__name__}: {error}"
            sight.text(RAISED, type(error).__name__)
    if raised == "nothing":
        sight.walk("" if hasattr(output, "__dict__") else "output", output)
        for name, statistic in statistics.items():
            sight.walk(name, statistic(output))
    sight.text("exception", raised)
    log = heard.getvalue()
    sight.text("log", log)
    # Numbers in a log may be noisy and never come twice; the words around them do.
    sight.text("log without numbers", re.sub(r"[-+.e\d]*\d", "#", log))
    sight.number("length of log", len(log))
    return sight


@contextlib.contextmanager
def _listening(heard: io.StringIO) -> Iterator[None]:
    handler = logging.StreamHandler(heard)
    handler.addFilter(lambda record: not record.name.startswith("numba"))  # its compiler's diary
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(heard),
            contextlib.redirect_stderr(heard),
        ):
            warnings.simplefilter("always")
            yield
        for warning in caught:
            heard.write(f"{warning.category.__name__}: {warning.message}\n")
    finally:
        root.setLevel(before)
        root.removeHandler(handler)


class Fit:
    """Makes a mechanism of an estimator: fit a copy of it, so that no run knows of another.

    Examples
    --------
    >>> from shoal import DPLloyd
    >>> fit = Fit(DPLloyd(1, epsilon=1.0, bounds=(-1, 1), max_iter=1))
    >>> fit(np.zeros((50, 2)), 3).cluster_centers_.shape
    (1, 2)
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __call__(self, table: Any, seed: int | None = None) -> Any:
        """Fit a copy, from a seed if there is one."""
        model = copy.copy(self.estimator)
        if seed is not None:
            model.set_params(random_state=seed)
        model.fit(table)
        if seed is not None:
            model.set_params(random_state=None)  # our doing, and not to be looked at
        return model

    def quietly(self, table: Any, seed: int | None = None) -> Any:
        """Fit a copy; what it warns of is not what is looked for."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self(table, seed)
