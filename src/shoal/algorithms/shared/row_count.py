"""How many rows there are: public, or paid for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from shoal.postprocess.evidence import Noisy, combine, lower_bound
from shoal.queries import Curator, Grid

SHARE_FOR_ROWS = Fraction(1, 50)
# A table of fewer rows than this many standard deviations of their noise is counted again, for this share.
_SMALL, _AGAIN = 5.0, Fraction(1, 10)


@dataclass(frozen=True)
class RowCount:
    """A number of rows, public or noisy.

    Parameters
    ----------
    estimate : float
        The number; a noisy one is at least 1.
    at_least : float
        How many there are at least, noise aside, and never below 1: for predicted errors.
    sd : float
        Standard deviation of the noise; none of a public number.
    """

    estimate: float
    at_least: float
    sd: float = 0.0

    @classmethod
    def of(cls, curator: Curator, noisy: float, sd: float) -> RowCount:
        """Return the public number, or a noisy one with the standard deviation of its noise."""
        if curator.n_rows is not None:
            return cls(max(float(curator.n_rows), 1.0), max(float(curator.n_rows), 1.0))
        return cls(max(float(noisy), 1.0), rows_at_least(float(noisy), sd), sd)

    def capped_by(self, curator: Curator, noisy: float, sd: float) -> RowCount:
        """Return the same, sure of no more than another noisy number says: two are seldom large by chance."""
        other = RowCount.of(curator, noisy, sd)
        return replace(self, at_least=min(self.at_least, other.at_least))


def rows_at_least(noisy: float, sd: float) -> float:
    """Return how many rows there surely are: predicted errors must not take noise for rows.

    Examples
    --------
    >>> rows_at_least(1000.0, 70.0), rows_at_least(90_000.0, 70_000.0)
    (860.0, 1.0)
    """
    return max(lower_bound(Noisy.of(noisy, sd)), 1.0)


def count_rows(curator: Curator, *, adaptive: bool = False) -> tuple[RowCount, Fraction]:
    """Return the public number of rows, or a noisy one, and the share of the budget that is left.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    adaptive : bool
        Whether a small table is counted again: what is done with it hangs on how small it is, and a fiftieth
        of the budget cannot tell.
    """
    if curator.n_rows is not None:
        rows = RowCount.of(curator, curator.n_rows, 0.0)
        return rows if adaptive else replace(rows, estimate=float(curator.n_rows)), Fraction(1)
    first, rest = _counted(curator, SHARE_FOR_ROWS), 1 - SHARE_FOR_ROWS
    once = replace(first, value=max(first.value, 1.0))
    if not adaptive or once.value >= _SMALL * once.sd:
        return RowCount.of(curator, once.value, once.sd), rest
    both = combine(_counted(curator, _AGAIN), once)
    return RowCount.of(curator, both.value, both.sd), rest - _AGAIN


def _counted(curator: Curator, share: Fraction) -> Noisy[float]:
    everywhere = Grid.whole(curator.domain.n_columns)
    return Noisy.of(
        float(curator.histogram(everywhere, share=share).counts[0]), curator.count_sd(share=share)
    )
