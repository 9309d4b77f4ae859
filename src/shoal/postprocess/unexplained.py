"""Rows that no bell explains: how many each box most likely has, given its noisy count.

Groups that are too small to stand out are still there, and k-means pays for a missed one by its distance
squared. Its cost is a sum over boxes of rows times distance, so the centres that cost least *in expectation*
are those of k-means on the expected rows of every box: neither a threshold nor a choice of groups is needed.
Expected under a gamma process (Ferguson 1973): boxes are independent, and one that is a part v of the space
has Gamma(a v) x N / a rows. N, how many rows there are in all, and a, how evenly they lie, are not known:
all of a ladder are tried, and count by how well they explain the counts. All of it is arithmetic on released
values.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit, gammainc

from shoal._typing import Array, Booleans

# Concentrations: how uneven the rows of as many small groups are. Evener ones are not tried: a few rows
# everywhere cannot be told from none, and k-means would spend a centre on them.
_CONCENTRATIONS = (4.0, 16.0)
# Parts of all rows that may be unexplained; and that none is, which needs no ladder.
_PARTS = tuple(0.5**i for i in range(8))
# Probability that something is unexplained, before the counts are seen.
_UNEXPLAINED = 0.5
# Steps of a box's rows at which its likelihood is added up, and how far down they go: of the largest, and of
# the noise of a count.
_STEPS, _LEAST, _LEAST_NOISE = 48, 2e-3, 0.1
# Standard deviations of the log likelihood of noise by which counts rule out that all lie in the middle.
_HOPELESS = 10.0
_TINY = 1e-300


def unexplained_rows(
    rest: Array, variances: Array, volumes: Array, missing: float, missing_sd: float, total: float
) -> tuple[Array, float]:
    """Return the rows that each box is expected to have besides those that are explained, and the evidence.

    The evidence is the log likelihood of the counts, less that of counts without noise, in the mean over all
    that was tried.

    Parameters
    ----------
    rest : ndarray of shape (n,)
        Noisy counts less what is explained.
    variances : ndarray of shape (n,)
        Of their noise, which is taken to be Laplace's.
    volumes : ndarray of shape (n,)
        Of the boxes, in any unit.
    missing, missing_sd : float
        Rows that are in no explanation, and how far off that may be.
    total : float
        All rows.

    Examples
    --------
    >>> rest = np.array([90.0, 12.0, -8.0, 3.0, -15.0, 9.0, -2.0, 6.0])
    >>> rows, _ = unexplained_rows(rest, np.full(8, 200.0), np.ones(8), 90.0, 40.0, 1000.0)
    >>> rows.round(-1)
    array([70., 10.,  0.,  0.,  0., 10.,  0., 10.])
    """
    scale = np.sqrt(variances / 2)[:, np.newaxis]
    most = max(float(rest.max()), float(scale.max()), 1.0)
    least = min(_LEAST * most, _LEAST_NOISE * float(scale.min()))
    edges = np.concatenate([[0.0], np.geomspace(least, most, _STEPS)])
    rows = np.concatenate([[0.0], (edges[2:] + edges[1:-1]) / 2, [most]])
    fit = -np.abs(rest[:, np.newaxis] - rows) / scale
    best = fit.max(axis=1, keepdims=True)
    likelihood = np.exp(fit - best)
    sizes, size_of = np.unique(np.round(volumes / volumes.sum(), 12), return_inverse=True)

    def off(unexplained: float) -> float:
        return math.sqrt(2) * abs(missing - unexplained) / missing_sd

    tried = len(_PARTS) * len(_CONCENTRATIONS)
    believed = math.log(tried * (1 - _UNEXPLAINED) / _UNEXPLAINED)
    none = -np.abs(rest) / scale[:, 0] - best[:, 0]
    evidence, means = [float(none.sum()) - off(0.0) + believed], [np.zeros(len(rest))]
    for unexplained in (part * total for part in _PARTS):
        for a in _CONCENTRATIONS:
            shape = np.maximum(a * sizes, 1e-9)
            below = gammainc(shape[:, np.newaxis], edges * (a / unexplained))
            prior = np.diff(np.hstack([below, np.ones((len(sizes), 1))]), axis=1)
            joint = prior[size_of] * likelihood
            whole = np.maximum(joint.sum(axis=1), _TINY)
            evidence.append(float(np.log(whole).sum()) - off(unexplained))
            # In the lowest step the law is a power: its mean is this part of the step.
            low = edges[1] * (shape / (1 + shape))[size_of]
            means.append((joint @ rows + joint[:, 0] * low) / whole)
    weights = np.exp(np.array(evidence) - max(evidence))
    told = float(best.sum()) + max(evidence) + math.log(weights.sum() * _UNEXPLAINED / tried)
    return np.asarray((weights / weights.sum()) @ np.array(means)), told


def chance_of_the_middle(
    counts: Array, variances: Array, volumes: Array, touching: Booleans, total: float, total_sd: float
) -> float:
    """Return the probability that all rows lie around the middle of the domain, where boxes meet.

    Boxes that are halves of the domain are as full then as if rows lay evenly, and their middles are far from
    all rows. Against it stands that rows lie as they may by a gamma process; before the counts were seen, one
    was as likely as the other.

    Parameters
    ----------
    counts, variances, volumes : ndarray of shape (n,)
        Noisy counts, the variances of their noise, and the volumes of the boxes.
    touching : ndarray of bool, shape (n,)
        Boxes that have the middle at a corner or on a side.
    total, total_sd : float
        All rows, and the standard deviation of the noise of that.

    Examples
    --------
    >>> even, uneven = np.array([12.0, 9.0, 14.0, 11.0]), np.array([45.0, 2.0, 1.0, -3.0])
    >>> four = np.full(4, 30.0), np.ones(4), np.ones(4, bool), 46.0, 11.0
    >>> chance_of_the_middle(even, *four) > 0.7 > 0.1 > chance_of_the_middle(uneven, *four)
    True
    """
    if not touching.any():
        return 0.0
    scale = np.sqrt(variances / 2)
    middle = -float((np.abs(counts - np.where(touching, total / touching.sum(), 0.0)) / scale).sum())
    if middle < -(len(counts) + _HOPELESS * math.sqrt(len(counts))):  # noise alone is as far as the first
        return 0.0
    _, spread = unexplained_rows(counts, variances, volumes, total, max(total_sd, 1.0), total)
    return float(expit(middle - spread))
