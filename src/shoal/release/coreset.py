"""A released coreset: weighted points that answer for the rows of one table, or of several."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal._typing import Array
from shoal.accounting import Approx, Pure
from shoal.accounting.budget import Budget
from shoal.algorithms.coreset.coreset import PrivateCoreset
from shoal.algorithms.synopses.coreset import Coreset
from shoal.domain import Domain, Unit
from shoal.errors import InvalidInput, InvalidRelease
from shoal.queries import Transcript
from shoal.queries.gate.codec import Arrays, digest, from_plain, plain
from shoal.release.certificate import Certificate
from shoal.release.files import ARRAYS, CERTIFICATE, CORESET, TEXT, TRANSCRIPT, read_npz, to_csv, write_npz
from shoal.release.folder import FORMAT, dumps, loads, write_folder
from shoal.release.formats import read_release
from shoal.release.geojson import to_geojson
from shoal.release.places import PlacesRelease
from shoal.release.rerun import run_again

POINTS, POINT_MAP = "coreset.csv", "coreset.geojson"
_NOTE = (
    "Points with weights, in the table's own units: each stands for about so many rows near it. Costs and "
    "groups computed from them are free. The weights are positive."
)


@dataclass(frozen=True, eq=False)
class Part:
    """The coreset of one table.

    Parameters
    ----------
    coreset : Coreset
        The points.
    certificate : Certificate
        What is guaranteed.
    transcript : Transcript
        Every question and noisy answer.
    """

    coreset: Coreset
    certificate: Certificate
    transcript: Transcript

    @property
    def domain(self) -> Domain:
        """Column names, bounds, scaling, missing cells and unit that the points belong to."""
        return self.coreset.domain


@dataclass(frozen=True, eq=False, repr=False)
class CoresetRelease(PlacesRelease):
    """A private coreset that may be published; whatever is asked of it costs nothing more.

    Parameters
    ----------
    parts : tuple of Part
        One, or one for each table that was merged.

    Examples
    --------
    >>> from shoal import PrivateCoreset
    >>> rng = np.random.default_rng(0)
    >>> days = [rng.normal(5, 1, (20_000, 2)) for _ in range(2)]
    >>> monday, tuesday = (PrivateCoreset(4, epsilon=1.0, bounds=(0, 10)).fit(day).release_ for day in days)
    >>> both = CoresetRelease.merge([monday, tuesday])
    >>> both.guarantee["add-remove"], len(both.weights) == len(monday.weights) + len(tuesday.weights)
    ('epsilon = 1', True)
    >>> both.kmeans(3).centres.shape, both.cost([[5.0, 5.0]]) > 0
    ((3, 2), True)
    """

    parts: tuple[Part, ...]

    @classmethod
    def merge(cls, releases: Sequence[CoresetRelease]) -> CoresetRelease:
        """Join the coresets of tables that have no row in common, such as those of different days.

        No row is in two of the tables, so their losses do not add up: the guarantee of the whole is the
        weakest of the parts. A row that is replaced may leave one table and enter another, so two losses add
        up; and where the unit is a person, who may be in several tables, all do.

        Parameters
        ----------
        releases : sequence of CoresetRelease
            Over the same columns, with the same bounds, scaling and unit.
        """
        parts = tuple(part for release in releases for part in release.parts)
        if not parts:
            raise InvalidInput("there is nothing to merge: give at least one coreset")
        for part in parts[1:]:
            check_same(parts[0].domain, part.domain)
        if len({part.certificate.transcript for part in parts}) < len(parts):
            raise InvalidInput("a coreset is merged with itself: its rows would count twice")
        return cls(parts)

    @property
    def domain(self) -> Domain:
        """Column names, bounds, scaling, missing cells and unit that the points belong to."""
        return self.parts[0].domain

    @property
    def points(self) -> Array:
        """The points, in the table's own units."""
        return self.domain.decode(self._places.points)

    @property
    def weights(self) -> Array:
        """How many rows each point stands for; positive."""
        return self._places.weights

    @property
    def guarantee(self) -> dict[str, str]:
        """The guarantee under each neighbour relation, in words."""
        told = [(part.certificate.private, part.transcript.budget) for part in self.parts]
        return guarantee_of(self.domain.unit, told, self.parts[0].certificate.guarantee)

    @property
    def certificate(self) -> Certificate:
        """The certificate of the first part; `guarantee` is that of the whole."""
        return self.parts[0].certificate

    @property
    def _places(self) -> Coreset:
        held = [part.coreset for part in self.parts]
        return Coreset(
            points=np.concatenate([c.points for c in held]),
            weights=np.concatenate([c.weights for c in held]),
            domain=self.domain,
            rows=sum(c.rows for c in held),
            sd=max(c.sd for c in held),
            point_sd=max(c.point_sd for c in held),
        )

    def cost(self, centres: npt.ArrayLike) -> float:
        """Estimate the k-means cost of any centres: the sum of squared distances of rows to the nearest one.

        It is in the scaling the coreset was made with, as minus the `score` of a model.

        Parameters
        ----------
        centres : array-like of shape (n_centres, n_columns)
            In the table's own units.
        """
        return self._places.cost(scaled_centres(self.domain, centres)) * self.domain.length_unit**2

    def to_geojson(self) -> dict[str, Any] | None:
        """Return the points for a map, or None where the columns are not longitude and latitude."""
        return to_geojson(self.domain, self.points, self._rows())

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the coreset into a new folder, whole or not at all; :func:`shoal.verify` checks it.

        Parameters
        ----------
        folder : path
            It must not exist yet.
        """
        write_folder(folder, coreset_files(self))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> CoresetRelease:
        """Read a coreset that was saved, or raise `InvalidRelease` where a file is missing or changed.

        Parameters
        ----------
        folder : path
            Where it was saved.
        """
        return coreset_from_files(read_release(folder))

    def _rows(self) -> list[dict[str, Any]]:
        names = [f"{name}_" if name in ("point", "weight") else name for name in self.names]
        return [
            {"point": i, **dict(zip(names, map(float, point), strict=True)), "weight": float(weight)}
            for i, (point, weight) in enumerate(zip(self.points, self.weights, strict=True))
        ]

    def _repr_html_(self) -> str:
        from shoal.release.html import places_html

        heaviest = (-self.weights).argsort(kind="stable")
        lines = [[*(f"{v:.6g}" for v in self.points[i]), f"{self.weights[i]:,.0f}"] for i in heaviest]
        what = f"{len(self.weights)} weighted points that stand for all rows, heaviest first."
        return places_html(what, [*self.names, "weight"], lines, self.certificate)

    def __repr__(self) -> str:
        tables = "" if len(self.parts) == 1 else f", {len(self.parts)} tables"
        budget = self.parts[0].transcript.budget.describe()
        return (
            f"<CoresetRelease of {len(self.weights)} points over {self._columns_shown()}{tables}, {budget}>"
        )


def check_same(first: Domain, other: Domain) -> None:
    """Refuse to join coresets of other columns, bounds, scaling or unit."""
    for name in ("names", "scaling", "unit"):
        if getattr(other, name) != getattr(first, name):
            raise InvalidInput(
                f"coresets of different {name} cannot be merged: {getattr(first, name)!r} and "
                f"{getattr(other, name)!r}"
            )
    if (other.bounds.lower, other.bounds.upper) != (first.bounds.lower, first.bounds.upper):
        raise InvalidInput("coresets of different bounds cannot be merged: fit them with the same")


def scaled_centres(domain: Domain, centres: npt.ArrayLike) -> Array:
    """Check centres in the table's own units, and scale them."""
    given = np.asarray(centres, dtype=np.float64)
    if given.ndim != 2 or given.shape[1] != domain.n_columns or not given.size:
        raise InvalidInput(
            f"centres have shape {given.shape}; points of {domain.n_columns} columns are wanted"
        )
    if not np.isfinite(given).all():
        raise InvalidInput("centres have missing or infinite coordinates")
    half = domain.bounds.half_width
    return np.asarray((given - domain.bounds.middle) / np.where(half > 0, half, 1.0))


