"""A record, its hash, and the chain that hashes make: each covers the one before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import InvalidLedger

GENESIS = "0" * 64
"""What the first record of a data set names as the one before it."""

PAYLOAD = "payload_sha256"
"""In the body of a record: the hash of what lies beside it."""


@dataclass(frozen=True)
class Draft:
    """What is to be written down.

    Parameters
    ----------
    kind : str
        What it is a record of.
    body : mapping
        Plain JSON.
    payload : bytes, optional
        What lies beside it; the body has its hash.
    """

    kind: str
    body: Mapping[str, Any] = field(default_factory=dict)
    payload: bytes | None = None


@dataclass(frozen=True)
class Record:
    """One line of a ledger, as it was written.

    Parameters
    ----------
    dataset : str
        The data set whose chain it is in.
    number : int
        Its place in the chain, from 1.
    time : str
        When, in UTC; never before the record before it, whatever the clock said.
    kind : str
        What it is a record of.
    key : str
        Names what was written, so that a retry writes it once.
    body : str
        JSON, as it was written.
    previous, hash : str
        The hash of the record before it, and its own.

    Examples
    --------
    >>> first = Record.after(None, "trips", "2026-01-01T00:00:00Z", "create:1", Draft("created", {"a": 1}))
    >>> second = Record.after(first, "trips", "2026-01-01T00:00:01Z", "note:1", Draft("noted", {}))
    >>> second.number, second.previous == first.hash, second.is_whole
    (2, True, True)
    """

    dataset: str
    number: int
    time: str
    kind: str
    key: str
    body: str
    previous: str
    hash: str

    @classmethod
    def after(cls, last: Record | None, dataset: str, time: str, key: str, draft: Draft) -> Record:
        """Make the record that follows another."""
        body = dict(draft.body)
        if draft.payload is not None:
            body[PAYLOAD] = hashlib.sha256(draft.payload).hexdigest()
        number = 1 if last is None else last.number + 1
        previous = GENESIS if last is None else last.hash
        time = time if last is None else max(time, last.time)
        written = canonical(body)
        found = _hash(dataset, number, time, draft.kind, key, written, previous)
        return cls(dataset, number, time, draft.kind, key, written, previous, found)

    @property
    def content(self) -> dict[str, Any]:
        """The body, read."""
        found: dict[str, Any] = json.loads(self.body)
        return found

    @property
    def is_whole(self) -> bool:
        """Whether the hash is that of the record."""
        own = (self.dataset, self.number, self.time, self.kind, self.key, self.body, self.previous)
        return self.hash == _hash(*own)


def canonical(value: Any) -> str:
    """Write plain JSON in the one way in which it is hashed.

    Examples
    --------
    >>> canonical({"b": 1, "a": [True, None]})
    '{"a":[true,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def check_chain(records: Iterable[Record], known: tuple[int, str] = (0, GENESIS)) -> None:
    """Check that records follow one another, from a place and a hash that are known.

    Parameters
    ----------
    records : iterable of Record
        In order.
    known : (int, str)
        The number and the hash of the record before the first of them.
    """
    number, previous = known
    time = ""
    for record in records:
        number += 1
        where = f"record {record.number} of data set {record.dataset!r}"
        if record.number != number:
            raise InvalidLedger(f"{where} stands where record {number} should: one was removed or moved")
        if record.previous != previous:
            raise InvalidLedger(f"{where} does not follow the record before it: something was changed or cut")
        if not record.is_whole:
            raise InvalidLedger(f"{where} is not as it was written: its hash does not fit")
        if record.time < time:
            raise InvalidLedger(f"{where} is older than the record before it")
        previous, time = record.hash, record.time


def _hash(*parts: Any) -> str:
    return hashlib.sha256(canonical(parts).encode()).hexdigest()
