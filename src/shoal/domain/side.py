"""Where cells lie against their bounds: missing, below, within or above. To count those that are clipped."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from shoal.domain.domain import Domain
from shoal.domain.lattice import STEPS, as_doubles

SIDES = ("missing", "below", "within", "above")
"""Every cell is in one of them."""


def encode_side(
    values: npt.NDArray[np.generic], lower: float, upper: float, out: npt.NDArray[np.float32]
) -> None:
    """Put each cell in the middle of its side's share of [-1, 1].

    A cell is beyond a bound by more than a step of the lattice, which rounding alone may move it.

    Parameters
    ----------
    values : ndarray
        The column, any real type. NaN and infinite cells are missing.
    lower, upper : float
        Public bounds.
    out : ndarray of float32
        Receives -3/4, -1/4, 1/4 or 3/4.

    Examples
    --------
    >>> out = np.empty(4, dtype=np.float32)
    >>> encode_side(np.array([np.nan, -1.0, 10.0, 11.0]), 0.0, 10.0, out)
    >>> [SIDES[int(2 * (side + 1))] for side in out]
    ['missing', 'below', 'within', 'above']
    """
    cells = as_doubles(values)
    step = (upper / 2 - lower / 2) / STEPS
    side = np.where(cells < lower - step, 1, np.where(cells > upper + step, 3, 2))
    side[~np.isfinite(cells)] = 0
    out[:] = side / 2 - 0.75


@dataclass(frozen=True)
class Sided(Domain):
    """A domain in which rows say only on which side of the bounds their cells lie; none is dropped."""

    @classmethod
    def of(cls, domain: Domain) -> Sided:
        """Return the same domain, for its sides."""
        return cls(**{field.name: getattr(domain, field.name) for field in fields(domain)})

    def _encode_column(
        self, j: int, values: npt.NDArray[np.generic], out: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.bool_]:
        encode_side(values, self.bounds.lower[j], self.bounds.upper[j], out)
        return np.zeros(len(values), dtype=np.bool_)
