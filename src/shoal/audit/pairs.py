"""What the questions of a run lose between two tables, computed and not estimated.

Questions are public values, and the laws of noise and of choices are known. So for a pair of tables the exact
totals, by the gate's own code, say how much an answer can tell them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from shoal.audit.exact import ExactLoss
from shoal.audit.recorded import domains_of
from shoal.domain import Domain
from shoal.mechanisms import SeededEntropy, SystemEntropy, public_seed
from shoal.queries import ReplayCurator, Source, Transcript
from shoal.queries.questions import Step
from shoal.sources import open_table


def pair_loss(
    transcript: Transcript, D: Any, D_prime: Any, domain: Domain | Sequence[Domain] | None = None
) -> ExactLoss:
    """Return what all questions of a run lose between two tables.

    Parameters
    ----------
    transcript : Transcript
        Of a run on either table.
    D, D_prime : table
        Neighbours. They are invented for the audit, so nobody's rows are looked at.
    domain : Domain or sequence of Domain, optional
        In which the questions were asked, if it is not the one that the run began with; or one for each.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import DPLloyd
    >>> D, D_prime = np.full((5, 1), 0.9), np.full((6, 1), 0.9)
    >>> model = DPLloyd(1, epsilon=9.0, bounds=(-1, 1), max_iter=1, random_state=0).fit(D)
    >>> print(pair_loss(model.release_.transcript, D, D_prime))
    holds: 1 of 1 questions loses 9 epsilon, charged 9
    """
    domains, curator = domains_of(transcript, domain), ReplayCurator(transcript)
    public = domains[0] if domains else transcript.domain
    one, other = (
        open_table(table, unit=public.unit.column).source(public, threads=1) for table in (D, D_prime)
    )
    rows: tuple[Source, Source] = one, other
    true, charged, known = 0.0, Fraction(0), 0
    for entry, here in zip(transcript, domains, strict=True):
        # Bounds were estimated, or sides of them counted; rows are not held before.
        if (here.bounds, type(here)) != (public.bounds, type(public)):
            public, rows = here, (one.within(here), other.within(here))
        question, terms = entry.question, replace(curator.terms, domain=public)
        if isinstance(question, Step):
            # Coins that belong to rows fall alike in both tables.
            seed = public_seed(SystemEntropy())
            first, second = (question.follow(table, terms, SeededEntropy(seed)) for table in rows)
            rows = first, second
        if entry.charge is not None:
            lost = question.lost(*rows, curator.law(question), entry.answer, terms)
            if lost is not None:
                true, charged, known = true + lost, charged + entry.charge.amount, known + 1
        curator = curator.after(question)
    what = f"{known} of {len(transcript.charges)} questions"
    return ExactLoss(what, true, float(charged), transcript.budget.currency)
