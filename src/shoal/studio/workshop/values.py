"""Plain values that a studio hands out: all frozen, all ready for JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from shoal.studio.workshop.levels import Level

Numbers = tuple[float, ...]
MOST_POINTS = 2000
"""Points of one layer that a browser is sent: more can neither be told apart nor drawn at once."""
CORESET_SHARE = 0.5
"""Of the price, where a coreset goes with the centres: it finds groups too, so neither is worth more."""


class Plain:
    """What can be written as JSON and read again."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, lists, numbers and strings, ready for JSON."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True)
class Source(Plain):
    """Where a table is.

    Parameters
    ----------
    kind : {"path", "upload", "demo", "public"}
        A file of the machine, one that was sent, the made-up city, or a public table to rehearse on.
    path : str
        The file.
    name : str
        What it is called on a page: never more of the path than its last part.
    """

    kind: str
    path: str
    name: str


@dataclass(frozen=True)
class ColumnInfo(Plain):
    """A column, as the file's own schema tells it; no cell was read.

    Parameters
    ----------
    name : str
        Its name.
    type : str
        "number", "boolean", "time", "text" or, in a file of text, "untyped".
    axis : str or None
        "longitude" or "latitude", where the name says so.
    """

    name: str
    type: str
    axis: str | None = None


@dataclass(frozen=True)
class Price(Plain):
    """What something costs, and what remains.

    Parameters
    ----------
    epsilon : float
        The price; 0 where it was paid before.
    left, after : float
        What may still be spent before and after it, in the ledger's own terms.
    total : float
        What the ledger laid down.
    enough : bool
        Whether it can be had.
    paid : bool
        Whether it was paid for before.
    sentence : str
        The same in words.
    risk : str
        What all releases so far and this one together let somebody learn.
    """

    epsilon: float
    left: float
    after: float
    total: float
    enough: bool
    paid: bool
    sentence: str
    risk: str


@dataclass(frozen=True)
class Points(Plain):
    """Weighted points of a layer: at most `MOST_POINTS`.

    Parameters
    ----------
    at : tuple of tuple of float
        A place for each, in the table's own units, a number per column.
    weights : tuple of float
        How many rows each stands for.
    of : int
        How many there were before they were joined for the screen.
    """

    at: tuple[Numbers, ...] = ()
    weights: Numbers = ()
    of: int = 0

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        return cls(tuple(map(tuple, plain["at"])), tuple(plain["weights"]), plain["of"])


@dataclass(frozen=True)
class LevelView(Plain):
    """What a release at one level would look like: computed on made-up rows, so free to look at.

    Parameters
    ----------
    level : Level
        Which.
    names : tuple of str
        The columns of places.
    centres : tuple of tuple of float
        Private centres, in the table's own units.
    sizes : tuple of float
        Their noisy sizes, for a table of about as many rows as the real one has.
    centre_errors : tuple of tuple of float or None
        How far each centre may be off, column by column (95 %): total errors where they are known, else the
        noise alone; None where nothing is known.
    size_errors : tuple of float
        How far each size may be off (95 %).
    errors_are : str
        What these errors count.
    points : Points
        Released counts at this level, as points: the black layer.
    coreset : Points
        A private coreset at this level, where one can be had.
    excess, worst_excess : float or None
        Cost beyond that of k-means without privacy on the same made-up rows, as a share:
        of the middle and of the worst run.
    predicted : str
        The same in words.
    rows : int
        Made-up rows it was computed on.
    doubt : str
        Why the prediction says little, where it does.
    """

    level: Level
    names: tuple[str, ...]
    centres: tuple[Numbers, ...]
    sizes: Numbers
    centre_errors: tuple[tuple[float | None, ...], ...]
    size_errors: tuple[float | None, ...]
    errors_are: str
    points: Points
    coreset: Points
    excess: float | None
    worst_excess: float | None
    predicted: str
    rows: int
    doubt: str = ""

    @property
    def coreset_size(self) -> int:
        """How many points the coreset has."""
        return len(self.coreset.weights)

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, lists, numbers and strings, ready for JSON."""
        # Not `asdict`, which copies every number one by one: the slider waits for this.
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            **own,
            "level": self.level.to_dict(),
            "points": vars(self.points),
            "coreset": vars(self.coreset),
            "coreset_size": self.coreset_size,
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> LevelView:
        """Read what `to_dict` wrote."""
        given = {name: value for name, value in plain.items() if name != "coreset_size"}
        for name in ("centres", "centre_errors"):
            given[name] = tuple(map(tuple, given[name]))
        for name in ("names", "sizes", "size_errors"):
            given[name] = tuple(given[name])
        given["level"] = Level(**given["level"])
        given["points"], given["coreset"] = (Points.from_dict(given[name]) for name in ("points", "coreset"))
        return cls(**given)
