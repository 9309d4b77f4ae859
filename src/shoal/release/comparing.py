"""Two releases side by side: which groups moved, came or went by more than noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from shoal._typing import Array, Booleans
from shoal.errors import InvalidInput
from shoal.postprocess.pairing import paired
from shoal.release.release import Release
from shoal.release.told import size_with_error, with_error

FALSE_ALARMS = 0.05
"""How often noise alone lets any group of a comparison seem to have changed, at most."""
# Standard deviations of its noise that a size has to stand out, or the group may be nobody (see `trust.py`).
_STANDS_OUT = 3.0

Fate = Literal["stayed", "moved", "came", "went", "not stable", "may be noise"]

NOTE = (
    "Changes are larger than the privacy noise of the last answers, for these groupings; they are of the "
    "rows that were in the tables, chance in who was in them included. Another fit of the same table may "
    "group rows otherwise and differ by more: look twice at groups that have close neighbours."
)
TOTAL_NOTE = (
    "Changes are larger than total errors: than other fits of the same tables would differ by. They are of "
    "the rows that were in the tables, chance in who was in them included. Of a group that is not stable, "
    "nothing can be told: another fit of the same table would draw it otherwise."
)
ADD_UP = "Where the same people are in both tables, what the two releases cost adds up."


@dataclass(frozen=True)
class Change:
    """What became of one group.

    Parameters
    ----------
    fate : {"stayed", "moved", "came", "went", "not stable", "may be noise"}
        Whether its centre is another one by more than noise, or it is in one of the releases alone. "May be
        noise": it is in one alone, and its size does not stand out of the noise. "Not stable": another fit
        of the same table would draw it otherwise, so that no change can be told.
    before, after : int, optional
        Its number in each release.
    shift, shift_sd : dict of str to float
        How far its centre is from where it was, by column, and the error of that: the total one where it is
        known of both, else the noise of the last answers.
    size, size_sd : float
        By how much it grew, and the error of that; its size, where it came or went.
    grew : bool
        Whether its size changed by more than noise.
    """

    fate: Fate
    before: int | None
    after: int | None
    shift: dict[str, float]
    shift_sd: dict[str, float]
    size: float
    size_sd: float
    grew: bool

    def describe(self) -> str:
        """Say it in a line."""
        if self.before is None or self.after is None:
            where = f"{self.after} of the second" if self.before is None else f"{self.before} of the first"
            says = {
                "came": "is new",
                "went": "is gone",
                "may be noise": "is in one alone, and may be noise",
                "not stable": "is in one alone, and not stable",
            }
            return f"group {where} {says[self.fate]}: {size_with_error(self.size, self.size_sd)} rows"
        size = f"size {_signed(self.size, self.size_sd, 0)}{'' if self.grew else ' (within noise)'}"
        moved = [f"{n} {_signed(d, self.shift_sd[n])}" for n, d in self.shift.items()]
        how = {"moved": f"moved: {', '.join(moved)}", "not stable": "is not stable"}.get(self.fate, "stayed")
        return f"group {self.before} (now {self.after}) {how}; {size}"


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found.

    Parameters
    ----------
    changes : tuple of Change
        One for each group of either release.
    notes : tuple of str
        What is to be kept in mind.
    """

    changes: tuple[Change, ...]
    notes: tuple[str, ...] = (NOTE, ADD_UP)

    @property
    def changed(self) -> bool:
        """Whether any group moved, came, went, grew or shrank by more than noise."""
        return any(c.fate in ("moved", "came", "went") or c.grew for c in self.changes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, numbers and strings, ready for JSON."""

        def number(value: float) -> float | None:
            return value if math.isfinite(value) else None

        return {
            "changed": self.changed,
            "changes": [
                {
                    "fate": c.fate,
                    "before": c.before,
                    "after": c.after,
                    "shift": {n: number(v) for n, v in c.shift.items()},
                    "shift_noise_sd": {n: number(v) for n, v in c.shift_sd.items()},
                    "size": c.size,
                    "size_noise_sd": number(c.size_sd),
                    "grew": c.grew,
                }
                for c in self.changes
            ],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        return "\n".join([*(change.describe() for change in self.changes), "", *self.notes])


def compare(first: Release, second: Release, *, total: bool = True) -> Comparison:
    """Say which groups moved, came or went between two releases by more than noise.

    Groups that noise could not tell apart count as one. Pairs are chosen so that centres are near each other
    on the whole; a pair that is further apart than half the way to the nearest other group of either release
    is none. Among all columns and sizes that are looked at, noise alone seems a change in at most one
    comparison of twenty.

    Parameters
    ----------
    first, second : Release
        Of the same columns.
    total : bool
        Whether to go by total errors, where they are known of both. It takes the time of some fits; without,
        changes are held against the noise of the last answers, and groups that another fit would draw
        otherwise seem to move.

    Examples
    --------
    >>> from shoal import DPLloyd
    >>> rng = np.random.default_rng(0)
    >>> def month(place):
    ...     X = np.concatenate([rng.normal(2, 0.2, (5000, 1)), rng.normal(place, 0.2, (5000, 1))])
    ...     return DPLloyd(2, epsilon=2.0, bounds=(0, 10)).fit(X).release_
    >>> found = compare(month(7), month(8))
    >>> sorted(change.fate for change in found.changes)
    ['moved', 'stayed']
    """
    names, order = first.names, _order(first, second)
    total = total and all(release.intervals(total=True).known for release in (first, second))
    one, other = _joined(first, slice(None), total), _joined(second, order, total)
    scale = first.domain.column_scale / np.where(
        first.domain.bounds.half_width > 0, first.domain.bounds.half_width, 1.0
    )
    pairs = _paired(one.centres * scale, other.centres * scale)
    n_looks = len(pairs) * (len(names) + 1)
    # Standard deviations that so many looks at Laplace noise pass that often: it has the heaviest tails of
    # all that is drawn here.
    beyond = math.log(max(n_looks, 1) / FALSE_ALARMS) / math.sqrt(2)
    changes = [_change(names, one, i, other, j, beyond) for i, j in pairs]
    changes += [_alone(one, i, "went") for i in range(len(one.sizes)) if i not in {i for i, _ in pairs}]
    changes += [_alone(other, j, "came") for j in range(len(other.sizes)) if j not in {j for _, j in pairs}]
    differ = "" if first.domain.bounds == second.domain.bounds else "The two tables have other bounds."
    note = TOTAL_NOTE if total else NOTE
    return Comparison(tuple(changes), tuple(text for text in (note, ADD_UP, differ) if text))


class _Groups(NamedTuple):
    """Groups, those that are one joined; their numbers are those of the first of them."""

    numbers: list[int]
    centres: Array
    centre_sd: Array
    sizes: Array
    size_sd: Array
    stable: Booleans


def _order(first: Release, second: Release) -> list[int]:
    if set(first.names) != set(second.names):
        raise InvalidInput(
            f"the releases are of other columns: {', '.join(first.names)} and {', '.join(second.names)}"
        )
    return [second.names.index(name) for name in first.names]


def _joined(release: Release, order: Any, total: bool) -> _Groups:
    numbers, group, members = np.unique(release.merged_into, return_inverse=True, return_counts=True)
    known = release.intervals(total=True) if total else None
    return _Groups(
        [int(number) for number in numbers],
        release.centres[numbers][:, order],
        (release.centre_sd if known is None else known.centre_sd)[numbers][:, order],
        np.bincount(group, weights=release.sizes).astype(np.float64),
        release.size_sd * np.sqrt(members) if known is None else known.size_sd[numbers],
        np.ones(len(numbers), dtype=bool) if known is None else known.stable[numbers],
    )


def _paired(one: Array, other: Array) -> list[tuple[int, int]]:
    apart = np.linalg.norm(one[:, np.newaxis] - other, axis=2)
    reach = np.minimum.outer(_half_way(one), _half_way(other))
    found = zip(*paired(np.minimum(apart, 1e6)), strict=True)
    return [(int(i), int(j)) for i, j in found if apart[i, j] <= reach[i, j]]


def _half_way(centres: Array) -> Array:
    """Return half the distance of each centre to the nearest other one; without any, to anywhere."""
    apart = np.linalg.norm(centres[:, np.newaxis] - centres, axis=2)
    np.fill_diagonal(apart, np.inf)
    return np.asarray(apart.min(axis=1) / 2)


def _change(names: tuple[str, ...], one: _Groups, i: int, other: _Groups, j: int, beyond: float) -> Change:
    shift = other.centres[j] - one.centres[i]
    shift_sd = np.hypot(one.centre_sd[i], other.centre_sd[j])
    grown, grown_sd = other.sizes[j] - one.sizes[i], math.hypot(one.size_sd[i], other.size_sd[j])
    moved = bool((np.abs(shift) > beyond * shift_sd).any())
    stable = bool(one.stable[i] and other.stable[j])
    return Change(
        "not stable" if not stable else "moved" if moved else "stayed",
        one.numbers[i],
        other.numbers[j],
        dict(zip(names, map(float, shift), strict=True)),
        dict(zip(names, map(float, shift_sd), strict=True)),
        float(grown),
        grown_sd,
        stable and bool(abs(grown) > beyond * grown_sd),
    )


def _alone(groups: _Groups, i: int, fate: Literal["came", "went"]) -> Change:
    size, sd = float(groups.sizes[i]), float(groups.size_sd[i])
    number = groups.numbers[i]
    before, after = (number, None) if fate == "went" else (None, number)
    told: Fate = fate if size > _STANDS_OUT * sd else "may be noise"
    told = told if groups.stable[i] else "not stable"
    return Change(told, before, after, {}, {}, size, sd, False)


def _signed(value: float, error: float, finest: int = 8) -> str:
    text = with_error(value, error, finest)
    return text if text.startswith("-") else f"+{text}"
