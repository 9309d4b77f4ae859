"""One goodness-of-fit test for every sampler.

Seeds are fixed, so that a test passes always or never; a p-value below 1e-5 would be a wrong law, as nobody
has searched for a seed that passes.
"""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats


def fit_p_value(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """P-value of chi-square, after joining the cells that expect under ten draws."""
    assert probabilities.min() >= 0
    assert probabilities.sum() == pytest.approx(1, abs=1e-9)
    expected = probabilities * counts.sum()
    rare = expected < 10
    if stats.poisson.sf(counts[rare].sum() - 1, expected[rare].sum()) < 1e-5:
        return 0.0
    # The joined cell is too small for chi-square if it still expects under ten: the line above has judged it.
    observed = np.append(counts[~rare], counts[rare].sum())[: None if expected[rare].sum() >= 10 else -1]
    expected = np.append(expected[~rare], expected[rare].sum())[: len(observed)]
    expected *= observed.sum() / expected.sum()
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(observed) - 1))


@pytest.fixture
def assert_law() -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """Check draws against values and their probabilities; other values have what is left of one."""

    def check(draws: np.ndarray, values: np.ndarray, probabilities: np.ndarray) -> None:
        place = np.clip(np.searchsorted(values, draws), 0, len(values) - 1)
        known = values[place] == draws
        counts = np.append(np.bincount(place[known], minlength=len(values)), np.count_nonzero(~known))
        left = max(0.0, 1.0 - probabilities.sum())
        assert fit_p_value(counts, np.append(probabilities, left)) > 1e-5

    return check


@pytest.fixture
def assert_counts() -> Callable[[np.ndarray, np.ndarray], None]:
    """Check counts of cells against the cells' probabilities."""

    def check(counts: np.ndarray, probabilities: np.ndarray) -> None:
        assert fit_p_value(counts, probabilities) > 1e-5

    return check


@pytest.fixture
def assert_same_law() -> Callable[[np.ndarray, np.ndarray], None]:
    """Check that two samples come from one law, by chi-square of homogeneity.

    For oracles that cannot be seeded: the level of 1e-9 makes a false alarm a once in a lifetime affair.
    """

    def check(one: np.ndarray, other: np.ndarray) -> None:
        values, place = np.unique(np.concatenate([one, other]), return_inverse=True)
        table = np.stack(
            [
                np.bincount(place[: len(one)], minlength=len(values)),
                np.bincount(place[len(one) :], minlength=len(values)),
            ]
        )
        rare = table.sum(axis=0) < 20
        table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
        table = table[:, table.sum(axis=0) > 0]
        assert stats.chi2_contingency(table).pvalue > 1e-9

    return check
