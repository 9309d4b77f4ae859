"""How many cells were missing or clipped to the bounds, asked before an algorithm, for a share of its budget.

One histogram a column, of four sides: one row changes one count of each by one, so that columns add up and
share what is paid.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal.algorithms.shared.bounds import bounded, with_bounds
from shoal.algorithms.shared.clustering import Algorithm
from shoal.domain import Bounds, Domain
from shoal.domain.side import SIDES
from shoal.queries import Curator, NoisyCounts, Sides, Transcript
from shoal.queries.questions import Histogram

SHARE_FOR_CLIPPED = Fraction(1, 50)


@dataclass(frozen=True)
class WithClipped:
    """Count missing and clipped cells of every column, then run an algorithm on the rest of the budget.

    Bounds that are not known are estimated first: it is these that cells are then clipped to.

    Parameters
    ----------
    algorithm : Algorithm or MakesSynopsis
        What to run.
    """

    algorithm: Any

    def run(self, curator: Curator) -> Any:
        """Count, then run."""
        curator = bounded(curator)
        seen, columns = curator.sides(), counted_columns(curator.domain)
        for column in columns.values():
            seen.histogram(Sides(column), share=SHARE_FOR_CLIPPED / len(columns))
        return self.algorithm.run(curator.within(curator.domain.bounds, 1 - SHARE_FOR_CLIPPED))


def prepared(algorithm: Algorithm, bounds: Bounds, *, count_clipped: bool) -> Algorithm:
    """Return the algorithm, made to estimate bounds and to count clipped cells first where that is wanted."""
    return WithClipped(algorithm) if count_clipped else with_bounds(algorithm, bounds)


def counts_clipped(transcript: Transcript) -> bool:
    """Say whether clipped cells were counted in a run."""
    return bool(_answers(transcript))


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
