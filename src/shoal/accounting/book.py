"""What the records of a data set say: its fits, what they hold and have lost, and whether more fits in.

The book is a pure function of the records. The same checks are made before a record is written and, by
`verify`, of all that were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from shoal.accounting.budget import ZCDP, Approx, Pure
from shoal.accounting.charter import Charter, read_budget
from shoal.accounting.events import Charge
from shoal.accounting.lanes import Lane, Losses, amounts_to
from shoal.accounting.parts import Place, worst
from shoal.accounting.windows import window_of
from shoal.accounting.zones import QUESTIONS, ZoneSums
from shoal.errors import InvalidLedger
from shoal.ledger import GENESIS, Record
from shoal.ledger.store import Known

CREATED, RESERVED, CHARGED, ANSWERED = "created", "reserved", "charged", "answered"
RESUMED, ENDED, NOTED, CLOSED = "resumed", "ended", "noted", "closed"


@dataclass
class Fit:
    """One fit, as its records tell it.

    Parameters
    ----------
    id : str
        Drawn at random: it says nothing of the table.
    label : str
        What was run.
    budget : Pure, Approx or ZCDP
        What it may spend.
    window : str
        The window it draws on.
    place : (str, str or None), optional
        The part of the table that it is of.
    run : str
        Who may go on with it: drawn anew when it is resumed.
    plan : str
        The hash of its public parameters.
    key : int
        Decides which rows of a person are kept.
    lost : Fraction
        What was charged for answers that never came, and may be charged again.
    zones : int, optional
        Of a fit of disjoint zones, in how many of them one unit can be.
    """

    id: str
    label: str
    budget: Pure | Approx | ZCDP
    window: str
    place: Place | None
    run: str
    plan: str
    key: int
    time: str
    open: bool = True
    outcome: str = ""
    lost: Fraction = Fraction(0)
    charges: list[tuple[int, str, Charge]] = field(default_factory=list)
    answers: dict[int, tuple[str, int]] = field(default_factory=dict)
    zones: int | None = None
    lost_of: dict[int, Fraction] = field(default_factory=dict)

    @property
    def spent(self) -> Fraction:
        """All that was charged, in its own currency; of zones, that of the dearest."""
        if self.zones is not None:
            return self.zone_sums.spent
        return sum((charge.amount for _, _, charge in self.charges), Fraction(0))

    @property
    def zone_sums(self) -> ZoneSums:
        """What each zone was charged."""
        sums = ZoneSums(self.zones or 1)
        for number, _, charge in self.charges:
            sums.add(number, charge)
        return sums

    @property
    def unanswered(self) -> Fraction:
        """What was charged for answers that did not come; of zones, that of the dearest."""
        amounts = sorted(self.unanswered_of.values(), reverse=True)
        return sum(amounts if self.zones is None else amounts[: self.zones], Fraction(0))

    @property
    def unanswered_of(self) -> dict[int, Fraction]:
        """What each zone was charged for answers that did not come; of a fit without zones, it is one."""
        answered: set[int] = set()
        amounts: dict[int, Fraction] = {}
        for number, _, charge in reversed(self.charges):
            if number in self.answers and number not in answered:
                answered.add(number)  # the last charge is the one that was answered
            else:
                zone = number // QUESTIONS
                amounts[zone] = amounts.get(zone, Fraction(0)) + charge.amount
        return amounts

    def losses(self, *, held: bool) -> Losses:
        """Return what it has lost or, while it is open and if `held`, the most that it may."""
        currency = self.budget.currency
        if held and self.open:
            return Losses.of(currency, self.budget.amount + self.lost)
        if self.zones is not None:
            return self.zone_sums.losses
        return sum((Losses.of(c.currency, c.amount) for _, _, c in self.charges), Losses())


class Book:
    """The state of a data set after some records.

    Parameters
    ----------
    dataset : str
        Its name.
    """

    def __init__(self, dataset: str) -> None:
        self.dataset = dataset
        self.known: Known = (0, GENESIS)
        self.time = ""
        self.fits: dict[str, Fit] = {}
        self.notes: list[str] = []
        self._ended: str | None = None
        self._moved: str | None = None
        self._charter: Charter | None = None
        # What fits that are over have lost, by window and part: these are many, and change no more.
        self._settled: dict[tuple[str, Place | None], Losses] = {}

    @property
    def charter(self) -> Charter:
        """What was laid down when it was created."""
        if self._charter is None:
            raise InvalidLedger(f"data set {self.dataset!r} does not begin with how it was created")
        return self._charter

    @property
    def closed(self) -> str | None:
        """Why nothing more can be reserved; None if it can."""
        return self._moved or self._ended

    def read(self, records: Iterable[Record]) -> None:
        """Take note of records, in order; say which is not one that could have been written."""
        for record in records:
            try:
                if record.number == 1 and record.kind != CREATED:
                    raise InvalidLedger("the first record of a data set says how it was created")
                if record.kind in _READERS:
                    _READERS[record.kind](self, record, record.content)
                elif record.kind not in _COPIES:
                    raise InvalidLedger(f"{record.kind!r} is no kind of record")
            except (KeyError, TypeError, ValueError) as error:
                what = error if isinstance(error, InvalidLedger) else f"it lacks or misstates {error}"
                raise InvalidLedger(
                    f"record {record.number} of data set {self.dataset!r} ({record.kind}): {what}"
                ) from None
            if record.kind in _COPIES:
                self._moved = f"it was moved to {record.content['to']}" if record.kind == "moved" else None
            self.known, self.time = (record.number, record.hash), record.time

    def window(self, time: str) -> str:
        """Return the window that a time is in."""
        return window_of(self.charter.renewal, time)

    def losses(
        self,
        window: str,
        *,
        held: bool = True,
        asked: tuple[Place | None, Losses] | None = None,
        without: str | None = None,
        through: Place | None = None,
    ) -> Losses:
        """Return the most that one unit has lost in a window.

        Parameters
        ----------
        window : str
            Which.
        held : bool
            Whether open fits count with all that they may still spend.
        asked : (part, Losses), optional
            What would be added, and to which part.
        without : str, optional
            A fit to leave out: the one that is asked for anew.
        through : part, optional
            Count only for those who are in this part.
        """
        whole = Losses()
        parts: dict[str, dict[str | None, Losses]] = {name: {} for name in self.charter.partitions}
        settled = self._settled
        if without is not None and not self.fits[without].open:
            settled = self._settled_without(without)
        over = [(place, loss) for (when, place), loss in settled.items() if when == window]
        going = [
            (fit.place, fit.losses(held=held))
            for fit in self.fits.values()
            if fit.open and fit.window == window and fit.id != without
        ]
        for place, loss in [*over, *going, *([] if asked is None else [asked])]:
            if place is None:
                whole += loss
            else:
                levels = parts[place[0]]
                levels[place[1]] = levels.get(place[1], Losses()) + loss
        return worst(whole, parts, self.charter.parts_hit, through)

    def fits_in(self, window: str, place: Place | None, loss: Losses, without: str | None = None) -> bool:
        """Say whether a fit that may lose so much can be had beside all others."""
        total = self.losses(window, asked=(place, loss), without=without)
        return any(lane.fits(total) for lane in self.charter.lanes)

    def spent(self, window: str, *, held: bool = False) -> Fraction:
        """Return what was lost in a window: an epsilon at the budget's delta, or a rho."""
        lost = self.losses(window, held=held)
        if isinstance(self.charter.budget, ZCDP):
            return lost.squares + lost.rho
        return amounts_to(self.charter.lanes, lost)

    def lanes_left(self, window: str) -> tuple[Lane, ...]:
        """Return the lanes that everything fits so far."""
        total = self.losses(window)
        return tuple(lane for lane in self.charter.lanes if lane.fits(total))

    def windows(self) -> tuple[str, ...]:
        """Return the windows that something was drawn on, in order."""
        return tuple(dict.fromkeys(fit.window for fit in self.fits.values()))

    def all_windows(self) -> str:
        """Say what all windows so far may have lost together: they add up."""
        n, budget = max(len(self.windows()), 1), self.charter.budget
        if isinstance(budget, ZCDP):
            return f"rho = {float(n * budget.rho):g} (zCDP) over {n} windows so far"
        delta = f", delta = {float(n * budget.delta):g}" if isinstance(budget, Approx) else ""
        return f"epsilon = {float(n * budget.epsilon):g}{delta} over {_count(n, 'window')} so far"

    def statement(self, fit_id: str) -> dict[str, Any]:
        """Return what the certificate of a fit says of the ledger."""
        fit, charter = self.fits[fit_id], self.charter
        said: dict[str, Any] = {
            "dataset": self.dataset,
            "id": charter.id,
            "fit": fit.id,
            "record": self.known[0],
            "head": self.known[1],
            "total": charter.budget.describe(),
            "adds_up": charter.describe_parts(),
        }
        if fit.place is not None:
            column, level = fit.place
            said["part"] = f"{column} = {level}" if level is not None else f"{column}: no declared level"
        if charter.renewal is not None:
            said["window"] = f"{fit.window}, renewed {charter.renewal} as decided by {charter.decided_by}"
            said["all_windows"] = self.all_windows()
        if fit.lost:
            said["lost"] = (
                f"{float(fit.lost):.6g} {fit.budget.currency} was charged for answers that never came"
            )
        if self.notes:
            said["notes"] = list(self.notes)
        return said

    def _fit(self, values: Mapping[str, Any]) -> Fit:
        fit = self.fits.get(values["fit"])
        if fit is None:
            raise InvalidLedger(f"there is no fit {values['fit']!r}")
        return fit

    def _running(self, values: Mapping[str, Any]) -> Fit:
        fit = self._fit(values)
        if self._moved is not None:
            raise InvalidLedger(f"fit {fit.id} cannot go on here: {self._moved}")
        if not fit.open or values["run"] != fit.run:
            raise InvalidLedger(f"fit {fit.id} was over, or another run went on with it")
        return fit

    def _settled_without(self, fit_id: str | None) -> dict[tuple[str, Place | None], Losses]:
        """Return what fits that are over have lost, by window and part; one of them may be left out."""
        found: dict[tuple[str, Place | None], Losses] = {}
        for fit in self.fits.values():
            if not fit.open and fit.id != fit_id:
                where = (fit.window, fit.place)
                found[where] = found.get(where, Losses()) + fit.losses(held=False)
        return found


