"""Groups of zones with privacy levels of their own: a release of each, and what they promise together.

What a unit loses is what the zones that it is in lose: docs/proofs/zones.md.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np

from shoal._typing import Array
from shoal.accounting import ZCDP, Approx, Budget, Pure, epsilon_of, zones_budget, zones_hit
from shoal.algorithms import shared_out
from shoal.domain import InZone, Unit, Zones
from shoal.domain.wording import how_measured
from shoal.errors import InvalidRelease
from shoal.queries import Transcript
from shoal.queries.questions import Histogram
from shoal.release.certificate import NO_GUARANTEE, Certificate, guarantee_of, spent_of
from shoal.release.folder import write_folder
from shoal.release.formats import read_release
from shoal.release.intervals import Intervals, TotalIntervals
from shoal.release.labels import label_by_zone
from shoal.release.release import Release, ReleasedIntervals
from shoal.release.told import Told
from shoal.release.totals import not_known
from shoal.release.trust import Doubt

# One loss for all zones that a unit may be in; said under "guarantee", beside the relations of neighbours.
MOVES = "between zones"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ZonedRelease(Release):
    """What may be published of a fit with zones: groups of all of them, each with its zone.

    All attributes of :class:`shoal.Release` are there for all groups together, zone by zone; `size_sd` is the
    largest of the zones'.

    Parameters
    ----------
    zones : Zones
        The public regions with their levels; the last one of all is the rest.
    parts : tuple of Release
        The release of each zone by itself, in the order of `zones.names`.
    shared : int, optional
        How many groups were shared out over the zones by noisy counts; None where each had its own number.

    Examples
    --------
    >>> import pandas as pd
    >>> from shoal import DPLloyd, Zones
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"x": rng.normal(5, 1, 20_000), "ward": rng.choice(["clinic", "town"], 20_000)})
    >>> zones = Zones.from_column("ward", {"clinic": 0.1})
    >>> ks = {"clinic": 1, "rest": 2}
    >>> release = DPLloyd(ks, epsilon=1.0, bounds={"x": (0, 10)}, zones=zones).fit(X).release_
    >>> release.zone, release.certificate.guarantee["add-remove"], release.certificate.guarantee[MOVES]
    (('clinic', 'rest', 'rest'), 'epsilon = 1', 'epsilon = 1.1')
    """

    zones: Zones
    parts: tuple[Release, ...]
    shared: int | None

    @classmethod
    def join(cls, parts: Sequence[Release], shared: int | None = None) -> ZonedRelease:
        """Put the releases of all zones together, and state what they promise.

        Parameters
        ----------
        parts : sequence of Release
            Of each zone, in the order of the zones.
        shared : int, optional
            How many groups were shared out by noisy counts of the zones' rows.
        """
        zones = _zones_of(parts)
        if shared is not None:
            _check_shares(parts, shared)
        offsets = np.cumsum([0, *(len(part.sizes) for part in parts)])
        merged = [part.merged_into + first for part, first in zip(parts, offsets, strict=False)]
        return cls(
            centres=np.concatenate([part.centres for part in parts]),
            sizes=np.concatenate([part.sizes for part in parts]),
            centre_sd=np.concatenate([part.centre_sd for part in parts]),
            size_sd=max(part.size_sd for part in parts),
            intervals=cast("ReleasedIntervals", _joined([part.intervals for part in parts])),
            merged_into=np.concatenate(merged),
            certificate=_certificate(zones, parts),
            transcript=parts[-1].transcript,
            domain=parts[-1].domain,  # with the bounds of the whole table
            zones=zones,
            parts=tuple(parts),
            shared=shared,
        )

    @property
    def zone(self) -> tuple[str, ...]:
        """The zone of each group."""
        pairs = zip(self.zones.names, self.parts, strict=True)
        return tuple(name for name, part in pairs for _ in part.sizes)

    @property
    def epsilons(self) -> dict[str, float]:
        """The level of each zone."""
        return {name: float(of["epsilon"]) for name, of in self.certificate.zones.items()}

    @property
    def size_sds(self) -> Array:
        """The standard deviation of the noise of each size."""
        return np.concatenate([part.size_sds for part in self.parts])

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """What the groups themselves give reason to doubt, zone by zone."""
        pairs = zip(self.zones.names, self.parts, strict=True)
        return tuple(
            Doubt(doubt.category, f"zone {name}: {doubt.text}")
            for name, part in pairs
            for doubt in part.doubts
        )

    @cached_property
    def _total(self) -> TotalIntervals:
        return not_known(self)

    def with_totals(self) -> ZonedRelease:
        """Return the same: total intervals are not known of zones together; each part has its own."""
        return self

    def told(self, *, total: bool = False) -> Told:  # noqa: ARG002 - they are not known
        """Return the groups as a person reads them, each with its zone.

        Parameters
        ----------
        total : bool
            Of no effect: total errors are not known of zones together.
        """
        all_told = [part.told() for part in self.parts]
        lines, first = [], 0
        for name, found in zip(self.zones.names, all_told, strict=True):
            for number, *cells in found.lines:
                places = [str(int(place) + first) for place in number.split(" = ")]
                lines.append([" = ".join(places), name, *cells])
            first += len(found.lines)
        head, *columns = all_told[0].header
        return Told([head, "zone", *columns], lines)

    def predict(self, X: Any) -> Any:
        """Return the nearest centre of each row among those of its own zone. For the holder's own use.

        Parameters
        ----------
        X : array-like, data frame, path or FileTable
            Rows with the columns that were clustered, and those that say where a row is.
        """
        return np.concatenate(list(label_by_zone(self.parts, X)))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the release into a new folder, whole or not at all.

        Beside the files of all groups it holds `zones.json`, `zones.geojson` with the borders where zones are
        polygons, and the release of each zone by itself, as `zone0.release.json` and so on.

        Parameters
        ----------
        folder : path
            It must not exist yet.
        """
        from shoal.release.zone_files import zoned_files

        write_folder(folder, zoned_files(self))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> ZonedRelease:
        """Read a release that was saved, or raise `InvalidRelease` where a file is missing or changed."""
        from shoal.release.zone_files import zoned_from_files

        return zoned_from_files(read_release(folder))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {epsilon:g}" for name, epsilon in self.epsilons.items())
        name = self.certificate.algorithm
        return f"<ZonedRelease of {len(self.sizes)} clusters, {name}, epsilon by zone: {shown}>"


