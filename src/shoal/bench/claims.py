"""What papers claim, as values that can be judged on results."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from shoal.bench.results import Results, Summary
from shoal.bench.surely import Verdict
from shoal.reporting.store import Record


@dataclass(frozen=True)
class Claim:
    """A published statement and how to check it.

    Parameters
    ----------
    text : str
        What the paper says.
    needs : tuple of str
        Labels of the methods that must have results.
    check : callable
        Judges the results.
    otherwise : (str, tuple of str, callable), optional
        Another reading of what the paper leaves open: what it is, labels of the methods that it needs, and
        how it is judged. Where the two come out differently, the verdict says so.
    reading : str
        What the first reading is, where there is another.

    Examples
    --------
    >>> from shoal.bench.comparisons import better
    >>> Claim("a beats b", ("a", "b"), better("a", "b")).judge(Results([])).why
    'no results of a, b'
    """

    text: str
    needs: tuple[str, ...]
    check: Callable[[Results], Verdict]
    otherwise: tuple[str, tuple[str, ...], Callable[[Results], Verdict]] | None = None
    reading: str = ""

    def judge(self, results: Results) -> Verdict:
        """Return the verdict on some results."""
        first = _judged(self.needs, self.check, results)
        if self.otherwise is None:
            return first
        reading, needs, check = self.otherwise
        other = _judged(needs, check, results)
        told = f"{self.reading}: {first.outcome} ({first.why}); {reading}: {other.outcome} ({other.why})"
        cells = first.cells + other.cells
        if "not run" in (first.outcome, other.outcome) or first.outcome == other.outcome:
            return Verdict(first.outcome if other.outcome != "not run" else other.outcome, told, cells)
        # A reading that was too close to tell is not another outcome.
        open_ = not (first.close or other.close)
        return Verdict("depends on what the paper leaves open" if open_ else "in part", told, cells)

    @property
    def methods(self) -> tuple[str, ...]:
        """Labels of all methods that it is about."""
        return self.needs if self.otherwise is None else (*self.needs, *self.otherwise[1])


def _judged(needs: tuple[str, ...], check: Callable[[Results], Verdict], results: Results) -> Verdict:
    absent = [label for label in needs if not len(results.where(method=label))]
    return Verdict("not run", f"no results of {', '.join(absent)}") if absent else check(results)


@dataclass(frozen=True)
class Where:
    """Which cells of a figure a claim is about: one for each table and value of what is varied.

    Parameters
    ----------
    data : tuple of str
        Which tables; all if empty.
    x : (float, float)
        From and to which value of what is varied.
    but : (str, float)
        A table that the claim leaves out below a value.
    given : callable, optional
        Says by the facts of a run (rows, columns, k, epsilon) whether its cell counts.
    """

    data: tuple[str, ...] = ()
    x: tuple[float, float] = (0.0, math.inf)
    but: tuple[str, float] = ("", 0.0)
    given: Callable[[Record], bool] | None = None

    def pairs(self, results: Results, a: str, b: str, metric: str) -> list[tuple[str, Summary, Summary]]:
        """Return the results of two methods in every cell that counts and has both, and its table's name."""
        found = []
        for series, at, cell in results.cells():
            left_out = series == self.but[0] and at < self.but[1]
            if (self.data and series not in self.data) or not self.x[0] <= at <= self.x[1] or left_out:
                continue
            if self.given is not None and not self.given(cell.records[0]):
                continue
            one, other = (cell.where(method=label).summary(metric) for label in (a, b))
            if one is not None and other is not None:
                found.append((series, one, other))
        return found
