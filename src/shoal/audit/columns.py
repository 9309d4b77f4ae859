"""From what was seen of two tables' runs to columns: coordinates, sorted ones, lowest bits, learned ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shoal._typing import Array
from shoal.audit.observations import Part
from shoal.audit.runs import Runs

# Shoal's lattice; see shoal.domain.lattice.
GRID_BITS = 20
# The learned direction looks at no more columns than this.
MOST_LEARNED = 100


@dataclass(frozen=True, eq=False)
class Column:
    """One statistic of every run on both tables.

    Parameters
    ----------
    name : str
        What it is, in words.
    here, there : ndarray of shape (runs,)
        Its values on the one table and on the other; NaN where a run does not have it.
    is_text : bool
        Whether values are codes of texts, which can be equal but not larger.
    from_run : int
        The first run that may be used: earlier ones taught the column what to look for.
    """

    name: str
    here: Array
    there: Array
    is_text: bool = False
    from_run: int = 0

    @property
    def varies(self) -> bool:
        """Whether some run differs from another."""
        first = self.here[0]
        both = (self.here, self.there)
        if np.isnan(first):
            return not all(np.isnan(side).all() for side in both)
        return not all((side == first).all() for side in both)


def columns_of(here: Runs, there: Runs, learn_from: int) -> list[Column]:
    """Return every column in which some runs differ; `learn_from` first runs may teach a direction."""
    found: list[Column] = [_layouts(here, there)]
    left, right = here.arrays(), there.arrays()
    for part in dict.fromkeys([*left, *right]):
        one, other = (side.get(part, _absent(part, runs)) for side, runs in ((left, here), (right, there)))
        found += _coordinates(part, one, other)
    found = _different([column for column in found if column.varies])
    seen = [column for column in found if not column.is_text]
    found += [column for column in _lowest_bits(seen) if column.varies]
    if seen and learn_from > 1:
        found.append(_direction(seen, learn_from))
    return found


def _absent(part: Part, runs: Runs) -> Array:
    return np.full((runs.n, *part.shape), np.nan)


def _layouts(here: Runs, there: Runs) -> Column:
    # Shapes, lengths, missing attributes and exceptions all change the layout.
    codes: dict[object, int] = {}
    sides = []
    for runs in (here, there):
        side = np.empty(runs.n)
        for layout, places in runs.layout_codes().items():
            side[places] = codes.setdefault(layout, len(codes))
        sides.append(side)
    return Column("shape of the output", sides[0], sides[1], is_text=True)


def _coordinates(part: Part, here: Array, there: Array) -> Iterator[Column]:
    for index in np.ndindex(*part.shape):
        name = part.path + (f"[{', '.join(map(str, index))}]" if index else "")
        yield Column(name, here[:, *index], there[:, *index], part.is_text)
    if part.shape and part.shape[0] > 1:
        # The order of clusters may be random: the smallest, the next, ... and the total do not depend on it.
        one, other = np.sort(here, axis=1), np.sort(there, axis=1)
        for index in np.ndindex(*part.shape):
            name = f"{part.path}[{', '.join(map(str, index))}] in order of size"
            yield Column(name, one[:, *index], other[:, *index])
        for index in np.ndindex(*part.shape[1:]):
            name = f"sum of {part.path}[{', '.join([':', *map(str, index)])}]"
            yield Column(name, here.sum(axis=1)[:, *index], there.sum(axis=1)[:, *index])


def _different(columns: list[Column]) -> list[Column]:
    # A release says the same number in several places; one is enough.
    kept: dict[bytes, Column] = {}
    for column in columns:
        kept.setdefault(column.here.tobytes() + column.there.tobytes(), column)
    return list(kept.values())


def lowest_bit(values: Array) -> Array:
    """Return the exponent of the lowest bit that is set: 3 for 8.0, -1 for 2.5; NaN for 0 and NaN.

    Noise made of floating-point numbers has a grain that depends on what it was added to.

    Examples
    --------
    >>> lowest_bit(np.array([8.0, 2.5, 1 + 2**-52, 0.0]))
    array([  3.,  -1., -52.,  nan])
    """
    mantissa, exponent = np.frexp(np.where(np.isfinite(values) & (values != 0), values, 0.0))
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest = np.log2((whole & -whole).astype(np.float64), where=whole != 0, out=np.full(values.shape, np.nan))
    return lowest + exponent - 53


def _lowest_bits(columns: list[Column]) -> Iterator[Column]:
    if not columns:
        return
    plain = [c for c in columns if not c.name.endswith("in order of size")]
    bits = [(c.name, lowest_bit(c.here), lowest_bit(c.there)) for c in plain]
    for name, here, there in bits:
        yield Column(f"lowest bit of {name}", here, there)
    here, there = (np.stack([b[side] for b in bits]) for side in (1, 2))
    # A zero is on every grid.
    yield Column("finest bit of all numbers", *(np.nan_to_num(s, nan=0.0).min(axis=0) for s in (here, there)))
    yield Column(
        f"share of numbers that are multiples of 2^-{GRID_BITS}",
        *(1.0 - (s < -GRID_BITS).mean(axis=0) for s in (here, there)),
    )


def _direction(columns: list[Column], n: int) -> Column:
    """Return the projection of all columns on the direction that best separates the first `n` runs.

    Fisher's discriminant: the log likelihood ratio, if the columns were normal.
    """
    here, there = (np.stack([getattr(c, side) for c in columns], axis=1) for side in ("here", "there"))
    taught = np.concatenate([here[:n], there[:n]])
    taught[np.isinf(taught)] = np.nan
    kept = np.isfinite(taught).mean(axis=0) > 0.5
    if not kept.any():
        return Column("learned direction", here[:, 0], there[:, 0], from_run=n)
    here, there, taught = here[:, kept], there[:, kept], taught[:, kept]
    # Heavy tails and missing values would spoil the means: clip, and put what is missing in the middle.
    low, middle, high = np.nanquantile(taught, [0.02, 0.5, 0.98], axis=0)
    here, there = (np.clip(np.where(np.isnan(s), middle, s), low, high) for s in (here, there))
    spread = np.concatenate([here[:n], there[:n]]).std(axis=0)
    here, there = ((s - middle) / np.where(spread > 0, spread, 1.0) for s in (here, there))
    apart = there[:n].mean(axis=0) - here[:n].mean(axis=0)
    best = np.argsort(-np.abs(apart))[:MOST_LEARNED]
    here, there, apart = here[:, best], there[:, best], apart[best]
    within = np.concatenate([s[:n] - s[:n].mean(axis=0) for s in (here, there)])
    scatter = within.T @ within / len(within) + 1e-2 * np.eye(len(best))
    weights = np.linalg.solve(scatter, apart)
    return Column("learned direction of all numbers", here @ weights, there @ weights, from_run=n)
