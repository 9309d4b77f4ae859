"""Where centres and sizes may lie: given the grouping, by the noise of the last answer; and in all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal._typing import Array, Booleans

UNSTABLE = 0.1
"""A group is not stable if its partner changes in more than this share of refits."""


TOTALS = (
    "Total errors are how far other fits of the same table would be, from {refits} fits of a table that was "
    "made up from the released look: what noise does to groups and centres, and not the bias that all fits "
    "have in common"
)
TOTALS_NOT_KNOWN = "Total errors are not known: the algorithm had no look from which a table can be made up"


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


@dataclass(frozen=True, eq=False)
class TotalIntervals(Intervals):
    """Where centres and sizes of most other fits of the same table would lie: noise of all questions.

    Parameters
    ----------
    level, centre_low, centre_high, size_low, size_high
        As of :class:`Intervals`; infinite where a group is not stable, or nothing is known.
    centre_sd : ndarray of shape (n_clusters, n_columns)
        Standard deviation of refits, in the table's own units.
    size_sd : ndarray of shape (n_clusters,)
        The same of sizes.
    changed : ndarray of shape (n_clusters,)
        Share of the refits that have no such group: the matched centre is nearer to another one, or another
        one is nearer to it. NaN where nothing is known.
    refits : int
        How often a made-up table was fitted; 0 where nothing is known.
    """

    centre_sd: Array
    size_sd: Array
    changed: Array
    refits: int

    @property
    def known(self) -> bool:
        """Whether total errors are known: the algorithm had a look, from which a table can be made up."""
        return self.refits > 0

    def describe(self) -> str:
        """Say what they are in a sentence, and which groups are not stable."""
        if not self.known:
            return TOTALS_NOT_KNOWN
        which = np.flatnonzero(~self.stable)
        some = ", ".join(f"{i} ({self.changed[i]:.0%})" for i in which)
        return f"{TOTALS.format(refits=self.refits)}{f'. Not stable: group {some}' if some else ''}"

    @property
    def stable(self) -> Booleans:
        """Which groups another fit would find again, in nine cases of ten."""
        return np.asarray(self.changed <= UNSTABLE)


def share_kept(changed: float) -> str:
    """Say whether a group is stable, from the share of refits that have no such group.

    Examples
    --------
    >>> share_kept(0.04), share_kept(0.25)
    ('yes', 'no (25 %)')
    """
    return "yes" if changed <= UNSTABLE else f"no ({100 * changed:.0f} %)"
