"""Public values as plain JSON and back, exactly; and their hash.

`plain` takes any public value. `from_plain` builds only what the wanted type says: a frozen value with
annotated fields, or a member of a union or of a registered protocol. Nothing else can come out of a file.
"""

from __future__ import annotations

import hashlib
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from shoal.errors import InvalidRelease
from shoal.queries.gate.not_for_release import NotForRelease
from shoal.queries.losses.cell_losses import CellLoss, OffsetCost
from shoal.queries.losses.cluster_cost import ClusterCost, Loss
from shoal.queries.losses.coordinate_mass import CoordinateMass
from shoal.queries.losses.good_radius import GoodRadius
from shoal.queries.losses.projected import ProjectedLoss
from shoal.queries.losses.swaps import SwapCost
from shoal.queries.losses.windows import BoxCount, WindowSize
from shoal.queries.partitions.cells import Grid, Keyed, Marginal, Partition, Voronoi
from shoal.queries.partitions.cubes import Cubes
from shoal.queries.partitions.hyperplanes import Hyperplanes
from shoal.queries.partitions.projections import Projected
from shoal.queries.partitions.region import Inside
from shoal.queries.partitions.sides import Sides
from shoal.queries.partitions.subcells import SubCells
from shoal.queries.partitions.trees import Tree
from shoal.queries.questions.base import WRITTEN_AS, Question
from shoal.queries.statistics.aggregates import Offset, RowStat, Value, WithCost
from shoal.queries.statistics.direction import Direction
from shoal.queries.statistics.picked import Picked
from shoal.queries.statistics.relative import Relative, Shells
from shoal.queries.statistics.second_moments import Outer, Squares

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

MEMBERS: dict[type, tuple[type, ...]] = {
    Partition: (
        Cubes,
        Grid,
        Hyperplanes,
        Inside,
        Marginal,
        Sides,
        Projected,
        Shells,
        SubCells,
        Tree,
        Voronoi,
    ),
    Keyed: (Cubes, Grid, Projected),
    RowStat: (Direction, Offset, Outer, Picked, Relative, Squares, Value, WithCost),
    Loss: (BoxCount, ClusterCost, GoodRadius, ProjectedLoss, SwapCost, WindowSize),
    CellLoss: (CoordinateMass, OffsetCost),
}
"""Which values may stand for a protocol. A new kind of partition, statistic or loss is one name here."""


@dataclass(frozen=True)
class Follows:
    """Says in an annotation that the type of a field is told by an attribute of an earlier one."""

    field: str
    attribute: str


# The name of a value's class in its plain form: a word that no field can be called.
TAG = "class"
# Arrays with more entries than this are stored beside the text, if there is a place for them.
_LARGE = 4096


def plain(value: Any, store: Arrays | None = None) -> Any:
    """Turn a public value into dictionaries, lists, numbers and strings.

    Parameters
    ----------
    value : object
        Frozen values, arrays, fractions, numbers, strings and containers of them.
    store : dict, optional
        Receives large arrays, and empty ones whose shape a list cannot tell; the text refers to them.

    Examples
    --------
    >>> from shoal.queries.partitions.cells import Grid
    >>> plain(Grid((2, 3)))
    {'class': 'Grid', 'shape': [2, 3]}
    >>> plain([Fraction(1, 3), float("inf")])
    ['1/3', 'inf']
    """
    if isinstance(value, NotForRelease):
        value.refuse()
    if is_dataclass(value) and not isinstance(value, type):
        content = {_name(f): plain(getattr(value, f.name), store) for f in written_fields(value)}
        return {TAG: stored_name(type(value)), **content}
    if isinstance(value, np.ndarray):
        if store is None or 0 < value.size <= _LARGE:
            return plain(value.tolist())
        name = f"array_{len(store)}"
        store[name] = value
        return {"stored": name}
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, dict):
        return {str(k): plain(v, store) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v, store) for v in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no word for it
    return value


