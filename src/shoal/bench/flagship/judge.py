"""What the flagship's run shows, held against what it has to show: a page of text from the results alone."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

from shoal.bench.flagship.cells import Cell, boxes_of, denominator, one_mean_ratio, spread_ratio
from shoal.bench.flagship.found import Found
from shoal.bench.flagship.parts import (
    CLEAR,
    MEAN_EPSILONS,
    PEER_EPSILONS,
    REGRET_EPSILONS,
    UNCLEAR,
    Scope,
    best_other,
    with_delta,
)
from shoal.bench.flagship.tables import TABLES
from shoal.bench.results import Summary

Lines: TypeAlias = list[str]

# What the run has to show.
REGRET_MEAN, WORSE_SHARE, WORSE_MOST = 1.00, 1 / 20, 1.05
LOOSE_MOST = {0.1: 1.3, 0.25: 1.10, 1.0: 1.10}
PEERS_MOST = {0.1: 1.35, 0.25: 1.20, 0.5: 1.15, 1.0: 1.10}
ONE_MEAN_MOST = 1.05
NEAR_SHARE, SAVED = 0.9, 0.5


@cache
def stored_peers() -> dict[str, Any]:
    """Return the stored figures of peers: denominators, methods, and a line for each table and epsilon.

    Examples
    --------
    >>> sorted(stored_peers()["methods"])
    ['DPLloyd of FastLloyd', 'FastLloyd', 'Google LSH', 'diffprivlib']
    """
    text = files("shoal.bench.flagship").joinpath("peers.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def judge(scope: Scope, found: Found, parts: Iterable[str]) -> str:
    """Write what the parts show, each with its verdict."""
    held = sum(TABLES[name].held_out for name in scope.tables)
    lines = [
        "# The flagship's run",
        "",
        f"{len(scope.tables)} tables, {held} of them held out of tuning; {scope.runs} runs of what is "
        f"compared, exact noise; {found.cpu() / 3600:.2f} hours of one core in all. A ratio is the cost over "
        "the best of ten non-private starts.",
    ]
    for part in parts:
        lines += ["", *_PAGES[part](scope, found)]
    if failed := found.failed():
        lines += ["", f"{len(failed)} fits failed or were stopped: {_kinds(failed)}."]
    return "\n".join(lines) + "\n"


def _regret(scope: Scope, found: Found) -> Lines:
    rows, logs, worse, much = [], [], 0, 0
    for name in scope.tables:
        for epsilon in REGRET_EPSILONS:
            ours = found.summary(Cell(name, epsilon), scope.seeds, scope.runs)
            best = best_other(name, epsilon, scope, found)
            theirs = found.summary(best, scope.seeds, scope.runs) if best else None
            if ours is None or best is None or theirs is None:
                continue
            logs.append(math.log(ours.mean / theirs.mean))
            sure, surely = _surely_above(ours, theirs), _surely_above(ours, theirs, WORSE_MOST)
            worse, much = worse + sure, much + surely
            mark = "**worse by more than 5 %**" if surely else "worse" if sure else ""
            rows.append(
                (_name(name), epsilon, _said(ours), best.algorithm, _said(theirs), _ratio(logs[-1]), mark)
            )
    mean = math.exp(sum(logs) / len(logs)) if logs else math.nan
    share = worse / max(len(logs), 1)
    return [
        "## Regret: KMeans against the best of our other algorithms, picked on other seeds",
        "",
        _verdict("geometric mean", mean, REGRET_MEAN),
        _verdict(f"share of {len(logs)} cells where it is surely worse", share, WORSE_SHARE),
        _verdict("cells where it is surely worse by more than 5 %", much, 0),
        "",
        *_table(("table", "epsilon", "KMeans", "best other", "its ratio", "KMeans / other", ""), rows),
    ]


def _loose(scope: Scope, found: Found) -> Lines:
    rows, broken, cells = [], 0, 0
    for name in scope.tables:
        for box in boxes_of(name)[1:]:
            for epsilon in REGRET_EPSILONS:
                tight = found.summary(Cell(name, epsilon), scope.seeds, scope.runs)
                wide = found.summary(Cell(name, epsilon, box), scope.seeds, scope.runs)
                if tight is None or wide is None:
                    continue
                cells += 1
                over = wide.mean / tight.mean
                bad = over > LOOSE_MOST[epsilon]
                broken += bad
                if bad:
                    rows.append((_name(name), box, epsilon, _said(tight), _said(wide), f"{over:.4g}"))
    return [
        "## Loose bounds: the cost in a box that is too wide, over that in the tight one",
        "",
        _verdict(f"of {cells} cells, those above {_limits(LOOSE_MOST)}", broken, 0),
        "",
        *_table(("table", "box", "epsilon", "tight", "wide", "wide / tight"), rows),
    ]


def _peers(scope: Scope, found: Found) -> Lines:
    stored = stored_peers()
    names = [name for name in scope.tables if TABLES[name].peer]
    figures = {(t, m, e): ratio for t, m, e, _, ratio, *_ in stored["figures"]}
    lines: Lines = ["## The tables with stored figures of peers", ""]
    methods = list(stored["methods"])
    heads = ("epsilon", "tables", "KMeans", "KMeans, delta 1e-6", "best peer in hindsight", *methods)
    rows, said = [], []
    for epsilon in PEER_EPSILONS:
        ours = {n: v for n in names if (v := _on_their_terms(Cell(n, epsilon), scope, found))}
        loose = {n: v for n in names if (v := _on_their_terms(with_delta(n, epsilon), scope, found))}
        theirs = [[figures[TABLES[n].peer, m, epsilon] for n in ours] for m in methods]
        best = [min(column) for column in zip(*theirs, strict=True)]
        ours_mean = _geometric(ours.values())
        columns = (ours_mean, _geometric(loose.values()), _geometric(best), *map(_geometric, theirs))
        rows.append((epsilon, len(ours), *(f"{c:.3f}" for c in columns)))
        if epsilon in PEERS_MOST:
            said.append(_verdict(f"geometric mean at {epsilon:g}", ours_mean, PEERS_MOST[epsilon]))
    lines += [*said, "", *_table(heads, rows), ""]
    details = []
    for name in names:
        for epsilon in PEER_EPSILONS:
            pure = found.summary(Cell(name, epsilon), scope.seeds, scope.runs)
            delta = found.summary(with_delta(name, epsilon), scope.seeds, scope.runs)
            if pure is not None:
                theirs_here = (f"{figures[TABLES[name].peer, m, epsilon]:.3f}" for m in methods)
                details.append((_name(name), epsilon, _said(pure), _said(delta), *theirs_here))
    return [*lines, *_table(("table", "epsilon", "KMeans", "KMeans, delta 1e-6", *methods), details)]


def _on_their_terms(cell: Cell, scope: Scope, found: Found) -> float | None:
    """Return our mean ratio over the denominator that the peers' figures were divided by."""
    ours = found.summary(cell, scope.seeds, scope.runs)
    stored = stored_peers()["denominators"][TABLES[cell.table].peer]
    return None if ours is None else ours.mean * denominator(cell.table) / stored


