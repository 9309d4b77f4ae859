"""Turn noise into what should be independent uniform numbers, if the noise has the law that was charged.

The probability integral transform, coordinate by coordinate and given the ones before. On a lattice a value
is a step of the distribution function, so its place on the step is drawn: the result is exactly uniform.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy import special, stats

from shoal.audit.sights import Floats
from shoal.mechanisms import cylinder_core
from shoal.queries.laws.noise import Block, NoiseLaw

# Below these the lattice is fine enough for the continuous law; above, sums over the lattice are short.
FINE_RATE = 1e-4
FINE_SIGMA = 1e4


def uniforms(law: NoiseLaw, noise: Floats, rng: np.random.Generator) -> Floats:
    """Return uniform numbers, one row a draw; a box or a cylinder has one column more than coordinates.

    Parameters
    ----------
    law : NoiseLaw
        What the noise should be.
    noise : ndarray of shape (n, dimension)
        What was drawn.
    rng : Generator
        Places on the steps.

    Examples
    --------
    >>> from shoal.mechanisms import SeededEntropy
    >>> law = NoiseLaw((Block("laplace", Fraction(1, 3), 2),), Fraction(1), "epsilon")
    >>> u = uniforms(law, law.draw(SeededEntropy(0), 10_000), np.random.default_rng(0))
    >>> u.shape, u.mean(axis=0).round(2)
    ((10000, 2), array([0.5, 0.5]))
    """
    columns, start = [], 0
    for block in law.blocks:
        part = np.asarray(noise[:, start : start + block.n], dtype=np.float64)
        of_law = {"linf": _box, "cylinder": _cylinder}.get(block.law, _independent)
        columns.append(of_law(block, part, rng))
        start += block.n
    return np.concatenate(columns, axis=1)


def sharpness(law: NoiseLaw, noise: Floats) -> Floats:
    """Return, for each coordinate or box, how much smaller the noise is than its law says: 1 if it is not.

    Examples
    --------
    >>> from shoal.mechanisms import SeededEntropy
    >>> law = NoiseLaw((Block("laplace", Fraction(1, 300), 2),), Fraction(1), "epsilon")
    >>> sharpness(law, law.draw(SeededEntropy(0), 100_000) / 5).round(1)
    array([5., 5.])
    """
    found, start = [], 0
    for block in law.blocks:
        part = np.abs(np.asarray(noise[:, start : start + block.n], dtype=np.float64))
        rate = float(block.parameter)
        if block.law == "linf":
            spread = part.max(axis=1, keepdims=True) * rate / block.n
        elif block.law == "cylinder":
            spread = _cylinder_radius(block, part)[:, np.newaxis] * rate / block.n
        elif block.law == "laplace":
            spread = part * math.sinh(rate)  # whose mean is exactly 1
        else:
            spread = part**2 / block.variances[0]
        found.append(1.0 / np.maximum(spread.mean(axis=0), 1e-300))
        start += block.n
    return np.concatenate(found)


def _independent(block: Block, z: Floats, rng: np.random.Generator) -> Floats:
    cdf = _laplace_cdf if block.law == "laplace" else _gaussian_cdf
    low, high = cdf(z - 1, block.parameter), cdf(z, block.parameter)
    return low + rng.random(z.shape) * (high - low)


def _laplace_cdf(z: Floats, rate: Fraction) -> Floats:
    r = float(rate)
    below = np.exp(np.minimum(z, 0) * r) / (1 + math.exp(-r))
    above = 1.0 - np.exp(-(np.maximum(z, -1) + 1) * r) / (1 + math.exp(-r))
    return np.where(z < 0, below, above)


def _gaussian_cdf(z: Floats, sigma: Fraction) -> Floats:
    s = float(sigma)
    if s > FINE_SIGMA:
        return np.asarray(stats.norm.cdf((z + 0.5) / s))
    reach = math.ceil(40 * s)
    steps = np.arange(-reach, reach + 1)
    table = np.cumsum(np.exp(-((steps / s) ** 2) / 2))
    return np.concatenate([[0.0], table / table[-1]])[
        np.clip(z + reach + 1, 0, 2 * reach + 1).astype(np.int64)
    ]


def _box(block: Block, z: Floats, rng: np.random.Generator) -> Floats:
    """Transform the largest entry first, then every entry given it.

    Given the largest entry r, the vector is uniform on the surface of the cube: with n entries to go and r
    not yet attained, there are (2r+1)^n - (2r-1)^n ways to go on.
    """
    m, r = block.n, np.abs(z).max(axis=1)
    low, high = _radius_cdf(r - 1, block), _radius_cdf(r, block)
    columns = [low + rng.random(len(r)) * (high - low)]
    side = 2 * r + 1
    shrink = np.log1p(-2 / np.maximum(side, 3))  # log of (2r-1)/(2r+1); r = 0 is set right below
    attained = np.zeros(len(r), dtype=np.bool_)
    for i in range(m):
        place = rng.random(len(r))
        ways = -np.expm1((m - i) * shrink)
        edge = 1 / (side * ways)
        inner = -np.expm1((m - i - 1) * shrink) / (side * ways)
        at_edge = np.abs(z[:, i]) == r
        u = edge + (z[:, i] + r - 1 + place) * inner
        u = np.where(at_edge, np.where(z[:, i] < 0, place * edge, 1 - edge + place * edge), u)
        u = np.where(attained, (z[:, i] + r + place) / side, u)
        columns.append(np.where(r == 0, place, u))
        attained |= at_edge
    return np.stack(columns, axis=1)


def _cylinder_radius(block: Block, z: Floats) -> Floats:
    values, beside = np.split(z, [block.n - block.extras], axis=1)
    length = np.sqrt((values**2).sum(axis=1))
    return np.asarray(np.maximum(length, np.abs(beside).max(axis=1, initial=0.0)))


def _cylinder(block: Block, z: Floats, rng: np.random.Generator) -> Floats:
    """Transform the radius j of the cylinder that a vector is uniform in, then every entry given it.

    The law is a mixture over j, and given the vector, j exceeds the least radius that holds it by a geometric
    number: that is drawn again. A coordinate of a d-ball has a beta law, and the others lie in a smaller
    ball. The lattice is taken as fine: it must be, to be drawn from.
    """
    rate, d = float(block.parameter), block.n - block.extras
    core = cylinder_core(block.parameter, d, block.extras)
    least = np.maximum(np.ceil(_cylinder_radius(block, z)), core)
    j = least + np.floor(rng.exponential(1 / rate, len(z)))
    shape, start = block.n + 1, special.gammainc(block.n + 1, rate * core)
    above = special.gammainc(shape, rate * (j + rng.random(len(z))))
    columns = [np.maximum(above - start, 0.0) / (1 - start)]
    left = j * j
    for i in range(d):
        place = z[:, i] + rng.random(len(z)) - 0.5
        share = np.clip((1 + place / np.sqrt(np.maximum(left, 1.0))) / 2, 0.0, 1.0)
        columns.append(special.betainc((d - i + 1) / 2, (d - i + 1) / 2, share))
        left = left - z[:, i] ** 2
    columns += [(z[:, i] + j + rng.random(len(z))) / (2 * j + 1) for i in range(d, block.n)]
    return np.stack(columns, axis=1)


def _radius_cdf(r: Floats, block: Block) -> Floats:
    rate, m = float(block.parameter), block.n
    if rate < FINE_RATE:
        return np.where(r < 0, 0.0, special.gammainc(m, rate * np.maximum(r + 0.5, 0.0)))
    reach = math.ceil((m + 60 + 12 * math.sqrt(m)) / rate)
    s = np.arange(reach + 1, dtype=np.float64)
    # The shell of largest entry s has (2s+1)^m - (2s-1)^m points.
    log_shell = m * np.log(2 * s + 1)
    log_shell[1:] += np.log(-np.expm1(m * np.log1p(-2 / (2 * s[1:] + 1))))
    weights = log_shell - rate * s
    table = np.cumsum(np.exp(weights - weights.max()))
    return np.concatenate([[0.0], table / table[-1]])[np.clip(r + 1, 0, reach + 1).astype(np.int64)]
