"""Run an algorithm again from its transcript alone: the test that it saw nothing else."""

from __future__ import annotations

from copy import copy
from typing import Any, Self, TypeVar

from shoal.domain import Domain
from shoal.errors import ReplayMismatch
from shoal.queries.gate.codec import digest
from shoal.queries.gate.curator import Curator
from shoal.queries.gate.transcript import Transcript
from shoal.queries.questions import Question

A = TypeVar("A")


class ReplayCurator(Curator):
    """Answers from a transcript. It has no rows, no noise and no budget to spend.

    An algorithm that gives another result here than in the recorded run has looked at something that
    the curator did not tell it.

    Parameters
    ----------
    transcript : Transcript
        The record of a run.
    """

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript.domain, transcript.budget, transcript.n_rows)
        self._entries = iter(transcript.entries)

    def _rebound(self, domain: Domain) -> Self:
        inner = copy(self)  # the same entries, read on
        inner.domain = domain
        return inner

    def _ask(self, question: Question[Any, Any, A]) -> A:
        entry = next(self._entries, None)
        if entry is None:
            raise ReplayMismatch(f"the replay asks for {question.describe()} where the transcript has ended")
        if digest(entry.question) != digest(question):
            raise ReplayMismatch(
                f"the replay asks for {question.describe()}, the transcript has {entry.question.describe()} "
                "or the same with other arguments: the algorithm depends on more than its answers"
            )
        answer: A = entry.answer
        return answer

    def finish(self) -> None:
        """Check that every recorded question was asked again."""
        if next(self._entries, None) is not None:
            raise ReplayMismatch("the replay asked fewer questions than were recorded")
