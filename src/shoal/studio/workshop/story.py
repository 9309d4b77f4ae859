"""The story of a ledger: what was laid down, what went where, what is left, and what all of it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shoal.accounting import ZCDP, Approx
from shoal.accounting.accountant import protects_whom
from shoal.studio.workshop.levels import risk_sentence
from shoal.studio.workshop.releases import ReleaseRecord
from shoal.studio.workshop.values import Plain


@dataclass(frozen=True)
class Spending(Plain):
    """One fit of a ledger.

    Parameters
    ----------
    fit, label, time : str
        Its name, what was run, and when.
    budget : str
        What it might spend.
    spent : float
        What it did spend, in its own currency.
    open : bool
        Whether it is under way.
    what : str
        In words: a look, a release, or something outside of this studio.
    release : str or None
        The release that came of it.
    """

    fit: str
    label: str
    time: str
    budget: str
    spent: float
    open: bool
    what: str
    release: str | None


@dataclass(frozen=True)
class BudgetStory(Plain):
    """What a data set's ledger says, in words and numbers.

    Parameters
    ----------
    dataset, ledger : str
        Which.
    total, spent, left : float
        Epsilons, or rhos.
    currency : str
        Which of these.
    delta : float
        Of the total.
    protects : str
        Whom.
    unit : str or None
        The column that names the person.
    fits : tuple of Spending
        In order.
    notes : tuple of str
        What later certificates say too, such as looks at real rows.
    risk_now, risk_total : str
        What all so far, and all that may ever be released, let somebody learn.
    sentences : tuple of str
        The story, for people.
    closed : str or None
        Why nothing more can be spent.
    """

    dataset: str
    ledger: str
    total: float
    spent: float
    left: float
    currency: str
    delta: float
    protects: str
    unit: str | None
    fits: tuple[Spending, ...]
    notes: tuple[str, ...]
    risk_now: str
    risk_total: str
    sentences: tuple[str, ...]
    closed: str | None


def story_of(accountant: Any, releases: Sequence[ReleaseRecord] = ()) -> BudgetStory:
    """Tell what a ledger says of a data set.

    Parameters
    ----------
    accountant : LedgerAccountant
        The data set, opened.
    releases : sequence of ReleaseRecord
        The studio's own, to name what fits were for.
    """
    book, charter, budget = accountant.book, accountant.charter, accountant.budget
    by_fit = {fit: record for record in releases for fit in record.fits.values()}
    delta = float(budget.delta) if isinstance(budget, Approx) else 0.0
    rho = isinstance(budget, ZCDP)
    total, spent = float(budget.rho if rho else budget.epsilon), float(accountant.spent)
    fits = tuple(_spending(fit, by_fit.get(fit.id)) for fit in book.fits.values())
    return BudgetStory(
        dataset=accountant.dataset,
        ledger=accountant.ledger,
        total=total,
        spent=spent,
        left=float(accountant.left),
        currency="rho" if rho else "epsilon",
        delta=delta,
        protects=protects_whom((charter.neighbours, charter.column)),
        unit=charter.column,
        fits=fits,
        notes=tuple(book.notes),
        risk_now="" if rho else risk_sentence(spent, delta),
        risk_total="" if rho else risk_sentence(total, delta),
        sentences=tuple(f"{line[0]}: {line[1]}" for line in accountant.summary()),
        closed=book.closed,
    )


def _spending(fit: Any, record: ReleaseRecord | None) -> Spending:
    if record is not None:
        what = f"release {record.title!r} at level {record.level.name!r}"
    else:
        what = "a look, for levels to explore" if "Synopsis" in fit.label else fit.label
    return Spending(
        fit.id,
        fit.label,
        fit.time,
        fit.budget.describe(),
        float(fit.spent),
        fit.open,
        what,
        None if record is None else record.id,
    )
