"""A released synopsis: noisy counts over boxes, and all that can be asked of them for free."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal._typing import Array
from shoal.algorithms import SYNOPSES
from shoal.algorithms.synopses.boxes import BoxCounts
from shoal.domain import Domain
from shoal.errors import InvalidInput, InvalidRelease
from shoal.queries import Transcript
from shoal.queries.gate.codec import plain
from shoal.release.certificate import Certificate
from shoal.release.files import SYNOPSIS, to_csv
from shoal.release.folder import dumps, loads, write_folder
from shoal.release.formats import read_release
from shoal.release.geojson import to_geojson
from shoal.release.places import PlacesRelease, framed, whole_number
from shoal.release.rerun import files_of, read_again

_NOTE = (
    "Noisy counts of rows in boxes over the bounds. release.npz holds them: counts; cells, the flat places "
    "(first column slowest) of the cells of a grid that were kept or stand out, where not all are; lower and "
    "upper, the corners of the boxes of a tree."
)
GROUPS_FREE = "groups found on released counts, which cost nothing more"
# Numbers of groups that are saved with a synopsis; a file that names more would take long to check.
_MOST_SAVED = 100


@dataclass(frozen=True, eq=False, repr=False)
class SynopsisRelease(PlacesRelease):
    """Noisy counts of boxes that may be published; whatever is asked of them costs nothing more.

    Parameters
    ----------
    synopsis : BoxCounts
        The counts.
    certificate : Certificate
        What is guaranteed.
    transcript : Transcript
        Every question and noisy answer.
    groups : tuple of int
        How many groups were found and saved with it, once or several times.

    Examples
    --------
    >>> from shoal import GridSynopsis
    >>> X = np.random.default_rng(0).normal(5, 1, (10_000, 2))
    >>> release = GridSynopsis(epsilon=1.0, bounds=(0, 10), n_rows=10_000).fit(X).release_
    >>> release
    <SynopsisRelease of 1024 cells (grid) over x0, x1, epsilon = 1>
    >>> estimate, error = release.count([5, 0], [10, 10])  # about half of the rows
    >>> abs(estimate - 5000) < 4 * error
    True
    >>> release.sample(3, rng=0).shape, release.kmeans(4).centres.shape
    ((3, 2), (4, 2))
    """

    synopsis: BoxCounts
    certificate: Certificate
    transcript: Transcript
    groups: tuple[int, ...] = ()

    @property
    def _places(self) -> BoxCounts:
        return self.synopsis

    def count(self, lower: npt.ArrayLike, upper: npt.ArrayLike) -> tuple[float, float]:
        """Estimate how many rows lie in a box, with the standard error of the estimate.

        What lies at the border of the box counts by its share of volume, and what is not known of the rows
        in it is part of the error; so is the noise. Rows were clipped to the bounds.

        Parameters
        ----------
        lower, upper : array-like of shape (n_columns,)
            Ends of the box in the table's own units; infinite ones are no limit.
        """
        low, high = (self._end(end, name) for end, name in ((lower, "lower"), (upper, "upper")))
        if (low > high).any():
            raise InvalidInput(f"the box is reversed: lower is {low.tolist()}, upper is {high.tolist()}")
        return self.synopsis.count(*_scaled(self.domain, low, high))

    def _end(self, value: npt.ArrayLike, name: str) -> Array:
        end = np.asarray(value, dtype=np.float64)
        if end.shape != (self.domain.n_columns,):
            raise InvalidInput(
                f"{name} has shape {end.shape}; {self.domain.n_columns} numbers, one per column, are wanted"
            )
        if np.isnan(end).any():
            raise InvalidInput(f"{name} is {end.tolist()}: a box has no missing ends; use infinite ones")
        return end

    def sample(self, n: int, rng: int | np.random.Generator | None = None, *, like: Any = None) -> Any:
        """Draw synthetic rows in the table's own units, as a frame with the names of the columns.

        Columns are continuous: one of categories or whole numbers gets values in between.

        Parameters
        ----------
        n : int
            How many.
        rng : int or numpy Generator, optional
            To draw the same ones again.
        like : str, optional
            "pandas", "polars", "pyarrow" or "numpy" (an array without names); the first of these that is
            installed, if not given. Where the columns have no names, an array.
        """
        points = self.synopsis.sample(whole_number(n, "n", least=0), np.random.default_rng(rng))
        return framed(self.domain.decode(points), self.domain.names, like)

    def save(self, folder: str | os.PathLike[str], *, groups: Sequence[int] | None = None) -> None:
        """Write the synopsis into a new folder, whole or not at all; :func:`shoal.verify` checks it.

        Parameters
        ----------
        folder : path
            It must not exist yet.
        groups : sequence of int, optional
            Also write groups found on it, for each of these numbers: `groups-5.csv`, and `groups-5.geojson`
            where columns are longitude and latitude.
        """
        found = self
        if groups is not None:
            found = replace(self, groups=tuple(dict.fromkeys(whole_number(k, "groups") for k in groups)))
        write_folder(folder, synopsis_files(found))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> SynopsisRelease:
        """Read a synopsis that was saved, or raise `InvalidRelease` where a file is missing or changed.

        Parameters
        ----------
        folder : path
            Where it was saved.
        """
        return synopsis_from_files(read_release(folder))

    def _repr_html_(self) -> str:
        from shoal.release.html import places_html

        held, bounds = self.synopsis, self.domain.bounds
        counted = f"a count ± {held.sd:.2g}, about {held.rows:,.0f} rows in all"
        what = f"Noisy counts of rows in {held.describe()}: {counted}."
        columns = zip(self.names, bounds.lower, bounds.upper, strict=True)
        lines = [[name, f"{low:.6g}", f"{high:.6g}"] for name, low, high in columns]
        return places_html(what, ["column", "from", "to"], lines, self.certificate)

    def __repr__(self) -> str:
        held, all_cells, kind = self.synopsis.n_held, self.synopsis.n_cells, self.synopsis.facts()["kind"]
        cells = f"{held} cells" if held == all_cells else f"{held} of {all_cells} cells"
        budget = self.transcript.budget.describe()
        return f"<SynopsisRelease of {cells} ({kind}) over {self._columns_shown()}, {budget}>"


def synopsis_files(release: SynopsisRelease) -> dict[str, bytes]:
    """Return the content of every file of a synopsis, by name."""
    held = release.synopsis
    summary = {
        "note": _NOTE,
        "columns": list(release.names),
        **held.facts(),
        "held": held.n_held,
        "sd": held.sd,
        "rows": held.rows,
        "rows_sd": held.rows_sd,
        "schema": plain(release.domain),
        **({"groups": list(release.groups)} if release.groups else {}),
    }
    more: dict[str, str] = {}
    for k in release.groups:
        rows = (found := release.kmeans(k)).records()
        more[f"groups-{k}.csv"] = to_csv(rows)
        if (points := to_geojson(release.domain, found.centres, rows, GROUPS_FREE)) is not None:
            more[f"groups-{k}.geojson"] = dumps(points)
    files = files_of(SYNOPSIS, summary, held.arrays(), release.certificate, release.transcript)
    return {**files, **{name: text.encode() for name, text in more.items()}}


def synopsis_from_files(files: Mapping[str, bytes]) -> SynopsisRelease:
    """Read a synopsis from its transcript, by running its algorithm again; the other files are copies."""
    found, certificate, transcript = read_again(SYNOPSIS, files, SYNOPSES)
    saved = loads(files[SYNOPSIS], SYNOPSIS).get("groups", [])
    if not isinstance(saved, list) or len(saved) > _MOST_SAVED:
        raise InvalidRelease(f"{SYNOPSIS} does not say for which numbers of groups there are files")
    groups = tuple(whole_number(k, f"groups in {SYNOPSIS}") for k in saved)
    return SynopsisRelease(found, certificate, transcript, groups)


def _scaled(domain: Domain, low: Array, high: Array) -> tuple[Array, Array]:
    """Return a box in the scaled units of the domain, in which bounds are -1 and 1."""
    least, half = np.array(domain.bounds.lower), domain.bounds.half_width
    constant = half == 0
    lower, upper = ((end - least) / np.where(constant, 1.0, half) - 1 for end in (low, high))
    # A constant column is inside as a whole, or not at all.
    within = (low <= least) & (least <= high)
    return (
        np.where(constant, np.where(within, -1.0, 2.0), lower),
        np.where(constant, np.where(within, 1.0, 2.0), upper),
    )
