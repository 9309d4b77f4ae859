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
