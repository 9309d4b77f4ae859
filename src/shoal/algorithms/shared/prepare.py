"""What comes before any algorithm, for shares of its budget: unknown bounds, and how many cells were clipped.

Clipped cells are counted by one histogram a column, of four sides: one row changes one count of each by one,
so that columns add up and share what is paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import takewhile
from typing import Protocol, TypeVar

from shoal.algorithms.shared.bounds import MOST_FOR_BOUNDS, SHARE_FOR_BOUNDS, bounds_for
from shoal.domain import Domain
from shoal.domain.side import SIDES
from shoal.queries import Curator, Grid, Marginal, NoisyCounts, Sides, Transcript
from shoal.queries.questions import Histogram

SHARE_FOR_CLIPPED = Fraction(1, 50)
# Of a zone's budget, where groups are shared out by how many rows zones have; as for rows elsewhere.
SHARE_FOR_ZONE = Fraction(1, 50)

Found = TypeVar("Found", covariant=True)


class Runs(Protocol[Found]):
    """Whatever asks a curator: an algorithm, what makes a synopsis, a step of a pipeline."""

    def run(self, curator: Curator) -> Found:
        """Ask the curator, and return what was found."""
        ...


class FindsBounds:
    """What finds bounds itself, with all of its budget: it is run on columns that have none."""


def run_prepared(
    algorithm: Runs[Found], curator: Curator, *, count_clipped: bool = False, count_zone: bool = False
) -> Found:
    """Run an algorithm on a curator that knows all bounds.

    Parameters
    ----------
    algorithm : Runs
        What to run.
    curator : Curator
        Answers with noise.
    count_clipped : bool
        Whether missing and clipped cells are counted first, at 2 % of the budget.
    count_zone : bool
        Whether the rows of the zone were counted before, at 2 % of the budget: of a run that is replayed.
    """
    if count_zone:
        curator = counted_zone(curator)[0]
    if isinstance(algorithm, FindsBounds):
        return algorithm.run(curator)
    curator = bounded(curator)
    if count_clipped:  # by the bounds that were found, where they were not known
        seen, columns = curator.sides(), counted_columns(curator.domain)
        for column in columns.values():
            seen.histogram(Sides(column), share=SHARE_FOR_CLIPPED / len(columns))
        curator = curator.within(curator.domain.bounds, 1 - SHARE_FOR_CLIPPED)
    return algorithm.run(curator)


def counted_zone(curator: Curator) -> tuple[Curator, float]:
    """Count the rows of a zone, and return a curator with what is left of its budget, and the noisy count.

    Parameters
    ----------
    curator : Curator
        Answers from the rows of one zone; its bounds are known.
    """
    found = curator.histogram(Grid.whole(curator.domain.n_columns), share=SHARE_FOR_ZONE)
    left = curator.within(curator.domain.bounds, 1 - SHARE_FOR_ZONE)
    return left, float(found.counts[0])


def shared_out(n_clusters: int, rows: Sequence[float]) -> list[int]:
    """Share groups out over zones: one each, and every further one to where most rows are for each group.

    Parameters
    ----------
    n_clusters : int
        How many in all; no fewer than there are zones.
    rows : sequence of float
        Noisy counts of the zones' rows; what noise has made less than one counts as one.

    Examples
    --------
    >>> shared_out(8, [1000.0, -20.0, 5200.0])
    [1, 1, 6]
    """
    shares, most = [1] * len(rows), [max(float(n), 1.0) for n in rows]
    for _ in range(n_clusters - len(rows)):
        each = [n / k for n, k in zip(most, shares, strict=True)]
        shares[each.index(max(each))] += 1
    return shares


def bounded(curator: Curator) -> Curator:
    """Return a curator that knows all bounds: the same, or one within bounds that were paid for.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    """
    if not curator.domain.bounds.unknown:
        return curator
    bounds, spent = bounds_for(curator, SHARE_FOR_BOUNDS, MOST_FOR_BOUNDS)
    return curator.within(bounds, 1 - spent)


def counts_clipped(transcript: Transcript) -> bool:
    """Say whether clipped cells were counted in a run."""
    return bool(_answers(transcript))


def portion_left(transcript: Transcript) -> Fraction:
    """Return the part of the budget that an algorithm had, after what came before it."""
    left = 1 - _spent_on_bounds(transcript)
    return left * (1 - SHARE_FOR_CLIPPED) if counts_clipped(transcript) else left


def _spent_on_bounds(transcript: Transcript) -> Fraction:
    """Return what was paid for bounds: all questions about intervals of a column, before any other."""
    asked = (entry.question for entry in transcript.entries if transcript.domain.bounds.unknown)
    about = takewhile(lambda q: isinstance(q, Histogram) and isinstance(q.partition, Marginal), asked)
    return sum((q.share for q in about if isinstance(q, Histogram)), Fraction(0))


def _answers(transcript: Transcript) -> dict[int, NoisyCounts]:
    asked = ((entry.question, entry.answer) for entry in transcript.entries)
    counted = ((q.partition, answer) for q, answer in asked if isinstance(q, Histogram))
    return {sides.column: answer for sides, answer in counted if isinstance(sides, Sides)}


def counted_columns(domain: Domain) -> dict[str, int]:
    """Return the columns of the table as it is, each with the first of those it became.

    Examples
    --------
    >>> from shoal.domain import Bounds, Schema
    >>> schema = Schema.of({"age": "number", "colour": "text"}, levels={"colour": ["red", "green"]})
    >>> counted_columns(Domain(schema.bounds((0, 100)), names=schema.names, schema=schema))
    {'age': 0, 'colour': 1}
    """
    if domain.schema is None:
        return {name: j for j, name in enumerate(domain.names or map("x{}".format, range(domain.n_columns)))}
    found, at = {}, 0
    for field in domain.schema.fields:
        found[field.name] = at
        at += len(field.names)
    return found


def clipped_shares(transcript: Transcript, domain: Domain) -> dict[str, dict[str, float]]:
    """Return the shares of cells that were missing, below and above their bounds; empty if nobody asked.

    Parameters
    ----------
    transcript : Transcript
        What was asked and answered.
    domain : Domain
        Names of the columns.
    """
    answers = _answers(transcript)
    found = {}
    for name, column in counted_columns(domain).items():
        if column in answers:
            counts, sd = answers[column].counts, answers[column].sd
            rows = max(float(counts.sum()), sd)
            shares = {p: min(max(float(n) / rows, 0.0), 1.0) for p, n in zip(SIDES, counts, strict=True)}
            found[name] = {**{p: shares[p] for p in SIDES if p != "within"}, "noise_sd": sd / rows}
    return found
