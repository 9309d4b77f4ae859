"""What became of published claims: judged, counted, drawn and said in a sentence for each paper."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.bench.claims import Claim
from shoal.bench.drawing import figure_of
from shoal.bench.experiment import Experiment
from shoal.bench.ranking import DEFAULT
from shoal.bench.results import Results
from shoal.bench.surely import Outcome, Verdict
from shoal.bench.trends import NO_NOISE
from shoal.reporting.document import Block, Table, style

# What a verdict is called in a picture, and its colour.
_DRAWN: dict[Outcome, tuple[str, str]] = {
    "holds": ("hold", "#00846b"),
    "in part": ("in part, or too close to tell", "#e6a02e"),
    "depends on what the paper leaves open": ("depend on what the paper leaves open", "#7a8b99"),
    "does not hold": ("do not hold", "#b3261e"),
    "not run": ("not run yet", "#e3e3e3"),
}
# The same in a sentence.
_SAID: dict[Outcome, str] = {
    "in part": "in part or too close to tell",
    "depends on what the paper leaves open": "by one reading of what it leaves open and not by another",
    "does not hold": "not",
    "not run": "not run yet",
}
# How an own claim, about our methods, begins or ends.
_OURS = "(ours)"


@dataclass(frozen=True, eq=False)
class Judged:
    """A claim with its verdict."""

    experiment: Experiment
    claim: Claim
    verdict: Verdict
    runs: str

    @property
    def source(self) -> str:
        """Whose claim it is."""
        return source_of(self.experiment)

    @property
    def ours(self) -> bool:
        """Whether it is a claim of ours about our own methods."""
        return _OURS in self.claim.text


def source_of(experiment: Experiment) -> str:
    """Return whose an experiment is, without the figure.

    Examples
    --------
    >>> from shoal.bench.experiments import EXPERIMENTS
    >>> source_of(EXPERIMENTS["su-figure-1"])
    'Su et al. 2016'
    """
    return experiment.paper.split(",")[0]


def judged(experiments: Iterable[Experiment], results: Mapping[str, Results]) -> list[Judged]:
    """Judge every claim of some experiments."""
    return [_judge(e, claim, results[e.name]) for e in experiments for claim in e.claims]


def _judge(experiment: Experiment, claim: Claim, results: Results) -> Judged:
    counts = [
        len(cell.where(method=label))
        for label in claim.methods
        for _, _, cell in results.where(method=label).cells()
    ]
    often = ""
    if counts:
        often = str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return Judged(experiment, claim, claim.judge(results), often)


def claims_table(found: Iterable[Judged]) -> Iterator[Block]:
    """Yield the list of claims, those that were not run folded."""
    sure = "cells surely for / surely against / undecided"
    head = ("source", "claim", "verdict", sure, "what we measured", "runs per cell", "again")
    rows = [
        (
            one.experiment.paper,
            one.claim.text,
            one.verdict.outcome,
            "; ".join(map(str, one.verdict.cells)),
            one.verdict.why,
            one.runs,
            f"`shoal bench run {one.experiment.name}`"
            + (f", {one.experiment.hours:g} h" if one.verdict.outcome == "not run" else ""),
        )
        for one in found
    ]
    if told := tuple(row for row in rows if row[2] != "not run"):
        yield Table(head, told)
    if left := tuple(row for row in rows if row[2] == "not run"):
        yield Table(
            (*head[:-1], "again, and the hours of all its runs"),
            left,
            folded=f"{len(left)} claims whose experiments were not run, or not enough of them",
        )


def picture(found: Iterable[Judged]) -> Any:
    """Draw a bar for every paper: how many of its claims hold, hold in part, and so on."""
    counts: dict[str, Counter[Outcome]] = {}
    for one in found:
        if not one.ours and one.source != "ours":
            counts.setdefault(one.source, Counter())[one.verdict.outcome] += 1
    with style():
        figure = figure_of(9.0, 0.42 * len(counts) + 0.7)
        ax = figure.subplots()
        for y, source in enumerate(reversed(counts)):
            left = 0
            for outcome, (_, colour) in _DRAWN.items():
                n = counts[source][outcome]
                ax.barh(y, n, left=left, color=colour, height=0.62, edgecolor="white")
                if n:
                    dark = outcome not in ("not run", "in part")
                    ax.text(left + n / 2, y, str(n), ha="center", va="center", fontsize=10,
                            color="white" if dark else "#333333")  # fmt: skip
                left += n
        ax.set_yticks(range(len(counts)), list(reversed(counts)), fontsize=10)
        ax.set_xticks([])
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        from matplotlib.patches import Patch

        there = {outcome for own in counts.values() for outcome in own}
        handles = [Patch(color=c, label=name) for outcome, (name, c) in _DRAWN.items() if outcome in there]
        figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), frameon=False,
                      fontsize=9, handlelength=1.0, columnspacing=1.2)  # fmt: skip
        return figure


def sentence(source: str, found: Iterable[Judged], results: Mapping[str, Results]) -> str:
    """Say in one sentence what became of a paper's claims, and how KMeans does in its figures."""
    own = [one for one in found if one.source == source and not one.ours]
    counts = Counter(one.verdict.outcome for one in own)
    told = [f"{counts['holds']} of {len(own)} claims hold"]
    told += [f"{counts[outcome]} {words}" for outcome, words in _SAID.items() if counts[outcome]]
    text = f"**{source}**: {', '.join(told)}"
    wins, cells, mean = _of_default(results[name] for name in {one.experiment.name for one in own})
    if cells:
        text += (
            f". In its figures {DEFAULT} costs {mean:.2f} times what the best of the other private methods "
            f"does, and less than all of them in {wins} of {cells} comparisons"
        )
    return text + "."


def _of_default(every: Iterable[Results]) -> tuple[int, int, float]:
    """Return where the default is the best with a guarantee, of how many cells, and its typical ratio."""
    logs = []
    for results in every:
        for _, _, cell in results.cells():
            if cell.records[0]["epsilon"] == NO_NOISE:
                continue
            labels = [m for m in cell.distinct("method") if "no guarantee" not in m and m != DEFAULT]
            ours = cell.where(method=DEFAULT).mean("nicv")
            others = [cell.where(method=label).mean("nicv") for label in labels]
            best = min((mean for mean in others if math.isfinite(mean)), default=math.nan)
            if math.isfinite(ours) and best > 0 and ours > 0:
                logs.append(math.log(ours / best))
    if not logs:
        return 0, 0, math.nan
    return sum(log <= 0 for log in logs), len(logs), float(np.exp(np.mean(logs)))
