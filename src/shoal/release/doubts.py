"""What released groups themselves give reason to doubt, read off released values alone: it costs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from shoal._typing import Array, Booleans, Integers
from shoal.domain import Domain
from shoal.errors import GroupsOfNoise, ShoalWarning, SuspectBounds
from shoal.release.certificate import column_names

# Standard deviations of its noise that a size has to stand out: Laplace noise alone does that once in 140
# times, normal noise once in 740.
_STANDS_OUT = 3.0
# From this share of all rows on, one group is almost all of them.
_ALMOST_ALL = 0.99
# A centre this near to a bound, in half widths, has almost all of its rows there or beyond.
_ON_BORDER = 0.005
# From this share of all rows on, it is a matter of the table, and not of one group: real columns have groups
# at their ends, such as people who never bought anything.
_MOST = 0.9
_NAMED = 5


class Doubt(NamedTuple):
    """A reason to doubt, as it is warned of."""

    category: type[ShoalWarning]
    text: str


def doubts(
    centres: Array, sizes: Array, size_sd: float, merged_into: Integers, domain: Domain
) -> tuple[Doubt, ...]:
    """Return what released groups give reason to doubt.

    Parameters
    ----------
    centres : ndarray of shape (n_clusters, n_columns)
        In the table's own units.
    sizes : ndarray of shape (n_clusters,)
        Noisy sizes.
    size_sd : float
        Standard deviation of the noise of a size.
    merged_into : ndarray of int, shape (n_clusters,)
        The first of the rows that each is one with: these are one group.
    domain : Domain
        Bounds and columns.

    Examples
    --------
    >>> from shoal.domain import Bounds
    >>> centres, sizes = np.array([[5.0], [2.0]]), np.array([1000.0, 3.0])
    >>> for doubt in doubts(centres, sizes, 2.0, np.arange(2), Domain(Bounds.parse((0, 10), 1))):
    ...     print(doubt.text)
    group 1 may hold no rows at all: its size is within 3 standard deviations of its noise (2) of 0
    almost all rows (100 %) are in group 0 of 2: check bounds and units, or ask for fewer groups
    """
    first, group, members = np.unique(merged_into, return_inverse=True, return_counts=True)
    totals = np.bincount(group, weights=sizes).astype(np.float64)
    empty = totals < _STANDS_OUT * size_sd * np.sqrt(members)
    return tuple(_found(centres[first], totals, size_sd, first, empty, domain))


def _found(
    centres: Array, totals: Array, size_sd: float, names: Integers, empty: Booleans, domain: Domain
) -> Iterator[Doubt]:
    if empty.any():
        size, their = ("its size is", "its") if empty.sum() == 1 else ("sizes are", "their")
        yield Doubt(
            GroupsOfNoise,
            f"{_listed('group', names[empty])} may hold no rows at all: {size} within {_STANDS_OUT:g} "
            f"standard deviations of {their} noise ({size_sd:.2g}) of 0",
        )
    held = np.maximum(totals, 0.0)
    shares = held / held.sum() if held.sum() > 0 else held
    largest = int(shares.argmax())
    if len(shares) > 1 and shares[largest] >= _ALMOST_ALL:
        yield Doubt(
            SuspectBounds,
            f"almost all rows ({100 * shares[largest]:.0f} %) are in group {names[largest]} of {len(shares)}:"
            " check bounds and units, or ask for fewer groups",
        )
    columns = _on_border(centres, np.where(empty, 0.0, shares), domain)
    if columns:
        yield Doubt(
            SuspectBounds,
            f"most rows are in groups whose centres lie on the bounds of {_listed('column', columns)}, as if "
            "rows lay beyond and were clipped: check units or the order of columns",
        )


def _on_border(centres: Array, shares: Array, domain: Domain) -> list[str]:
    half = domain.bounds.half_width
    where = (centres - domain.bounds.middle) / np.where(half > 0, half, 1.0)
    # Categories and truth values lie at their ends by nature.
    fields = domain.schema.fields if domain.schema is not None else ()
    kinds = [field.kind for field in fields for _ in field.names] or ["number"] * domain.n_columns
    most = np.max([(shares @ (side * where >= 1 - _ON_BORDER)) for side in (-1, 1)], axis=0)
    found = (most >= _MOST) & (half > 0) & (np.array(kinds) == "number")
    return [name for name, on in zip(column_names(domain), found, strict=True) if on]


def _listed(what: str, names: Integers | list[str]) -> str:
    shown = ", ".join(map(str, names[:_NAMED]))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{what}{'s' if len(names) > 1 else ''} {shown}{more}"
