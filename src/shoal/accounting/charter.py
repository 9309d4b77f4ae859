"""What was laid down when a data set was put into a ledger: it does not change from then on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from shoal.accounting.budget import ZCDP, Approx, Pure, budget_of, exact
from shoal.accounting.lanes import Lane, lanes_of
from shoal.accounting.parts import Place, parts_hit
from shoal.accounting.windows import check_renewal
from shoal.errors import InvalidBudget


@dataclass(frozen=True)
class Charter:
    """One data set: its total, whom it protects, which parts it has, and whether it renews.

    Parameters
    ----------
    id : str
        Drawn at random; a data set of the same name in another ledger has another.
    budget : Pure, Approx or ZCDP
        The total, of each window if it renews.
    pure : Fraction
        The part of epsilon that is kept for pure fits beside others.
    neighbours : {"add-remove", "replace"}
        What two tables that must look alike differ in.
    column : str, optional
        The column that names the person; None where a row is protected.
    partitions : dict of str to tuple of str
        Public columns with public levels. Rows of no declared level are a part too.
    parts_per_person : int, optional
        The most parts of each column that the gate reads of a person.
    parts_key : int
        Decides which parts these are; drawn once, so that all fits read the same ones.
    renewal : {"yearly", "quarterly", "monthly"}, optional
        When the budget is there anew.
    decided_by : str, optional
        Who has decided that it renews.

    Examples
    --------
    >>> charter = Charter.lay_down("1f", epsilon=4, delta=1e-6, unit="user_id")
    >>> Charter.from_plain(charter.to_plain()) == charter
    True
    """

    id: str
    budget: Pure | Approx | ZCDP
    pure: Fraction = Fraction(0)
    neighbours: str = "add-remove"
    column: str | None = None
    partitions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    parts_per_person: int | None = None
    parts_key: int = 0
    renewal: str | None = None
    decided_by: str | None = None

    @classmethod
    def lay_down(
        cls,
        id: str,
        *,
        epsilon: Any = None,
        delta: Any = 0.0,
        rho: Any = None,
        pure: Any = 0.0,
        unit: str | None = None,
        neighbours: str = "add-remove",
        parts: Mapping[str, Iterable[str | int]] | None = None,
        parts_per_person: int | None = None,
        parts_key: int = 0,
        renewal: str | None = None,
        decided_by: str | None = None,
    ) -> Charter:
        """Check what is asked for, and write it as a charter."""
        if rho is not None and epsilon is not None:
            raise InvalidBudget("both epsilon and rho are given; a budget has one of them")
        budget = ZCDP(exact(rho, "rho")) if rho is not None else budget_of(epsilon, delta)
        if neighbours not in ("add-remove", "replace"):
            raise InvalidBudget(f"neighbours is {neighbours!r}; it must be 'add-remove' or 'replace'")
        if unit is not None and (not isinstance(unit, str) or not unit):
            raise InvalidBudget(f"unit is {unit!r}; it must be the name of the column of people, or None")
        check_renewal(renewal, decided_by)
        found = cls(
            id,
            budget,
            exact(pure, "pure"),
            neighbours,
            unit,
            _check_parts(parts, unit),
            parts_per_person,
            parts_key,
            renewal,
            decided_by,
        )
        _check_per_person(found)
        found.lanes  # noqa: B018 - says what is wrong with `pure`
        return found

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """In which ways losses may add up."""
        return lanes_of(self.budget, self.pure)

    @property
    def parts_hit(self) -> int | None:
        """In how many parts of one column neighbouring tables can differ; None for all."""
        return parts_hit(self.neighbours, self.column, self.parts_per_person)

    def place(self, part: Mapping[str, Any] | None) -> Place | None:
        """Read a part that is asked for, or say which there are.

        Parameters
        ----------
        part : mapping of str to str, optional
            One column and its level; None for the level of rows that have none of those declared.
        """
        if part is None:
            return None
        if not isinstance(part, Mapping) or len(part) != 1:
            raise InvalidBudget(
                f"part is {part!r}; give one column and its level, as in {{'region': 'north'}}"
            )
        ((column, level),) = part.items()
        level = None if level is None else str(level)
        if column not in self.partitions:
            there = ", ".join(map(repr, self.partitions)) or "none: they are declared when it is created"
            raise InvalidBudget(f"part is of column {column!r}; the data set's partition columns are {there}")
        if level is not None and level not in self.partitions[column]:
            there = ", ".join(map(repr, self.partitions[column]))
            raise InvalidBudget(
                f"part is {column!r} = {level!r}; its levels are {there}, and None for rows of no such level"
            )
        return column, level

    def describe_parts(self) -> str:
        """Say how losses of parts add up, and for whom."""
        who = "one row" if self.column is None else "one person"
        if not self.partitions:
            return "losses of all fits add up"
        hit = self.parts_hit
        if hit is None:
            return (
                "losses of all parts add up: one person may be in all of them, and the gate does not limit "
                "them to some"
            )
        how = "replaced" if self.neighbours == "replace" else "added or removed"
        of = "the worst part" if hit == 1 else f"the {hit} worst parts"
        limit = ""
        if self.column is not None:
            q = "1 part" if self.parts_per_person == 1 else f"{self.parts_per_person} parts"
            limit = f", as the gate reads at most {q} of a person, by their own rows"
        columns = ", ".join(map(repr, self.partitions))
        return (
            f"losses of fits of the whole add up, with those of {of} of each partition column ({columns}): "
            f"{who} {how} is in no more{limit}"
        )

    def to_plain(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {
            "id": self.id,
            "budget": plain_budget(self.budget),
            "pure": str(self.pure),
            "neighbours": self.neighbours,
            "unit": self.column,
            "parts": {name: list(levels) for name, levels in self.partitions.items()},
            "parts_per_person": self.parts_per_person,
            "parts_key": str(self.parts_key),
            "renewal": self.renewal,
            "decided_by": self.decided_by,
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Charter:
        """Read what :meth:`to_plain` wrote."""
        return cls(
            values["id"],
            read_budget(values["budget"]),
            Fraction(values["pure"]),
            values["neighbours"],
            values["unit"],
            {name: tuple(levels) for name, levels in values["parts"].items()},
            values["parts_per_person"],
            int(values["parts_key"]),
            values["renewal"],
            values["decided_by"],
        )


def plain_budget(budget: Pure | Approx | ZCDP) -> dict[str, str]:
    """Return a budget as plain JSON, exactly.

    Examples
    --------
    >>> plain_budget(Pure(Fraction(1, 3)))
    {'epsilon': '1/3'}
    """
    if isinstance(budget, ZCDP):
        return {"rho": str(budget.rho)}
    if isinstance(budget, Approx):
        return {"epsilon": str(budget.epsilon), "delta": str(budget.delta)}
    return {"epsilon": str(budget.epsilon)}


def read_budget(values: Mapping[str, str]) -> Pure | Approx | ZCDP:
    """Read what :func:`plain_budget` wrote."""
    if "rho" in values:
        return ZCDP(Fraction(values["rho"]))
    epsilon, delta = Fraction(values["epsilon"]), Fraction(values.get("delta", "0"))
    return Approx(epsilon, delta) if delta else Pure(epsilon)


def _check_parts(parts: Any, unit: str | None) -> dict[str, tuple[str, ...]]:
    how = "give a mapping {column name: [level, ...]} of public levels"
    if parts is None:
        return {}
    if not isinstance(parts, Mapping):
        raise InvalidBudget(f"parts is {parts!r}; {how}")
    found = {}
    for column, levels in parts.items():
        if isinstance(levels, str) or not isinstance(levels, Iterable):
            raise InvalidBudget(f"parts of column {column!r} are {levels!r}; {how}")
        every = tuple(str(level) for level in levels)
        if not every or len(set(every)) < len(every):
            raise InvalidBudget(f"parts of column {column!r} are {every}: {how}, each once")
        if column == unit:
            raise InvalidBudget(f"column {column!r} names the person; it cannot be a partition column too")
        found[str(column)] = every
    return found


def _check_per_person(charter: Charter) -> None:
    q = charter.parts_per_person
    if q is None:
        return
    if isinstance(q, bool) or not isinstance(q, int) or q < 1:
        raise InvalidBudget(f"parts_per_person is {q!r}; it must be a whole number of at least 1")
    if charter.column is None or not charter.partitions:
        raise InvalidBudget(
            "parts_per_person is for a data set with unit= and parts=: a row is in one part of each column"
        )
