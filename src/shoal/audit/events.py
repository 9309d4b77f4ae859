"""Choose the event that tells two tables apart best, and bound the privacy loss that it proves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy import special

from shoal._typing import Array, Booleans, Integers
from shoal.audit.columns import Column

Kind: TypeAlias = Literal["is at least", "is at most", "is exactly", "is not", "is missing", "is not missing"]


@dataclass(frozen=True, eq=False)
class Event:
    """Something that a run either shows or not.

    Parameters
    ----------
    column : Column
        What is looked at.
    kind : str
        How it is compared.
    value : float
        With what.
    here_first : bool
        Whether it is expected more often on the first table than on the second, or the other way round.
    """

    column: Column
    kind: Kind
    value: float
    here_first: bool

    def hits(self, first_run: int) -> tuple[int, int]:
        """Return how many runs from `first_run` on show it: on the likelier table, then on the other."""
        here, there = (int(self._holds(side[first_run:]).sum()) for side in self._sides)
        return (here, there) if self.here_first else (there, here)

    @property
    def _sides(self) -> tuple[Array, Array]:
        return self.column.here, self.column.there

    def _holds(self, values: Array) -> Booleans:
        match self.kind:
            case "is at least":
                return np.greater_equal(values, self.value)
            case "is at most":
                return np.less_equal(values, self.value)
            case "is exactly":
                return np.equal(values, self.value)
            case "is not":
                return np.not_equal(values, self.value)
            case "is missing":
                return np.isnan(values)
            case "is not missing":
                return ~np.isnan(values)

    def describe(self, texts: dict[float, str]) -> str:
        """Say the event in words."""
        what = f"{self.column.name} {self.kind}"
        if self.kind in ("is missing", "is not missing"):
            return what
        if self.column.is_text:
            return f"{what} {texts.get(self.value, f'that of kind {self.value:g}')!r}"
        return f"{what} {self.value:.6g}"


def lower_bound(hits: Integers, n: int, alpha: float) -> Array:
    """Return Clopper and Pearson's lower bound on a probability, exceeded by chance with at most `alpha`.

    Examples
    --------
    >>> lower_bound(np.array([0, 500, 1000]), 1000, 0.025).round(3)
    array([0.   , 0.469, 0.996])
    """
    safe = np.maximum(hits, 1)
    return np.where(hits > 0, special.betaincinv(safe, n - safe + 1, alpha), 0.0)


def upper_bound(hits: Integers, n: int, alpha: float) -> Array:
    """Return Clopper and Pearson's upper bound on a probability.

    Examples
    --------
    >>> upper_bound(np.array([0, 500, 1000]), 1000, 0.025).round(3)
    array([0.004, 0.531, 1.   ])
    """
    return 1.0 - lower_bound(n - hits, n, alpha)


@dataclass(frozen=True, eq=False)
class Scores:
    """The loss that numbers of hits in n runs prove, looked up rather than computed.

    Parameters
    ----------
    n : int
        Runs on each table.
    delta : float
        The slack that the claim allows itself.
    confidence : float
        Of both bounds together.
    """

    n: int
    delta: float
    confidence: float

    def __post_init__(self) -> None:
        counts, alpha = np.arange(self.n + 1), (1 - self.confidence) / 2
        with np.errstate(divide="ignore"):
            least = np.log(np.maximum(lower_bound(counts, self.n, alpha) - self.delta, 0.0))
        object.__setattr__(self, "_least", least)
        object.__setattr__(self, "_most", np.log(upper_bound(counts, self.n, alpha)))

    def __call__(self, likelier: Integers, other: Integers) -> Array:
        """Return ln((p_low - delta) / p'_high)."""
        return np.asarray(self._least[likelier] - self._most[other])  # type: ignore[attr-defined]


def choose(columns: list[Column], half: int, scores: Scores) -> Event | None:
    """Return the event that would prove the largest loss on the first half of the runs."""
    best, best_score = None, -np.inf
    for column in columns:
        event, score = _best_of(column, half, scores)
        if score > best_score:
            best, best_score = event, score
    return best


def _best_of(column: Column, half: int, scores: Scores) -> tuple[Event | None, float]:
    here, there = column.here[column.from_run : half], column.there[column.from_run : half]
    n = len(here)
    values, place = np.unique(np.concatenate([here, there]), return_inverse=True)
    one = np.bincount(place[:n], minlength=len(values))
    other = np.bincount(place[n:], minlength=len(values))
    lost = (int(np.isnan(here).sum()), int(np.isnan(there).sum()))
    if np.isnan(values[-1]):
        values, one, other = values[:-1], one[:-1], other[:-1]
    families: list[tuple[Kind, Array, Integers, Integers]] = [
        ("is exactly", values, one, other),
        ("is not", values, n - one, n - other),
        ("is missing", np.array([np.nan]), np.array([lost[0]]), np.array([lost[1]])),
        ("is not missing", np.array([np.nan]), np.array([n - lost[0]]), np.array([n - lost[1]])),
    ]
    if not column.is_text:
        families += [
            ("is at least", values, one[::-1].cumsum()[::-1], other[::-1].cumsum()[::-1]),
            ("is at most", values, one.cumsum(), other.cumsum()),
        ]
    best, best_score = None, -np.inf
    for kind, at, left, right in families:
        # A column that was taught by some of the runs has fewer to show; what counts is what it will show.
        left, right = (side * scores.n // n for side in (left, right))
        for here_first, score in ((True, scores(left, right)), (False, scores(right, left))):
            if len(score) and score.max() > best_score:
                i = int(score.argmax())
                best, best_score = Event(column, kind, float(at[i]), here_first), float(score[i])
    return best, best_score
