"""How many rows there are: public, or paid for."""

from __future__ import annotations

from fractions import Fraction

from shoal.queries import Curator, Grid

SHARE_FOR_ROWS = Fraction(1, 50)


def count_rows(curator: Curator, share: Fraction = SHARE_FOR_ROWS) -> tuple[float, Fraction]:
    """Return the public number of rows, or a noisy one, and the share of the budget that is left.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    share : Fraction
        What to pay where the number is not public.
    """
    if curator.n_rows is not None:
        return float(curator.n_rows), Fraction(1)
    noisy_rows = curator.histogram(Grid.whole(curator.domain.n_columns), cost=share).counts[0]
    return float(max(noisy_rows, 1.0)), 1 - share


def fewest_rows(curator: Curator, n_rows: float, rest: Fraction) -> float:
    """Return how many rows there surely are: for predicted errors, which must not take noise for rows.

    Parameters
    ----------
    curator : Curator
        Who was asked.
    n_rows, rest : float, Fraction
        What `count_rows` gave.
    """
    return surely(n_rows, 0.0 if curator.n_rows is not None else curator.count_sd(cost=1 - rest))


def surely(noisy: float, sd: float) -> float:
    """Return a noisy number less two standard deviations of its noise, at least 1.

    Examples
    --------
    >>> surely(1000.0, 70.0), surely(90_000.0, 70_000.0)
    (860.0, 1.0)
    """
    return max(noisy - 2 * sd, 1.0)
