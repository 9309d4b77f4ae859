"""The error of noisy centres, measured against the rows and predicted by Su et al., section 6.

These are exact facts about rows: for benchmarks, not for release.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.algorithms.shared.su_error import grid_bias, grid_variance, lloyd_error
from shoal.queries import Grid, NoisyCounts, SparseCounts
from shoal.queries.gate.answering import Entry
from shoal.queries.questions import Histogram, Hold, Sums, WithoutNearest
from shoal.release import CoresetRelease

Points: TypeAlias = npt.NDArray[np.floating[Any]]


def centre_error(model: Any, scaled: Points) -> dict[str, float]:
    """Compare a model's centres with the exact means of their cells: of its last round, or of its grid."""
    asked = list(model.release_.transcript) if hasattr(model, "release_") else []
    if any(isinstance(entry.question, Hold) for entry in asked):
        return {}  # its rounds are not asked of all rows
    if rounds := [entry for entry in asked if isinstance(entry.question, Sums)]:
        return round_error(model, scaled, rounds[-1])
    # The first histogram counts all rows.
    grids = [e for e in asked if isinstance(e.question, Histogram) and isinstance(e.question.partition, Grid)]
    return grid_error(model, scaled, grids[-1]) if grids else {}


def round_error(model: Any, scaled: Points, entry: Entry) -> dict[str, float]:
    """Compare the last round's centres with the exact means of its cells.

    `predicted` is equation (7) or (13), or (6) for other noise; `predicted_sizes` is the same with each
    cell's exact size and place where the paper takes them all alike. `balanced_error` is there only for runs
    that meet its assumption: every cell has at least half its equal share of rows. Centres that were kept for
    want of rows are left out, as in the paper.
    """
    answer: Any = entry.answer
    question: Any = entry.question
    start = question.partition.centres
    labels = _nearest(scaled, start)
    k, d = start.shape
    counts, sums = _totals(labels, scaled, k)
    centres = _scaled_centres(model)
    moved = (counts > 0) & (np.abs(centres - start).max(axis=1) > 0)
    if not moved.any():
        return {}
    means = sums[moved] / counts[moved, np.newaxis]
    variance = answer.sum_sd**2 + (means * answer.count_sd) ** 2
    error = float(((centres[moved] - means) ** 2).sum(axis=1).mean())
    balanced = {"balanced_error": error} if _balanced(counts, len(scaled)) else {}
    return balanced | {
        "centre_error": error,
        "predicted": lloyd_error(len(scaled), d, k, answer.sum_sd**2, answer.count_sd**2),
        "predicted_sizes": float((variance.sum(axis=1) / counts[moved] ** 2).mean()),
        "moved": float(moved.mean()),
    }


def grid_error(model: Any, scaled: Points, entry: Entry) -> dict[str, float]:
    """Compare centres found on a grid with the exact means of the rows in the cells nearest to them.

    `predicted` is equation (9), what the noise adds, and `bound` adds (10), the grain of the grid;
    `predicted_sizes` is (9) with each group's own cells and size. `noise_error` leaves the grain out: it is
    the distance to what the same cells would give without noise. `balanced_noise` is that for runs in which
    every group has at least half its equal share of rows. Centres of fewer rows than noise are left out.
    """
    question: Any = entry.question
    grid, answer = question.partition, entry.answer
    if not (isinstance(grid, Grid) and isinstance(answer, NoisyCounts)):
        return {}
    centres, places = _scaled_centres(model), grid.centres()
    k, d = centres.shape
    group = _nearest(places, centres)
    sizes = np.bincount(group, minlength=k)
    cell_of_row = grid.keys(np.ascontiguousarray(scaled.T, dtype=np.float32))
    weights = np.bincount(cell_of_row, minlength=grid.n_cells).astype(np.float64)
    counts, sums = _totals(group[cell_of_row], scaled, k)
    known = counts > 2 * answer.sd * np.sqrt(sizes)
    if not known.any():
        return {}
    on_grid = np.stack([np.bincount(group, weights * column, k) for column in places.T], axis=1)
    rows = counts[known, np.newaxis]
    error, noise = (
        float(((centres[known] - exact[known] / rows) ** 2).sum(axis=1).mean()) for exact in (sums, on_grid)
    )
    spread = np.bincount(group, ((places - centres[group]) ** 2).sum(axis=1), k)[known]
    # The paper's noise has variance 2 / epsilon^2; that of integers is far below it where epsilon is large.
    epsilon = math.sqrt(2) / answer.sd
    predicted = grid_variance(len(scaled), d, k, epsilon, grid.n_cells)
    balanced = {"balanced_noise": noise} if _balanced(counts, len(scaled)) else {}
    return balanced | {
        "centre_error": error,
        "noise_error": noise,
        "predicted": predicted,
        "predicted_sizes": float((answer.sd**2 * spread / counts[known] ** 2).mean()),
        "bound": predicted + grid_bias(d, grid.n_cells),
        "moved": float(known.mean()),
    }


def _nearest(points: Points, centres: Points) -> npt.NDArray[np.int64]:
    # |x - c|^2 without |x|^2, which is the same for all centres.
    return np.asarray(((centres**2).sum(axis=1) - 2 * points @ centres.T).argmin(axis=1))


def _totals(labels: npt.NDArray[np.int64], rows: Points, k: int) -> tuple[Points, Points]:
    counts = np.bincount(labels, minlength=k).astype(np.float64)
    return counts, np.stack([np.bincount(labels, column, k) for column in rows.T], axis=1)


def _scaled_centres(model: Any) -> Points:
    bounds = model.release_.domain.bounds
    half = bounds.half_width
    return np.asarray((model.cluster_centers_ - bounds.middle) / np.where(half > 0, half, 1.0))


def _balanced(counts: Points, n: int) -> bool:
    return bool(counts.min() >= 0.5 * n / len(counts))


def held_points(model: Any) -> dict[str, float]:
    """Return how many weighted points the groups rest on, and which share of the weights is negative.

    The points of a coreset, or the counted cells of a grid; nothing for any other model.
    """
    if isinstance(getattr(model, "coreset_", None), CoresetRelease):
        weights = model.coreset_.weights
        return {"points": float(len(weights)), "negative": float((weights < 0).mean())}
    entries = model.release_.transcript.entries
    taken = sum(isinstance(entry.question, WithoutNearest) for entry in entries)
    if taken:
        return {"points": float(taken), "negative": 0.0}
    counted = [e.answer.counts for e in entries if isinstance(e.answer, NoisyCounts | SparseCounts)]
    cells = [counts for counts in counted if len(counts) > 1]
    return {"points": float(len(cells[-1])), "negative": float((cells[-1] < 0).mean())} if cells else {}
