"""Privacy levels in words, and what an epsilon means to somebody who is in the table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shoal.accounting import budget_of
from shoal.errors import InvalidInput
from shoal.release.words import risk_sentence as sentence_of

# Names and epsilons, strongest first. Each is about twice the one before: a step that is felt.
_NAMED = (
    ("strongest", 0.05),
    ("very strong", 0.1),
    ("strong", 0.25),
    ("rather strong", 0.5),
    ("good", 1.0),
    ("moderate", 2.0),
    ("weak", 4.0),
    ("very weak", 8.0),
)


@dataclass(frozen=True)
class Level:
    """A privacy level: a word, its epsilon, and what that means.

    Parameters
    ----------
    name : str
        In words.
    epsilon : float
        Privacy loss.
    risk : str
        How sure somebody can be at most after seeing one release at this level, from even odds.
    """

    name: str
    epsilon: float
    risk: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"name": self.name, "epsilon": self.epsilon, "risk": self.risk}


def surely(epsilon: float) -> float:
    """Return how sure somebody can be at most after a release, from even odds.

    Examples
    --------
    >>> round(surely(1.0), 2), surely(0.0)
    (0.73, 0.5)
    """
    return 1 / (1 + math.exp(-epsilon))


def risk_sentence(epsilon: float, delta: float = 0.0) -> str:
    """Say what all releases that add up to an epsilon let somebody learn about one person, at most.

    Parameters
    ----------
    epsilon : float
        The total of a ledger, or what was spent of it.
    delta : float
        Its delta.

    Examples
    --------
    >>> risk_sentence(1.0)
    'somebody who gives even odds that ... is in the table can be at most 73 % sure after seeing all of it'
    >>> risk_sentence(0.0)
    'nothing was released: nobody learns anything'
    """
    if not epsilon > 0:
        return "nothing was released: nobody learns anything"
    said = sentence_of(budget_of(epsilon, delta)).split(": ", 1)[1]
    return said.replace("after seeing the release", "after seeing all of it")


def _level(name: str, epsilon: float) -> Level:
    return Level(
        name, epsilon, f"at most {100 * surely(epsilon):.{0 if surely(epsilon) < 0.99 else 2}f} % sure"
    )


LEVELS: tuple[Level, ...] = tuple(_level(*named) for named in _NAMED)
"""Strongest to weakest."""


def level_of(value: Level | str | float) -> Level:
    """Return a level by its name, by its epsilon, or one of an epsilon that has no name.

    Parameters
    ----------
    value : Level, str or float
        What is known of it.

    Examples
    --------
    >>> level_of("good").epsilon, level_of(0.1).name, level_of(0.3).name
    (1.0, 'very strong', 'epsilon 0.3')
    """
    if isinstance(value, Level):
        return value
    for level in LEVELS:
        if value in (level.name, level.epsilon):
            return level
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            names = ", ".join(level.name for level in LEVELS)
            raise InvalidInput(f"there is no level {value!r}; levels are {names}, or an epsilon") from None
        return level_of(value)
    if isinstance(value, bool) or not 0 < value < math.inf:
        raise InvalidInput(f"a level is a word or an epsilon above 0, not {value!r}")
    return _level(f"epsilon {value:g}", float(value))
