"""The walk of one fit: which of Shoal's own functions run, in which files, and the way down to the rows.

    python tests/walk.py                # both walks, and what each file does in them
    python tests/walk.py DPLloyd

Counted are functions of `src/shoal` that are called while `fit` runs, in any thread, on a small table of two
columns: a second fit of the same kind, since the first also loads modules and fills caches. Compiled loops
are not seen; whoever calls them is. Not counted are other libraries, and what only runs on import.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import shoal

ROOT = Path(shoal.__file__).parent
# What counts rows: the first call of one of these is the bottom of the way down.
COUNTING = ("queries/kernels/",)


@dataclass
class Walk:
    """What ran: functions by file in the order they were first called, and the frames at the first count."""

    files: dict[str, list[str]] = field(default_factory=dict)
    down: list[tuple[str, str]] = field(default_factory=list)

    @property
    def n_functions(self) -> int:
        """How many different functions ran."""
        return sum(map(len, self.files.values()))

    def watch(self, frame: FrameType, event: str, argument: Any) -> None:
        """Be told of a call."""
        if event != "call" or (here := _place(frame)) is None:
            return
        functions = self.files.setdefault(here[0], [])
        if here[1] not in functions:
            functions.append(here[1])
        if not self.down and here[0].startswith(COUNTING):
            at: FrameType | None = frame
            while at is not None:
                if (place := _place(at)) is not None:
                    self.down.insert(0, place)
                at = at.f_back


def _place(frame: FrameType) -> tuple[str, str] | None:
    path = Path(frame.f_code.co_filename)
    return (
        (path.relative_to(ROOT).as_posix(), frame.f_code.co_qualname) if path.is_relative_to(ROOT) else None
    )


def walk(fit: Callable[[], Any]) -> Walk:
    """Watch one fit."""
    found = Walk()
    threading.setprofile(found.watch)
    sys.setprofile(found.watch)
    try:
        fit()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def walk_of(name: str) -> Walk:
    """Watch the second fit of an estimator."""
    rows = np.random.default_rng(0).uniform(0, 10, (5000, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(shoal, name)(3, epsilon=0.5, bounds=(0, 10), n_jobs=1)
        model.fit(rows)
        return walk(lambda: model.fit(rows))


def main(names: list[str]) -> None:
    """Print the walks."""
    for name in names:
        found = walk_of(name)
        print(f"{name}.fit: {found.n_functions} functions in {len(found.files)} files")
        for file, functions in found.files.items():
            own = [function for function in functions if "<" not in function]
            print(f"  {file:<36} {len(functions):>3}  {', '.join(own[:4])}{', ...' if len(own) > 4 else ''}")
        print(
            f"\n{len(found.down)} frames in {len({file for file, _ in found.down})} files to the first count:"
        )
        for depth, (file, function) in enumerate(found.down):
            print(f"  {depth + 1:>2} {file:<36} {function}")
        print()


if __name__ == "__main__":
    main(sys.argv[1:] or ["KMeans", "DPLloyd"])
