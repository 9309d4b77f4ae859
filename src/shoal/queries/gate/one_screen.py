"""K-means on the real rows, without privacy, as a value that is not for release."""

from __future__ import annotations

from functools import partial

import numpy as np

from shoal._typing import Array
from shoal.domain import Chunk, Domain
from shoal.postprocess.weighted_kmeans import weighted_kmeans
from shoal.queries.gate.not_for_release import NotForRelease
from shoal.queries.questions.base import Source

# Rows of a chunk that starts are tried on, and of all of them: enough to find where groups are.
_OF_CHUNK, _OF_ALL = 4096, 20_000
# Starts on these rows, and passes over all rows from the best.
_STARTS, _PASSES = 10, 5
# Rows whose distances are in memory at a time.
_BLOCK = 8192


def groups_for_one_screen(source: Source, domain: Domain, n_clusters: int) -> NotForRelease:
    """Run k-means on the real rows, without privacy, for the data holder's own screen.

    Groups are looked for on some rows of every chunk; then a few passes over all rows move them. A table in a
    file is streamed.

    Parameters
    ----------
    source : Source
        The rows.
    domain : Domain
        Their columns and bounds.
    n_clusters : int
        How many.
    """
    some = source.reduce(_thinned, lambda a, b: np.concatenate([a, b], axis=1))
    rows = some[:, :: max(1, some.shape[1] // _OF_ALL)].T
    if not rows.size:
        return NotForRelease(domain.decode(np.zeros((0, domain.n_columns))), np.zeros(0))
    found = weighted_kmeans(rows, np.ones(len(rows)), n_clusters, np.random.default_rng(0), n_starts=_STARTS)
    exact_centres = found.centres
    for _ in range(_PASSES):
        sums = source.reduce(partial(_sums, exact_centres), lambda a, b: a + b)
        counts = sums[:, -1:]
        exact_centres = np.where(counts > 0, sums[:, :-1] / np.maximum(counts, 1.0), exact_centres)
    return NotForRelease(domain.decode(exact_centres), counts[:, 0])


def _thinned(chunk: Chunk) -> Array:
    return np.asarray(chunk.columns)[:, :: max(1, chunk.n_rows // _OF_CHUNK)].astype(np.float64)


def _sums(centres: Array, chunk: Chunk) -> Array:
    """Return the sums of the rows nearest to each centre, and how many they are."""
    total = np.zeros((len(centres), centres.shape[1] + 1))
    columns = np.asarray(chunk.columns)
    for start in range(0, chunk.n_rows, _BLOCK):
        rows = columns[:, start : start + _BLOCK].astype(np.float64).T
        nearest = ((centres**2).sum(axis=1) - 2 * rows @ centres.T).argmin(axis=1)
        for j in range(rows.shape[1]):
            total[:, j] += np.bincount(nearest, weights=rows[:, j], minlength=len(centres))
        total[:, -1] += np.bincount(nearest, minlength=len(centres))
    return total