def _created(book: Book, record: Record, values: Mapping[str, Any]) -> None:
    if record.number != 1:
        raise InvalidLedger("a data set is created once")
    book._charter = Charter.from_plain(values["charter"])


def _reserved(book: Book, record: Record, values: Mapping[str, Any]) -> None:
    place = None if values["part"] is None else (values["part"][0], values["part"][1])
    fit = Fit(
        values["fit"],
        values["label"],
        read_budget(values["budget"]),
        values["window"],
        place,
        values["run"],
        values["plan"],
        int(values["key"]),
        record.time,
        zones=None if values.get("zones") is None else int(values["zones"]),
    )
    if fit.zones is not None and fit.zones < 1:
        raise InvalidLedger(f"one unit cannot be in {fit.zones} zones")
    charter = book.charter
    if fit.id in book.fits:
        raise InvalidLedger(f"fit {fit.id} was reserved before")
    if book.closed is not None:
        raise InvalidLedger(f"nothing could be reserved: {book.closed}")
    if fit.window != book.window(record.time):
        raise InvalidLedger(f"its window is {fit.window!r}, its time {record.time}")
    if place is not None and (
        place[0] not in charter.partitions
        or (place[1] is not None and place[1] not in charter.partitions[place[0]])
    ):
        raise InvalidLedger(f"its part {place} was not declared")
    if not book.fits_in(fit.window, place, fit.losses(held=True)):
        raise InvalidLedger("it does not fit into what was left: more was reserved than the total")
    book.fits[fit.id] = fit