def stored_name(kind: Any) -> str:
    """Return what a class is called in files: its name, or `stored_as` where it had another one once."""
    return str(getattr(kind, "stored_as", kind.__name__))


def from_plain(wanted: Any, value: Any, store: Mapping[str, npt.NDArray[Any]] | None = None) -> Any:
    """Turn the plain form of a public value back into it, or say why it cannot be.

    Parameters
    ----------
    wanted : type
        What it has to be: a frozen value's class, a union, a protocol in `MEMBERS`, or a simple type.
    value : object
        What :func:`plain` made of it.
    store : mapping, optional
        The arrays that were stored beside the text.

    Examples
    --------
    >>> from_plain(Partition, {"class": "Grid", "shape": [2, 3]})
    Grid(shape=(2, 3))
    >>> from_plain(Grid, {"class": "Exploit"})
    Traceback (most recent call last):
        ...
    shoal.errors.InvalidRelease: a Grid is wanted, got 'Exploit'
    """
    if wanted is Any:
        return value
    if wanted in MEMBERS:
        return _member(MEMBERS[wanted], value, store)
    if (get_origin(wanted) or wanted) is Question:
        return _member(tuple(Question.kinds.values()), value, store)
    if is_dataclass(wanted):
        return _frozen(wanted, value, store)
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        return _member(inner, value, store)
    if origin is Literal:
        return _checked(any(value == v and type(value) is type(v) for v in inner), value, value, wanted)
    if origin is npt.NDArray:  # since NumPy 2.5 an alias that stays one
        return _array(np.dtype(inner[0]), value, store)
    if origin is np.ndarray:
        return _array(np.dtype(get_args(inner[-1])[0]), value, store)
    if origin in (tuple, list) and (origin is list or inner[-1:] == (...,)):
        entries = _checked(isinstance(value, list), value, value, wanted)
        return origin(from_plain(inner[0], v, store) for v in entries)
    if origin is tuple:
        entries = _checked(isinstance(value, list) and len(value) == len(inner), value, value, wanted)
        return tuple(from_plain(kind, v, store) for kind, v in zip(inner, entries, strict=True))
    if origin is dict:
        entries = _checked(isinstance(value, dict), value, value, wanted)
        return {k: from_plain(inner[1], v, store) for k, v in entries.items()}
    if wanted in _SIMPLE:
        return _SIMPLE[wanted](value)
    raise InvalidRelease(f"there is no way back from plain text to a {wanted}; see shoal.queries.gate.codec")


def _frozen(wanted: Any, value: Any, store: Mapping[str, npt.NDArray[Any]] | None) -> Any:
    if not isinstance(value, dict) or value.get(TAG) != stored_name(wanted):
        raise InvalidRelease(f"a {wanted.__name__} is wanted, got {_brief(value)}")
    known = {_name(f): f for f in fields(wanted)}
    unknown = [name for name in value if name != TAG and name not in known]
    missing = [n for n, f in known.items() if n not in value and f.default is f.default_factory is MISSING]
    if unknown or missing:
        raise InvalidRelease(f"a {wanted.__name__} has no fields {unknown} and lacks fields {missing}")
    hints = _hints(wanted)
    content: dict[str, Any] = {}
    for name, known_field in known.items():
        if name in value:
            hint = hints[known_field.name]
            if get_origin(hint) is Annotated:
                follows = hint.__metadata__[0]
                hint = getattr(content[follows.field], follows.attribute)
            content[known_field.name] = from_plain(hint, value[name], store)
    return wanted(**content)


def _member(members: tuple[Any, ...], value: Any, store: Mapping[str, npt.NDArray[Any]] | None) -> Any:
    # Values say their class; the other members are told apart by trying them.
    if isinstance(value, dict) and TAG in value:
        for member in members:
            if is_dataclass(member) and stored_name(member) == value[TAG]:
                return _frozen(member, value, store)
    for member in members:
        if not is_dataclass(member):
            try:
                return from_plain(member, value, store)
            except InvalidRelease:
                continue
    names = " or ".join(getattr(member, "__name__", str(member)) for member in members)
    raise InvalidRelease(f"a {names} is wanted, got {_brief(value)}")


