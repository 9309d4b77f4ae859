"""Check a data set of a ledger: its chain, what its records mean, and certificates that speak of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.accounting.book import Book
from shoal.accounting.events import Charge
from shoal.errors import InvalidLedger
from shoal.ledger import Record, Store
from shoal.ledger.transfer import read_chain

NOTE = (
    "Whoever can write to the ledger can also write another one whose hashes fit. What contradicts a "
    "certificate is found: keep certificates elsewhere, and verify with them."
)


@dataclass(frozen=True)
class LedgerCheck:
    """One thing that was checked.

    Parameters
    ----------
    name : str
        What.
    ok : bool
        Whether it holds.
    detail : str
        What was found.
    """

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True)
class Claim:
    """What a certificate says of a ledger.

    Parameters
    ----------
    name : str
        Where the certificate is.
    ledger : mapping
        Its statement: data set, fit, record and head.
    charges : tuple of Charge
        Those of its fit.
    """

    name: str
    ledger: Mapping[str, Any]
    charges: tuple[Charge, ...]


def verify_dataset(store: Store, dataset: str, claims: Iterable[Claim] = ()) -> tuple[LedgerCheck, ...]:
    """Check a data set, and certificates against it.

    Parameters
    ----------
    store : Store
        The ledger.
    dataset : str
        The data set.
    claims : iterable of Claim
        What certificates say.
    """
    checks: list[LedgerCheck] = []
    records: list[Record] = []
    book = Book(dataset)

    def chain() -> str:
        records.extend(record for record, _ in read_chain(store, dataset))
        return f"{len(records)} records follow one another, and all is as it was written"

    def meaning() -> str:
        book.read(records)
        n = len(book.fits)
        return f"{n} {'fit' if n == 1 else 'fits'} kept to {book.charter.budget.describe()} at every record"

    if _tried(checks, "chain", chain) and _tried(checks, "budget", meaning):
        for claim in claims:
            _tried(checks, f"certificate {claim.name}", lambda c=claim: _agrees(c, records, book))  # type: ignore[misc]
    return tuple(checks)


def _tried(checks: list[LedgerCheck], name: str, check: Callable[[], str]) -> bool:
    try:
        checks.append(LedgerCheck(name, True, check()))
    except InvalidLedger as error:
        checks.append(LedgerCheck(name, False, str(error)))
    return checks[-1].ok


def _agrees(claim: Claim, records: list[Record], book: Book) -> str:
    said = claim.ledger
    if not said:
        raise InvalidLedger("it was not drawn on a ledger")
    if said["dataset"] != book.dataset or said["id"] != book.charter.id:
        raise InvalidLedger(
            f"it speaks of data set {said['dataset']!r} with the id {said['id']}, not of this"
        )
    number = said["record"]
    if number > len(records):
        raise InvalidLedger(
            f"it speaks of record {number}, and the ledger ends with record {len(records)}: its tail was "
            "cut, or an old copy was restored"
        )
    if records[number - 1].hash != said["head"]:
        raise InvalidLedger(
            f"record {number} has another hash than the certificate: the ledger was changed, or an old copy "
            "was restored and gone on with"
        )
    fit = book.fits.get(said["fit"])
    if fit is None:
        raise InvalidLedger(f"there is no fit {said['fit']}")
    last = {number: charge for number, _, charge in fit.charges if number in fit.answers}
    if tuple(last[number] for number in sorted(last)) != claim.charges:
        raise InvalidLedger(f"fit {fit.id} has other charges than the certificate")
    return f"record {number} has its hash, and fit {fit.id} its charges"