def _zones_of(parts: Sequence[Release]) -> Zones:
    """Return the zones of releases that are each of one, in order, over the same columns; or refuse."""
    held = [part.domain.schema.part if part.domain.schema is not None else None for part in parts]
    first = held[0] if held else None
    if not isinstance(first, InZone):
        raise InvalidRelease("releases of zones are wanted; these say of no zone")
    wanted = [InZone(first.zones, number) for number in range(len(first.zones.names))]
    if held != wanted:
        raise InvalidRelease(
            f"releases of the zones {', '.join(first.zones.names)} are wanted, in this order"
        )
    for part in parts[1:]:
        for name in ("names", "scaling", "unit", "missing", "max_weight", "column_weights"):
            if getattr(part.domain, name) != getattr(parts[0].domain, name):
                raise InvalidRelease(f"zones of one release have different {name}")
        if part.certificate.algorithm != parts[0].certificate.algorithm:
            raise InvalidRelease("zones of one release are of different algorithms")
    for part, (name, epsilon) in zip(parts, _levels(first.zones, parts).items(), strict=True):
        budget = part.transcript.budget
        if not isinstance(budget, Pure | Approx) or float(budget.epsilon) != epsilon:
            raise InvalidRelease(f"zone {name} has the level {epsilon:g}, and was given {budget.describe()}")
    return first.zones


def _levels(zones: Zones, parts: Sequence[Release]) -> dict[str, float]:
    rest = parts[-1].transcript.budget
    return zones.epsilons(float(getattr(rest, "epsilon", 0)) if zones.rest is None else None)


def zone_counts(parts: Sequence[Release]) -> list[float]:
    """Return the noisy counts of the zones' rows that groups were shared out by: each is a first answer."""
    found = []
    for part in parts:
        entry = part.transcript.entries[0] if part.transcript.entries else None
        if entry is None or not isinstance(entry.question, Histogram) or len(entry.answer.counts) != 1:
            raise InvalidRelease("a zone does not begin with the count of its rows")
        found.append(float(entry.answer.counts[0]))
    return found


def _check_shares(parts: Sequence[Release], shared: int) -> None:
    wanted, found = shared_out(shared, zone_counts(parts)), [len(part.sizes) for part in parts]
    if wanted != found:
        raise InvalidRelease(f"noisy counts share {shared} groups out as {wanted}, and zones have {found}")


