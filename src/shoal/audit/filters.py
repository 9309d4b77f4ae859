"""Filtered histograms: every cell must be kept, and counted, as if noise had been added to all of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats

from shoal._typing import Array, Integers
from shoal.audit.laws import LEVEL, Check, LawAudit
from shoal.mechanisms import Entropy, SystemEntropy, laplace_log_pmf
from shoal.queries.questions.occupied import Occupied, draw

Filter: TypeAlias = Callable[[Occupied, int, Fraction, int, Entropy], tuple[Integers, Integers]]

# A few cells, two of them occupied, with a threshold that either may miss.
N_CELLS = 6
OCCUPIED = Occupied(np.array([1, 4]), np.array([1, 3]))
# Outcomes of which fewer are expected are joined.
_RARE = 10


def audit_filter(
    rate: Fraction,
    threshold: int = 2,
    sampler: Filter = draw,
    *,
    draws: int = 3000,
    entropy: Entropy | None = None,
    level: float = LEVEL,
) -> LawAudit:
    """Filter a tiny histogram many times and test every cell by chi-square against its exact law.

    Parameters
    ----------
    rate : Fraction
        Of the discrete Laplace noise: what one row more or less costs.
    threshold : int
        The least noisy count that is kept.
    sampler : callable, optional
        ``sampler(occupied, n_cells, rate, threshold, entropy)``; the gate's own if not given.
    draws, entropy, level
        As for :func:`shoal.audit.audit_law`.

    Examples
    --------
    >>> from shoal.mechanisms import SeededEntropy
    >>> print(audit_filter(Fraction(1), entropy=SeededEntropy(0)))
    fits: filtered histogram, charged 1 epsilon, measured ... 3000 draws)
    """
    source = entropy or SystemEntropy()
    # One line per draw, one column per cell; below the threshold for a cell that was dropped.
    values = np.full((draws, N_CELLS), threshold - 1, dtype=np.int64)
    in_order = True
    for i in range(draws):
        cells, counts = sampler(OCCUPIED, N_CELLS, rate, threshold, source)
        in_order &= bool((np.diff(cells) > 0).all())
        values[i, cells] = counts
    exact = np.zeros(N_CELLS, dtype=np.int64)
    exact[OCCUPIED.cells] = OCCUPIED.counts
    laws = [_fit(values[:, cell], int(exact[cell]), rate, threshold) for cell in range(N_CELLS)]
    odd = int(np.argmin(laws))
    checks = (
        Check("is sorted by cell", float(in_order)),
        Check(f"law of cell {odd}", min(1.0, N_CELLS * laws[odd])),
        Check("independence of cells", _independence(values >= threshold)),
    )
    empty = np.delete(values, OCCUPIED.cells, axis=1)
    excess = empty[empty >= threshold] - threshold
    # A geometric excess of mean m has the rate ln(1 + 1/m).
    measured = math.log1p(1 / excess.mean()) if excess.any() else math.inf
    return LawAudit("filtered histogram", measured, float(rate), "epsilon", draws, checks, level)


def _fit(values: Integers, exact: int, rate: Fraction, threshold: int) -> float:
    far = threshold + exact + math.ceil(40 / float(rate))
    noise = np.arange(-far, far + 1)
    chance = np.exp(laplace_log_pmf(noise, rate))
    outcome = np.maximum(exact + noise, threshold - 1)
    top = int(max(outcome.max(), values.max()))
    expected = np.bincount(outcome, chance / chance.sum(), top + 1) * len(values)
    observed = np.bincount(values, minlength=top + 1).astype(np.float64)
    common = expected >= _RARE
    rest = expected[~common].sum()
    # What cannot happen and did is no chance at all.
    if rest < 1e-6 and observed[~common].any():
        return 0.0
    seen = np.append(observed[common], observed[~common].sum())
    wanted = np.append(expected[common], max(rest, 1e-6))
    return float(stats.chi2.sf(((seen - wanted) ** 2 / wanted).sum(), max(1, len(wanted) - 1)))


def _independence(kept: npt.NDArray[np.bool_]) -> float:
    flags: Array = kept - kept.mean(axis=0)
    spread = np.maximum(flags.std(axis=0), 1e-12)
    pairs = list(itertools.combinations(range(kept.shape[1]), 2))
    worst = max(abs(float((flags[:, i] * flags[:, j]).mean() / (spread[i] * spread[j]))) for i, j in pairs)
    return min(1.0, len(pairs) * 2 * float(stats.norm.sf(worst * math.sqrt(len(kept)))))