def _array(dtype: np.dtype[Any], value: Any, store: Mapping[str, npt.NDArray[Any]] | None) -> Any:
    if isinstance(value, dict):
        found = (store or {}).get(value.get("stored", ""))
        return _checked(found is not None and found.dtype == dtype, value, found, f"stored array of {dtype}")
    try:
        found = np.array(value)
    except ValueError:
        raise InvalidRelease(f"an array is wanted, got rows of different lengths: {_brief(value)}") from None
    return _checked(isinstance(value, list) and found.dtype.kind in "biuf", value, found, dtype).astype(dtype)


@cache
def _hints(wanted: type) -> dict[str, Any]:
    return get_type_hints(wanted, include_extras=True)


def written_fields(value: Any) -> list[Field[Any]]:
    """Return the fields of a value that go into files and hashes: none that came later and is not used."""
    return [f for f in fields(value) if not (f.metadata.get("added") and getattr(value, f.name) == f.default)]


def _name(field: Field[Any]) -> str:
    """Return what a field is called in files and hashes: they outlive the names of the code."""
    return str(field.metadata.get(WRITTEN_AS, field.name))


def _checked(fits: bool, value: Any, result: Any, wanted: Any) -> Any:
    if not fits:
        raise InvalidRelease(f"a {getattr(wanted, '__name__', wanted)} is wanted, got {_brief(value)}")
    return result


def _brief(value: Any) -> str:
    shown = repr(value[TAG] if isinstance(value, dict) and TAG in value else value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _float(value: Any) -> float:
    if value in ("inf", "-inf", "nan"):
        return float(value)
    # A whole number stays one: text tells 1 from 1.0, and so does the hash.
    result: float = _checked(_is_whole(value) or isinstance(value, float), value, value, float)
    return result


def _fraction(value: Any) -> Fraction:
    try:
        found = Fraction(value) if isinstance(value, str) else None
    except (ValueError, ZeroDivisionError):
        found = None
    # Only as it is written by `plain`, so that every value has one form.
    result: Fraction = _checked(str(found) == value, value, found, Fraction)
    return result


_SIMPLE: dict[Any, Callable[[Any], Any]] = {
    bool: lambda value: _checked(isinstance(value, bool), value, value, bool),
    int: lambda value: _checked(_is_whole(value), value, value, int),
    float: _float,
    str: lambda value: _checked(isinstance(value, str), value, value, str),
    Fraction: _fraction,
    type(None): lambda value: _checked(value is None, value, value, "null"),
}


def digest(value: Any) -> str:
    """Return the SHA-256 of a public value.

    Examples
    --------
    >>> digest({"a": Fraction(1, 2)}) == digest({"a": Fraction(2, 4)})
    True
    """
    state = hashlib.sha256()
    _feed(state, value)
    return state.hexdigest()


def _feed(state: Any, value: Any) -> None:
    # Arrays are hashed as bytes: writing them out as text first would cost more than the query.
    if isinstance(value, NotForRelease):
        value.refuse()
    if isinstance(value, np.ndarray):
        state.update(f"<{value.dtype.str}{value.shape}>".encode())
        state.update(np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value) and not isinstance(value, type):
        state.update(f"{stored_name(type(value))}(".encode())
        for f in written_fields(value):
            state.update(f"{_name(f)}=".encode())
            _feed(state, getattr(value, f.name))
        state.update(b")")
    elif isinstance(value, dict):
        for key in sorted(value):
            state.update(f"{key}:".encode())
            _feed(state, value[key])
    elif isinstance(value, list | tuple):
        state.update(b"[")
        for entry in value:
            _feed(state, entry)
            state.update(b",")
        state.update(b"]")
    else:
        # A number is itself, whether NumPy or Python holds it.
        value = value.item() if isinstance(value, np.generic) else value
        state.update(f"{type(value).__name__}:{value!r};".encode())
