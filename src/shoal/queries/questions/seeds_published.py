"""Nock, Canyasse, Boreli, Nielsen 2016, as published: k-variates++ on rows. **Not private**, to compare with.

What is wrong with it is told in docs/proofs/k_variates.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal._typing import Array
from shoal.errors import InvalidInput
from shoal.queries.questions.answers import NotPrivate
from shoal.queries.questions.unproven import Unproven


@dataclass(frozen=True)
class SeedsAsPublished(Unproven):
    """Ask for rows drawn by their squared distance to the draws before, each with Laplace noise.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    sharpness : float
        By how much noise hides which row a centre was drawn at: its scale is the width of the domain, all
        columns added up, over this.
    """

    n_clusters: int
    sharpness: float

    answers: ClassVar = NotPrivate

    def __post_init__(self) -> None:
        if self.n_clusters < 1 or not self.sharpness > 0:
            raise InvalidInput(f"{self}: at least 1 centre and a sharpness above 0 are wanted")

    @property
    def n_visits(self) -> int:
        """Once."""
        return 1

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"{self.n_clusters} seeds of k-variates++ as published: no guarantee"

    def exact_run(self, rows: Array, rng: np.random.Generator) -> NotPrivate:
        """Run it on rows of shape (n, d)."""
        k, d = self.n_clusters, rows.shape[1]
        if not len(rows):
            return NotPrivate(np.zeros((k, d)), np.zeros((1, k, d)))
        centres = np.empty((k, d))
        nearest = np.ones(len(rows))  # the first is any row
        for i in range(k):
            total = nearest.sum()
            at = rng.choice(len(rows), p=nearest / total) if total > 0 else rng.integers(len(rows))
            # The published draw may lie anywhere; here it is brought back into the public bounds.
            centres[i] = np.clip(rows[at] + rng.laplace(0.0, 2 * d / self.sharpness, d), -1.0, 1.0)
            apart = ((rows - centres[i]) ** 2).sum(axis=1)
            nearest = apart if i == 0 else np.minimum(nearest, apart)
        return NotPrivate(centres, centres[np.newaxis])
