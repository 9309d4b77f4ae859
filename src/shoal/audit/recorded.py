"""The record of a fitted model's run: what was asked, where, and how to run it again without rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from shoal.algorithms import counts_clipped, lookup, run_prepared
from shoal.domain import Domain
from shoal.errors import MostlyNoise
from shoal.queries import Curator, ReplayCurator, Transcript
from shoal.queries.gate.codec import from_plain
from shoal.queries.questions import Question
from shoal.release import CoresetRelease
from shoal.release.loading import registry_of

A = TypeVar("A")


@dataclass(frozen=True)
class Recorded:
    """A run that can be repeated from its answers.

    Parameters
    ----------
    transcript : Transcript
        Questions, answers and charges.
    run : callable
        Asks a curator the same questions and returns what was found.
    """

    transcript: Transcript
    run: Callable[[Curator], Any]

    def again(self) -> tuple[Any, tuple[Domain, ...]]:
        """Run from the answers alone: return what is found, and the domain each question was asked in.

        Bounds that are estimated change the domain on the way, and the transcript does not say when.
        """
        curator = _Noting(self.transcript)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MostlyNoise)  # it was said at the time
            found = self.run(curator)
        curator.finish()
        return found, tuple(curator.domains)


class _Noting(ReplayCurator):
    """Answers from a transcript, and notes the domain of every question."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript)
        self.domains: list[Domain] = []  # the same for curators that are made of this one

    def _ask(self, question: Question[Any, Any, A]) -> A:
        self.domains.append(self.domain)
        return super()._ask(question)


def recorded(model: Any) -> Recorded:
    """Return the record of a fitted model: of k-means, of a synopsis, of a coreset or of a step.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import PrivateScaler
    >>> step = PrivateScaler(epsilon=9.0, bounds=(-1, 1)).fit(np.zeros((500, 2)))
    >>> found, domains = recorded(step).again()
    >>> np.array_equal(found.means, step.mean_), len(domains)
    (True, 1)
    """
    release = model.release_
    part = release.parts[0] if isinstance(release, CoresetRelease) else release
    info = lookup(part.certificate.algorithm, registry_of(release))
    algorithm = from_plain(info.algorithm, part.certificate.parameters)
    clipped = counts_clipped(part.transcript)
    return Recorded(part.transcript, partial(run_prepared, algorithm, count_clipped=clipped))


def domains_of(transcript: Transcript, domain: Domain | Sequence[Domain] | None) -> Sequence[Domain]:
    """Return a domain for every question: the one that the run began with, another one, or each its own."""
    if domain is None or isinstance(domain, Domain):
        return (domain or transcript.domain,) * len(transcript.entries)
    return domain
