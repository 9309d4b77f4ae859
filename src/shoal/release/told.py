"""Released groups as a person reads them: rounded to their errors, times as dates, rounds as hours."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from shoal._typing import Array
from shoal.domain import Domain
from shoal.domain.times import on_circle, written
from shoal.release.certificate import column_names

# Digits behind the point that are shown at most.
_FINEST = 8
_HOUR = 3600.0
# From so many seconds on, an error of a time is told in days, hours or minutes.
_SPANS = (
    (2 * 24 * _HOUR, 24 * _HOUR, "days"),
    (2 * _HOUR, _HOUR, "h"),
    (120.0, 60.0, "min"),
    (0.0, 1.0, "s"),
)


class Told(NamedTuple):
    """Groups in words: what the columns are called, and a line of cells for each group."""

    header: list[str]
    lines: list[list[str]]


def with_error(value: float, error: float, finest: int = _FINEST) -> str:
    """Write a number to as many digits as its error allows, with two digits of the error.

    Examples
    --------
    >>> with_error(12337.2, 432.7), with_error(40.712345, 0.00213), with_error(3.0, 0.0)
    ('12,340 ± 430', '40.7123 ± 0.0021', '3')
    >>> with_error(7.25, float("inf"))
    '7.25 ± ?'
    """
    plain = f"{value:,.0f}" if finest == 0 else f"{value:.6g}"
    if math.isinf(error):
        return f"{plain} ± ?"
    if not error > 0:  # none, or none that is stated
        return plain
    decimals = min(1 - math.floor(math.log10(error)), finest)
    shown = max(decimals, 0)
    return f"{round(value, decimals) + 0.0:,.{shown}f} ± {round(error, decimals):,.{shown}f}"


def size_with_error(size: float, error: float) -> str:
    """Write a noisy size: never below 0, and no part of a row.

    Examples
    --------
    >>> size_with_error(5052.3, 9.7), size_with_error(-3.0, 432.0)
    ('5,052 ± 10', '0 ± 430')
    """
    return with_error(max(size, 0.0), error, finest=0)


def told(
    domain: Domain,
    centres: Array,
    centre_sd: Array,
    sizes: Array,
    size_sd: float | Array,
    merged_into: Any = None,
) -> Told:
    """Return groups as they are shown to people.

    Parameters
    ----------
    domain : Domain
        The columns of the centres.
    centres, centre_sd : ndarray of shape (n_clusters, n_columns)
        In the table's own units, with standard deviations of their noise; infinite where not known, NaN
        where none is stated.
    sizes : ndarray of shape (n_clusters,)
        Noisy sizes.
    size_sd : float or ndarray of shape (n_clusters,)
        The standard deviation of a size, or of each.
    merged_into : ndarray of int, optional
        The first of the groups that each is one with.
    """
    columns = _columns(domain, centres, centre_sd)
    header = ["group", *columns, "size"]
    lines = []
    for i, size in enumerate(sizes):
        other = i if merged_into is None else int(merged_into[i])
        number = f"{i}" if other == i else f"{i} = {other}"
        error = float(np.broadcast_to(size_sd, len(sizes))[i])
        lines.append([number, *(cells[i] for cells in columns.values()), size_with_error(size, error)])
    return Told(header, lines)


def _columns(domain: Domain, centres: Array, errors: Array) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    names = column_names(domain)
    kinds = domain.schema.kinds if domain.schema is not None else ("number",) * len(names)
    rounds = [cycle for field in (domain.schema.fields if domain.schema else ()) for cycle in field.cycles]
    j = 0
    while j < len(names):
        if kinds[j] == "cycle":
            cycle = rounds.pop(0)
            where = on_circle(centres[:, j], centres[:, j + 1], cycle)
            length = {"day": 24.0, "week": 7.0, "year": 365.2425}.get(str(cycle)) or float(cycle)
            reach = np.hypot(centres[:, j], centres[:, j + 1])
            sd = np.hypot(errors[:, j], errors[:, j + 1]) / math.sqrt(2) / np.maximum(reach, 1e-9)
            off = np.minimum(sd / (2 * math.pi), 0.5) * length
            unit = {"day": ", hour", "week": ", days from Monday", "year": ", day"}.get(str(cycle), "")
            name = names[j].removesuffix(" cos")
            found[f"{name}{unit}"] = [with_error(*pair) for pair in zip(where, off, strict=True)]
            j += 2
            continue
        pairs = zip(centres[:, j], errors[:, j], strict=True)
        found[names[j]] = [_time(*pair) if kinds[j] == "time" else with_error(*pair) for pair in pairs]
        j += 1
    return found


def _time(value: float, error: float) -> str:
    if not math.isfinite(error):
        return f"{written(round(value))}{' ± ?' if math.isinf(error) else ''}"
    _, unit, word = next(span for span in _SPANS if error >= span[0])
    shown = written(round(value / 60) * 60)[:16] if unit < 24 * _HOUR else written(value)[:10]
    return f"{shown} ± {error / unit:.{0 if error >= 10 * unit else 1}f} {word}"
