"""Exact privacy loss by enumeration: what the ledger is charged is what the drawn noise loses."""

import math
from fractions import Fraction

import numpy as np
import pytest

from shoal.audit.exact import CHANGES, changes_of_one_row, pure_loss, renyi_loss
from shoal.domain import Unit
from shoal.errors import InvalidInput, LatticeTooCoarse
from shoal.queries.laws.cylinder import Cylinder
from shoal.queries.laws.gaussian import Gaussian
from shoal.queries.laws.laplace import Laplace
from shoal.queries.laws.linf import Linf
from shoal.queries.laws.noise import BALL_NOISES, NOISES, design, loss
from shoal.queries.statistics.aggregates import RowChange


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("noise", [n for n in NOISES if n != "gaussian"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_pure_loss_is_exactly_what_is_charged(change, noise, epsilon):
    if noise == "linf" and change.dimension * epsilon > 4 * change.width:
        with pytest.raises(LatticeTooCoarse):  # the sampler would refuse it, so nothing is to be charged
            design(change, epsilon, "epsilon", Unit(), noise)
        return
    law = design(change, epsilon, "epsilon", Unit(), noise)
    assert law.amount <= epsilon
    worst = pure_loss(law, change)
    assert worst <= float(law.amount) * (1 + 1e-12)
    # Tight but for the lattice ball, whose corner of largest L1 norm need not be a lattice point.
    assert worst >= float(law.amount) * (0.8 if change.ball else 1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("change", [c for c in CHANGES if c.ball], ids=str)
@pytest.mark.parametrize("unit", [Unit(), Unit("replace"), Unit("replace", max_rows=2)], ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_cylinder_loss_is_exactly_what_is_charged(change, unit, epsilon):
    law = design(change, epsilon, "epsilon", unit, None)
    assert isinstance(law.blocks[0], Cylinder)
    assert law == design(change, epsilon, "epsilon", unit, "cylinder")
    assert epsilon * Fraction(999, 1000) < law.amount <= epsilon
    assert pure_loss(law, change, unit) == pytest.approx(float(law.amount), rel=1e-9)


def test_cylinder_noise_is_only_for_values_in_a_ball():
    wide = RowChange(2**20, 4, ball=True)
    with pytest.raises(InvalidInput, match="in a ball"):
        design(RowChange(2**20, 4), Fraction(1), "epsilon", Unit(), "cylinder")
    # Ten values on so coarse a lattice cannot be drawn: an explicit wish is refused, the default is not.
    for width, instead in ((4, Linf), (2, Laplace)):
        coarse = RowChange(width, 10, ball=True)
        with pytest.raises(LatticeTooCoarse):
            design(coarse, Fraction(1), "epsilon", Unit(), "cylinder")
        assert isinstance(design(coarse, Fraction(1), "epsilon", Unit(), None).blocks[0], instead)
    assert isinstance(
        design(RowChange(8, 1, ball=True), Fraction(1), "epsilon", Unit(), None).blocks[0], Linf
    )
    assert isinstance(design(wide, Fraction(1), "rho", Unit(), None).blocks[0], Gaussian)
    # Variances of a value are (d + 3) / e^2 and (d + 2)(d + 3) / (3 e^2) squared widths.
    cylinder, box = (design(wide, Fraction(1), "epsilon", Unit(), n).sd / 2**20 for n in ("cylinder", "linf"))
    assert cylinder**2 == pytest.approx([7, 7, 7, 7, 14], rel=1e-3)
    assert box**2 == pytest.approx([14] * 5, rel=1e-3)


@pytest.mark.parametrize("change", [c for c in CHANGES if c.dimension <= 2], ids=str)
def test_gaussian_renyi_divergence_is_within_rho(change):
    rho = Fraction(1, 10)
    law = design(change, rho, "rho", Unit(), "gaussian")
    assert law.amount <= rho
    assert law.amount >= rho * (1 - Fraction(1, 2**10))
    assert renyi_loss(law, change) <= float(law.amount) * (1 + 1e-9)


@pytest.mark.parametrize("noise", BALL_NOISES)
def test_replace_and_many_rows_are_charged(noise):
    change, currency = (
        RowChange(2**20, 3, ball=noise == "cylinder"),
        "rho" if noise == "gaussian" else "epsilon",
    )
    one = design(change, Fraction(1, 10), currency, Unit(), noise)
    for unit in (Unit("replace"), Unit(max_rows=3), Unit("replace", max_rows=3)):
        law = design(change, Fraction(1, 10), currency, unit, noise)
        assert law.amount <= Fraction(1, 10)
        assert law.sd[0] >= one.sd[0] * 1.4
        # The same noise costs a larger unit more.
        assert loss(one.blocks, change, unit, currency) > one.amount


def test_replace_within_one_cell_is_covered_for_gaussian_noise():
    # A value replaced by its opposite in the same cell moves the sum by 2W in every column, which is
    # more than sqrt(2) times what adding a row moves.
    change = RowChange(8, 4)
    law = design(change, Fraction(1, 10), "rho", Unit("replace"), "gaussian")
    sigma = law.blocks[0].parameter
    assert Fraction((2 * 8) ** 2 * 4) / (2 * sigma**2) <= law.amount


WEIGHTED = [
    RowChange(4, 0, weighted=True),
    RowChange(3, 1, weighted=True),
    RowChange(3, 2, weighted=True),
    RowChange(3, 2, ball=True, weighted=True),
    RowChange(3, 1, extras=("count", "cost"), weighted=True),
    RowChange(3, 2, ball=True, extras=("count", "cost"), weighted=True),
]


def weighted_rows(change):
    """Give what a row of every weight can add to its cell; a weight shrinks toward zero."""
    for one in changes_of_one_row(change):
        for weight in range(change.width + 1):
            yield tuple(int(math.copysign(abs(v) * weight // change.width, v)) for v in one)


@pytest.mark.parametrize("change", WEIGHTED, ids=str)
@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_weighted_row_that_is_replaced_loses_what_is_charged_for_gaussian_noise(change, max_rows):
    unit = Unit("replace", max_rows)
    law = design(change, Fraction(1, 10), "rho", unit, "gaussian")
    sigmas = np.repeat([float(b.parameter) for b in law.blocks], [b.n for b in law.blocks])
    rows = np.array(sorted(set(weighted_rows(change)))) / sigmas
    # In one cell the difference of two rows shows; in two cells both do.
    within = ((rows[:, np.newaxis] - rows) ** 2).sum(axis=2).max() / 2
    apart = (rows**2).sum(axis=1).max()
    assert max(within, apart) * max_rows**2 <= float(law.amount) * (1 + 1e-9)
    assert law.amount <= Fraction(1, 10)
    # Not for nothing either: a fifth of the charge may be spare, for counts that cannot move with sums.
    assert max(within, apart) * max_rows**2 >= float(law.amount) * 0.79


@pytest.mark.parametrize("noise", ["linf", "cylinder"])
def test_pure_noise_in_a_zcdp_budget_costs_half_its_square(noise):
    law = design(RowChange(2**20, 2, ball=noise == "cylinder"), Fraction(1, 10), "rho", Unit(), noise)
    pure = law.blocks[0].parameter * 2**20
    assert law.amount == pure**2 / 2 <= Fraction(1, 10)
    assert math.isclose(float(law.amount), 0.1, rel_tol=1e-4)
