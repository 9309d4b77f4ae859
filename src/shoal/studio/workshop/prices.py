"""What something costs before it is asked for."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shoal.accounting import ZCDP, Pure, budget_of, epsilon_of
from shoal.accounting.lanes import Losses, amounts_to, largest
from shoal.studio.workshop.levels import risk_sentence
from shoal.studio.workshop.values import Price

if TYPE_CHECKING:
    from shoal.studio.workshop.opened import Opened

# Of a ledger that counts rho and has no delta of its own: that of the sentence about it.
_SENTENCE_DELTA = 1e-6


def price(study: Opened, epsilon: float, *, what: str, paid: bool = False) -> Price:
    """Return the price of something that costs an epsilon, against the study's ledger.

    Parameters
    ----------
    study : Opened
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
    after = _after(accountant, asked, draft.delta) if enough else left
    budget = accountant.budget
    total = float(budget.rho if isinstance(budget, ZCDP) else budget.epsilon)
    cost = f"epsilon {float(asked):g}" + (f", delta {draft.delta:g}" if draft.delta else "")
    if isinstance(budget, Pure):
        there, then = (
            f"{float(left):g} of {total:g} is left",
            f"{float(after):g} of {total:g} remains after it",
        )
    else:  # not what was not spent is left, but what one more may ask for
        most = f"of {budget.describe()} in all"
        there = f"epsilon {float(left):.4g} is left for it, {most}"
        then = f"epsilon {float(after):.4g} remains for another like it, {most}"
    if paid:
        said = f"{what} is paid for: it costs nothing more. {there[:1].upper()}{there[1:]}"
    elif enough:
        said = f"{what} costs {cost}; {then}"
    else:
        said = (
            f"{what} costs {cost}, and {there}: {float(asked - left):g} too much. Choose a stronger level. "
            "Nothing was spent"
        )
    risk = _risk(accountant, asked if enough else Fraction(0), draft.delta)
    return Price(float(asked), float(left), float(after), total, enough, paid, said, risk)


def _after(accountant: Any, asked: Fraction, delta: float) -> Fraction:
    """Return the largest epsilon of a fit with this delta that could be had after another one."""
    window, book = accountant.window, accountant.book
    held = book.losses(window, through=accountant.place) + _losses(asked, delta)
    lanes = book.lanes_left(window)
    return largest(lanes, held, Fraction(str(delta))) if lanes else Fraction(0)


def _risk(accountant: Any, asked: Fraction, delta: float) -> str:
    """Say what all releases so far, and one more, let somebody learn: as the ledger adds them up."""
    budget = accountant.budget
    lost = accountant.book.losses(accountant.window, held=False) + _losses(asked, delta)
    if isinstance(budget, ZCDP):
        rho = float(lost.squares + lost.rho)
        return risk_sentence(epsilon_of(rho, _SENTENCE_DELTA) if rho else 0.0, _SENTENCE_DELTA)
    return risk_sentence(
        float(amounts_to(accountant.charter.lanes, lost)), float(getattr(budget, "delta", 0))
    )


def _losses(asked: Fraction, delta: float) -> Losses:
    if not asked:
        return Losses()
    budget = budget_of(asked, delta)
    return Losses.of(budget.currency, budget.amount)
