"""From raw results to a report: figures, tables, who is best where, and a verdict on each published claim."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from shoal import datasets
from shoal.bench import peers
from shoal.bench.experiment import BASELINE, Experiment, Metric
from shoal.bench.experiments import EXPERIMENTS
from shoal.bench.figures import DRAWINGS
from shoal.bench.plan import REFERENCES, awaited, methods_of
from shoal.bench.ranking import DEFAULT, best_table, glance, tally
from shoal.bench.results import Results, best_known, relative
from shoal.bench.style import METRICS, number
from shoal.errors import InvalidInput
from shoal.reporting.document import Block, Bullets, Heading, Picture, Table, Text, write
from shoal.reporting.store import Record, Store

# What the report begins with, and what it says of each.
MAIN = {"accuracy-pure": "Pure epsilon", "accuracy-delta": "(epsilon, delta) with delta = 1e-6"}


@dataclass(frozen=True, eq=False)
class Loaded:
    """All results of a directory, by experiment, and what was wrong with its files."""

    results: dict[str, Results]
    complaints: tuple[str, ...]


def build(
    results: Path,
    out: Path,
    *,
    names: tuple[str, ...] = (),
    experiments: Iterable[Experiment] | None = None,
) -> tuple[str, ...]:
    """Read the results of a directory and write the report; nothing is run.

    Parameters
    ----------
    results : Path
        Where the runner keeps its files.
    out : Path
        Where report.html, report.md and figures/ go.
    names : tuple of str
        Which experiments get figures; all that have results if empty. All claims are judged either way.
    experiments : iterable of Experiment, optional
        All that are known, if not the built-in ones.

    Returns
    -------
    tuple of str
        What was wrong with result files, if anything.
    """
    every = tuple(EXPERIMENTS.values() if experiments is None else experiments)
    loaded = load(results, every)
    if not any(len(found) for found in loaded.results.values()):
        raise InvalidInput(f"there are no results in {results}; run 'shoal bench run NAME' first")
    write(list(blocks(every, loaded, names)), out)
    return loaded.complaints


def load(directory: Path, experiments: tuple[Experiment, ...]) -> Loaded:
    """Read all result files, and hold every run against the best non-private solution that any file knows."""
    stores = {e.name: Store(directory / f"{e.name}.jsonl") for e in experiments}
    stores[REFERENCES] = Store(directory / f"{REFERENCES}.jsonl")
    # A run that failed and was tried again counts once.
    records = {name: list({r["id"]: r for r in store.read()}.values()) for name, store in stores.items()}
    best = best_known(record for rows in records.values() for record in rows if not record.get("error"))
    return Loaded(
        {e.name: Results(_sorted(e, relative(records[e.name], best))) for e in experiments},
        tuple(store.complaint for store in stores.values() if store.complaint),
    )


def _sorted(experiment: Experiment, records: Iterable[Record]) -> list[Record]:
    """Put tables and methods into the experiment's order: runs end in any."""
    tables = {data.label: i for i, data in enumerate(experiment.data)}
    methods = {method.label: i for i, method in enumerate(methods_of(experiment))}
    return sorted(
        records,
        key=lambda r: (tables.get(r["series"], 999), r["x"] or 0, methods.get(r["method"], 999), r["run"]),
    )


def blocks(experiments: tuple[Experiment, ...], loaded: Loaded, names: tuple[str, ...]) -> Iterator[Block]:
    """Yield the report, top to bottom."""
    ran = [e for e in experiments if len(loaded.results[e.name])]
    records = [record for e in ran for record in loaded.results[e.name]]
    yield Heading("How accurate, how fast: Shoal measured", 1)
    yield Text(
        "Every run is a private fit, scored on the rows it was fitted to. **NICV** is the mean squared "
        "distance of a row to its nearest centre, each column scaled to [-1, 1] by its public bounds; "
        "its **ratio** to the best non-private solution known is 1 when privacy cost nothing. Lines and dots "
        "are means, bands are the 10th to the 90th percentile of runs. Every method got the same bounds."
    )
    main = [e for e in ran if e.name in MAIN]
    if main:
        yield Heading("At a glance")
        yield Text(
            "Per table, the mean ratio of every method: 1 is as good as without privacy, the best is framed, "
            "and methods are in the order of their mean over all tables they finished on. Where it is empty, "
            "a method had no time to finish."
        )
        for experiment in main:
            yield from _glance(experiment, loaded.results[experiment.name])
        yield Heading("Who is best where")
        yield Text(
            "Per table and epsilon, the private method with the lowest mean NICV, ours and peers alike, with "
            "its ratio to non-private and the standard deviation over runs; and where it is not ours, or not "
            f"{DEFAULT}, how far behind that is. Peers stand at the epsilon they really spend. A lead below "
            "two standard errors is called a tie."
        )
        for experiment in main:
            yield Heading(MAIN[experiment.name], 3)
            yield Text(tally(loaded.results[experiment.name]))
            yield best_table(loaded.results[experiment.name])
    yield from _verdicts(experiments, loaded)
    yield from _peer_notes(records)
    for experiment in (e for e in ran if not names or e.name in names):
        yield from _section(experiment, loaded.results[experiment.name])
    yield from _not_run(experiments, loaded)
    yield from _tables_used(records)
    yield from _footer(records, loaded)


