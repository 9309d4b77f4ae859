"""From raw results to a report: one screen, contents, and a chapter for each paper."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from shoal import datasets
from shoal.bench import peers
from shoal.bench.chapters import not_run, pictures, section
from shoal.bench.experiment import Experiment
from shoal.bench.experiments import EXPERIMENTS
from shoal.bench.plan import REFERENCES, methods_of
from shoal.bench.ranking import DEFAULT, best_table, glance, tally
from shoal.bench.results import Results, best_known, relative
from shoal.bench.stored import stored_chapter
from shoal.bench.verdicts import Judged, claims_table, judged, picture, sentence, source_of
from shoal.errors import InvalidInput
from shoal.reporting.document import Block, Bullets, Heading, Picture, Table, Text, write
from shoal.reporting.store import Record, Store

# What is compared on all tables, and what the report says of each.
MAIN = {"accuracy-pure": "Pure epsilon", "accuracy-delta": "(epsilon, delta) with delta = 1e-6"}
OURS = "ours"
# Chapters that are no paper's.
_ALL_TABLES, _OWN, _PEERS, _CLAIMS = "All tables", "Our own experiments", "Other libraries", "All claims"
_LEFT, _TABLES, _MADE = "Not run", "Tables", "How this was made"


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
    write(list(blocks(every, loaded, names, results)), out)
    return loaded.complaints


def load(directory: Path, experiments: tuple[Experiment, ...]) -> Loaded:
    """Read all result files, and hold every run against the best non-private solution that any file knows."""
    stores = {e.name: Store(directory / f"{e.name}.jsonl") for e in experiments}
    stores[REFERENCES] = Store(directory / f"{REFERENCES}.jsonl")
    # A run that failed and was tried again counts once.
    records = {name: list({r["id"]: r for r in store.read()}.values()) for name, store in stores.items()}
    best = best_known(record for rows in records.values() for record in rows if not record.get("error"))
    return Loaded(
        {e.name: Results(_known(e, relative(records[e.name], best))) for e in experiments},
        tuple(store.complaint for store in stores.values() if store.complaint),
    )


def _known(experiment: Experiment, records: Iterable[Record]) -> list[Record]:
    """Leave out what the experiment no longer has, and put tables and methods into its order.

    A run is known by its parameters: it has the name that the experiment gives them today.
    """
    tables = {data.label: i for i, data in enumerate(experiment.data)}
    methods = {
        _key(method.algorithm, dict(method.parameters)): (i, method)
        for i, method in enumerate(methods_of(experiment))
    }
    found = []
    for record in records:
        place, method = methods.get(_key(record["algorithm"], record["method_parameters"]), (0, None))
        if method is not None and (not method.only or record["series"] in method.only):
            at = tables.get(record["series"], 999), record["x"] or 0, place, record["run"]
            found.append((at, {**record, "method": method.label}))
    return [record for _, record in sorted(found, key=lambda pair: pair[0])]


def _key(algorithm: str, parameters: dict[str, object]) -> str:
    return json.dumps([algorithm, parameters], sort_keys=True)


def blocks(
    experiments: tuple[Experiment, ...], loaded: Loaded, names: tuple[str, ...], directory: Path
) -> Iterator[Block]:
    """Yield the report, top to bottom."""
    ran = [e for e in experiments if len(loaded.results[e.name])]
    shown = [e for e in ran if not names or e.name in names]
    records = [record for e in ran for record in loaded.results[e.name]]
    claims = judged(experiments, loaded.results)
    papers = list(dict.fromkeys(source_of(e) for e in experiments if e.paper != OURS))
    main = [e for e in ran if e.name in MAIN]
    own = [e for e in shown if e.paper == OURS]
    stored = list(stored_chapter(directory))
    yield from _first_screen(papers, claims, loaded)
    yield Heading("Contents")
    chapters = {
        **dict.fromkeys(papers, True),
        _ALL_TABLES: main,
        _OWN: own,
        _PEERS: stored or peers.known_in(records),
        _CLAIMS: claims,
        _LEFT: True,
        _TABLES: True,
        _MADE: True,
    }
    yield Bullets(tuple(f"[{name}](#{Heading(name).anchor})" for name, there in chapters.items() if there))
    yield from _how_to_read()
    for paper in papers:
        yield from _paper(paper, shown, claims, loaded)
    if main:
        yield from _all_tables(main, loaded)
    if own:
        yield Heading(_OWN)
        for experiment in own:
            figures = tuple(f for f in experiment.figures if experiment.name not in MAIN or f != "matrix")
            yield from section(experiment, loaded.results[experiment.name], figures)
    if chapters[_PEERS]:
        yield Heading(_PEERS)
        yield from stored
        yield from _peer_notes(records)
    if claims:
        yield Heading(_CLAIMS)
        yield from claims_table(claims)
    yield from not_run(experiments, loaded.results)
    yield from _tables_used(records)
    yield from _footer(records, loaded)


def _first_screen(papers: list[str], claims: list[Judged], loaded: Loaded) -> Iterator[Block]:
    yield Heading("How accurate, how fast: Shoal measured", 1)
    yield Text(
        "Shoal finds groups in tables about people, and tells nobody about any one of them: noise is added "
        "to whatever is counted. Noise costs accuracy, and this page says how much. It also says what "
        "became of what five papers claim of their own methods, each of which was run here as it was "
        "published, with the privacy that it really has. A cost of 1 is as good as without privacy."
    )
    if claims:
        yield Picture("verdicts", "What became of the papers' claims: how many of each.", picture(claims))
        yield Bullets(tuple(sentence(paper, claims, loaded.results) for paper in papers))


def _how_to_read() -> Iterator[Block]:
    yield Text(
        "Every run is a private fit, scored on the rows it was fitted to. **NICV** is the mean squared "
        "distance of a row to its nearest centre, each column scaled to [-1, 1] by its public bounds; its "
        "**ratio** is to the best non-private solution known. Lines and dots are means, bands are the 10th "
        "to the 90th percentile of runs. Every method got the same bounds, and has the same colour in "
        "every figure."
    )
    yield Text(
        "A cell is one table at one value of what is varied. It is *surely* for a claim, or against it, by "
        "two standard errors; with fewer than three runs it is undecided. A claim *holds* where it does by "
        "the means, a fifth of its cells or more is surely for it, and less than a fifth surely against it. "
        "It *does not hold* where all of this is the other way round. Else it holds *in part*: in some "
        "cells, or too close to tell in most. Where a paper leaves something open that decides, both "
        "readings were measured, and the verdict *depends* on it."
    )


def _paper(paper: str, shown: list[Experiment], claims: list[Judged], loaded: Loaded) -> Iterator[Block]:
    yield Heading(paper)
    yield from claims_table(one for one in claims if one.source == paper)
    for experiment in shown:
        if source_of(experiment) == paper:
            yield from section(experiment, loaded.results[experiment.name], experiment.figures)


def _all_tables(main: list[Experiment], loaded: Loaded) -> Iterator[Block]:
    yield Heading(_ALL_TABLES)
    yield Text(
        "Per table, the mean ratio of every method: 1 is as good as without privacy, the best is framed, "
        "and methods are in the order of their mean over all tables they finished on. Where it is empty, a "
        "method had no time to finish."
    )
    for experiment in main:
        yield Heading(MAIN[experiment.name], 3)
        yield from pictures(experiment, loaded.results[experiment.name], ("matrix",))
        yield Bullets(tuple(glance(loaded.results[experiment.name])))
        yield Text(
            "Per table and epsilon, the private method with the lowest mean NICV, ours and peers alike, "
            "with its ratio to non-private and the standard deviation over runs; and where it is not ours, "
            "or not "
            f"{DEFAULT}, how far behind that is. Peers stand at the epsilon they really spend. A lead "
            "below two "
            "standard errors is called a tie."
        )
        yield Text(tally(loaded.results[experiment.name]))
        yield best_table(loaded.results[experiment.name])


def _peer_notes(records: list[Record]) -> Iterator[Block]:
    for name in peers.known_in(records):
        yield Heading(f"What to know of {name}", 3)
        yield Bullets(peers.PEERS[name].notes)


def _tables_used(records: list[Record]) -> Iterator[Block]:
    rows = []
    first = {record["data"]: record for record in reversed(records)}
    for name in sorted(first):
        known = datasets.about(name)
        rows.append((name, known.source, known.licence, known.bounds_source))
    yield Heading(_TABLES)
    yield Text(
        "Bounds marked NOT public were rounded from the rows: fine for comparing methods, a leak elsewhere."
    )
    yield Table(("name", "source", "licence", "bounds"), tuple(rows), folded=f"{len(rows)} tables")


def _footer(records: list[Record], loaded: Loaded) -> Iterator[Block]:
    yield Heading(_MADE)
    versions = sorted({", ".join(f"{k} {v}" for k, v in r["versions"].items()) for r in records})
    days = sorted({r["when"][:10] for r in records})
    lines = [
        f"Report of {date.today().isoformat()}; measured {days[0]}"
        + (f" to {days[-1]}" if len(days) > 1 else ""),
        f"Machine: {'; '.join(sorted({r['machine'] for r in records}))}",
        f"Versions: {'; '.join(versions)}",
        f"{len({r['id'] for r in records}):,} private fits; every one is a line in the result files, with "
        "its seed",
        "All of the papers: `shoal bench run papers` (it may be stopped, and goes on). This page: "
        "`shoal bench report --out docs/benchmark`",
        *(f"**Damaged:** {complaint}" for complaint in loaded.complaints),
    ]
    yield Bullets(tuple(lines))
