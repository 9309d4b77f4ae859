"""Parallel composition: what one person or row can lose where fits were made of disjoint parts of a table.

The rules and why they hold are in docs/proofs/parts_of_a_table.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

from shoal.accounting.lanes import Losses

Place: TypeAlias = tuple[str, str | None]
"""A part: its column, and its level; None for rows of no declared level."""
PartLosses: TypeAlias = Mapping[str, Mapping[str | None, Losses]]
"""The losses of fits of parts, by column and level."""


def parts_hit(neighbours: str, column: str | None, per_person: int | None) -> int | None:
    """Return in how many parts of one partition two neighbouring tables can differ; None for all of them.

    Parameters
    ----------
    neighbours : {"add-remove", "replace"}
        Whether a unit is added or removed, or replaced: a removal and an addition, which may be elsewhere.
    column : str or None
        The column that names the person; None where a unit is a row, which is in one part.
    per_person : int or None
        The most parts of a person that the gate reads.

    Examples
    --------
    >>> parts_hit("add-remove", None, None), parts_hit("replace", None, None)
    (1, 2)
    >>> parts_hit("add-remove", "who", None), parts_hit("replace", "who", 3)
    (None, 6)
    """
    own = 1 if column is None else per_person
    return None if own is None else own * (2 if neighbours == "replace" else 1)


def worst(whole: Losses, parts: PartLosses, most: int | None, through: Place | None = None) -> Losses:
    """Return the most that one unit can lose: by fits of the whole, and of the worst parts of each column.

    Parameters
    ----------
    whole : Losses
        Of fits of all rows.
    parts : mapping of str to mapping of str to Losses
        Of fits of parts, by column and level.
    most : int or None
        In how many parts of a column a unit can be; None for all.
    through : (str, str or None), optional
        Only of units that are in this part.

    Returns
    -------
    Losses
        Of which epsilon, rho and the sum of squares and rho are each the most over all units: so it fits a
        lane if and only if the losses of every unit do.

    Examples
    --------
    >>> one, three = (Losses.of("epsilon", Fraction(n)) for n in (1, 3))
    >>> north_and_south = {"region": {"north": one, "south": three}}
    >>> [float(worst(one, north_and_south, most).epsilon) for most in (1, 2, None)]
    [4.0, 5.0, 5.0]
    >>> float(worst(one, north_and_south, 1, through=("region", "north")).epsilon)
    2.0
    """

    def total(value: Callable[[Losses], Fraction]) -> Fraction:
        found = value(whole)
        for column, levels in parts.items():
            rest, forced = dict(levels), []
            if through is not None and through[0] == column:
                forced = [value(rest.pop(through[1], Losses()))]
            others = sorted(map(value, rest.values()), reverse=True)
            room = None if most is None else most - len(forced)
            found += sum(forced + others[:room], Fraction(0))
        return found

    rho, both = total(lambda loss: loss.rho), total(lambda loss: loss.squares + loss.rho)
    return Losses(total(lambda loss: loss.epsilon), both - rho, rho)
