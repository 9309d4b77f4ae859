"""Figures of other libraries that were measured elsewhere and are kept: shown as stored, beside ours.

Google's LSH clustering and FastLloyd are on no package index. What was measured of them lies in
`flagship/peers.json`, with versions, guarantees and what had to be changed to run them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shoal.bench.drawing import line_panels, log_ticks, names_at_ends, ticks_of
from shoal.bench.flagship.cells import Cell
from shoal.bench.flagship.found import FlagshipStore, Found
from shoal.bench.flagship.judge import stored_peers
from shoal.bench.flagship.parts import PEER_DELTA, PEER_EPSILONS
from shoal.bench.flagship.tables import TABLES
from shoal.bench.style import AXES, METRICS, look
from shoal.reporting.document import Block, Bullets, Heading, Picture, Table, Text, style

# Our labels in the figure: as measured by `shoal bench run peers`.
_OURS = {"KMeans": 0.0, "KMeans, delta = 1e-6": PEER_DELTA}
# Seeds of that run, at most.
_SEEDS, _RUNS = 1_000_000, 1000


def stored_chapter(directory: Path) -> Iterator[Block]:
    """Yield stored figures of peers, with ours where a run of the flagship has them.

    Parameters
    ----------
    directory : Path
        Of result files; the flagship's are there, or in the folder `flagship` beside it.
    """
    stored = stored_peers()
    ours = _ours(directory)
    labels = (*(label for label in _OURS if any(key[1] == label for key in ours)), *stored["methods"])
    ratios = {(t, f"{m}, stored", e): r for t, m, e, _, r, *_ in stored["figures"]} | ours
    shown = tuple(label if label in _OURS else f"{label}, stored" for label in labels)
    tables = [t for t in stored["denominators"] if all((t, label, 1.0) in ratios for label in shown)]
    yield Heading("As stored: Google's LSH clustering, FastLloyd and diffprivlib", 3)
    yield Text(
        "**Stored figures, not measured by this run**: what other libraries did on the same tables, from "
        "`shoal.bench.flagship`. "
        + stored["about"]
        + ". Ours are from `shoal bench run peers`, over the best of ten "
        "non-private starts too. `shoal bench peers setup` makes an environment for diffprivlib, which is "
        "then run beside ours; Google's clustering is run where you have it (docs/how-to/add-a-peer.md)."
    )
    yield Bullets(tuple(f"{name}: {about}" for name, about in stored["methods"].items()))
    if tables:
        caption = f"Geometric mean over {len(tables)} tables of {METRICS['ratio']}; peers as stored."
        yield Picture("peers-stored", caption, _figure(ratios, shown, tables))
    rows = [
        (t, f"{e:g}", *(f"{ratios[t, label, e]:.3f}" if (t, label, e) in ratios else "" for label in shown))
        for t in stored["denominators"]
        for e in PEER_EPSILONS
    ]
    yield Table(
        ("table", "epsilon", *shown), tuple(rows), folded=f"Table: {METRICS['ratio']}, peers as stored"
    )


def _ours(directory: Path) -> dict[tuple[str, str, float], float]:
    """Return our mean ratios by table, label and epsilon."""
    for place in (directory, directory.parent / "flagship"):
        files = ("flagship.jsonl", "peers.jsonl")  # of the whole run, or of this part of it
        found = Found(record for name in files for record in FlagshipStore(place / name).read())
        ratios = {
            (table.peer, label, epsilon): summary.mean
            for name, table in TABLES.items()
            if table.peer
            for label, delta in _OURS.items()
            for epsilon in PEER_EPSILONS
            if (summary := found.summary(Cell(name, epsilon, delta=delta), _SEEDS, _RUNS))
        }
        if ratios:
            return ratios
    return {}


def _figure(ratios: dict[tuple[str, str, float], float], labels: tuple[str, ...], tables: list[str]) -> Any:
    with style():
        figure, axes, _ = line_panels(1, labels)
        ax, ends = axes[0], []
        for label in reversed(labels):
            epsilons = [e for e in PEER_EPSILONS if all((t, label, e) in ratios for t in tables)]
            means = [
                math.exp(float(np.mean([math.log(ratios[t, label, e]) for t in tables]))) for e in epsilons
            ]
            if means:
                own = look(label)
                ax.plot(epsilons, means, own.line, marker=own.marker, color=own.colour, linewidth=own.width,
                        mec="white", mew=0.5)  # fmt: skip
                ends.append((epsilons[-1], means[-1], label))
        ax.set(xscale="log", yscale="log", xlabel=AXES["epsilon"], ylabel=METRICS["ratio"])
        ticks_of(ax, list(PEER_EPSILONS))
        log_ticks(ax.yaxis, *ax.get_ylim())
        names_at_ends(ax, ends)
        return figure
