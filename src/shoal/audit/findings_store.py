"""Findings on disk, so that an audit of days goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from shoal.audit.report import Finding, facts
from shoal.reporting.store import Record, Store

_NAMES = tuple(field.name for field in fields(Finding))


class Kept:
    """Findings that were made before, and a place for new ones.

    Parameters
    ----------
    path : Path, optional
        A file of JSON lines, made with the first finding; without one, nothing is kept.
    runs : int
        Runs on each table that a finding must have to be taken over.
    confidence : float
        With which its bound must hold, at least.

    Attributes
    ----------
    complaint : str
        What was wrong with the file; empty if nothing.

    Examples
    --------
    >>> kept = Kept()
    >>> kept.add(Finding("lloyd", 1.0, "replay", "a run without its rows", True, "..."))
    >>> kept.get("lloyd", 1.0, "replay", "a run without its rows").passed
    True
    """

    def __init__(self, path: Path | None = None, runs: int = 0, confidence: float = 0.0) -> None:
        self._store = None if path is None else Store(path, (*_NAMES, "runs", "confidence", "facts"))
        self._runs, self._confidence = runs, confidence
        self._found: dict[tuple[Any, ...], Record] = {}
        for record in () if self._store is None else self._store.read():
            if _is_control(record) or (record["runs"] == runs and record["confidence"] >= confidence):
                self._found[_key(record)] = record
        self.complaint = "" if self._store is None else self._store.complaint

    def get(self, algorithm: str, epsilon: float, audit: str, case: str) -> Finding | None:
        """Return what was found before, or None."""
        record = self._found.get((algorithm, epsilon, audit, case))
        return None if record is None else Finding.from_dict(record)

    def add(self, finding: Finding) -> None:
        """Keep a finding; it is on disk when this returns."""
        record = {**finding.to_dict(), "runs": self._runs, "confidence": self._confidence, "facts": facts()}
        if self._store is not None:
            self._store.append(record)
        self._found[_key(record)] = record

    def forget(self, algorithms: Iterable[str]) -> None:
        """Take back what was found of some algorithms, as after a change; the old file is put aside."""
        names = set(algorithms)
        if self._store is not None and names:
            self._store.retire(keep=[r for r in self._store.read() if r["algorithm"] not in names])
        self._found = {key: record for key, record in self._found.items() if key[0] not in names}

    def controls(self) -> Iterator[Finding]:
        """Give what was found of mechanisms that are known to leak, and of their honest twins."""
        return (Finding.from_dict(record) for record in self._found.values() if _is_control(record))

    def facts_of(self, findings: Iterable[Finding]) -> dict[str, str]:
        """Return when, where and with what findings were made; several values where they differ."""
        told: dict[str, set[str]] = {}
        for finding in findings:
            for name, text in self._found[_key(finding.to_dict())]["facts"].items():
                told.setdefault(name, set()).add(text)
        return {name: _span(name, sorted(texts)) for name, texts in told.items()}


def _key(record: Record) -> tuple[Any, ...]:
    return record["algorithm"], record["epsilon"], record["audit"], record["case"]


def _is_control(record: Record) -> bool:
    return bool(record["role"])


def _span(name: str, texts: list[str]) -> str:
    if name == "date" and len(texts) > 1:
        return f"{texts[0]} to {texts[-1]}"
    return " and ".join(texts)