def _joined(parts: Sequence[Intervals]) -> Intervals:
    names = ("centre_low", "centre_high", "size_low", "size_high")
    ends = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Intervals(level=parts[0].level, **ends)


def _certificate(zones: Zones, parts: Sequence[Release]) -> Certificate:
    """State what all zones promise together, from what each was asked."""
    first, unit = parts[-1].certificate, parts[-1].domain.unit
    budgets: list[Budget] = [part.transcript.budget for part in parts]
    most = zones_hit(unit.neighbours, unit.max_rows)
    whole = zones_budget(budgets, most)
    sums = [sum((c.amount for c in part.transcript.charges), Fraction(0)) for part in parts]
    pairs = list(zip(zones.names, parts, strict=True))
    private = all(part.certificate.private for part in parts)
    charges = [
        replace(charge, question=f"zone {name}: {charge.question}")
        for name, part in pairs
        for charge in part.transcript.charges
    ]
    epsilons = _levels(zones, parts)
    return replace(
        first,
        parameters={name: part.certificate.parameters for name, part in pairs},
        guarantee=_guarantee(budgets, whole, unit) if private else NO_GUARANTEE,
        private=private,
        budget=_says(whole, budgets[0]),
        spent=spent_of(whole, sum(sorted(sums, reverse=True)[:most], Fraction(0))),
        charges=tuple(charges),
        notes=tuple(f"zone {name}: {note}" for name, part in pairs for note in part.certificate.notes),
        doubts=tuple(f"zone {name}: {text}" for name, part in pairs for text in part.certificate.doubts),
        clipped={
            f"zone {n}, {column}": of for n, part in pairs for column, of in part.certificate.clipped.items()
        },
        measured=(*_measured(parts[-1]), _where(zones)),
        transcript=_digest([part.transcript for part in parts]),
        zones={
            name: {
                "epsilon": epsilons[name],
                "groups": len(part.sizes),
                "protects": _protects(part.transcript.budget, unit) if private else "nobody: not private",
            }
            for name, part in pairs
        },
    )


def _guarantee(budgets: Sequence[Budget], whole: Budget, unit: Unit) -> dict[str, str]:
    """Say what one unit loses at most, wherever it is; and what a row does that moves."""
    found = guarantee_of(whole, unit)
    if isinstance(whole, ZCDP):  # given as epsilons and a delta: said so, rounded up
        found = {unit.neighbours: _says(whole, budgets[0])}
        if not unit.replace:
            found["replace"] = _says(ZCDP(4 * whole.rho), budgets[0])
    if not unit.replace and unit.column is None:
        found[MOVES] = _says(zones_budget(budgets, 2), budgets[0])
    return found


def _protects(budget: Budget, unit: Unit) -> str:
    """Say what the level of one zone protects."""
    if unit.column is not None:
        most = "row" if unit.max_rows == 1 else f"at most {unit.max_rows} rows"
        what = "replaced" if unit.replace else "added or removed"
        return (
            f"{budget.describe()} for a person whose {most} lie in it, {what}; in several zones they add up"
        )
    if unit.replace:
        return (
            f"{budget.describe()} for a row in it that another in it replaces; from zone to zone both add up"
        )
    return f"{budget.describe()} for a row in it, added or removed; for one that moves to another zone, both"


def _says(budget: Budget, like: Budget) -> str:
    """Say a budget; one of several zones with delta as the epsilon at that delta, rounded up."""
    if isinstance(budget, ZCDP) and isinstance(like, Approx):
        epsilon = math.ceil(1000 * epsilon_of(float(budget.rho), float(like.delta))) / 1000
        return f"epsilon = {epsilon:g}, delta = {float(like.delta):g}"
    return budget.describe()


def _measured(part: Release) -> tuple[str, ...]:
    schema = part.domain.schema
    whole = replace(part.domain, schema=None if schema is None else replace(schema, part=None))
    return how_measured(whole)


def _where(zones: Zones) -> str:
    columns = " and ".join(zones.columns or ())
    if zones.by_column:
        return f"a row is in the zone that column {columns} names, or else in the rest"
    return (
        f"a row is in the first zone whose polygon it is in or touches, by {columns}, or else in the rest; "
        "the borders are public"
    )


def _digest(transcripts: Sequence[Transcript]) -> str:
    return hashlib.sha256("".join(transcript.digest() for transcript in transcripts).encode()).hexdigest()
