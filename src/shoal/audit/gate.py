"""The noise in an algorithm's own answers: on a table without rows, an answer is nothing but noise."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from shoal._typing import Array
from shoal.audit.laws import LEVEL, LawAudit, audit_draws
from shoal.audit.observations import Fit
from shoal.audit.recorded import recorded
from shoal.errors import InvalidInput
from shoal.queries import ReplayCurator, Transcript
from shoal.queries.laws.noise import NoiseLaw

# Standard deviations: Laplace noise reaches them with probability exp(-42), and is never seen to.
_FAR = 30


def noise_in_answers(transcript: Transcript) -> list[tuple[NoiseLaw, Array]]:
    """Return the law that each answer was charged for and the integer noise in it.

    Parameters
    ----------
    transcript : Transcript
        Of a run on an empty table.
    """
    curator = ReplayCurator(transcript)
    found: list[tuple[NoiseLaw, Array]] = []
    for entry in transcript:
        law = curator.law(entry.question)
        found += entry.question.noise_in(entry.answer, law, curator.terms)
        curator = curator.after(entry.question)
    return found


def audit_answers(
    estimator: Any, n_columns: int, *, fits: int = 300, seed: int | None = None, level: float = LEVEL
) -> LawAudit:
    """Fit empty tables many times and test the noise of all answers against what was charged for them.

    Parameters
    ----------
    estimator : estimator
        One of Shoal's, not fitted.
    n_columns : int
        Of the empty table.
    fits : int
        How often.
    seed : int, optional
        To repeat the audit; then noise is seeded.
    level : float
        Probability of a false alarm.

    Examples
    --------
    >>> from shoal import DPLloyd
    >>> print(audit_answers(DPLloyd(2, epsilon=1.0, bounds=(-1, 1)), 2, fits=40, seed=0))
    fits: noise in 200 answers, charged 1 epsilon, measured ... draws)
    """
    fit, empty = Fit(estimator), np.zeros((0, n_columns))
    by_law: dict[NoiseLaw, list[Array]] = defaultdict(list)
    answers, charged = 0, 0.0
    for i in range(fits):
        transcript = recorded(fit.quietly(empty, None if seed is None else seed + i)).transcript
        charged = max(charged, float(sum(charge.amount for charge in transcript.charges)))
        for law, noise in noise_in_answers(transcript):
            by_law[law].append(noise)
            answers += 1
    if not by_law:
        raise InvalidInput("the algorithm asks nothing that is answered with additive noise")
    groups = [(law, np.concatenate(parts)) for law, parts in by_law.items()]
    return audit_draws(groups, f"noise in {answers} answers", charged, level)
