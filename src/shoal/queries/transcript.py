"""The record of a run: every question, its charge and its noisy answer; enough to run it again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.accounting import Budget, Charge
from shoal.domain import Domain
from shoal.queries.questions import Question


def plain(value: Any) -> Any:
    """Turn a public value into dictionaries, lists, numbers and strings.

    Examples
    --------
    >>> from shoal.queries.partitions import Grid
    >>> plain(Grid((2, 3)))
    {'kind': 'Grid', 'shape': [2, 3]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {
            "kind": type(value).__name__,
            **{f.name: plain(getattr(value, f.name)) for f in fields(value)},
        }
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        return value.item()
    return value


def digest(value: Any) -> str:
    """Return the SHA-256 of a public value.

    Examples
    --------
    >>> digest({"a": Fraction(1, 2)}) == digest({"a": Fraction(2, 4)})
    True
    """
    state = hashlib.sha256()
    _feed(state, value)
    return state.hexdigest()


def _feed(state: Any, value: Any) -> None:
    # Arrays are hashed as bytes: writing them out as text first would cost more than the query.
    if isinstance(value, np.ndarray):
        state.update(f"<{value.dtype.str}{value.shape}>".encode())
        state.update(np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value) and not isinstance(value, type):
        state.update(f"{type(value).__name__}(".encode())
        for f in fields(value):
            state.update(f"{f.name}=".encode())
            _feed(state, getattr(value, f.name))
        state.update(b")")
    elif isinstance(value, dict):
        for key in sorted(value):
            state.update(f"{key}:".encode())
            _feed(state, value[key])
    elif isinstance(value, list | tuple):
        state.update(b"[")
        for entry in value:
            _feed(state, entry)
            state.update(b",")
        state.update(b"]")
    else:
        state.update(f"{type(value).__name__}:{value!r};".encode())


@dataclass(frozen=True, eq=False)
class Entry:
    """One question and what came back.

    Parameters
    ----------
    question : Question
        What was asked.
    answer : object
        The noisy answer, or the seed of public randomness.
    charge : Charge, optional
        What it cost; None for public randomness.
    """

    question: Question
    answer: Any
    charge: Charge | None


@dataclass(eq=False)
class Transcript:
    """All entries of one run, with the public facts it started from."""

    domain: Domain
    budget: Budget
    n_rows: int | None
    entropy: str
    entries: list[Entry] = field(default_factory=list)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Every charge, in order."""
        return tuple(entry.charge for entry in self.entries if entry.charge is not None)

    def digest(self) -> str:
        """Return a hash over questions, answers and charges."""
        return digest([[e.question, e.answer, e.charge] for e in self.entries])
