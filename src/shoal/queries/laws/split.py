"""Laplace noise with a share of its own for the sums and one for the counts (Su et al., journal version)."""

from __future__ import annotations

from fractions import Fraction

from shoal.accounting.budget import round_down
from shoal.queries.laws.block import LawBlock
from shoal.queries.laws.laplace import Laplace, design_laplace
from shoal.queries.statistics.aggregates import RowChange

# Su et al. (journal version): relative distance of a centroid from the middle of its domain.
RHO_CENTROID = Fraction(225, 1000)


def design_split(change: RowChange, e: Fraction, bits: int) -> tuple[LawBlock, ...]:
    """Su et al., journal version: e = d e_s + e_c with e_c = (4 d rho^2)^(1/3) e_s."""
    d, w, beside = change.n_values, change.width, len(change.extras)
    if not d or not beside:  # where there is no count, there is nothing to split
        return design_laplace(change, e, bits)
    reach = Fraction(change.l1, w)
    c = Fraction(round(float(4 * d * RHO_CENTROID**2) ** (1 / 3) * 1024), 1024)
    e_sum = round_down(e / (reach + c * beside), bits)
    e_extra = round_down((e - reach * e_sum) / beside, bits)
    return (Laplace(e_sum / w, d), Laplace(e_extra / w, beside))