def _charged(book: Book, record: Record, values: Mapping[str, Any]) -> None:  # noqa: ARG001
    fit = book._running(values)
    charge = Charge(values["question"], values["mechanism"], Fraction(values["amount"]), values["currency"])
    if charge.currency != fit.budget.currency or charge.amount < 0:
        raise InvalidLedger(f"it charges {charge.amount} {charge.currency} to {fit.budget.describe()}")
    number, spent = int(values["number"]), fit.spent + charge.amount
    if fit.zones is not None:
        spent = fit.zone_sums.after(number, charge.amount)
    if spent > fit.budget.amount + fit.lost:
        raise InvalidLedger("it charges more than was reserved")
    fit.charges.append((number, values["asked"], charge))


def _answered(book: Book, record: Record, values: Mapping[str, Any]) -> None:
    fit = book._running(values)
    if int(values["number"]) in fit.answers:
        raise InvalidLedger("the question was answered before")
    fit.answers[int(values["number"])] = (values["asked"], record.number)


def _resumed(book: Book, record: Record, values: Mapping[str, Any]) -> None:  # noqa: ARG001
    fit = book._fit(values)
    lost = Fraction(values["lost"])
    if book.closed is not None or lost != fit.unanswered:
        raise InvalidLedger(f"fit {fit.id} could not be resumed so")
    loss = Losses.of(fit.budget.currency, fit.budget.amount + lost)
    if not book.fits_in(fit.window, fit.place, loss, without=fit.id):
        raise InvalidLedger("it does not fit into what was left: more was reserved than the total")
    book._settled = book._settled_without(fit.id)
    fit.run, fit.lost, fit.open = values["run"], lost, True
    fit.lost_of = fit.unanswered_of


def _ended(book: Book, record: Record, values: Mapping[str, Any]) -> None:  # noqa: ARG001
    fit = book._running(values)
    fit.open, fit.outcome = False, values["outcome"]
    where = (fit.window, fit.place)
    book._settled[where] = book._settled.get(where, Losses()) + fit.losses(held=False)


def _noted(book: Book, record: Record, values: Mapping[str, Any]) -> None:  # noqa: ARG001
    book.notes.append(values["text"])


def _closed(book: Book, record: Record, values: Mapping[str, Any]) -> None:  # noqa: ARG001
    book._ended = f"it was closed on {record.time[:10]}"


_READERS: dict[str, Callable[[Book, Record, Mapping[str, Any]], None]] = {
    CREATED: _created,
    RESERVED: _reserved,
    CHARGED: _charged,
    ANSWERED: _answered,
    RESUMED: _resumed,
    ENDED: _ended,
    NOTED: _noted,
    CLOSED: _closed,
}
# Written where a ledger is copied.
_COPIES = ("moved", "arrived", "restored")


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
