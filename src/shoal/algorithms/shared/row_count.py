"""How many rows there are: public, or paid for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from shoal.queries import Curator, Grid

SHARE_FOR_ROWS = Fraction(1, 50)
# A table with less rows than so many standard deviations of their noise is counted again, for so much.
_SMALL, _AGAIN = 5.0, Fraction(1, 10)


@dataclass(frozen=True)
class RowCount:
    """A number of rows, public or noisy.

    Parameters
    ----------
    estimate : float
        The number, at least 1.
    at_least : float
        How many there are at least, noise aside: for predicted errors.
    """

    estimate: float
    at_least: float

    @classmethod
    def of(cls, curator: Curator, noisy: float, sd: float) -> RowCount:
        """Return the public number, or a noisy one with the standard deviation of its noise."""
        if curator.n_rows is not None:
            return cls(max(float(curator.n_rows), 1.0), max(float(curator.n_rows), 1.0))
        return cls(max(float(noisy), 1.0), surely(float(noisy), sd))

    def capped_by(self, curator: Curator, noisy: float, sd: float) -> RowCount:
        """Return the same, sure of no more than another noisy number says: two are seldom large by chance."""
        return RowCount(self.estimate, min(self.at_least, RowCount.of(curator, noisy, sd).at_least))


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


def count_rows_twice(curator: Curator) -> tuple[RowCount, Fraction]:
    """Return the number of rows, counted again where the table is small, and the share that is left.

    What is done with a small table hangs on how small it is, and a fiftieth of the budget cannot tell.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    """
    n_rows, rest = count_rows(curator)
    sd = rows_noise(curator, rest)
    if n_rows >= _SMALL * sd:
        return RowCount.of(curator, n_rows, sd), rest
    again = float(curator.histogram(Grid.whole(curator.domain.n_columns), cost=_AGAIN).counts[0])
    precise = curator.count_sd(cost=_AGAIN)
    trust = sd**2 / (sd**2 + precise**2)
    both = trust * again + (1 - trust) * n_rows
    return RowCount.of(curator, both, precise * trust**0.5), rest - _AGAIN


def fewest_rows(curator: Curator, n_rows: float, rest: Fraction) -> float:
    """Return how many rows there surely are: for predicted errors, which must not take noise for rows.

    Parameters
    ----------
    curator : Curator
        Who was asked.
    n_rows, rest : float, Fraction
        What `count_rows` gave.
    """
    return surely(n_rows, rows_noise(curator, rest))


def rows_noise(curator: Curator, rest: Fraction) -> float:
    """Return the standard deviation of the noise of what `count_rows` gave; none of a public number."""
    return 0.0 if curator.n_rows is not None else curator.count_sd(cost=1 - rest)


def surely(noisy: float, sd: float) -> float:
    """Return a noisy number less two standard deviations of its noise, at least 1.

    Examples
    --------
    >>> surely(1000.0, 70.0), surely(90_000.0, 70_000.0)
    (860.0, 1.0)
    """
    return max(noisy - 2 * sd, 1.0)
