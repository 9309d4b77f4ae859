"""How far released groups can be trusted: what noise does to them, and what gives reason to doubt them.

Intervals assume nothing about the rows. Let S = S* + z and n = n* + y be a noisy sum and count with true
values S* and n*. The mean c* = S*/n* then satisfies S - c* n = z - c* y exactly, and the law of the
right-hand side is public for every c*. So

    { c : |S - c n| <= the 95 % quantile of |z - c y| }

holds c* with probability 95 % whatever the rows are (Fieller 1954, with the noise's own law in place of the
normal one). To first order this is S/n plus or minus the quantile over n. Doubts are read off released values
alone, too: they cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy import special

from shoal._typing import Array, Booleans, Integers
from shoal.algorithms import Clustering
from shoal.domain import STEPS, Domain
from shoal.errors import GroupsOfNoise, ShoalWarning, SuspectBounds
from shoal.postprocess.evidence import STANDS_OUT
from shoal.queries import ReplayCurator, Transcript
from shoal.queries.questions.answers import NoisyRatios
from shoal.release.certificate import column_names
from shoal.release.intervals import Intervals

# Probability that an interval holds its true value.
LEVEL = 0.95
# Centres are rounded to the lattice, by at most half a step.
_ROUNDING = 0.5 / STEPS
# Quantiles are tabulated along the slope and interpolated: off by less than one part in ten thousand.
_SLOPES = 65

# From this share of all rows on, one group is almost all of them.
_ALMOST_ALL = 0.99
# A centre this near to a bound, in half widths, has almost all of its rows there or beyond.
_ON_BORDER = 0.005
# From this share of all rows on, it is a matter of the table, and not of one group: real columns have groups
# at their ends, such as people who never bought anything.
_MOST = 0.9
# Groups or columns that a sentence names; the others are counted.
_NAMED = 5


class TailLaw(Protocol):
    """A law of noise, as far as intervals ask for it; hashable."""

    def tail(self, x: Array, sd: Array, other_sd: Array) -> Array:
        """Return the probability that a weighted sum of two noise coordinates exceeds x in magnitude."""
        ...

    def __hash__(self) -> int: ...


def reach(law: TailLaw, sd: npt.ArrayLike, other_sd: npt.ArrayLike, level: float = 0.95) -> Array:
    """Return how far the sum of two noise coordinates reaches with the given probability.

    Parameters
    ----------
    law : TailLaw
        Of the noise.
    sd, other_sd : array-like
        Standard deviations of the two terms, weights included: of a value, and of a count beside it.
    level : float
        The probability of staying within.
    """
    sd, other_sd = np.broadcast_arrays(np.asarray(sd, np.float64), np.asarray(other_sd, np.float64))
    total = np.hypot(sd, other_sd)
    # Chebyshev: nothing with this variance reaches further.
    low, high = np.zeros_like(total), total / math.sqrt(1 - level)
    for _ in range(45):
        middle = (low + high) / 2
        beyond = law.tail(middle, sd, other_sd) > 1 - level
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.asarray(high)


@lru_cache(maxsize=32)
def _table(law: TailLaw, sum_sd: float, count_sd: float, radius: float, level: float) -> tuple[Array, Array]:
    """Return slopes from 0 to the radius, and how far the noise of S - slope n reaches at each."""
    slopes = np.linspace(0.0, radius, _SLOPES)
    return slopes, reach(law, sum_sd, slopes * count_sd, level)


def ratio_interval(
    sums: Array,
    counts: Array,
    sum_sd: float,
    count_sd: float,
    law: TailLaw,
    *,
    radius: float = 1.0,
    level: float = 0.95,
) -> tuple[Array, Array]:
    """Return intervals for the means of cells, within [-radius, radius].

    Parameters
    ----------
    sums : ndarray of shape (n_cells, n_columns)
        Noisy sums.
    counts : ndarray of shape (n_cells,)
        Noisy counts, well above their noise.
    sum_sd, count_sd : float
        Standard deviations of their noise.
    law : TailLaw
        Of the noise.
    radius : float
        How far a row may lie from 0.
    level : float
        The probability of holding the true mean.
    """
    slopes, table = _table(law, sum_sd, count_sd, radius, level)
    n = counts[:, np.newaxis]

    def end(side: int) -> Array:
        # The far end solves side (c n - S) = quantile(|c|); it lies inside, or the radius is the end.
        low, high = np.full_like(sums, -radius), np.full_like(sums, radius)
        for _ in range(40):
            middle = (low + high) / 2
            inside = side * (middle * n - sums) <= np.interp(np.abs(middle), slopes, table)
            inward = inside if side > 0 else ~inside
            low, high = np.where(inward, middle, low), np.where(inward, high, middle)
        return high if side > 0 else low

    return end(-1), end(+1)


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
        means = entry.question.means(entry.answer)
        if means is None or not _are_its_centres(clustering, means):
            continue
        law, answer = ReplayCurator(transcript).law(entry.question).blocks[0].standard, means.answer
        low, high = ratio_interval(
            answer.sums,
            answer.counts,
            answer.sum_sd,
            answer.count_sd,
            law,
            radius=means.radius,
            level=LEVEL,
        )
        size_reach = _size_reach(law, answer.count_sd)
        return size_reach, means.origin + low, means.origin + high
    return None


@lru_cache(maxsize=32)
def _size_reach(law: TailLaw, count_sd: float) -> float:
    # The same for every fit with these parameters, and slower than a small fit.
    return float(reach(law, 0.0, count_sd, LEVEL))


def _are_its_centres(clustering: Clustering, means: NoisyRatios) -> bool:
    answer = means.answer
    same = answer.sums.shape == clustering.centres.shape
    if not same or not np.array_equal(clustering.sizes, answer.counts):
        return False
    known = np.isfinite(clustering.centre_sd)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.clip(means.origin + answer.sums / answer.counts[:, np.newaxis], -1.0, 1.0)
    return bool(np.allclose(clustering.centres[known], ratio[known], rtol=0, atol=2 / STEPS))


class Doubt(NamedTuple):
    """A reason to doubt, as it is warned of."""

    category: type[ShoalWarning]
    text: str


def doubts(
    centres: Array, sizes: Array, size_sd: float, merged_into: Integers, domain: Domain
) -> tuple[Doubt, ...]:
    """Return what released groups give reason to doubt.

    Parameters
    ----------
    centres : ndarray of shape (n_clusters, n_columns)
        In the table's own units.
    sizes : ndarray of shape (n_clusters,)
        Noisy sizes.
    size_sd : float
        Standard deviation of the noise of a size.
    merged_into : ndarray of int, shape (n_clusters,)
        The first of the centres that each is one with: these are one group.
    domain : Domain
        Bounds and columns.

    Examples
    --------
    >>> from shoal.domain import Bounds
    >>> centres, sizes = np.array([[5.0], [2.0]]), np.array([1000.0, 3.0])
    >>> for doubt in doubts(centres, sizes, 2.0, np.arange(2), Domain(Bounds.parse((0, 10), 1))):
    ...     print(doubt.text)
    group 1 may hold no rows at all: its size is within 3 standard deviations of its noise (2) of 0
    almost all rows (100 %) are in group 0 of 2: check bounds and units, or ask for fewer groups
    """
    first, group, members = np.unique(merged_into, return_inverse=True, return_counts=True)
    totals = np.bincount(group, weights=sizes).astype(np.float64)
    empty = totals < STANDS_OUT * size_sd * np.sqrt(members)
    return tuple(_found(centres[first], totals, size_sd, first, empty, domain))


def _found(
    centres: Array, totals: Array, size_sd: float, names: Integers, empty: Booleans, domain: Domain
) -> Iterator[Doubt]:
    if empty.any():
        size, their = ("its size is", "its") if empty.sum() == 1 else ("sizes are", "their")
        yield Doubt(
            GroupsOfNoise,
            f"{_listed('group', names[empty])} may hold no rows at all: {size} within {STANDS_OUT:g} "
            f"standard deviations of {their} noise ({size_sd:.2g}) of 0",
        )
    held = np.maximum(totals, 0.0)
    shares = held / held.sum() if held.sum() > 0 else held
    largest = int(shares.argmax())
    # Where the largest may hold no rows at all, its share is noise.
    if len(shares) > 1 and not empty[largest] and shares[largest] >= _ALMOST_ALL:
        yield Doubt(
            SuspectBounds,
            f"almost all rows ({100 * shares[largest]:.0f} %) are in group {names[largest]} of {len(shares)}:"
            " check bounds and units, or ask for fewer groups",
        )
    columns = _on_border(centres, np.where(empty, 0.0, shares), domain)
    if columns:
        yield Doubt(
            SuspectBounds,
            f"most rows are in groups whose centres lie on the bounds of {_listed('column', columns)}, as if "
            "rows lay beyond and were clipped: check units or the order of columns",
        )


def _on_border(centres: Array, shares: Array, domain: Domain) -> list[str]:
    half = domain.bounds.half_width
    where = (centres - domain.bounds.middle) / np.where(half > 0, half, 1.0)
    # Categories and truth values lie at their ends by nature.
    kinds = domain.schema.kinds if domain.schema is not None else ("number",) * domain.n_columns
    most = np.max([(shares @ (side * where >= 1 - _ON_BORDER)) for side in (-1, 1)], axis=0)
    found = (most >= _MOST) & (half > 0) & np.isin(kinds, ("number", "time"))
    return [name for name, on in zip(column_names(domain), found, strict=True) if on]


def _listed(what: str, names: Integers | list[str]) -> str:
    shown = ", ".join(map(str, names[:_NAMED]))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{what}{'s' if len(names) > 1 else ''} {shown}{more}"
