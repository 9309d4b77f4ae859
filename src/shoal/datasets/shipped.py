"""The four small tables that scikit-learn ships, with bounds stated in the open."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from shoal.datasets.dataset import Dataset, box

_ROUNDED = (
    "rounded outwards from the minimum and maximum in scikit-learn's published description: "
    "that is from the rows, NOT public"
)
_UCI = "UCI Machine Learning Repository, by way of scikit-learn"

_MEANS = [30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1]
_ERRORS = [3, 5, 25, 600, 0.04, 0.2, 0.4, 0.06, 0.1, 0.03]
_WORST = [40, 50, 260, 4500, 0.25, 1.1, 1.3, 0.3, 0.7, 0.25]

# name: title, k, lower, upper, bounds source, source
_SETS: dict[str, tuple[str, int, Any, Any, str, str]] = {
    "iris": (
        "Iris flowers",
        3,
        0,
        [8, 5, 7, 3],
        _ROUNDED,
        f"R. A. Fisher 1936; {_UCI}",
    ),
    "wine": (
        "Wine recognition",
        3,
        [11, 0, 1, 10, 70, 0, 0, 0, 0, 1, 0, 1, 250],
        [15, 6, 4, 30, 170, 4, 6, 1, 4, 13, 2, 4, 1700],
        _ROUNDED,
        f"M. Forina et al. 1988; {_UCI}",
    ),
    "breast_cancer": (
        "Breast cancer Wisconsin (diagnostic)",
        2,
        0,
        _MEANS + _ERRORS + _WORST,
        _ROUNDED,
        f"W. H. Wolberg, W. N. Street, O. L. Mangasarian 1995; {_UCI}",
    ),
    "digits": (
        "Handwritten digits, 8 x 8",
        10,
        0,
        16,
        "documented: each cell counts up to 16 pixels",
        f"E. Alpaydin, C. Kaynak 1998; {_UCI}",
    ),
}


def _load(name: str) -> Dataset:
    from sklearn import datasets as sklearn_datasets

    title, k, lower, upper, bounds_source, source = _SETS[name]
    bunch = getattr(sklearn_datasets, f"load_{name}")()
    X = np.array(bunch.data, dtype=np.float64)
    return Dataset(
        name=name,
        title=title,
        X=X,
        names=tuple(map(str, bunch.feature_names)),
        bounds=box(lower, upper, X.shape[1]),
        bounds_source=bounds_source,
        k=k,
        source=source,
        licence="CC BY 4.0 (UCI)",
        labels=np.array(bunch.target),
    )


SHIPPED: dict[str, Callable[[], Dataset]] = {name: partial(_load, name) for name in _SETS}
