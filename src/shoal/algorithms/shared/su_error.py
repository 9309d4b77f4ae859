"""The error analysis of Su, Cao, Li, Bertino, Jin 2016, section 6, as code.

All errors are mean squared distances between a noisy centre and the true one, summed over the columns, in the
scaled domain (r = 1), for clusters of equal size. Equations carry the paper's numbers.
"""

from __future__ import annotations

import math

RHO = 0.225
"""How far a centroid lies from the middle, relative to the width of the domain (journal version)."""

THETA = 10.0
"""The grid rule's constant."""


def lloyd_error(
    n_rows: float, n_columns: int, n_clusters: int, sum_variance: float, count_variance: float
) -> float:
    """Return the squared error of a centre after a round of noisy Lloyd, (6) summed over the columns.

    Examples
    --------
    >>> round(lloyd_error(5000, 2, 15, 2.0, 2.0), 7)
    4.33e-05
    """
    spread = sum_variance + (2 * RHO) ** 2 * count_variance
    return n_columns * spread * (n_clusters / max(n_rows, 1.0)) ** 2


def published_lloyd_error(
    n_rows: float, n_columns: int, n_clusters: int, epsilon: float, rounds: int = 5
) -> float:
    """Return (7): the error of a round of DPLloyd with Laplace noise and t equal rounds.

    Examples
    --------
    >>> round(published_lloyd_error(48_841, 6, 5, 1.0), 5)
    0.00019
    """
    variance = 2 * ((n_columns + 1) * rounds / epsilon) ** 2
    return lloyd_error(n_rows, n_columns, n_clusters, variance, variance)


def grid_variance(n_rows: float, n_columns: int, n_clusters: int, epsilon: float, cells: float) -> float:
    """Return (9): what the noise of M cells adds to the error of a centre found on the grid.

    Examples
    --------
    >>> round(grid_variance(5000, 2, 15, 1.0, 500), 7)
    2.67e-05
    """
    d = n_columns
    return 2 * d * cells * math.pow(n_clusters, (d - 2) / d) / (3 * max(n_rows * epsilon, 1e-9) ** 2)


def grid_bias(n_columns: int, cells: float) -> float:
    """Return (10): the most that the grain of the grid can add. Pessimistic: offsets within cells cancel.

    Examples
    --------
    >>> grid_bias(2, 400)
    0.005
    """
    return n_columns / math.pow(cells, 2 / n_columns)


def grid_cells(n_rows: float, epsilon: float, n_columns: int, theta: float = THETA) -> float:
    """Return the cells of the published rule: M = (N epsilon / theta)^(2d/(2+d)).

    Examples
    --------
    >>> grid_cells(5000, 1.0, 2)
    500.0
    """
    return math.pow(max(n_rows * epsilon, 1e-9) / theta, 2 * n_columns / (2 + n_columns))


def best_cells(n_rows: float, epsilon: float, n_columns: int, n_clusters: int) -> float:
    """Return the cells that minimise (9) + (10).

    It amounts to theta = sqrt(d k^((d-2)/d) / 3), about 0.8 in two columns: far finer than the published 10,
    because (10) is so pessimistic.

    Examples
    --------
    >>> round(best_cells(5000, 1.0, 2, 15))
    6124
    """
    d = n_columns
    theta = math.sqrt(d * math.pow(n_clusters, (d - 2) / d) / 3)
    return grid_cells(n_rows, epsilon, d, theta)


def hybrid_error(n_rows: float, n_columns: int, n_clusters: int, epsilon: float) -> float:
    """Return (13): the error of one round of DPLloyd with half the budget.

    Examples
    --------
    >>> round(hybrid_error(48_841, 6, 5, 1.0), 6)
    3e-05
    """
    return published_lloyd_error(n_rows, n_columns, n_clusters, epsilon / 2, rounds=1)


def smallest_epsilon(n_rows: float, n_columns: int, n_clusters: int, theta: float = THETA) -> float:
    """Return (15): the epsilon from which (13) is below (9), so that Hybrid should refine.

    Examples
    --------
    >>> round(smallest_epsilon(5000, 2, 15), 1), round(smallest_epsilon(48_841, 6, 5), 3)
    (58.4, 0.068)
    """
    d, k = n_columns, n_clusters
    inner = 12 * (1 + (2 * RHO) ** 2) * math.pow(k, (d + 2) / d) * (d + 1) ** 2
    return theta / max(n_rows, 1.0) * math.pow(inner, (d + 2) / (2 * d))


def best_rounds(n_rows: float, n_columns: int, n_clusters: int, epsilon: float) -> int:
    """Return the rounds of DPLloyd that the noise allows, 2 to 7, by the journal's rule for its split noise.

    A round is worth its budget e while the k centres' total error 2 k^3 (d + c)^3 / (N e)^2, with
    c = (4 d rho^2)^(1/3), stays below 0.004.

    Examples
    --------
    >>> best_rounds(48_841, 6, 5, 1.0), best_rounds(5000, 2, 15, 0.1)
    (7, 2)
    """
    c = math.pow(4 * n_columns * RHO**2, 1 / 3)
    least = math.sqrt(500 * n_clusters**3 * (n_columns + c) ** 3) / max(n_rows, 1.0)
    return max(2, min(7, math.floor(epsilon / least)))
