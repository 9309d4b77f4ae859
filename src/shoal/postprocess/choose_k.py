"""How many groups released points show: the cost of every number, and the one that describes them shortest.

Noise alone does not stop the count: with many rows the cost of one bell-shaped group falls far beyond its
noise when it is cut in two. So a number is judged by what it takes to describe a row, in nats: which group
it is in, -sum p log p, and where in it, half the logarithm of the determinant of the spread within groups.
To cut a bell saves 0.51 of the 0.69 nats that it costs, and so it stays whole, however long or tilted. Rows
that are neither groups nor one bell have the fewest groups that save half of the cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shoal._typing import Array, Integers
from shoal.postprocess.evidence import HALF_A_CELL, noise_floor
from shoal.postprocess.nearest import nearest_centre
from shoal.postprocess.weighted_kmeans import weighted_kmeans

# A larger number has to save this much, in nats per row and column, and as much as in two columns at least:
# even rows save a few hundredths by hexagonal groups, and boxes of many columns say less where rows are.
_MARGIN = 0.05
# Where points that stand out were picked, some do by chance: the far end of the weight has no say.
_TRIM = 0.05
# A group has to weigh this many times what the noise of any one point reaches: it has many of them, and
# k-means takes those together that noise has lifted. 2 sd ln(points) in all.
_GROUP = 2 * math.sqrt(2)
# Rows lie like one bell where the mean of the squared squares of their distances, in standard deviations, is
# that of a bell, d (d + 2), but for this part: even rows have 0.7 of it in two columns, long tails several
# times as much. The fewest groups that save this part of the cost are taken where they do not. In more
# columns than the last points lie too far apart to tell a shape.
_LIKE_A_BELL, _SAVED, _SHAPED_COLUMNS = 0.25, 0.5, 3
# This part of the rows, the furthest, has no say in that: a tenth of a row that noise may have put far away
# would make a bell look long-tailed. Of a bell they are 3 % of that mean in two columns.
_FURTHEST = 1e-3
# Starts, rounds and swaps for each number: the one that is chosen is searched again with more.
_STARTS, _ROUNDS, _SWAPS = 5, 20, 12
# Centres are found again without the points of groups that could be noise, at most so often.
_TRIES = 3


@dataclass(frozen=True, eq=False)
class CostCurve:
    """What every number of groups costs on released points; a released value itself.

    Parameters
    ----------
    cost : ndarray of shape (max_clusters,)
        Mean squared distance to the nearest of 1, 2, ... centres, in the scaled units of the domain.
    sd : ndarray of shape (max_clusters,)
        Standard deviation that the noise gives it.
    length : ndarray of shape (max_clusters,)
        Nats that describe a row; infinite where a group could be noise.
    chosen : int
        The smallest number that is described nearly as shortly as any; or, without clear groups, the smallest
        that saves half of the cost.
    clear : bool
        Whether there are clear groups, or one bell.
    """

    cost: Array
    sd: Array
    length: Array
    chosen: int
    clear: bool = True

    @property
    def why(self) -> str:
        """Say in one line what was chosen and what it was chosen from."""
        costs = ", ".join(f"{cost:.2g}" for cost in self.cost)
        if self.clear:
            why = f"{self.chosen} groups describe the released counts shortest"
        else:
            why = f"there are no clear groups: {self.chosen} are the fewest that save half of the cost"
        return f"{why}; mean squared distance with 1 to {len(self.cost)}: {costs}"

    def __str__(self) -> str:
        top = max(float(self.cost.max()), 1e-300)
        lines = ["groups  mean squared distance (± noise)"]
        for k, (cost, sd) in enumerate(zip(self.cost, self.sd, strict=True), start=1):
            mark = "  <- chosen" if k == self.chosen else ""
            bar = "#" * round(40 * max(cost, 0.0) / top)
            lines.append(f"{k:>6}  {cost:<9.3g} ± {sd:<8.2g} {bar}{mark}")
        return "\n".join(lines)


def cost_curve(
    places: Array,
    variances: Array,
    weights: Array,
    sd: float,
    n_points: float,
    max_clusters: int,
    rng: np.random.Generator,
    *,
    n_starts: int = _STARTS,
    column_scale: Array,
) -> CostCurve:
    """Cluster released points into 1, 2, ... groups and choose a number.

    Parameters
    ----------
    places : ndarray of shape (n, d)
        Released points of [-1, 1]^d.
    variances : ndarray of shape (n, d)
        Of a row around its point.
    weights : ndarray of shape (n,)
        Noisy counts.
    sd : float
        Standard deviation of their noise.
    n_points : float
        How many there were before those that do not stand out were dropped.
    max_clusters : int
        The largest number.
    rng : numpy Generator
        Public randomness.
    n_starts : int
        Most starts of k-means for each number.
    column_scale : ndarray of shape (d,)
        What columns are multiplied by before distances are taken.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> places = np.repeat([[-0.5], [0.0], [0.5]], 50, axis=0) + rng.normal(0, 0.02, (150, 1))
    >>> narrow = np.full((150, 1), 1e-6)
    >>> curve = cost_curve(places, narrow, np.full(150, 9.0), 1.0, 150, 6, rng, column_scale=np.ones(1))
    >>> curve.chosen
    3
    """
    points, around = places * column_scale, variances * column_scale**2
    mass = float(weights.sum())
    if not mass > 0:  # all is noise
        zeros, unknown = np.zeros(max_clusters), np.full(max_clusters, np.inf)
        return CostCurve(zeros, unknown, unknown, 1)
    trim = _TRIM if n_points > len(weights) + 0.5 else 0.0
    least = _GROUP * noise_floor(n_points, sd, HALF_A_CELL)
    cost, noise, length = (np.full(max_clusters, np.inf) for _ in range(3))
    for i in range(max_clusters):
        kept = np.full(len(weights), True)
        for _ in range(_TRIES):
            found = weighted_kmeans(
                places[kept],
                weights[kept],
                i + 1,
                rng,
                n_starts=min(n_starts, _STARTS),
                max_iter=_ROUNDS,
                n_swaps=_SWAPS,
                least_mass=1.0,
                column_scale=column_scale,
            )
            centres = found.centres * column_scale
            labels = nearest_centre(points, centres)
            light = np.bincount(labels, weights, i + 1) < least
            if i == 0 or not light.any() or light.all():
                break
            kept &= ~light[labels]  # a centre that went to noise is missing elsewhere
        offsets = points - centres[labels]
        squares = (offsets**2).sum(axis=1) + around.sum(axis=1)
        cost[i], noise[i] = weights @ squares / mass, sd * float(np.linalg.norm(squares)) / mass
        if i == 0 or not light.any():
            length[i] = _length(offsets, around, squares, np.maximum(weights, 0.0), labels, trim)
    near = np.flatnonzero(length <= length.min() + _MARGIN * max(2, places.shape[1]))
    chosen = int(near[0]) + 1 if len(near) else 1
    # One more centre costs no more: where k-means found nothing better, fewer groups and a spare centre are.
    best = [int(np.argmin(cost[: i + 1])) for i in range(max_clusters)]
    saving = np.flatnonzero(np.isfinite(length) & (cost <= (1 - _SAVED) * cost[0]))
    if chosen == 1 and len(saving) and not _like_a_bell(points, around, np.maximum(weights, 0.0)):
        return CostCurve(cost[best], noise[best], length, int(saving[0]) + 1, clear=False)
    return CostCurve(cost[best], noise[best], length, chosen)


def _like_a_bell(points: Array, around: Array, weights: Array) -> bool:
    """Return whether rows may lie like one bell, by their kurtosis (Mardia 1970).

    Rows around their point add to the spread, and to the distances what a bell of that spread would.
    """
    share = weights / weights.sum()
    offsets = points - share @ points
    spread = (offsets.T * share) @ offsets + np.diag(share @ around)
    free = np.diag(spread) > 0
    d = int(free.sum())
    if d == 0 or len(free) > _SHAPED_COLUMNS or np.linalg.matrix_rank(spread[np.ix_(free, free)]) < d:
        return True
    inverse = np.linalg.inv(spread[np.ix_(free, free)])
    far = np.einsum("ij,jk,ik->i", offsets[:, free], inverse, offsets[:, free])
    more = around[:, free] @ np.diag(inverse)
    outwards = np.argsort(far, kind="stable")
    nearer = np.cumsum(share[outwards]) - share[outwards]
    share[outwards[nearer > 1 - _FURTHEST]] = 0.0
    kurtosis = share @ ((far + more) ** 2 + 2 * more * (2 * far + more) / d)
    return bool(abs(kurtosis / (d * (d + 2)) - 1) <= _LIKE_A_BELL)


def _length(
    offsets: Array,
    around: Array,
    squares: Array,
    weights: Array,
    labels: Integers,
    trim: float,
) -> float:
    """Return the nats that describe a row: its group, and its place among the rows of a common spread."""
    order = np.argsort(squares, kind="stable")
    total = np.cumsum(weights[order])
    kept = order[: max(int(np.searchsorted(total, (1 - trim) * total[-1], side="right")), 1)]
    share = weights[kept] / weights[kept].sum() if weights[kept].any() else np.full(len(kept), 1 / len(kept))
    groups = np.bincount(labels[kept], share)
    groups = groups[groups > 0]
    within = (offsets[kept].T * share) @ offsets[kept] + np.diag(share @ around[kept])
    free = np.diag(within) > 0  # a column of one value says nothing
    sign, logarithm = np.linalg.slogdet(within[np.ix_(free, free)])
    return float(logarithm / 2 - (groups * np.log(groups)).sum()) if sign > 0 else -math.inf
