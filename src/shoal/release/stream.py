"""A stream of coresets, day after day, kept as one small one: merge and reduce, on released values alone."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from shoal._typing import Array
from shoal.accounting.budget import Budget
from shoal.algorithms.synopses.coreset import Coreset
from shoal.domain import Domain
from shoal.errors import InvalidInput, InvalidRelease
from shoal.postprocess.weighted_kmeans import greedy_plus_plus, lloyd
from shoal.queries.gate.codec import from_plain, plain
from shoal.release.certificate import Certificate
from shoal.release.coreset import CoresetRelease, check_same, guarantee_of, scaled_centres
from shoal.release.files import to_csv
from shoal.release.folder import FORMAT, dumps, loads, read_folder, write_folder
from shoal.release.places import PlacesRelease, whole_number

STREAM, POINTS = "stream.json", "coreset.csv"
# Rounds of Lloyd when points are joined; later ones hardly move them.
_ROUNDS = 20


@dataclass(frozen=True)
class Added:
    """What is remembered of a coreset that was added.

    Parameters
    ----------
    transcript : str
        The digest of its transcript: none is added twice.
    private : bool
        Whether it has a guarantee; one with a seed has none.
    budget : Budget
        What it has spent.
    """

    transcript: str
    private: bool
    budget: Budget


@dataclass(frozen=True, eq=False)
class Reduced:
    """Weighted points that stand for others.

    Parameters
    ----------
    points : ndarray of shape (n, n_columns)
        Points of [-1, 1]^d.
    weights : ndarray of shape (n,)
        Positive.
    spread : float
        The weighted sum of squares by which points were moved, in scaled units.
    level : int
        How often they were reduced; two of one level become one of the next.
    """

    points: Array
    weights: Array
    spread: float
    level: int

    def joined(self, other: Reduced, n: int, scale: Array) -> Reduced:
        """Return both as one of the next level, of at most n points."""
        points, weights = (
            np.concatenate(both) for both in ((self.points, other.points), (self.weights, other.weights))
        )
        points, weights, spread = reduced(points, weights, n, scale)
        return Reduced(points, weights, self.spread + other.spread + spread, self.level + 1)


def reduced(points: Array, weights: Array, n: int, scale: Array) -> tuple[Array, Array, float]:
    """Join weighted points to at most n means, and return the weighted sum of squares within them.

    Let Q be the means of points P, D the sum within. For any centres, each point may go where its mean goes,
    at cost(Q) + D in all: so cost(P) <= cost(Q) + D. By the triangle inequality, the roots of cost(P) and
    cost(Q) differ by at most that of D. Both hold whatever the groups are; good ones make D small. For means
    of means the sums within add up, since each is taken about its own mean.

    Parameters
    ----------
    points : ndarray of shape (m, d)
        Released points.
    weights : ndarray of shape (m,)
        Positive.
    n : int
        Most points to keep.
    scale : ndarray of shape (d,)
        What columns are multiplied by before distances are taken.

    Examples
    --------
    >>> points, weights = np.array([[0.0], [0.2], [1.0]]), np.array([1.0, 3.0, 2.0])
    >>> points, weights, spread = reduced(points, weights, 2, np.ones(1))
    >>> order = points[:, 0].argsort()
    >>> points[order].round(2).tolist(), weights[order].tolist(), round(spread, 3)
    ([[0.15], [1.0]], [4.0, 2.0], 0.03)
    """
    if len(points) <= n:
        return points, weights, 0.0
    columns = np.ascontiguousarray((points * scale).T)
    # The same means for the same points: public randomness with a fixed seed.
    starts = greedy_plus_plus(columns, weights, n, np.random.default_rng(0))
    centres = lloyd(columns, weights, starts, max_iter=_ROUNDS, least_mass=0.0, reach=scale).centres
    gaps = (centres**2).sum(axis=1)[:, np.newaxis] - 2 * centres @ columns
    labels = gaps.argmin(axis=0)
    masses = np.bincount(labels, weights, n).astype(np.float64)
    held = masses > 0
    means = np.stack([np.bincount(labels, weights * x, n)[held] / masses[held] for x in points.T], axis=1)
    at = means[(np.cumsum(held) - 1)[labels]]
    return means, masses[held], float((weights[:, np.newaxis] * ((points - at) * scale) ** 2).sum())


class CoresetStream(PlacesRelease):
    """Coresets of day after day as one small coreset; to add one reads no row and costs nothing.

    Points are merged and reduced as a counter counts: two coresets of one level become one of the next. So
    there are at most `max_points` points for each binary digit of the number of coresets, and a row's point
    was moved at most once for each. What the coresets have spent is remembered: losses of rows do not add up,
    since no row is in two tables; those of people, who may come back every day, do, and `guarantee` says so.

    Parameters
    ----------
    max_points : int
        Most points of a level. Some times as many as a day's coreset has is plenty.

    Examples
    --------
    >>> from shoal import CoresetStream, PrivateCoreset
    >>> rng = np.random.default_rng(0)
    >>> stream = CoresetStream(max_points=50)
    >>> for day in range(4):
    ...     X = rng.normal(5, 1, (20_000, 2))
    ...     _ = stream.add(PrivateCoreset(2, epsilon=1.0, bounds=(0, 10)).fit(X).release_)
    >>> stream.n_added, len(stream.points) <= 50, stream.guarantee["add-remove"]
    (4, True, 'epsilon = 1')
    """

    def __init__(self, max_points: int = 1000) -> None:
        self.max_points = whole_number(max_points, "max_points")
        self._added: list[Added] = []
        self._levels: list[Reduced] = []
        self._first: tuple[Domain, Certificate] | None = None

    @property
    def n_added(self) -> int:
        """How many coresets, of a table each, were added."""
        return len(self._added)

    def add(self, release: CoresetRelease) -> Self:
        """Add a coreset of one table or of several, none of whose rows is in those added before.

        Parameters
        ----------
        release : CoresetRelease
            Over the same columns, with the same bounds, scaling and unit.
        """
        if not isinstance(release, CoresetRelease):
            raise InvalidInput(f"a {type(release).__name__} cannot be added: a CoresetRelease is wanted")
        known = {added.transcript for added in self._added}
        for part in release.parts:  # all are looked at before one is added
            if self._first is not None:
                check_same(self._first[0], part.domain)
            if part.certificate.transcript in known:
                raise InvalidInput("this coreset was added before: its rows would count twice")
        if self._first is None:
            self._first = release.domain, release.certificate
        scale = self.domain.column_scale
        for part in release.parts:
            certificate = part.certificate
            self._added.append(Added(certificate.transcript, certificate.private, part.transcript.budget))
            points, weights, spread = reduced(
                part.coreset.points, part.coreset.weights, self.max_points, scale
            )
            newest = Reduced(points, weights, spread, 0)
            while self._levels and self._levels[-1].level == newest.level:
                newest = self._levels.pop().joined(newest, self.max_points, scale)
            self._levels.append(newest)
        return self

    @property
    def domain(self) -> Domain:
        """Column names, bounds, scaling, missing cells and unit that the points belong to."""
        return self._begun()[0]

    @property
    def certificate(self) -> Certificate:
        """The certificate of the first coreset; `guarantee` is that of all."""
        return self._begun()[1]

    @property
    def guarantee(self) -> dict[str, str]:
        """The guarantee of all that was added under each neighbour relation, in words."""
        domain, certificate = self._begun()
        told = [(added.private, added.budget) for added in self._added]
        return guarantee_of(domain.unit, told, certificate.guarantee)

    @property
    def points(self) -> Array:
        """The points, in the table's own units."""
        return self.domain.decode(self._places.points)

    @property
    def weights(self) -> Array:
        """How many rows each point stands for; positive."""
        return self._places.weights

    def cost(self, centres: npt.ArrayLike) -> float:
        """Estimate the k-means cost of any centres on all that was added.

        It is at least the cost c of the merged coresets, and at most (sqrt(c) + sqrt(moved))^2 + moved.

        Parameters
        ----------
        centres : array-like of shape (n_centres, n_columns)
            In the table's own units.
        """
        scaled = self._places.cost(scaled_centres(self.domain, centres))
        return (scaled + self._spread) * self.domain.length_unit**2

    @property
    def moved(self) -> float:
        """The weighted sum of squares by which points were moved, in the scaling of `cost`."""
        return self._spread * self.domain.length_unit**2

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the stream into a new folder, whole or not at all; `load` goes on with it.

        Parameters
        ----------
        folder : path
            It must not exist yet.
        """
        domain, certificate = self._begun()
        held = {
            "format": FORMAT,
            "max_points": self.max_points,
            "guarantee": self.guarantee,
            "added": [plain(added) for added in self._added],
            "levels": [plain(level) for level in self._levels],
            "domain": plain(domain),
            "certificate": certificate.to_dict(),
        }
        rows = [
            {**dict(zip(self.names, map(float, point), strict=True)), "weight": float(weight)}
            for point, weight in zip(self.points, self.weights, strict=True)
        ]
        write_folder(folder, {STREAM: dumps(held).encode(), POINTS: to_csv(rows).encode()})

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a stream that was saved, or raise `InvalidRelease` where a file is missing or changed.

        The transcripts of the days are not in it: keep their releases where each is to be verified.

        Parameters
        ----------
        folder : path
            Where it was saved.
        """
        files = read_folder(folder)
        if STREAM not in files:
            raise InvalidRelease(f"{STREAM} is missing: {folder} is not a stream of coresets")
        held = loads(files[STREAM], STREAM)
        wanted = {"max_points", "added", "levels", "domain", "certificate"}
        if not isinstance(held, dict) or not wanted <= held.keys():
            raise InvalidRelease(f"{STREAM} does not hold {', '.join(sorted(wanted))}")
        stream = cls(from_plain(int, held["max_points"]))
        stream._added = list(from_plain(tuple[Added, ...], held["added"]))
        stream._levels = list(from_plain(tuple[Reduced, ...], held["levels"]))
        stream._first = from_plain(Domain, held["domain"]), Certificate.from_dict(held["certificate"])
        return stream

    @property
    def _places(self) -> Coreset:
        domain = self.domain
        return Coreset(
            points=np.concatenate([level.points for level in self._levels]),
            weights=np.concatenate([level.weights for level in self._levels]),
            domain=domain,
            rows=float(sum(level.weights.sum() for level in self._levels)),
            sd=0.0,
            point_sd=0.0,
        )

    @property
    def _spread(self) -> float:
        return sum(level.spread for level in self._levels)

    def _begun(self) -> tuple[Domain, Certificate]:
        if self._first is None:
            raise InvalidInput("nothing was added to the stream yet: add a CoresetRelease")
        return self._first

    def __repr__(self) -> str:
        if self._first is None:
            return "<CoresetStream, empty>"
        return (
            f"<CoresetStream of {len(self.weights)} points over {self._columns_shown()}, "
            f"{self.n_added} tables, {'; '.join(self.guarantee.values())}>"
        )
