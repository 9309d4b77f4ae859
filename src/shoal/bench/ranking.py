"""Who is best where, said honestly: where a peer beats ours, and where the default is not the best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import numpy as np

from shoal.algorithms import REGISTRY
from shoal.bench.document import Table
from shoal.bench.looks import number
from shoal.bench.results import Results

DEFAULT = REGISTRY["auto"].estimator
Winner: TypeAlias = Literal["default", "another", "peer"]


def glance(results: Results) -> Iterator[str]:
    """Yield a line for each epsilon: the methods in order of their typical ratio."""
    labels = results.distinct("method")
    for x in sorted(results.distinct("x")):
        here = results.where(x=x)
        means = [
            [here.where(series=series, method=label).mean("ratio") for label in labels]
            for series in here.distinct("series")
        ]
        # Only tables that all were run on: a method that gives up on the hard ones must not gain by it.
        common = np.log([row for row in means if all(map(math.isfinite, row))]).reshape(-1, len(labels))
        if len(common):
            scores = sorted(zip(np.exp(common.mean(axis=0)), labels, strict=True))
            told = ", ".join(f"{label} {score:.2f}" for score, label in scores)
            yield f"**epsilon = {number(x)}**, mean ratio over the {len(common)} tables all ran on: {told}"


def best_table(results: Results) -> Table:
    """Return the best method of every table and epsilon, and where it is not ours or not the default.

    A peer that runs at another epsilon than it spends is left out where its honest twin was run.
    """
    best = _winners(results)
    xs = sorted(results.distinct("x"))
    rows = [
        (series, *(best.get((series, x), ("", "another"))[0] for x in xs))
        for series in results.distinct("series")
    ]
    return Table(("table", *(f"epsilon = {number(x)}" for x in xs)), tuple(rows))


def tally(results: Results) -> str:
    """Count whose the first places are; a tie with the best counts as one."""
    found = Counter(winner for _, winner in _winners(results).values())
    return (
        f"Of {found.total()} pairs of table and epsilon, {DEFAULT}, which chooses by itself, is the best or "
        f"in a tie with the best in **{found['default']}**, another algorithm of ours in "
        f"**{found['another']}**, and a peer in **{found['peer']}**."
    )


def _winners(results: Results) -> dict[tuple[str, float], tuple[str, Winner]]:
    labels = results.distinct("method")
    honest = [label for label in labels if f"{label}, true epsilon" not in labels]
    found = {(series, x): _best(cell, honest) for series, x, cell in results.cells()}
    return {where: said for where, said in found.items() if said is not None}


def _best(cell: Results, labels: Iterable[str]) -> tuple[str, Winner] | None:
    """Say who is best in a cell, and whose that is."""
    found = [(summary, label) for label in labels if (summary := cell.where(method=label).summary("ratio"))]
    ranked = sorted(found, key=lambda pair: pair[0].mean)
    ours = [pair for pair in ranked if not _foreign(cell, pair[1])]
    if not ours:
        return None
    best, label = ranked[0]
    default = next((pair for pair in ours if pair[1] == DEFAULT), None)
    own, own_label = default or ours[0]
    ties = own.mean - best.mean < 2 * math.hypot(best.se, own.se)
    default_wins = default is not None and (label == DEFAULT or ties)
    if _foreign(cell, label):
        own, own_label = ours[0]
        close = own.mean - best.mean < 2 * math.hypot(best.se, own.se)
        said = f"{label} {best}, {'a tie with ours' if close else '**not ours**'}: {own_label} {own}"
        return said, "default" if default_wins else "another" if close else "peer"
    if label == own_label:
        return f"{label} {best}", "default" if default_wins else "another"
    return f"{label} {best}, {'a tie with' if ties else '**ahead of**'} {own_label} {own}", (
        "default" if default_wins else "another"
    )


def _foreign(results: Results, label: str) -> bool:
    return any(r["method"] == label and r["algorithm"].startswith("peer:") for r in results)
