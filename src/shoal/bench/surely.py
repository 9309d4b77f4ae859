"""What is sure of a claim: cells for it, cells against it, undecided ones, and the verdict that they make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from shoal.bench.results import Results, Summary

Outcome: TypeAlias = Literal[
    "holds", "in part", "does not hold", "depends on what the paper leaves open", "not run"
]
Sign: TypeAlias = Literal[1, 0, -1] | None
"""Of a cell: surely for a claim, undecided, surely against it; None where there were too few runs."""

# A cell with fewer runs of a method decides nothing: two that agree say little of their spread.
LEAST_RUNS = 3
# What is sure in this share of the cells counts, for a claim or against it.
_COUNTS = 0.2
# A value is beyond a limit where it is so by this many of its standard errors.
_ERRORS = 2.0


@dataclass(frozen=True)
class Cells:
    """How many cells are surely for a claim, surely against it, and undecided.

    Examples
    --------
    >>> print(Cells.of([1, 1, -1, 0, None]))
    2 / 1 / 2
    """

    agree: int
    against: int
    undecided: int

    @classmethod
    def of(cls, signs: Sequence[Sign]) -> Cells:
        """Count them."""
        agree, against = signs.count(1), signs.count(-1)
        return cls(agree, against, len(signs) - agree - against)

    def __str__(self) -> str:
        return f"{self.agree} / {self.against} / {self.undecided}"

    @property
    def for_it(self) -> bool:
        """Whether enough of them are surely for the claim to count."""
        return self._counts(self.agree)

    @property
    def against_it(self) -> bool:
        """Whether enough of them are surely against it to count."""
        return self._counts(self.against)

    def _counts(self, n: int) -> bool:
        return n > 0 and n >= _COUNTS * (self.agree + self.against + self.undecided)


@dataclass(frozen=True)
class Verdict:
    """What became of a claim, why, and its cells: of each reading, where it has two."""

    outcome: Outcome
    why: str
    cells: tuple[Cells, ...] = ()

    @property
    def close(self) -> bool:
        """Whether it was too close to tell."""
        return self.outcome == "in part" and not any(own.for_it or own.against_it for own in self.cells)


def decide(mostly: bool, signs: Sequence[Sign], why: str, names: Sequence[str] = ()) -> Verdict:
    """Return the verdict on a claim by what is sure.

    It holds where it does by the means, a fifth of the cells or more is surely for it, and less than a fifth
    surely against it. It does not hold where all of this is the other way round. Else it holds in part: in
    some cells, or too close to tell in most.

    Parameters
    ----------
    mostly : bool
        Whether it holds by the means, however close.
    signs : sequence of Sign
        Of every cell.
    why : str
        What was measured.
    names : sequence of str
        The table of every cell, to say which are for it and which against.

    Examples
    --------
    >>> decide(True, [1, 1, 1, 0, -1], "a below b").outcome  # a fifth is surely the other way
    'in part'
    >>> decide(False, [0, 0], "a below b").why
    'a below b; too close to tell in most cells'
    """
    if all(sign is None for sign in signs):
        return Verdict("not run", f"{why}; a verdict wants {LEAST_RUNS} runs of each or more")
    cells = Cells.of(signs)
    if cells.for_it != cells.against_it and cells.for_it == mostly:
        return Verdict("holds" if mostly else "does not hold", why, (cells,))
    if not cells.for_it and not cells.against_it:
        close = "; too close to tell" + (" in most cells" if len(signs) > 1 else "")
        return Verdict("in part", why + close, (cells,))
    told = []
    for name in dict.fromkeys(names):
        own = Cells.of([sign for sign, of in zip(signs, names, strict=True) if of == name])
        if own.agree + own.against:
            told.append(f"{name} {own.agree} for, {own.against} against")
    return Verdict("in part", f"{why}; surely: {'; '.join(told)}" if told else why, (cells,))


def within(value: float, error: float, low: float, high: float) -> Sign:
    """Tell whether a value of a standard error is surely between two limits, or surely not.

    Examples
    --------
    >>> within(1.0, 0.1, 0.0, 2.0), within(1.9, 0.1, 0.0, 2.0), within(3.0, 0.1, 0.0, 2.0)
    (1, 0, -1)
    """
    if math.isnan(error) or math.isnan(value):
        return None
    least, most = value - _ERRORS * error, value + _ERRORS * error
    if low < least and most < high:
        return 1
    return -1 if most < low or least > high else 0


def below(one: Summary, other: Summary) -> Sign:
    """Tell whether one mean is surely below another."""
    return within(one.mean - other.mean, math.hypot(error_of(one), error_of(other)), -math.inf, 0.0)


def error_of(summary: Summary) -> float:
    """Return the standard error of a mean, NaN where there were too few runs."""
    return summary.se if summary.n >= LEAST_RUNS else math.nan


def quotient(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return the quotient of two means, each with its standard error, and its own standard error.

    Examples
    --------
    >>> quotient((3.0, 0.3), (2.0, 0.0))
    (1.5, 0.15)
    """
    (a, error_a), (b, error_b) = one, other
    if not b:
        return math.inf if a else math.nan, math.nan
    return a / b, math.hypot(error_a, a / b * error_b) / abs(b)


def mean_of(results: Results, metric: str) -> tuple[float, float]:
    """Return the mean over cells, each with its own number of runs, and its standard error."""
    found = [cell.summary(metric) for _, _, cell in results.cells()]
    cells = [summary for summary in found if summary is not None]
    if not cells:
        return math.nan, math.nan
    mean = sum(summary.mean for summary in cells) / len(cells)
    return mean, math.hypot(*map(error_of, cells)) / len(cells)
