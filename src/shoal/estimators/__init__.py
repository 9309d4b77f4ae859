"""The scikit-learn face of the algorithms."""

from shoal.estimators.bounds import PrivateBounds
from shoal.estimators.lloyd import DPLloyd

__all__ = ["DPLloyd", "PrivateBounds"]
