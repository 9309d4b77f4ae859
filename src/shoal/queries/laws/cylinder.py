"""Discrete cylinder noise: the shape of a ball with counts beside it, in which one row's change lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import special

from shoal._typing import Array, Integers
from shoal.mechanisms import Entropy, cylinder_core, cylinder_noise, cylinder_variance
from shoal.queries.laws.block import NEGLIGIBLE, LawBlock, wide_and_ratio
from shoal.queries.laws.linf import box_tail, design_linf
from shoal.queries.statistics.aggregates import RowChange

# Normal scores of the radius that the tail of a cylinder is averaged over: right to one part in a thousand.
_SCORES = np.linspace(-6.0, 6.0, 65)


@dataclass(frozen=True)
class Cylinder(LawBlock):
    """Integer vectors whose law falls with the radius of the smallest cylinder that holds them.

    Parameters
    ----------
    parameter : Fraction
        The rate.
    n : int
        All coordinates.
    extras : int
        The last ones, which stand beside the ball.
    """

    extras: int = 0

    @property
    def _values(self) -> int:
        return self.n - self.extras

    def check(self) -> None:
        """Refuse what the sampler would refuse."""
        cylinder_core(self.parameter, self._values, self.extras)

    def draw(self, entropy: Entropy, cells: int) -> Integers:
        """Draw exact integer noise for every cell."""
        return cylinder_noise(entropy, self.parameter, cells, self._values, self.extras)

    @property
    def variances(self) -> tuple[float, ...]:
        """Variance of every coordinate."""
        of_value, of_extra = cylinder_variance(self.parameter, self._values, self.extras)
        return (of_value,) * self._values + (of_extra,) * self.extras

    def row_loss(self, change: RowChange, first: int, *, difference: bool = False) -> Fraction:
        """Return the rate times the radius of the body."""
        return self.parameter * change.width

    def describe(self) -> str:
        """Name the law with its parameters."""
        return f"discrete cylinder(rate={self.parameter}, n={self.n}, {self.extras} beside the ball)"

    def tail(self, x: Array, sd: Array, other_sd: Array) -> Array:
        """Return the tail of R (a B - c V): R Gamma of shape n + 1, B of the unit ball, V uniform."""
        if not np.any(sd):  # an entry beside the ball alone has the law of one in a box
            wide, ratio = wide_and_ratio(sd, other_sd)
            return box_tail(x / wide * math.sqrt((self.n + 1) * (self.n + 2) / 3), ratio, self.n)
        m, d = self.n, self._values
        spread = math.sqrt((m + 1) * (m + 2))
        a, c = sd * math.sqrt(d + 2) / spread, other_sd * math.sqrt(3) / spread
        a, c = np.maximum(a, NEGLIGIBLE * c), np.maximum(c, NEGLIGIBLE * a)
        radius = special.gammaincinv(m + 1, special.ndtr(_SCORES))
        far, a, c = x[..., np.newaxis] / radius, a[..., np.newaxis], c[..., np.newaxis]
        # Averaged over V, the chance that B > (far + c V) / a is a difference of the means of max(B - y, 0).
        one_side = (_beyond((far - c) / a, d) - _beyond((far + c) / a, d)) * a / (2 * c)
        return np.asarray(2 * np.average(one_side, axis=-1, weights=np.exp(-(_SCORES**2) / 2)))

    def log_pmf(self, points: Integers) -> Array:
        """Return the log probability of integer noise vectors."""
        core = cylinder_core(self.parameter, self._values, self.extras)
        return np.asarray(-float(self.parameter) * np.maximum(self._whole_radius(points), core))

    def most_lost(self, shifts: Integers) -> Array:
        """Return the rate times the radius: outside its core the law falls by the rate for each step.

        Examples
        --------
        >>> Cylinder(Fraction(1, 2), 3, 1).most_lost(np.array([[3, 4, 5], [1, 1, 0]]))
        array([2.5, 1. ])
        """
        return np.asarray(float(self.parameter) * self._whole_radius(shifts))

    def _whole_radius(self, points: Integers) -> Array:
        """Return the integer radius of the smallest cylinder that holds each point."""
        return np.ceil(self._radius(points.astype(np.float64)))

    def _radius(self, z: Array) -> Array:
        values, beside = np.split(z, [self._values], axis=1)
        length = np.sqrt((values**2).sum(axis=1))
        return np.asarray(np.maximum(length, np.abs(beside).max(axis=1, initial=0.0)))

    def uniforms(self, noise: Array, rng: np.random.Generator) -> Array:
        """Transform the radius j of the cylinder that a vector is uniform in, then every entry given it.

        The law is a mixture over j, and given the vector, j exceeds the least radius that holds it by a
        geometric number: that is drawn again. A coordinate of a d-ball has a beta law, and the others lie in
        a smaller ball. The lattice is taken as fine: it must be, to be drawn from.
        """
        rate, d, z = float(self.parameter), self._values, noise
        core = cylinder_core(self.parameter, d, self.extras)
        least = np.maximum(np.ceil(self._radius(z)), core)
        j = least + np.floor(rng.exponential(1 / rate, len(z)))
        shape, start = self.n + 1, special.gammainc(self.n + 1, rate * core)
        above = special.gammainc(shape, rate * (j + rng.random(len(z))))
        columns = [np.maximum(above - start, 0.0) / (1 - start)]
        left = j * j
        for i in range(d):
            place = z[:, i] + rng.random(len(z)) - 0.5
            share = np.clip((1 + place / np.sqrt(np.maximum(left, 1.0))) / 2, 0.0, 1.0)
            columns.append(special.betainc((d - i + 1) / 2, (d - i + 1) / 2, share))
            left = left - z[:, i] ** 2
        columns += [(z[:, i] + j + rng.random(len(z))) / (2 * j + 1) for i in range(d, self.n)]
        return np.stack(columns, axis=1)

    def sharpness(self, noise: Array) -> Array:
        """Compare the mean radius with that of the law."""
        spread = self._radius(np.abs(noise))[:, np.newaxis] * float(self.parameter) / self.n
        return np.asarray(1.0 / np.maximum(spread.mean(axis=0), 1e-300))

    @property
    def sharpness_weights(self) -> tuple[float, ...]:
        """One number for all coordinates: the radius."""
        return (float(self.parameter),)


def _beyond(y: Array, d: int) -> Array:
    """Return the mean of max(B - y, 0), where B has a density proportional to (1 - b^2)^((d - 1)/2)."""
    inside, half = np.clip(y, -1.0, 1.0), (d + 1) / 2
    log_scale = special.betaln(half, 0.5)
    with np.errstate(divide="ignore"):
        top = np.exp(half * np.log1p(-(inside**2)) - log_scale) / (d + 1)
    within = top - inside * special.betaincc(half, half, (1 + inside) / 2)
    return np.asarray(np.where(y < -1.0, -y, within))


def design_cylinder(change: RowChange, e: Fraction, bits: int) -> tuple[LawBlock, ...]:
    """Give values in a ball noise of that shape, and counts beside it; with one value, the ball is a box."""
    if not change.ball or change.n_values < 2:
        return design_linf(change, e, bits)
    return (Cylinder(e / change.width, change.dimension, len(change.extras)),)
