"""The noise in an algorithm's own answers: on a table without rows, an answer is nothing but noise."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from shoal.audit.laws import LEVEL, LawAudit, audit_draws
from shoal.audit.sights import Fit, Floats
from shoal.domain import STEPS, Domain
from shoal.errors import InvalidInput
from shoal.queries import NoisyCounts, NoisyMeans, NoisySums, ReplayCurator, Transcript
from shoal.queries.laws.noise import NoiseLaw
from shoal.queries.questions import Histogram, Sums
from shoal.queries.questions.blocks import BlockMeans, exact_block_totals

# Noise never reaches so many standard deviations.
_FAR = 30


def noise_in_answers(transcript: Transcript) -> list[tuple[NoiseLaw, Floats]]:
    """Return the law that each answer was charged for and the integer noise in it.

    Parameters
    ----------
    transcript : Transcript
        Of a run on an empty table.
    """
    curator, found = ReplayCurator(transcript), []
    for entry in transcript:
        question = entry.question
        if isinstance(question, Histogram | Sums) and isinstance(entry.answer, NoisyCounts | NoisySums):
            found.append((curator.law(question), _steps(question, entry.answer, transcript.domain)))
        if isinstance(question, BlockMeans) and isinstance(entry.answer, NoisyMeans):
            law = curator.law(question)
            if (noise := _block_noise(question, entry.answer, law)) is not None:
                found.append((law, noise))
    return found


def _block_noise(question: BlockMeans, answer: NoisyMeans, law: NoiseLaw) -> Floats | None:
    """Return the noise in a mean over empty blocks; None where the clamp would cut it off."""
    step = question.half / (STEPS * question.n_blocks)
    room = np.minimum(question.reference - question.lower, question.upper - question.reference)
    if not (_FAR * law.sd[0] * step < room).all():
        return None
    nobody = np.empty((len(question.lower), 0), dtype=np.float32)
    none, seeds = np.empty(0, dtype=np.int64), np.zeros(question.n_blocks, dtype=np.uint64)
    empty = exact_block_totals(question, nobody, None, none, seeds)
    return _whole((answer.means - question.middle) / step - empty).reshape(1, -1)


def _steps(question: Histogram | Sums, answer: NoisyCounts | NoisySums, domain: Domain) -> Floats:
    weight = 1.0 if domain.max_weight is None else domain.max_weight
    if isinstance(answer, NoisyCounts) or isinstance(question, Histogram):
        width = 1 if domain.max_weight is None else STEPS
        columns = [answer.counts[:, np.newaxis]]
    else:
        width, unit = question.of.change(domain.n_columns).width, question.of.unit
        columns = [answer.sums / unit, answer.counts[:, np.newaxis]]
        if answer.costs is not None:
            columns.append((2 * answer.costs / unit**2 - answer.counts)[:, np.newaxis])
    return _whole(np.concatenate(columns, axis=1) * (width / weight))


def _whole(steps: Floats) -> Floats:
    # Dividing by units leaves the last bits of a double off; anything more is not integer noise.
    near = np.rint(steps)
    return np.where(np.abs(steps - near) <= 1e-9 * (1 + np.abs(near)) + 1e-5, near, steps)


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
    by_law: dict[NoiseLaw, list[Floats]] = defaultdict(list)
    answers, charged = 0, 0.0
    for i in range(fits):
        transcript = fit.quietly(empty, None if seed is None else seed + i).release_.transcript
        charged = max(charged, float(sum(charge.amount for charge in transcript.charges)))
        for law, noise in noise_in_answers(transcript):
            by_law[law].append(noise)
            answers += 1
    if not by_law:
        raise InvalidInput("the algorithm asks nothing that is answered with additive noise")
    groups = [(law, np.concatenate(parts)) for law, parts in by_law.items()]
    return audit_draws(groups, f"noise in {answers} answers", charged, level)