def _one_mean(scope: Scope, found: Found) -> Lines:
    rows, cells = [], 0
    for name in scope.tables:
        for epsilon in MEAN_EPSILONS:
            ours = found.summary(Cell(name, epsilon), scope.seeds, scope.runs)
            if ours is None:
                continue
            cells += 1
            one = one_mean_ratio(name, epsilon)
            if ours.mean - 2 * _se(ours) > ONE_MEAN_MOST * one:
                rows.append((_name(name), epsilon, _said(ours), f"{one:.3f}", f"{ours.mean / one:.3f}"))
    return [
        "## Never above 1.05 times one noisy, shrunken mean with the whole budget",
        "",
        _verdict(f"of {cells} cells, those surely above", len(rows), 0),
        "",
        *_table(("table", "epsilon", "KMeans", "one mean", "KMeans / one mean"), rows),
    ]


def _choose_k(scope: Scope, found: Found) -> Lines:
    rows, near, fits, rises, unsaved = [], 0, 0, 0, 0
    for name in (*CLEAR, *UNCLEAR):
        runs = found.records(Cell(name, 1.0, n_clusters="auto"), scope.seeds, scope.runs)
        if name not in scope.tables or not runs:
            continue
        truth = TABLES[name].dataset().k
        saved = 1 - sum(r["ratio"] for r in runs) / len(runs) / spread_ratio(name)
        chosen = sorted(r["chosen"] for r in runs)
        rises += sum(r["rises"] for r in runs)
        if name in CLEAR:
            near, fits = near + sum(abs(c - truth) <= 1 for c in chosen), fits + len(runs)
        else:
            unsaved += saved < SAVED
        known = str(truth) if name in CLEAR else "not clear"
        rows.append(
            (_name(name), known, f"{chosen[0]} to {chosen[-1]}", chosen[len(chosen) // 2], f"{saved:.0%}")
        )
    share = near / fits if fits else math.nan
    heads = ("table", "groups", "chosen", "median", "of the cost of one mean saved")
    return [
        '## `n_clusters="auto"` at epsilon 1',
        "",
        f"- within one of the truth in {share:.0%} of {fits} fits, at least {NEAR_SHARE:.0%} wanted"
        f": {'holds' if share >= NEAR_SHARE else '**does not hold**'}",
        _verdict("tables without clear groups where less than half of the cost is saved", unsaved, 0),
        _verdict("fits whose curve rises", rises, 0),
        "",
        *_table(heads, rows),
    ]


_PAGES: dict[str, Callable[[Scope, Found], Lines]] = {
    "regret": _regret,
    "loose": _loose,
    "peers": _peers,
    "one-mean": _one_mean,
    "choose-k": _choose_k,
}


def _surely_above(ours: Summary, theirs: Summary, factor: float = 1.0) -> bool:
    """Tell whether ours is above `factor` times theirs by two standard errors."""
    return ours.mean - factor * theirs.mean > 2 * math.hypot(_se(ours), factor * _se(theirs))


def _se(summary: Summary) -> float:
    return summary.se if math.isfinite(summary.se) else math.inf


def _verdict(what: str, value: float, most: float) -> str:
    holds = "holds" if value <= most else "not known" if math.isnan(value) else "**does not hold**"
    return f"- {what}: {value:.4g}, at most {most:.4g} wanted: {holds}"


def _geometric(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def _said(summary: Summary | None) -> str:
    if summary is None:
        return ""
    return f"{summary.mean:.3f} ± {_se(summary):.3f}" if summary.mean < 1000 else f"{summary.mean:.2g}"


def _ratio(logarithm: float) -> str:
    return f"{math.exp(logarithm):.3f}"


def _limits(most: dict[float, float]) -> str:
    return ", ".join(f"{limit:g} at epsilon {epsilon:g}" for epsilon, limit in most.items())


def _name(name: str) -> str:
    return f"{name} (held out)" if TABLES[name].held_out else name


def _table(heads: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Lines:
    if not rows:
        return ["None."]
    return [
        "| " + " | ".join(heads) + " |",
        "|" + "---|" * len(heads),
        *("| " + " | ".join(map(str, row)) + " |" for row in rows),
    ]


def _kinds(failed: list[dict[str, Any]]) -> str:
    kinds = sorted({f"{r['algorithm']} on {r['table']} ({r['error'].split(':')[0]})" for r in failed})
    return "; ".join(kinds[:20]) + (f" and {len(kinds) - 20} more" if len(kinds) > 20 else "")
