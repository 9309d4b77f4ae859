"""Lu and Shen 2020, and Joshi and Thakkar 2022, as published: **not private**, kept to compare with.

What is wrong with them is told in docs/proofs/published.md. Comments say what the papers leave open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal._typing import Array
from shoal.errors import InvalidInput
from shoal.postprocess.weighted_kmeans import lloyd, plus_plus
from shoal.queries.questions.answers import NotPrivate
from shoal.queries.questions.unproven import Unproven

Zones: TypeAlias = Literal["orientation", "sub-clusters"]
EmptyZone: TypeAlias = Literal["whole zone", "stay"]

# Directions tried before a sampling zone counts as empty; the papers do not say what happens then.
_TURNS = 10
# Rounds of Lloyd where a zone is cut into sub-clusters; the papers do not say how many.
_INNER_ROUNDS = 20


@dataclass(frozen=True)
class AsPublished(Unproven):
    """Ask for the centres of an algorithm as it was published. There is no guarantee.

    Parameters
    ----------
    zones : {"orientation", "sub-clusters"}
        How a sampling zone is found: in a random direction (Lu and Shen), or as a sub-cluster of the rows
        (Joshi and Thakkar, algorithm 2).
    n_clusters : int
        How many centres.
    rounds : int
        Lloyd steps.
    internal_k : int
        Sub-clusters of a zone.
    sharpness : float
        What the exponential mechanism is given in every round.
    dampening : float
        What the Laplace noise at the end is given.
    empty_zone : {"whole zone", "stay"}
        What a centre does whose sampling zone has no rows in any direction: it takes any row of the
        convergent zone, or stays. No paper says, and the gain that is claimed hangs on it.
    """

    zones: Zones
    n_clusters: int
    rounds: int
    internal_k: int
    sharpness: float
    dampening: float
    empty_zone: EmptyZone = "whole zone"

    answers: ClassVar = NotPrivate

    def __post_init__(self) -> None:
        if self.n_clusters < 1 or self.rounds < 1 or self.internal_k < 1:
            raise InvalidInput(f"{self}: at least 1 of each is wanted")

    @property
    def n_visits(self) -> int:
        """Once in every round."""
        return self.rounds

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"{self.n_clusters} centres as published, zones by {self.zones}: no guarantee"

    def exact_run(self, rows: Array, rng: np.random.Generator) -> NotPrivate:
        """Run it on rows of shape (n, d)."""
        k = self.n_clusters
        if not len(rows):
            return NotPrivate(np.zeros((k, rows.shape[1])), np.zeros((self.rounds, k, rows.shape[1])))
        # Algorithm 1, line 1: the first centres are rows.
        centres = rows[rng.choice(len(rows), k, replace=len(rows) < k)]
        visited, found_empty = np.empty((self.rounds, k, rows.shape[1])), 0
        for t in range(self.rounds):
            labels = _nearest(rows, centres)
            for i in range(k):
                centres[i], was_empty = self._next(rows[labels == i], centres[i], rng)
                found_empty += was_empty
            visited[t] = centres
        # Line 12. The scale is not given: here the width of a column over the rows of the cluster.
        sizes = np.bincount(_nearest(rows, centres), minlength=k)
        scale = 2 / (self.dampening * np.maximum(sizes, 1))
        noisy = centres + rng.laplace(size=centres.shape) * scale[:, np.newaxis]
        return NotPrivate(np.clip(noisy, -1.0, 1.0), visited, found_empty / (self.rounds * k))

    def _next(self, cell: Array, centre: Array, rng: np.random.Generator) -> tuple[Array, bool]:
        """Return where a centre goes, and whether its sampling zone was empty."""
        if not len(cell):
            return centre, False
        mean = cell.mean(axis=0)
        # Definition 3: nearer to the mean than the centre is.
        radius = float(np.linalg.norm(centre - mean))
        zone = cell[np.linalg.norm(cell - mean, axis=1) < radius]
        if not len(zone):
            return centre, False
        by_turns = self.zones == "orientation"
        among = _turned(zone, mean, centre, radius, rng) if by_turns else self._sub_cluster(zone, rng)
        if empty := not len(among):
            if self.empty_zone == "stay":
                return centre, empty
            among = zone
        # Nor is the score given: here minus the distance from the mean, as a share of the domain's diameter.
        diameter = 2 * np.sqrt(cell.shape[1])
        scores = -np.linalg.norm(among - mean, axis=1) / diameter
        weights = np.exp(self.sharpness * (scores - scores.max()) / 2)
        return np.asarray(among[rng.choice(len(among), p=weights / weights.sum())]), empty

    def _sub_cluster(self, zone: Array, rng: np.random.Generator) -> Array:
        columns, ones = np.ascontiguousarray(zone.T), np.ones(len(zone))
        start = plus_plus(columns, ones, self.internal_k, rng)
        found = lloyd(columns, ones, start, max_iter=_INNER_ROUNDS, least_mass=0.0).centres
        labels = _nearest(zone, found)
        # Proportional to the exact sizes: that of a row drawn at random.
        return np.asarray(zone[labels == labels[rng.integers(len(zone))]])


def _turned(zone: Array, mean: Array, centre: Array, radius: float, rng: np.random.Generator) -> Array:
    for _ in range(_TURNS):
        turn = rng.normal(size=len(mean))
        turn *= np.where(turn @ (mean - centre) < 0, -1.0, 1.0) / np.linalg.norm(turn)
        near = zone[np.linalg.norm(zone - (mean + radius / 2 * turn), axis=1) < radius / 2]
        if len(near):
            return np.asarray(near)
    return zone[:0]


def _nearest(rows: Array, centres: Array) -> npt.NDArray[np.int64]:
    gaps = (centres**2).sum(axis=1) - 2 * rows @ centres.T
    return np.asarray(gaps.argmin(axis=1))
