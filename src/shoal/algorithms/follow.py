"""Follow the rows around public centres: one noisy round with radii fitted to the rows.

A look at the distances (a few per cent of the round) says how far most rows are from their centres. Offsets
are then measured in radii of their own cluster and column, so the noise is as small as the cluster is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from shoal.algorithms.grid import effective_epsilon
from shoal.postprocess.recentre import smallest_count
from shoal.queries import Curator, NoisyCounts, Relative, Shells, Voronoi

Array = npt.NDArray[np.float64]

# Distances in standard deviations, half a power of two apart: from far too narrow to far too wide.
EDGES = tuple(2.0 ** (i / 2) for i in range(-14, 9))
# Offsets are cut at the distance that this share of the rows is within.
_INSIDE = 0.8
# What a round pays for its look at the distances: enough that noise adds up to a tenth of the rows.
_LOOKS = (Fraction(1, 50), Fraction(1, 20), Fraction(1, 10), Fraction(3, 20))
_LOOK_ROWS = 45.0
_LEAST_RADIUS = 2.0**-9
# Predicted errors do not take a narrower radius for granted: it may be noise that says so.
CAUTIOUS_RADIUS = 0.25
# Where distances cannot be told, so many standard deviations.
_USUAL = 2.0


@dataclass(frozen=True, eq=False)
class Followed:
    """What a round found.

    Parameters
    ----------
    centres : ndarray of shape (k, d)
        Where the centres have moved.
    counts : ndarray of shape (k,)
        Noisy sizes of the clusters they were moved by.
    variances : ndarray of shape (k, d)
        Of the noise of each coordinate; infinite where a cluster is too small to move its centre.
    count_sd : float
        Standard deviation of the noise of a size.
    typical_sd : float
        Noise of a sum, a coordinate, for a typical radius, and not a narrow one: for predictions.
    """

    centres: Array
    counts: Array
    variances: Array
    count_sd: float
    typical_sd: float

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which clusters are large enough to tell from noise."""
        return self.counts >= smallest_count(self.count_sd)


def follow(curator: Curator, centres: Array, spreads: Array, n_rows: float, cost: Fraction) -> Followed:
    """Move centres to the noisy means of their rows.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    centres : ndarray of shape (k, d)
        Public points of [-1, 1]^d.
    spreads : ndarray of shape (k, d)
        Public guess of the standard deviation of rows around them; a common factor is estimated.
    n_rows : float
        Public or noisy number of rows.
    cost : Fraction
        Share of the budget.
    """
    body: Literal["box", "ball"] = "ball" if curator.budget.currency == "rho" else "box"
    centres = Voronoi(centres).centres
    look = look_share(n_rows * effective_epsilon(curator, cost))
    shells = curator.histogram(Shells(centres, spreads, body, EDGES), cost=cost * look)
    radii = np.clip(spreads * distance_within(shells, n_rows), _LEAST_RADIUS, 2.0)
    answer = curator.sums(Voronoi(centres), of=Relative(centres, radii, body), cost=cost * (1 - look))
    least = smallest_count(answer.count_sd)
    known, rows = (answer.counts >= least)[:, np.newaxis], np.maximum(answer.counts, least)[:, np.newaxis]
    steps = answer.sums / rows
    noise = (answer.sum_sd / rows) ** 2
    # The mean square of all steps is signal and noise; each step is shrunk by its share of signal.
    signal = max(float((steps**2).mean() - noise.mean()), 1e-9)
    shrunk = np.clip(steps * (signal / (signal + noise)), -1.0, 1.0)
    moved = np.clip(centres + radii * shrunk, -1.0, 1.0)
    variances = radii**2 * (answer.sum_sd**2 + (steps * answer.count_sd) ** 2) / rows**2
    return Followed(
        centres=np.where(known, moved, centres),
        counts=answer.counts,
        variances=np.where(known, variances, np.inf),
        count_sd=answer.count_sd,
        typical_sd=max(float(np.sqrt((radii**2).mean())), CAUTIOUS_RADIUS) * answer.sum_sd,
    )


def look_share(rows_epsilon: float) -> Fraction:
    """Return the share of a round that its look at the distances is worth.

    Examples
    --------
    >>> look_share(5000.0), look_share(500.0), look_share(3.0)
    (Fraction(1, 50), Fraction(1, 10), Fraction(3, 20))
    """
    wanted = _LOOK_ROWS / max(rows_epsilon, 1e-9)
    return next((share for share in _LOOKS if share >= wanted), _LOOKS[-1])


def distance_within(shells: NoisyCounts, n_rows: float, inside: float = _INSIDE) -> float:
    """Return the distance that this share of the rows is within, in the units of the shells."""
    reached = np.flatnonzero(np.cumsum(shells.counts)[:-1] >= inside * n_rows)
    return EDGES[int(reached[0])] if len(reached) else _USUAL
