"""How rows become numbers and how far apart they are, in words: what a certificate says of the domain."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.domain.domain import Domain
from shoal.domain.earth import earth_error, earth_pairs
from shoal.domain.fields import Field
from shoal.domain.times import written
from shoal.domain.zones import InZone

# Columns that are named one by one.
_SHOWN = 5


def how_measured(domain: Domain) -> tuple[str, ...]:
    """Say where missing cells go, what distance is, and which columns are encoded in another way.

    Parameters
    ----------
    domain : Domain
        The table as the centres know it.

    Examples
    --------
    >>> from shoal.domain import Bounds, Schema
    >>> schema = Schema.of({"age": "number", "hour": "number"}, cyclic={"hour": 24}, indicators=["age"])
    >>> weights = schema.column_weights({"age": 2})
    >>> for line in how_measured(Domain(schema.bounds((0, 99)), schema=schema, column_weights=weights)):
    ...     print(line)
    missing cells go to the middle of their bounds, and another column says so for age
    distance is measured after every column was scaled to its bounds
    a difference in age counts 2 times
    hour goes round every 24, as a cosine and a sine
    """
    return tuple(_sentences(domain))


def _sentences(domain: Domain) -> Iterator[str]:
    fields = domain.schema.fields if domain.schema is not None else ()
    told = [field.name for field in fields if field.indicator]
    says = f", and another column says so for {_listed(told)}" if told else ""
    drop = domain.missing == "drop"
    yield (
        "rows with a missing cell are left out"
        if drop
        else f"missing cells go to the middle of their bounds{says}"
    )
    yield f"distance is measured {_distance(domain)}"
    if domain.schema is not None and isinstance(domain.schema.part, InZone):
        yield f"only rows of zone {domain.schema.part.name!r} were read"
    if domain.column_weights is not None and domain.schema is not None:
        place = 0
        for field in fields:
            weight, place = domain.column_weights[place], place + len(field.names)
            if weight == 0:
                yield f"{field.name} is told of groups, and does not decide them"
            elif weight != 1:
                yield f"a difference in {field.name} counts {weight:g} times"
    place = 0
    for field in fields:
        if field.cycles:
            yield f"{field.name} goes round every {_rounds(field)}, as a cosine and a sine"
        elif field.kind == "time":
            low, high = (written(ends[place]) for ends in (domain.bounds.lower, domain.bounds.upper))
            clock = "in seconds since 1970 on the clock of its own zone"
            yield f"{field.name} is a time from {low} to {high}, {clock}"
        place += len(field.names)


def _distance(domain: Domain) -> str:
    if domain.scaling == "none":
        return "in the table's own units"
    if domain.scaling == "bounds":
        return "after every column was scaled to its bounds"
    others = 2 * len(earth_pairs(domain.names)) < domain.n_columns
    rest = "; other columns were scaled to their bounds" if others else ", in kilometres"
    if domain.bounds.unknown:
        return f"on the ground between longitudes and latitudes{rest}"
    latitude = domain.bounds.middle[earth_pairs(domain.names)[0][1]]
    off = 100 * earth_error(domain.names, domain.bounds)
    return (
        f"on the ground between longitudes and latitudes{rest}; a degree of longitude is as long as at "
        f"latitude {latitude:.4g}, which is off by at most {off:.2g} % at the bounds"
    )


def _rounds(field: Field) -> str:
    return " and every ".join(one if isinstance(one, str) else f"{one:g}" for one in field.cycles)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
