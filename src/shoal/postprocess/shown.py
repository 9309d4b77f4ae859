"""What a look shows, once noise is taken for what it is: places with weights and spreads.

It is made of released values alone, so that rows may be made up from it, and fitted, as often as one likes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal._typing import Array


def without_noise(counts: Array, rows: float) -> Array:
    """Return the nearest weights to noisy counts, by least squares, that are not negative and have this sum.

    The same is taken from every count: dropping the negative ones alone would leave the positive noise of all
    empty cells.

    Parameters
    ----------
    counts : ndarray of shape (n,)
        Of disjoint cells, at least one.
    rows : float
        What the weights add up to; at least 1.

    Examples
    --------
    >>> without_noise(np.array([8.0, 3.0, -1.0]), rows=7.0)
    array([6., 1., 0.])
    """
    falling = np.sort(counts)[::-1]
    level = (np.cumsum(falling) - max(rows, 1.0)) / np.arange(1, len(falling) + 1)
    last = int(np.flatnonzero(falling > level)[-1])
    return np.asarray(np.maximum(counts - level[last], 0.0))


@dataclass(frozen=True, eq=False)
class Shown:
    """Places with weights, in the scaled units of a domain.

    Parameters
    ----------
    places : ndarray of shape (n, d)
        Points of [-1, 1]^d.
    weights : ndarray of shape (n,)
        How many rows are at each; none is negative.
    variances : ndarray of shape (n, d)
        Of rows around their place.
    rows : float
        How many rows there are in all, public or noisy.
    """

    places: Array
    weights: Array
    variances: Array
    rows: float

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Make up rows: as many at every place as its weight says, spread evenly around it.

        Parameters
        ----------
        n : int
            How many.
        rng : numpy Generator
            Public randomness.

        Examples
        --------
        >>> shown = Shown(np.array([[-0.5], [0.5]]), np.array([3.0, 1.0]), np.zeros((2, 1)), rows=4.0)
        >>> shown.draw(8, np.random.default_rng(0)).ravel()
        array([-0.5, -0.5, -0.5, -0.5, -0.5, -0.5,  0.5,  0.5])
        """
        # Systematic sampling: every place has its share but for less than one row.
        ends = np.cumsum(self.weights) / self.weights.sum()
        at = np.searchsorted(ends, (np.arange(n) + rng.random()) / max(n, 1), side="right")
        at = np.minimum(at, len(ends) - 1)
        reach = np.sqrt(3 * self.variances[at])
        return np.asarray(np.clip(self.places[at] + rng.uniform(-1.0, 1.0, reach.shape) * reach, -1.0, 1.0))
