"""The record of a run: every question, its charge and its noisy answer; enough to run it again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from shoal.accounting import Budget, Charge
from shoal.domain import Domain
from shoal.queries.gate.codec import Follows, digest
from shoal.queries.questions import AnyQuestion, Note


@dataclass(frozen=True, eq=False)
class Entry:
    """One question and what came back.

    Parameters
    ----------
    question : Question
        What was asked.
    answer : object
        The noisy answer, of the class that the question names; or the seed of public randomness.
    charge : Charge, optional
        What it cost; None for public randomness.
    """

    question: AnyQuestion
    answer: Annotated[Any, Follows("question", "answers")]
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

    @property
    def notes(self) -> tuple[str, ...]:
        """What the algorithm said it chose, in order."""
        return tuple(entry.question.text for entry in self.entries if isinstance(entry.question, Note))

    def digest(self) -> str:
        """Return a hash over the public facts, questions, answers and charges."""
        return digest(self)
