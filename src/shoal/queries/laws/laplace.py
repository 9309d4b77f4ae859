"""Discrete Laplace noise: every coordinate on its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal._typing import Array, Integers
from shoal.accounting.budget import round_down
from shoal.mechanisms import (
    Entropy,
    check_laplace,
    discrete_laplace,
    discrete_laplace_each,
    laplace_log_pmf,
    laplace_variance,
)
from shoal.queries.laws.block import LawBlock, on_steps, wide_and_ratio
from shoal.queries.statistics.aggregates import RowChange


@dataclass(frozen=True)
class Laplace(LawBlock):
    """Independent integers z of probability proportional to exp(-rate |z|)."""

    def check(self) -> None:
        """Refuse what the sampler would refuse."""
        check_laplace(self.parameter)

    def draw(self, entropy: Entropy, cells: int) -> Integers:
        """Draw exact integer noise for every cell."""
        return discrete_laplace(entropy, self.parameter, cells * self.n).reshape(cells, self.n)

    @classmethod
    def draw_each(cls, entropy: Entropy, parameters: Sequence[Fraction], which: Integers) -> Integers:
        """Draw one number for every entry of `which`, of the parameter that it points to."""
        return discrete_laplace_each(entropy, parameters, which)

    @property
    def variances(self) -> tuple[float, ...]:
        """Variance of every coordinate."""
        return (laplace_variance(self.parameter),) * self.n

    def row_loss(self, change: RowChange, first: int, *, difference: bool = False) -> Fraction:
        """Return the rate times what the absolute changes add up to."""
        values = min(max(change.n_values - first, 0), self.n)
        of_values = change.l1 if values else 0
        return self.parameter * of_values + self.parameter * (self.n - values) * change.width

    def describe(self) -> str:
        """Name the law with its parameters."""
        return f"discrete Laplace(rate={self.parameter}, n={self.n})"

    def tail(self, x: Array, sd: Array, other_sd: Array) -> Array:
        """Return the tail of two independent Laplace variables.

        Of scales 1 and r: partial fractions of 1/((1+t^2)(1+r^2 t^2)).
        """
        wide, ratio = wide_and_ratio(sd, other_sd)
        far = x / wide * math.sqrt(2)
        same = ratio > 1 - 1e-5
        square = np.where(same, 0.0, ratio) ** 2
        with np.errstate(divide="ignore", over="ignore"):
            small = np.where(ratio > 0, np.exp(-far / np.where(ratio > 0, ratio, 1.0)), 0.0)
        apart = (np.exp(-far) - square * small) / (1 - square)
        return np.where(same, (1 + far / 2) * np.exp(-far), apart)

    def log_pmf(self, points: Integers) -> Array:
        """Return the log probability of integer noise vectors."""
        return np.asarray(laplace_log_pmf(points, self.parameter).sum(axis=1))

    def uniforms(self, noise: Array, rng: np.random.Generator) -> Array:
        """Transform every coordinate."""
        return on_steps(self._cdf(noise - 1), self._cdf(noise), rng)

    def _cdf(self, z: Array) -> Array:
        r = float(self.parameter)
        below = np.exp(np.minimum(z, 0) * r) / (1 + math.exp(-r))
        above = 1.0 - np.exp(-(np.maximum(z, -1) + 1) * r) / (1 + math.exp(-r))
        return np.where(z < 0, below, above)

    def sharpness(self, noise: Array) -> Array:
        """Compare the mean magnitude with that of the law, coordinate by coordinate."""
        spread = np.abs(noise) * math.sinh(float(self.parameter))  # whose mean is exactly 1
        return np.asarray(1.0 / np.maximum(spread.mean(axis=0), 1e-300))

    @property
    def sharpness_weights(self) -> tuple[float, ...]:
        """A coordinate loses in proportion to its rate."""
        return (float(self.parameter),) * self.n


def design_laplace(change: RowChange, e: Fraction, bits: int) -> tuple[LawBlock, ...]:
    """Su et al. (7): every coordinate gets Laplace noise of scale (d r + 1) / e."""
    norm = Fraction(change.l1, change.width) + len(change.extras)
    return (Laplace(round_down(e / norm, bits) / change.width, change.dimension),)