def guarantee_of(unit: Unit, told: Sequence[tuple[bool, Budget]], alone: dict[str, str]) -> dict[str, str]:
    """Return the guarantee of coresets together.

    Parameters
    ----------
    unit : Unit
        Whose rows, and which neighbours.
    told : sequence of (bool, Budget)
        Whether each is private, and its budget.
    alone : dict
        What the first of them guarantees by itself.
    """
    if len(told) == 1:
        return alone
    if not all(private for private, _ in told):
        return {"any": "not private: no guarantee"}
    budgets = [budget for _, budget in told]
    if not all(isinstance(budget, Pure | Approx) for budget in budgets):
        return {"each table": "; ".join(budget.describe() for budget in budgets)}
    epsilons = [b.epsilon for b in budgets if isinstance(b, Pure | Approx)]
    deltas = [b.delta for b in budgets if isinstance(b, Approx)]
    if unit.column is not None:
        # A person may have rows in all of the tables: basic composition.
        return {unit.neighbours: _says(sum(epsilons), sum(deltas))}
    if unit.replace:
        # A row may leave one table and enter another: each of these parts is as private for a row added or
        # removed as for one replaced, and the two weakest add up.
        return {"replace": _says(sum(sorted(epsilons)[-2:]), sum(sorted(deltas)[-2:]))}
    found: dict[str, str] = {unit.neighbours: _says(max(epsilons), max(deltas, default=0))}
    if not deltas:
        # A row may leave the weakest part and another enter it, which is twice its loss.
        found["replace"] = _says(2 * max(epsilons), 0)
    return found


