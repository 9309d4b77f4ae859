"""Turn noise into what should be independent uniform numbers, if the noise has the law that was charged.

The probability integral transform, coordinate by coordinate and given the ones before; every law knows its
own. On a lattice a value is a step of the distribution function, so its place on the step is drawn: the
result is exactly uniform.
"""

from __future__ import annotations

import numpy as np

from shoal._typing import Array
from shoal.queries.laws.noise import NoiseLaw


def uniforms(law: NoiseLaw, noise: Array, rng: np.random.Generator) -> Array:
    """Return uniform numbers, one line per draw; a box or a cylinder has one column more than coordinates.

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
    >>> from fractions import Fraction
    >>> from shoal.mechanisms import SeededEntropy
    >>> from shoal.queries.laws.laplace import Laplace
    >>> law = NoiseLaw((Laplace(Fraction(1, 3), 2),), Fraction(1), "epsilon")
    >>> u = uniforms(law, law.draw(SeededEntropy(0), 10_000), np.random.default_rng(0))
    >>> u.shape, u.mean(axis=0).round(2)
    ((10000, 2), array([0.5, 0.5]))
    """
    parts = law.parts(np.asarray(noise, dtype=np.float64))
    return np.concatenate([block.uniforms(part, rng) for block, part in parts], axis=1)


def sharpness(law: NoiseLaw, noise: Array) -> Array:
    """Return, for each coordinate or box, how much smaller the noise is than its law says: 1 if it is not.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from shoal.mechanisms import SeededEntropy
    >>> from shoal.queries.laws.laplace import Laplace
    >>> law = NoiseLaw((Laplace(Fraction(1, 300), 2),), Fraction(1), "epsilon")
    >>> sharpness(law, law.draw(SeededEntropy(0), 100_000) / 5).round(1)
    array([5., 5.])
    """
    parts = law.parts(np.asarray(noise, dtype=np.float64))
    return np.concatenate([block.sharpness(part) for block, part in parts])


def loss_factor(law: NoiseLaw, noise: Array) -> float:
    """Return how many times as much as its law noise of this size would lose."""
    weights = [weight for block in law.blocks for weight in block.sharpness_weights]
    return float(np.average(sharpness(law, noise), weights=weights))