def _glance(experiment: Experiment, results: Results) -> Iterator[Block]:
    yield Heading(MAIN[experiment.name], 3)
    yield from _pictures(experiment, results, ("matrix",))
    yield Bullets(tuple(glance(results)))


def _verdicts(experiments: Iterable[Experiment], loaded: Loaded) -> Iterator[Block]:
    rows = []
    for experiment in experiments:
        for claim in experiment.claims:
            verdict = claim.judge(loaded.results[experiment.name])
            rows.append((experiment.paper, claim.text, verdict.outcome, verdict.why))
    if not rows:
        return
    yield Heading("Published claims, judged")
    head = ("source", "claim", "verdict", "what we measured")
    judged = tuple(row for row in rows if row[2] != "not testable here")
    if judged:
        yield Table(head, judged)
    if open_ones := tuple(row for row in rows if row[2] == "not testable here"):
        yield Table(head, open_ones, folded=f"{len(open_ones)} claims that cannot be tested here, and why")


def _peer_notes(records: list[Record]) -> Iterator[Block]:
    used = {r["algorithm"].removeprefix("peer:") for r in records if r["algorithm"].startswith("peer:")}
    for name in sorted(used & peers.PEERS.keys()):
        yield Heading(f"What to know of {name}")
        yield Bullets(peers.PEERS[name].notes)


def _section(experiment: Experiment, results: Results) -> Iterator[Block]:
    yield Heading(experiment.title)
    runs = {len(cell.where(method=m)) for _, _, cell in results.cells() for m in cell.distinct("method")}
    source = "Our own." if experiment.paper == "ours" else f"{experiment.paper}."
    often = f"{min(runs)} to {max(runs)}" if len(runs) > 1 else f"{max(runs)}"
    yield Text(f"{source} `{experiment.name}`, {often} runs of each. {experiment.note}".strip())
    if experiment.alone:
        yield Text("Measured on a machine that was shared with other work: read the ratios, not the seconds.")
    figures = tuple(f for f in experiment.figures if experiment.name not in MAIN or f != "matrix")
    yield from _pictures(experiment, results, figures)
    yield table(experiment, results)
    if results.failed:
        errors = sorted({f"{r['method']}: {r['error']}" for r in results.failed})
        yield Text(f"**{len(results.failed)} runs failed:** " + "; ".join(errors[:4]))


def _pictures(experiment: Experiment, results: Results, figures: Iterable[str]) -> Iterator[Picture]:
    for kind in figures:
        for metric in experiment.metrics:
            shown = Results(
                r for r in results if r["algorithm"] != BASELINE or metric in ("seconds", "memory")
            )
            if len(shown.values(metric)):
                name = f"{experiment.name}-{kind}" + ("" if metric == experiment.metrics[0] else f"-{metric}")
                caption = f"{experiment.title}: {METRICS[metric]}."
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
    what = METRICS[metric] + ", mean ± standard deviation" + (" (ratio to non-private)" if with_ratio else "")
    return Table(("table", experiment.sweep.over, *labels), tuple(rows), folded=f"Table: {what}")


def _not_run(experiments: Iterable[Experiment], loaded: Loaded) -> Iterator[Block]:
    rows = []
    for experiment in experiments:
        reasons = [f"waits for {reason}" for reason in awaited(experiment)]
        if not len(loaded.results[experiment.name]):
            reasons = reasons or ["not run"]
        if reasons:
            rows.append((experiment.paper, f"`{experiment.name}`", experiment.title, "; ".join(reasons)))
    if rows:
        yield Heading("Not run")
        yield Text("Declared, but without results here: `shoal bench run NAME` runs them.")
        yield Table(("source", "experiment", "what it shows", "why"), tuple(rows))


def _tables_used(records: list[Record]) -> Iterator[Block]:
    rows = []
    first = {record["data"]: record for record in reversed(records)}
    for name in sorted(first):
        known = datasets.about(name)
        rows.append((name, known.source, known.licence, known.bounds_source))
    yield Heading("Tables")
    yield Text(
        "Bounds marked NOT public were rounded from the rows: fine for comparing methods, a leak elsewhere."
    )
    yield Table(("name", "source", "licence", "bounds"), tuple(rows), folded=f"{len(rows)} tables")


def _footer(records: list[Record], loaded: Loaded) -> Iterator[Block]:
    yield Heading("How this was made")
    versions = sorted({", ".join(f"{k} {v}" for k, v in r["versions"].items()) for r in records})
    days = sorted({r["when"][:10] for r in records})
    lines = [
        f"Report of {date.today().isoformat()}; measured {days[0]}"
        + (f" to {days[-1]}" if len(days) > 1 else ""),
        f"Machine: {'; '.join(sorted({r['machine'] for r in records}))}",
        f"Versions: {'; '.join(versions)}",
        f"{len(records):,} private fits; every one is a line in the result files, with its seed",
        "Again: `shoal bench run NAME...` (add `--quick` for minutes), then `shoal bench report --out DIR`",
        *(f"**Damaged:** {complaint}" for complaint in loaded.complaints),
    ]
    yield Bullets(tuple(lines))
