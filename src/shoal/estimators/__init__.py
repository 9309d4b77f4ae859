"""The scikit-learn face of the algorithms."""

from shoal.estimators.lloyd import DPLloyd

__all__ = ["DPLloyd"]