def _says(epsilon: Any, delta: Any) -> str:
    return (Approx(epsilon, delta) if delta else Pure(epsilon)).describe()


def coreset_files(release: CoresetRelease) -> dict[str, bytes]:
    """Return the content of every file of a coreset, by name."""
    stored: Arrays = {}
    transcripts = [plain(part.transcript, stored) for part in release.parts]
    rows = release._rows()
    summary = {
        "format": FORMAT,
        "note": _NOTE,
        "columns": list(release.names),
        "tables": len(release.parts),
        "guarantee": release.guarantee,
        "points": [list(map(float, point)) for point in release.points],
        "weights": list(map(float, release.weights)),
        "schema": plain(release.domain),
    }
    texts = {
        CORESET: dumps(summary),
        POINTS: to_csv(rows),
        TRANSCRIPT: dumps(transcripts),
        CERTIFICATE: dumps([part.certificate.to_dict() for part in release.parts]),
        TEXT: "\n".join(f"{part.certificate}\n" for part in release.parts),
    }
    points = release.to_geojson()
    if points is not None:
        texts[POINT_MAP] = dumps(points)
    arrays = {"points": release.points, "weights": release.weights}
    return {ARRAYS: write_npz({**arrays, **stored}), **{n: text.encode() for n, text in texts.items()}}


def coreset_from_files(files: Mapping[str, bytes]) -> CoresetRelease:
    """Read a coreset from its transcripts, by running its algorithm again; the other files are copies."""
    for name in (CORESET, POINTS, ARRAYS, TRANSCRIPT, CERTIFICATE, TEXT):
        if name not in files:
            raise InvalidRelease(f"{name} is missing")
    arrays = read_npz(files[ARRAYS])
    stated, asked = loads(files[CERTIFICATE], CERTIFICATE), loads(files[TRANSCRIPT], TRANSCRIPT)
    if not isinstance(stated, list) or not isinstance(asked, list) or not 0 < len(stated) == len(asked):
        raise InvalidRelease(f"{CERTIFICATE} and {TRANSCRIPT} do not hold one record a table")
    pairs = zip(stated, asked, strict=True)
    parts = [CoresetRelease((_part(*pair, arrays),)) for pair in pairs]
    try:
        return CoresetRelease.merge(parts)
    except InvalidRelease:
        raise
    except InvalidInput as error:
        raise InvalidRelease(str(error)) from None


def _part(stated: Any, asked: Any, arrays: Arrays) -> Part:
    if not isinstance(stated, dict):
        raise InvalidRelease(f"{CERTIFICATE} does not hold one record a table")
    certificate = Certificate.from_dict(stated)
    transcript: Transcript = from_plain(Transcript, asked, arrays)
    algorithm: PrivateCoreset = from_plain(PrivateCoreset, certificate.parameters)
    coreset = run_again(algorithm, transcript)
    if certificate.transcript != digest(transcript):
        raise InvalidRelease(f"{CERTIFICATE} belongs to another transcript")
    return Part(coreset, certificate, transcript)
