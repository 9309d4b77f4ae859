"""Exact values for the data holder's own screen, which nothing that leaves the building accepts."""

from __future__ import annotations

from typing import Any, NoReturn

from shoal._typing import Array
from shoal.errors import InvalidInput

_WHY = (
    "this was computed from real rows without noise and is not for release: it is for the curator's own "
    "screen, and cannot be saved, copied, pickled, written as JSON or handed on"
)


class NotForRelease:
    """Centres without privacy, and how many rows each has: for one pair of eyes.

    It is no array, no sequence and no mapping; it has no length, no items and no text; it cannot be pickled,
    copied, written as JSON or stored beside answers. The one way to its numbers says where they are going.

    Parameters
    ----------
    exact_centres : ndarray of shape (n_clusters, n_columns)
        In the table's own units.
    exact_sizes : ndarray of shape (n_clusters,)
        Rows of each.

    Examples
    --------
    >>> import numpy as np
    >>> red = NotForRelease(np.array([[1.0, 2.0]]), np.array([7.0]))
    >>> red
    <not for release>
    >>> red.on_the_curators_screen()
    {'centres': [[1.0, 2.0]], 'sizes': [7.0]}
    """

    __slots__ = ("__exact",)

    def __init__(self, exact_centres: Array, exact_sizes: Array) -> None:
        self.__exact = (exact_centres, exact_sizes)

    def on_the_curators_screen(self) -> dict[str, list[Any]]:
        """Return the numbers, to be drawn where the curator looks, and nowhere else."""
        centres, sizes = self.__exact
        return {"centres": centres.tolist(), "sizes": sizes.tolist()}

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        """Say why it is not handed on."""
        raise InvalidInput(_WHY)

    # NumPy, pickle, copy, frames and formats ask for these.
    __array__ = __reduce_ex__ = __reduce__ = __getstate__ = __copy__ = __deepcopy__ = refuse
    __iter__ = __len__ = __getitem__ = __float__ = __int__ = __bytes__ = refuse
    __arrow_c_array__ = __arrow_c_stream__ = __dataframe__ = to_dict = refuse

    def __repr__(self) -> str:
        return "<not for release>"

    __str__ = __repr__

    def __format__(self, _: str) -> str:
        return repr(self)
