"""Who is best where, said honestly: where a peer beats ours, and where the default is not the best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import numpy as np

from shoal.algorithms import REGISTRY
from shoal.bench.results import Results, Summary
from shoal.bench.style import number
from shoal.reporting.document import Table

DEFAULT = REGISTRY["auto"].estimator
Winner: TypeAlias = Literal["default", "near", "another", "peer"]
# A lead below this is said to be small.
NEAR = 0.01


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
        f"in a tie with the best in **{found['default']}**, and behind another algorithm of ours by less "
        f"than {NEAR:.0%} in **{found['near']}**. Another algorithm of ours is better by more in "
        f"**{found['another']}**, and a peer is the best in **{found['peer']}**."
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
    own, own_label = ours[0]
    if label != own_label and not _ties(best, own):
        return f"{label} {_said(best)}, **not ours**: {own_label} {_said(own)}", "peer"
    if label != own_label:
        return f"{label} {_said(best)}, a tie with ours: {own_label} {_said(own)}", (
            "default" if own_label == DEFAULT else "another"
        )
    default = next((summary for summary, name in ours if name == DEFAULT), None)
    if default is None or label == DEFAULT:
        return f"{label} {_said(best)}", "another" if default is None else "default"
    near = default.mean < (1 + NEAR) * best.mean
    winner: Winner = "default" if _ties(best, default) else "near" if near else "another"
    how = {"default": "a tie with", "near": f"less than {NEAR:.0%} ahead of", "another": "**ahead of**"}
    return f"{label} {_said(best)}, {how[winner]} {DEFAULT} {_said(default)}", winner


def _ties(best: Summary, other: Summary) -> bool:
    return other.mean - best.mean < 2 * math.hypot(best.se, other.se)


def _said(summary: Summary) -> str:
    """Write a ratio; near 1, what matters is behind the point."""
    if summary.mean >= 10:
        return str(summary)
    spread = f" ± {summary.sd:.3f}" if summary.n > 1 else " (one run)"
    return f"{summary.mean:.3f}{spread}"


def _foreign(results: Results, label: str) -> bool:
    return any(r["method"] == label and r["algorithm"].startswith("peer:") for r in results)
