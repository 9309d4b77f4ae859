"""What something costs before it is asked for."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from shoal.accounting import ZCDP, Approx
from shoal.studio.workshop.levels import risk_sentence
from shoal.studio.workshop.values import Price

if TYPE_CHECKING:
    from shoal.studio.workshop.study import Study


def price(study: Study, epsilon: float, *, what: str, paid: bool = False) -> Price:
    """Return the price of something that costs an epsilon, against the study's ledger.

    Parameters
    ----------
    study : Study
        Whose ledger.
    epsilon : float
        What it costs.
    what : str
        For the sentence.
    paid : bool
        Whether it was paid for before.
    """
    draft = study.draft
    accountant = study.studio.accountant(draft.dataset, draft.ledger)
    left = accountant.left_for(draft.delta)
    asked = Fraction(0) if paid else Fraction(str(epsilon))
    enough = asked <= left
    after = max(left - asked, Fraction(0)) if enough else left
    budget = accountant.budget
    delta = float(budget.delta) if isinstance(budget, Approx) else draft.delta
    total = float(budget.rho if isinstance(budget, ZCDP) else budget.epsilon)
    if paid:
        said = f"{what} is paid for: it costs nothing more. {float(left):g} of {total:g} is left"
    elif enough:
        said = f"{what} costs epsilon {float(asked):g}; {float(after):g} of {total:g} remains after it"
    else:
        said = (
            f"{what} costs epsilon {float(asked):g}, and {float(left):g} of {total:g} is left: "
            f"{float(asked - left):g} too much. Choose a stronger level. Nothing was spent"
        )
    spent = float(accountant.spent) + (float(asked) if enough else 0.0)
    return Price(
        float(asked), float(left), float(after), total, enough, paid, said, risk_sentence(spent, delta)
    )
