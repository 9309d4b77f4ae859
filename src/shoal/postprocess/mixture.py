"""A mixture of bells fitted to noisy counts of boxes: what they say once their noise is accounted for.

The expected count of a box is what the bells put there. A noisy count z of variance v is drawn towards it,
n = m + (z - m) t / (t + v), where t = m + (m / 2)^2 is how far rows stray from a model that is half right;
the bells are then fitted to n, and so on (expectation and maximisation, Dempster, Laird, Rubin 1977). So a
box that noise has lifted is believed as far as its neighbours bear it out, and a group that is narrower than
a box is found between its neighbours' counts. All of it is arithmetic on released values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from shoal._typing import Array, Booleans, Integers
from shoal.postprocess.bell_loops import ASTRAY, GROUP, TINY, one_pass

# A bell puts nothing farther than this many standard deviations from its middle (6e-7 of a normal law).
_REACH = 5.0
# Steps of expectation and maximisation are this much longer than proven: noise makes the proven ones small.
_STRIDE = 1.5
# In one step no spread shrinks by more than this factor squared.
_LEAST_SHRINK = 1e-3


@dataclass(frozen=True, eq=False)
class NoisyBoxes:
    """Boxes with noisy counts.

    Parameters
    ----------
    lower, upper : ndarray of shape (n, d)
        Their corners, in units in which distance is meant.
    counts : ndarray of shape (n,)
        Noisy counts; they may be negative.
    variances : ndarray of shape (n,)
        Of their noise.
    """

    lower: Array
    upper: Array
    counts: Array
    variances: Array

    @property
    def middles(self) -> Array:
        """The middle of every box."""
        return np.asarray((self.lower + self.upper) / 2)

    @property
    def widths(self) -> Array:
        """The sides of every box."""
        return np.asarray(self.upper - self.lower)

    @cached_property
    def sides(self) -> Sides:
        """The few different sides that they have: bells are fitted to the same boxes again and again."""
        return Sides.of(self.lower, self.upper)


@dataclass(frozen=True, eq=False)
class Bells:
    """Normal laws with independent columns.

    Parameters
    ----------
    means, spreads : ndarray of shape (k, d)
        Of each.
    rows : ndarray of shape (k,)
        How many rows each has.
    """

    means: Array
    spreads: Array
    rows: Array

    def chosen(self, which: Booleans) -> Bells:
        """Return some of them."""
        return Bells(self.means[which], self.spreads[which], self.rows[which])

    def joined(self, more: Bells) -> Bells:
        """Return them with others."""
        return Bells(
            np.vstack([self.means, more.means]),
            np.vstack([self.spreads, more.spreads]),
            np.concatenate([self.rows, more.rows]),
        )


@dataclass(frozen=True, eq=False)
class Denoised:
    """What boxes hold according to their counts and the bells together.

    Parameters
    ----------
    counts : ndarray of shape (n,)
        Rows of each box; none is negative.
    places : ndarray of shape (n, d)
        Where in it they are, in the mean.
    expected : ndarray of shape (n,)
        What the bells alone would put there.
    trust : ndarray of shape (n,)
        How much of the noise of a count is left in it: t / (t + v).
    gains : ndarray of shape (k,)
        What each bell adds to the log likelihood of the counts, as for Laplace noise: a count far out is less
        of a proof than it would be for a normal law.
    """

    counts: Array
    places: Array
    expected: Array
    trust: Array
    gains: Array


def fit_bells(
    boxes: NoisyBoxes, start: Bells, n_iter: int, least_spread: float, sure: Booleans | None = None
) -> tuple[Bells, Denoised]:
    """Fit bells to noisy counts.

    Parameters
    ----------
    boxes : NoisyBoxes
        What was released.
    start : Bells
        Where to begin.
    n_iter : int
        Steps.
    least_spread : float
        No bell gets narrower.
    sure : ndarray of bool, optional
        Boxes that hold rows whatever the bells say: their counts are believed where they differ from the
        bells by more than noise does.

    Examples
    --------
    >>> edges = np.linspace(-1, 1, 21)[:, np.newaxis]
    >>> counts = np.zeros(20)
    >>> counts[[4, 5, 14]] = 300.0, 300.0, 900.0
    >>> boxes = NoisyBoxes(edges[:-1], edges[1:], counts, np.full(20, 100.0))
    >>> start = Bells(np.array([[-0.6], [0.6]]), np.full((2, 1), 0.2), np.full(2, 500.0))
    >>> bells, denoised = fit_bells(boxes, start, 50, 0.01)
    >>> bells.means.round(2).ravel(), bells.rows.round(-2)
    (array([-0.5 ,  0.45]), array([600., 900.]))
    """
    sure = np.zeros(len(boxes.counts), bool) if sure is None else sure
    means, spreads, rows = start.means.copy(), start.spreads.copy(), start.rows.copy()
    k, d = means.shape
    n = len(boxes.counts)
    sides = boxes.sides
    given = boxes.counts[sides.order], boxes.variances[sides.order], sure[sides.order]
    counts, places, expected = np.zeros(n), np.zeros((n, d)), np.zeros(n)
    gains, mass, first, second = np.zeros(k), np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    fill = one_pass()
    for step in range(n_iter + 1):
        fill(
            sides.kinds, sides.groups, *given, *sides.reached(means, spreads), rows,
            *sides.tables(means, spreads), means, spreads, step == n_iter,
            expected, counts, places, gains, mass, first, second,
        )  # fmt: skip
        if step == n_iter:
            break
        alive = mass > TINY
        share = np.where(alive, mass, 1.0)[:, np.newaxis]
        shift = first / share
        scatter = np.maximum(second / share - shift**2, _LEAST_SHRINK)
        means = np.where(alive[:, np.newaxis], means + _STRIDE * spreads * shift, means)
        spreads = np.maximum(
            np.where(alive[:, np.newaxis], spreads * scatter ** (_STRIDE / 2), spreads), least_spread
        )
        rows = np.where(alive, rows * (mass / np.maximum(rows, TINY)) ** _STRIDE, 0.0)
    back = np.argsort(sides.order)
    counts, places, expected = counts[back], places[back], expected[back]
    stray = expected + (ASTRAY * expected) ** 2
    stray = np.where(sure, np.maximum(stray, (boxes.counts - expected) ** 2 - boxes.variances), stray)
    trust = stray / (stray + boxes.variances)
    return Bells(means, spreads, rows), Denoised(
        counts, np.where(expected[:, np.newaxis] > TINY, places, boxes.middles), expected, trust, gains
    )


@dataclass(frozen=True, eq=False)
class Sides:
    """The few different edges and sides of boxes, which are sorted by their lower edges in the first column.

    Parameters
    ----------
    order : ndarray of int64, shape (n,)
        What sorts them.
    edges, columns : ndarray of shape (e,)
        Edges of the first column, of the second and so on; and of which column they are.
    lower, upper : ndarray of int64
        Between which edges each side lies.
    kinds : ndarray of uint32, shape (n, d)
        Which of the sides a box has.
    groups : ndarray of uint32, shape (groups, d)
        Which of them is around the boxes of each group.
    first, widest : ndarray of shape (n,), float
        Lower edges in the first column, and the widest side there.
    """

    order: Integers
    edges: Array
    columns: Integers
    lower: Integers
    upper: Integers
    kinds: npt.NDArray[np.uint32]
    groups: npt.NDArray[np.uint32]
    first: Array
    widest: float

    @classmethod
    def of(cls, lower: Array, upper: Array) -> Sides:
        """Sort boxes, and find their sides."""
        order = np.argsort(lower[:, 0], kind="stable")
        lower, upper = lower[order], upper[order]
        n, d = lower.shape
        edges: list[Array] = []
        low, high, before = np.empty((n, d), np.int64), np.empty((n, d), np.int64), 0
        for a in range(d):
            values, which = np.unique(np.concatenate([lower[:, a], upper[:, a]]), return_inverse=True)
            low[:, a], high[:, a] = np.split(before + which.ravel(), 2)
            edges.append(values)
            before += len(values)
        starts = np.arange(0, n, GROUP)
        around = np.minimum.reduceat(low, starts) * before + np.maximum.reduceat(high, starts)
        sides, which = np.unique(np.vstack([low * before + high, around]), return_inverse=True)
        kinds = which.reshape(-1, d).astype(np.uint32)  # a loop asks of signed ones whether they are negative
        return cls(
            order,
            np.concatenate(edges),
            np.repeat(np.arange(d), list(map(len, edges))),
            sides // before,
            sides % before,
            kinds[:n],
            kinds[n:],
            lower[:, 0],
            float((upper[:, 0] - lower[:, 0]).max()),
        )

    def reached(self, means: Array, spreads: Array) -> tuple[Integers, Integers]:
        """Return the first box that each bell may put something into, and the one after the last."""
        reach = _REACH * spreads[:, 0]
        begin = np.searchsorted(self.first, means[:, 0] - reach - self.widest)
        return begin, np.searchsorted(self.first, means[:, 0] + reach)

    def tables(self, means: Array, spreads: Array) -> tuple[Array, Array, Array]:
        """Return what every bell has in every side.

        That is a part of its rows, their mean, and their mean square, from its middle and in its spreads.
        """
        t = (self.edges - means[:, self.columns]) / spreads[:, self.columns]
        below, density = ndtr(t), np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)
        at = t * density
        inside = below[:, self.upper] - below[:, self.lower]
        some = np.where(inside > 0, inside, 1.0)
        away = (density[:, self.lower] - density[:, self.upper]) / some
        return inside, away, 1.0 + (at[:, self.lower] - at[:, self.upper]) / some
