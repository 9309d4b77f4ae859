"""What estimators have of scikit-learn: base classes and checks, or nothing where nobody would use them.

From Python an estimator is cloned, chained, tagged and printed as scikit-learn's are. `shoal fit` makes one,
fits it and is over, and scikit-learn's base alone takes longer to load than a small fit takes to run: it
loads `scipy.stats`, and pandas where there is one. So the command line does without (`shoal._face`). What a
fit does is the same: nothing of scikit-learn is asked on the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal import _face
from shoal.sources import OpenTable

if TYPE_CHECKING or _face.wanted:
    from sklearn.base import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        OneToOneFeatureMixin,
        TransformerMixin,
    )
else:

    class BaseEstimator:
        """Makes a model that can be fitted, and no more."""

    class ClusterMixin:
        """Makes no difference."""

    class TransformerMixin:
        """Makes no difference."""

    class ClassNamePrefixFeaturesOutMixin:
        """Makes no difference."""

    class OneToOneFeatureMixin:
        """Makes no difference."""


__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClusterMixin",
    "OneToOneFeatureMixin",
    "TransformerMixin",
    "check_is_fitted",
    "clone",
    "columns_seen",
    "seed_of",
]


def columns_seen(model: Any, table: OpenTable, *, first: bool) -> None:
    """Have a model note the columns of a table, or hold them against those that it was fitted on.

    Parameters
    ----------
    model : estimator
        Who sees it.
    table : OpenTable
        What it sees: its columns, and no row.
    first : bool
        Whether it is being fitted.
    """
    if _face.wanted:
        from sklearn.utils.validation import validate_data

        validate_data(model, table.blank(), skip_check_array=True, reset=first)


def check_is_fitted(model: Any, attributes: str | None = None, **how: Any) -> None:
    """Raise scikit-learn's error for a model that was not fitted."""
    from sklearn.utils import validation

    validation.check_is_fitted(model, attributes, **how)


def clone(model: Any) -> Any:
    """Return an estimator with the same parameters that was not fitted."""
    from sklearn import base

    return base.clone(model)


def seed_of(random_state: Any) -> int:
    """Return a seed from all that scikit-learn takes for one."""
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))
