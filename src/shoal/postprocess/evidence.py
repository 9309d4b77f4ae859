"""Is it noise? One answer for all who ask it of released values.

Noise is known: its standard deviation is public. So whether a number could be noise alone is a matter of how
often one is willing to be wrong, and that rate has a name. The tail of Laplace noise, the widest that counts
are released with, is exp(-sqrt(2) t / sd) / 2; where many are averaged it is that of the normal law, which is
at most exp(-(t / sd)^2 / 2) / 2. The last functions make centres of noisy sums and counts by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np

from shoal._typing import Array

Values = TypeVar("Values", float, Array)

SURE = 2.0
"""Standard deviations that a single number is trusted to: 3.0 % of Laplace noise is beyond them, to one side,
and 2.3 % of normal noise."""

STANDS_OUT = 3.0
"""Standard deviations beyond which nobody is warned that a number may be nothing but noise: Laplace noise
alone is beyond them once in 140 times, to one side, and normal noise once in 740."""

HALF_A_CELL = 0.5
"""False alarms of the universal threshold: of any number of empty cells half a one passes, on average."""


@dataclass(frozen=True, eq=False)
class Noisy(Generic[Values]):
    """Released numbers, and how noisy each is.

    Parameters
    ----------
    value : float or ndarray
        What was released.
    variance : float
        Of the noise of each number. Variances add up, standard deviations do not.

    Examples
    --------
    >>> rows = Noisy.of(1000.0, sd=70.0)
    >>> lower_bound(rows), upper_bound(rows)
    (860.0, 1140.0)
    """

    value: Values
    variance: float

    @classmethod
    def of(cls, value: Values, sd: float) -> Noisy[Values]:
        """Return numbers whose noise has this standard deviation."""
        return cls(value, sd * sd)

    @property
    def sd(self) -> float:
        """Standard deviation of the noise."""
        return math.sqrt(self.variance)


def lower_bound(noisy: Noisy[Values], sds: float = SURE) -> Values:
    """Return what a noisy number is at least, but for the false alarms of `SURE`."""
    return noisy.value - sds * noisy.sd


def upper_bound(noisy: Noisy[Values], sds: float = SURE) -> Values:
    """Return what a noisy number is at most, but for the false alarms of `SURE`."""
    return noisy.value + sds * noisy.sd


def combine(one: Noisy[Values], other: Noisy[Values]) -> Noisy[Values]:
    """Return the best mean of two noisy values of one thing: each counts by the other's noise.

    Parameters
    ----------
    one, other : Noisy
        With noise that is independent; that of the first may be infinite.

    Examples
    --------
    >>> combine(Noisy(10.0, 3.0), Noisy(14.0, 1.0))
    Noisy(value=13.0, variance=0.75)
    >>> combine(Noisy(10.0, np.inf), Noisy(14.0, 1.0))
    Noisy(value=14.0, variance=1.0)
    """
    a, b = one.variance, other.variance
    weight = 0.0 if math.isinf(a) else b / (a + b)
    return Noisy(one.value * weight + other.value * (1 - weight), b * (1 - weight))


def noise_floor(
    n: float, sd: float, false_alarms: float, tail: Literal["laplace", "normal"] = "laplace"
) -> float:
    """Return the value that the noise of n empty cells passes `false_alarms` times, on average.

    Parameters
    ----------
    n : float
        How many cells there are.
    sd : float
        Standard deviation of the noise of one.
    false_alarms : float
        How many of them may be taken for full; at most a quarter of them.
    tail : {"laplace", "normal"}
        The law of the noise; "normal" where a cell's value averages many counts.

    Examples
    --------
    >>> round(noise_floor(1000, 1.0, HALF_A_CELL), 2), round(noise_floor(1000, 1.0, HALF_A_CELL, "normal"), 2)
    (4.88, 3.72)
    """
    nats = math.log(max(n / (2 * false_alarms), 2.0))
    return sd / math.sqrt(2) * nats if tail == "laplace" else sd * math.sqrt(2 * nats)


def laplace_rate(sd: float) -> float:
    """Return the rate e of discrete Laplace noise of this standard deviation.

    Its variance is 1 / (2 sinh(e / 2)^2).

    Examples
    --------
    >>> round(laplace_rate(1.357), 3)
    1.0
    """
    return 2 * math.asinh(1 / (math.sqrt(2) * sd))


def shrink(steps: Array, noise: Array, weights: Array | float = 1.0) -> Array:
    """Return the share of each step to make so that steps err least (James and Stein 1961): what is no noise.

    How large true steps are is told by how large the noisy ones are, less the noise.

    Parameters
    ----------
    steps : ndarray of shape (k, d)
        Differences from where one would stay, with noise.
    noise : ndarray, to be broadcast
        Variance of the noise of each.
    weights : ndarray, to be broadcast, or float
        How much each says of how large steps are.

    Examples
    --------
    >>> shrink(np.array([[3.0], [-3.0]]), np.array([[3.0], [9.0]])).round(2)
    array([[0.5 ],
           [0.25]])
    """
    total = float(np.mean(weights * np.ones_like(steps)))
    true = max(float(np.mean(weights * (steps**2 - noise))) / total, 0.0)
    return np.asarray(true / np.maximum(true + noise, 1e-300))


def soft(value: float, doubt: float) -> float:
    """Return a number moved towards 0 by as much as could be noise, but not beyond.

    Examples
    --------
    >>> soft(5.0, 2.0), soft(-1.0, 2.0)
    (3.0, 0.0)
    """
    return value - min(max(value, -doubt), doubt)


def divide(sums: Array, counts: Array, fallback: Array) -> Array:
    """Divide sums by counts whatever these are, as the papers write it; centres stay in the domain.

    Parameters
    ----------
    sums : ndarray of shape (n_cells, n_columns)
        Noisy sums of scaled rows.
    counts : ndarray of shape (n_cells,)
        Noisy counts; of either sign.
    fallback : ndarray of shape (n_cells, n_columns)
        Centres to keep where the count is 0.

    Examples
    --------
    >>> divide(np.array([[5.0], [1.0]]), np.array([10.0, -2.0]), np.zeros((2, 1)))
    array([[ 0.5],
           [-0.5]])
    """
    some = (counts != 0)[:, np.newaxis]
    quotients = np.divide(sums, counts[:, np.newaxis], out=np.array(fallback, dtype=np.float64), where=some)
    return np.clip(quotients, -1.0, 1.0)


def recentre(sums: Array, counts: Array, count_sd: float, fallback: Array) -> Array:
    """Divide sums by counts; a cell whose noisy count says "empty" keeps its old centre.

    Parameters
    ----------
    sums : ndarray of shape (n_cells, n_columns)
        Noisy sums of scaled rows.
    counts : ndarray of shape (n_cells,)
        Noisy counts.
    count_sd : float
        Standard deviation of the noise of a count.
    fallback : ndarray of shape (n_cells, n_columns)
        Centres to keep where the count is too small to divide by.

    Examples
    --------
    >>> recentre(np.array([[5.0], [1.0]]), np.array([10.0, -3.0]), 1.0, np.array([[0.0], [0.25]]))
    array([[0.5 ],
           [0.25]])
    """
    least = smallest_count(count_sd)
    moved = np.clip(sums / np.maximum(counts, least)[:, np.newaxis], -1.0, 1.0)
    return np.where((counts >= least)[:, np.newaxis], moved, fallback)


def smallest_count(count_sd: float) -> float:
    """Return the count below which a cell may as well be empty: what noise makes of none, or one row."""
    return max(1.0, upper_bound(Noisy.of(0.0, count_sd)))


def centre_sd(centres: Array, counts: Array, sum_sd: float, count_sd: float) -> Array:
    """Return the standard error that the noise gives each coordinate of a centre S/n.

    To first order the error of S/n is (noise of S - centre * noise of n) / n. A centre that was kept for
    want of rows has an infinite one.

    Examples
    --------
    >>> centre_sd(np.array([[0.0, 1.0]]), np.array([100.0]), 3.0, 4.0)
    array([[0.03, 0.05]])
    """
    least = smallest_count(count_sd)
    spread = np.sqrt(sum_sd**2 + (centres * count_sd) ** 2) / np.maximum(counts, least)[:, np.newaxis]
    return np.where((counts >= least)[:, np.newaxis], spread, np.inf)
