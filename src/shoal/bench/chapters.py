"""Chapters of the report: an experiment with its figures, its table, and what is left to run of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from shoal.bench.drawing import FEW
from shoal.bench.experiment import BASELINE, Experiment, Metric
from shoal.bench.figures import DRAWINGS
from shoal.bench.plan import awaited, methods_of
from shoal.bench.results import Results
from shoal.bench.style import METRICS, number
from shoal.reporting.document import Block, Heading, Picture, Table, Text


def section(experiment: Experiment, results: Results, figures: Iterable[str]) -> Iterator[Block]:
    """Yield an experiment: what it is, figures, and the table, folded."""
    yield Heading(experiment.title, 3)
    runs = {len(cell.where(method=m)) for _, _, cell in results.cells() for m in cell.distinct("method")}
    source = "Our own." if experiment.paper == "ours" else f"{experiment.paper}."
    often = f"{min(runs)} to {max(runs)}" if len(runs) > 1 else f"{max(runs)}"
    yield Text(f"{source} `{experiment.name}`, {often} runs of each. {experiment.note}".strip())
    if experiment.alone:
        yield Text("Measured on a machine that was shared with other work: read the ratios, not the seconds.")
    yield from pictures(experiment, results, figures)
    yield table(experiment, results)
    if results.failed:
        errors = sorted({f"{r['method']}: {r['error']}" for r in results.failed})
        yield Text(f"**{len(results.failed)} runs failed:** " + "; ".join(errors[:4]))


def _narrower(experiment: Experiment, results: Results) -> str:
    """Say in what a figure is narrower than its paper: by what it has, and by what is run of it so far."""
    tables, values = experiment.data, experiment.sweep.values
    ran = len(results.distinct("series"))
    so_far = [f"{ran} of {len(tables)} tables"] if ran < len(tables) else []
    own = {label: len(results.where(method=label).distinct("series")) for label in results.distinct("method")}
    if not any(method.only for method in methods_of(experiment)):
        for n in sorted(set(own.values()) - {ran}):
            so_far.append(f"{n} for {' and '.join(label for label in own if own[label] == n)}")
    if missing := sorted(set(map(float, values)) - set(results.distinct("x"))):
        so_far.append(f"not at {experiment.sweep.over} = {', '.join(map(number, missing))}")
    told = [experiment.narrower] if experiment.narrower else []
    if so_far:
        hours = f"{_left(experiment, results) * experiment.hours:.1g}"
        told.append(f"so far {', '.join(so_far)} (the rest takes {hours} hours of two cores)")
    if not told:
        return ""
    return f" {'So far' if experiment.paper == 'ours' else 'Narrower than the paper'}: {'; '.join(told)}."


def _left(experiment: Experiment, results: Results) -> float:
    """Return the share of an experiment's runs that is not done."""
    wanted = experiment.n_cases(methods_of(experiment))
    return 1 - min(len(results), wanted) / wanted


def pictures(experiment: Experiment, results: Results, figures: Iterable[str]) -> Iterator[Picture]:
    """Yield the figures of an experiment, one for each metric."""
    for kind in figures:
        for metric in experiment.metrics:
            shown = Results(
                r for r in results if r["algorithm"] != BASELINE or metric in ("seconds", "memory")
            )
            if len(shown.values(metric)):
                name = f"{experiment.name}-{kind}" + ("" if metric == experiment.metrics[0] else f"-{metric}")
                caption = f"{experiment.title}: {METRICS[metric]}.{_narrower(experiment, results)}"
                if kind == "curves" and len(shown.distinct("method")) > FEW:
                    caption += (
                        " Of more than eight methods in a panel, those with the lowest cost; all are in the "
                        "table."
                    )
                yield Picture(name, caption, DRAWINGS[kind](experiment, shown, metric))


def table(experiment: Experiment, results: Results) -> Table:
    """Return mean and standard deviation of the first metric, and the ratio to non-private if it has one."""
    metric: Metric = experiment.metrics[0]
    with_ratio = metric in ("nicv", "excess", "cost_gap")
    labels = results.distinct("method")
    rows = []
    for series, x, cell in results.cells():
        found = [cell.where(method=label) for label in labels]
        means = [f.mean(metric) for f in found]
        best = min((m for m in means if math.isfinite(m)), default=math.nan)
        cells = []
        for own, mean in zip(found, means, strict=True):
            summary = own.summary(metric)
            text = "" if summary is None else str(summary)
            if summary is not None and with_ratio:
                text += f" ({own.mean('ratio'):.3g})"
            cells.append(f"**{text}**" if mean == best and len(labels) > 1 else text)
        rows.append((series, number(x), *cells))
    what = (
        METRICS[metric]
        + ", mean ± standard deviation, and the median where they differ by a fifth"
        + (" (ratio to non-private)" if with_ratio else "")
    )
    return Table(("table", experiment.sweep.over, *labels), tuple(rows), folded=f"Table: {what}")


def not_run(experiments: Iterable[Experiment], results: dict[str, Results]) -> Iterator[Block]:
    """Yield what is not run yet, in whole or in part, with the hours that it takes."""
    head = ("source", "experiment", "what it shows", "runs that are done", "hours left")
    whole: list[tuple[str, ...]] = []
    part: list[tuple[str, ...]] = []
    for experiment in experiments:
        wanted = experiment.n_cases(methods_of(experiment))
        done = min(len(results[experiment.name]), wanted)
        reasons = [f"waits for {reason}" for reason in awaited(experiment)]
        if done < wanted or reasons:
            (part if done else whole).append(
                (
                    experiment.paper,
                    f"`shoal bench run {experiment.name}`",
                    experiment.title,
                    f"{done:,} of {wanted:,}" + "".join(f"; {reason}" for reason in reasons),
                    f"{_left(experiment, results[experiment.name]) * experiment.hours:.2g}",
                )
            )
    if whole or part:
        yield Heading("Not run")
        yield Text(
            "What is declared and has no results here, or not all. Each command goes on where the last one "
            "stopped; hours are guesses for two free cores."
        )
    if whole:
        yield Table(head, tuple(whole))
    if part:
        yield Table(
            head, tuple(part), folded=f"{len(part)} experiments with fewer runs than they have in all"
        )
