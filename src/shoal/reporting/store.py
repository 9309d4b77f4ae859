"""Results on disk: a file of JSON lines, and what was packed of it. Nothing measured is ever thrown away."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

Record: TypeAlias = dict[str, Any]


class Store:
    """A file of results; what is packed is in the ``.jsonl.gz`` beside it.

    Parameters
    ----------
    path : Path
        Ends in ``.jsonl``; made when the first result is appended.
    facts : iterable of str
        What every result says; a line without one of them is not a result.

    Attributes
    ----------
    complaint : str
        What was wrong with the file when it was last read; empty if nothing.
    """

    def __init__(self, path: Path, facts: Iterable[str] = ("id", "table", "algorithm")) -> None:
        self.path, self.packed = path, path.with_name(path.name + ".gz")
        self.facts = frozenset(facts)
        self.complaint = ""

    def read(self) -> list[Record]:
        """Return all results.

        A file with lines that cannot be read, as a crash leaves them, is set aside as ``.damaged`` and its
        good lines are kept.
        """
        before = [json.loads(line) for line in self._unpacked()]
        if not self.path.exists():
            return before
        lines = self.path.read_bytes().split(b"\n")
        parsed = [self._parse(line) for line in lines if line.strip()]
        good = [record for record in parsed if record is not None]
        if len(good) < len(parsed):
            aside = _free(self.path.with_name(self.path.name + ".damaged"))
            self.path.replace(aside)
            self._rewrite(good)
            self.complaint = (
                f"{self.path.name} had {len(parsed) - len(good)} unreadable lines: it was set aside as "
                f"{aside.name}, and the {len(good)} good results are kept"
            )
        elif lines[-1].strip():  # whole, but without its newline: the next result must not join it
            self._rewrite(good)
        return before + good

    def append(self, record: Record) -> None:
        """Add a result; it is on disk when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(_line(record))
            file.flush()
            os.fsync(file.fileno())

    def pack(self) -> None:
        """Put all lines into the packed file."""
        if records := self.read():
            # Without a time in it: the same results are the same file.
            part = self.packed.with_name(self.packed.name + ".part")
            part.write_bytes(gzip.compress(b"".join(map(_line, records)), mtime=0))
            part.replace(self.packed)
            self.path.unlink(missing_ok=True)

    def retire(self, keep: Iterable[Record] = ()) -> None:
        """Put both files out of the way, to begin anew, or with some of their results."""
        kept = list(keep)
        for file in (self.path, self.packed):
            if file.exists():
                file.replace(_free(file.with_name(file.name + ".previous")))
        if kept:
            self._rewrite(kept)

    def _unpacked(self) -> list[bytes]:
        return gzip.decompress(self.packed.read_bytes()).splitlines() if self.packed.is_file() else []

    def _parse(self, line: bytes) -> Record | None:
        try:
            record = json.loads(line)
        except ValueError:
            return None
        return record if isinstance(record, dict) and self.facts <= record.keys() else None

    def _rewrite(self, records: Iterable[Record]) -> None:
        part = self.path.with_name(self.path.name + ".part")
        part.write_bytes(b"".join(map(_line, records)))
        part.replace(self.path)


def _line(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _free(path: Path) -> Path:
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate
