"""What is public when a question is asked: the table's domain, the budget, and whether rows are held."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from shoal.accounting import Budget, round_down
from shoal.accounting.budget import Currency
from shoal.domain import STEPS, Domain, Unit
from shoal.errors import InvalidBudget
from shoal.queries.laws.noise import Noise, NoiseLaw, design
from shoal.queries.partitions.cells import Metric
from shoal.queries.statistics.aggregates import RowChange, RowStat


@dataclass(frozen=True, eq=False)
class Terms:
    """The public facts that a question's law and price depend on.

    Parameters
    ----------
    domain : Domain
        Columns, bounds, weights and the privacy unit.
    budget : Budget
        What shares are fractions of.
    holds : bool
        Whether rows are held at once.
    """

    domain: Domain
    budget: Budget
    holds: bool = False

    @property
    def n_columns(self) -> int:
        """Columns of the table."""
        return self.domain.n_columns

    @property
    def metric(self) -> Metric:
        """Weights of the squared distance."""
        return self.domain.metric

    @property
    def unit(self) -> Unit:
        """Whom the guarantee protects."""
        return self.domain.unit

    @property
    def currency(self) -> Currency:
        """What losses are counted in."""
        return self.budget.currency

    @property
    def weight(self) -> float:
        """What a count of one stands for: the largest weight of a row."""
        return 1.0 if self.domain.max_weight is None else self.domain.max_weight

    def change(self, of: RowStat | None) -> RowChange:
        """Return the body of one row's change: of a statistic, or of a count."""
        # One row changes one count by one, or by its share of the largest weight.
        weighted = self.domain.max_weight is not None
        count = RowChange(width=STEPS if weighted else 1, n_values=0)
        return replace(count if of is None else of.change(self.n_columns), weighted=weighted)

    def amount(self, share: Fraction) -> Fraction:
        """Return a share of the budget as an amount of it."""
        if not isinstance(share, Fraction) or not 0 < share <= 1:
            raise InvalidBudget(f"a share of {share!r} is not a Fraction above 0 and at most 1 of the budget")
        return round_down(self.budget.amount * share)

    def noise(self, change: RowChange, share: Fraction, noise: Noise | None) -> NoiseLaw:
        """Return the noise that hides a change of one row for a share of the budget."""
        return design(change, self.amount(share), self.currency, self.unit, noise)
