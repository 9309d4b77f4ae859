"""How likely it is that a bell has rows: by what it tells of the counts, and by where it is.

A bell that is fitted to the highest of the noise tells something too, and in bounds that are far too wide
most places where noise may be high are far from all rows. There a bell costs k-means by its distance squared.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from shoal._typing import Array
from shoal.postprocess.mixture import Bells

FALSE_ALARMS = 0.05
"""Bells of noise, expected over a whole look, beside as many as there are groups."""
# Nats that a far bell tells for having been fitted to noise: one for its rows, one for its width.
_FITTED = 2.0
# A far bell is left out if it is unlikelier than that. To take noise for a group costs a group that shares
# its centre, a factor of 2 to 4; to miss one costs ten times as much and more. The logarithms of both are as
# 1 to 3.
_WAGER = 0.25


def chance_of_rows(bells: Bells, gains: Array, nats: float, n_clusters: int) -> Array:
    """Return the probability that a bell has rows, from its likelihood against that of noise at any place.

    The likeliest bells, as many as there are groups, are expected somewhere; one more would be a false alarm.

    Parameters
    ----------
    bells : Bells
        As they were fitted.
    gains : ndarray of shape (m,)
        Of the log likelihood, by each bell.
    nats : float
        Logarithm of the places for each false alarm.
    n_clusters : int
        How many groups there are to be.

    Examples
    --------
    >>> places, spreads = np.array([[0.0, 0.0], [0.1, 0.1], [9.0, 9.0]]), np.full((3, 2), 0.1)
    >>> bells = Bells(places, spreads, np.array([500.0, 500.0, 20.0]))
    >>> chance_of_rows(bells, np.array([90.0, 80.0, 8.0]), 9.0, 3).round(2)
    array([1., 1., 0.])
    """
    rank = np.argsort(np.argsort(-gains, kind="stable"))
    far, group = remoteness(bells, gains), nats_of_a_group(nats, n_clusters)
    wanted = np.where(rank < n_clusters, group, nats)
    wanted = np.where(far > 0, np.maximum(wanted, group + far + _FITTED), wanted)
    chance = expit(gains - wanted)
    return np.where((far > 0) & (chance < _WAGER), 0.0, chance)


def nats_of_a_group(nats: float, n_clusters: int) -> float:
    """Return the logarithm of the places for each group: what a bell has to tell to be likelier than not."""
    return math.log(max(math.exp(nats) * FALSE_ALARMS / n_clusters, 1.0))


def remoteness(bells: Bells, gains: Array) -> Array:
    """Return by how many nats each bell is unlikely for lying far from all that are likelier.

    Groups lie near each other, as seen in bounds that may be far too wide. That one lies t times as far
    away as two rows of the likelier ones are from each other is taken to be t^2 times less likely: what
    missing it costs, in expectation, is then the same at all distances.

    Parameters
    ----------
    bells : Bells
        As they were fitted.
    gains : ndarray of shape (m,)
        Of the log likelihood, by each bell.

    Examples
    --------
    >>> bells = Bells(np.array([[0.0], [0.1], [3.0]]), np.full((3, 1), 0.2), np.array([50.0, 40.0, 9.0]))
    >>> remoteness(bells, np.array([30.0, 20.0, 10.0])).round(1)
    array([0. , 0. , 4.6])
    """
    order = np.argsort(-gains, kind="stable")
    means, spreads, rows = bells.means[order], bells.spreads[order], bells.rows[order]
    nats = np.zeros(len(order))
    for i in range(1, len(order)):
        mass = max(float(rows[:i].sum()), 1e-9)
        middle = rows[:i] @ means[:i] / mass
        variance = float(rows[:i] @ ((means[:i] - middle) ** 2 + spreads[:i] ** 2).sum(axis=1)) / mass
        away = float(((means[:i] - means[i]) ** 2).sum(axis=1).min())
        nats[order[i]] = math.log(max(away / max(2 * variance, 1e-300), 1.0))
    return nats
