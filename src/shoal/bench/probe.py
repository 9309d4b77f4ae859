"""The error of a noisy Lloyd round, measured against the rows and predicted by Su et al., equation (7)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.algorithms.analysis import lloyd_error
from shoal.queries.questions import Sums


def centre_error(model: Any, scaled: npt.NDArray[np.floating[Any]]) -> dict[str, float]:
    """Compare the last round's centres with the exact means of its cells.

    `predicted` is equation (7), or (6) for other noise; `predicted_sizes` is the same with each cell's exact
    size and place where the paper takes them all alike. `balanced_error` is there only for runs that meet
    its assumption: every cell has at least half its equal share of rows. Centres that were kept for want of
    rows are left out, as in the paper. These are exact facts about rows: for benchmarks, not for release.
    """
    asked = [entry for entry in model.release_.transcript if isinstance(entry.question, Sums)]
    if not asked:
        return {}
    domain, answer = model.release_.transcript.domain, asked[-1].answer
    start = asked[-1].question.partition.centres
    gaps = (start**2).sum(axis=1) - 2 * scaled @ start.T
    labels = gaps.argmin(axis=1)
    k, d = start.shape
    counts = np.bincount(labels, minlength=k).astype(np.float64)
    sums = np.stack([np.bincount(labels, weights=column, minlength=k) for column in scaled.T], axis=1)
    half = domain.bounds.half_width
    centres = (model.cluster_centers_ - domain.bounds.middle) / np.where(half > 0, half, 1.0)
    moved = (counts > 0) & (np.abs(centres - start).max(axis=1) > 0)
    if not moved.any():
        return {}
    means = sums[moved] / counts[moved, np.newaxis]
    variance = answer.sum_sd**2 + (means * answer.count_sd) ** 2
    error = float(((centres[moved] - means) ** 2).sum(axis=1).mean())
    balanced = {"balanced_error": error} if counts.min() >= 0.5 * len(scaled) / k else {}
    return balanced | {
        "centre_error": error,
        "predicted": lloyd_error(len(scaled), d, k, answer.sum_sd**2, answer.count_sd**2),
        "predicted_sizes": float((variance.sum(axis=1) / counts[moved] ** 2).mean()),
        "moved": float(moved.mean()),
    }
