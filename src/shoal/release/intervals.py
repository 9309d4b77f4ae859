"""95 % intervals of centres and sizes, from the transcript alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from shoal._typing import Array
from shoal.algorithms import Clustering
from shoal.domain import STEPS
from shoal.postprocess.intervals import TailLaw, ratio_interval, reach
from shoal.queries import NoisySums, Offset, ReplayCurator, Transcript, WithCost
from shoal.queries.questions import Sums

LEVEL = 0.95
# Centres are rounded to the lattice, by at most half a step.
_ROUNDING = 0.5 / STEPS


@dataclass(frozen=True, eq=False)
class Intervals:
    """Where the noise-free centres and sizes lie with the given probability, *given the assignment*.

    The groups are those of the last question: the rows nearest to each of its public centres. A centre's
    interval is for the mean of just these rows, as clipped to the bounds, and a size's for their number.
    They tell what the privacy noise has done, and no more: not how the groups would change with other
    starting centres, nor with another sample of rows. Each interval holds by itself, not all at once.

    Parameters
    ----------
    level : float
        The probability that an interval holds its true value.
    centre_low, centre_high : ndarray of shape (n_clusters, n_columns)
        Ends for every coordinate; infinite where a centre rests on no rows.
    size_low, size_high : ndarray of shape (n_clusters,)
        Ends for every size, not below 0.
    """

    level: float
    centre_low: Array
    centre_high: Array
    size_low: Array
    size_high: Array


def intervals_of(clustering: Clustering, transcript: Transcript) -> Intervals:
    """Compute the intervals of a clustering in the table's own units.

    Where centres and sizes are the ratios and counts of one answer, the law of its noise gives intervals
    that hold exactly. Those of any other clustering add up many answers, so they are taken as normal.
    """
    centres, sd = clustering.centres, clustering.centre_sd
    found = _from_one_answer(clustering, transcript)
    if found is None:
        z = float(special.ndtri((1 + LEVEL) / 2))
        spread = np.where(np.isfinite(sd), sd, 0.0) * z
        size_reach, low, high = z * clustering.size_sd, centres - spread, centres + spread
    else:
        size_reach, low, high = found
    # The released centre is always inside, whatever was clipped or rounded on its way.
    low, high = np.minimum(low, centres) - _ROUNDING, np.maximum(high, centres) + _ROUNDING
    known, decode = np.isfinite(sd), clustering.domain.decode
    return Intervals(
        level=LEVEL,
        centre_low=np.where(known, decode(low), -np.inf),
        centre_high=np.where(known, decode(high), np.inf),
        size_low=np.maximum(clustering.sizes - size_reach, 0.0),
        size_high=np.maximum(clustering.sizes + size_reach, 0.0),
    )


def _from_one_answer(clustering: Clustering, transcript: Transcript) -> tuple[float, Array, Array] | None:
    for entry in reversed(transcript.entries):
        question, answer = entry.question, entry.answer
        if not (isinstance(question, Sums) and isinstance(answer, NoisySums)):
            continue
        offset = question.of.of if isinstance(question.of, WithCost) else question.of
        anchors = offset.anchors if isinstance(offset, Offset) else np.zeros_like(answer.sums)
        if not _is_its_ratio(clustering, answer, anchors):
            continue
        law = ReplayCurator(transcript).law(question).blocks[0].standard
        low, high = ratio_interval(
            answer.sums,
            answer.counts,
            answer.sum_sd,
            answer.count_sd,
            law,
            radius=question.of.unit,
            level=LEVEL,
        )
        size_reach = _size_reach(law, answer.count_sd)
        return size_reach, anchors + low, anchors + high
    return None


@lru_cache(maxsize=32)
def _size_reach(law: TailLaw, count_sd: float) -> float:
    # The same for every fit with these parameters, and slower than a small fit.
    return float(reach(law, 0.0, count_sd, LEVEL))


def _is_its_ratio(clustering: Clustering, answer: NoisySums, anchors: Array) -> bool:
    same = answer.sums.shape == clustering.centres.shape
    if not same or not np.array_equal(clustering.sizes, answer.counts):
        return False
    known = np.isfinite(clustering.centre_sd)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.clip(anchors + answer.sums / answer.counts[:, np.newaxis], -1.0, 1.0)
    return bool(np.allclose(clustering.centres[known], ratio[known], rtol=0, atol=2 / STEPS))
