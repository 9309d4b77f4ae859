"""The figures of the report. Each takes an experiment with its results and gives a matplotlib figure."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from shoal.bench.dots import overview
from shoal.bench.drawing import (
    FEW,
    PAGE,
    figure_of,
    line,
    line_panels,
    log_ticks,
    names_above,
    names_at_ends,
    panels,
    ticks_of,
)
from shoal.bench.experiment import Experiment, Metric, Over
from shoal.bench.methods import ONE_START
from shoal.bench.ranking import DEFAULT
from shoal.bench.results import Results
from shoal.bench.style import AXES, METRICS, look, number
from shoal.bench.trends import NO_NOISE
from shoal.reporting.document import style


def curves(experiment: Experiment, results: Results, metric: Metric) -> Any:
    """Draw one panel a table: the metric against what is varied, a line and a band a method."""
    with style():
        series = results.distinct("series")
        results = _no_more_than(FEW, results, metric)
        labels = results.distinct("method")
        figure, axes, columns = line_panels(len(series), labels)
        timed = metric == "seconds" and len(results.where(method=ONE_START.label)) > 0
        for ax, name in zip(axes, series, strict=False):
            here = results.where(series=name)
            ends, xs = [], sorted(here.distinct("x"))
            place = _places(experiment.sweep.over, xs)
            for label in reversed(here.distinct("method")):  # the first on top
                points = _points(here, label, metric, relative=timed)
                if len(points):
                    points[:, 0] = [place[x] for x in points[:, 0]]
                    ends.append((points[-1, 0], points[-1, 1], label))
                    line(ax, points, label, band=not timed)
            ax.set_xscale("log")
            ax.set_yscale("log")
            if metric == "nicv" and len(here.values("best")):
                best = [here.where(x=x).mean("best") for x in xs]  # another one for every k
                ax.plot([place[x] for x in xs], best, color="#444444", linewidth=1.2, linestyle=(0, (1, 1)))
                ends.append((max(p[0] for p in ends), best[-1], "best non-private"))
            if metric == "ratio":
                ax.axhline(1, color="#444444", linewidth=1.2, linestyle=(0, (1, 1)))
            ticks_of(ax, [place[x] for x in xs], [number(x) if place[x] == x else "no noise" for x in xs])
            names_at_ends(ax, ends)
            _title(ax, here, name, experiment)
            ax.set_xlabel(AXES[experiment.sweep.over])
        for ax in axes[::columns]:
            ax.set_ylabel("time ÷ scikit-learn's, one start" if timed else METRICS[metric].split(":")[0])
        return figure


def _places(over: Over, xs: list[float]) -> dict[float, float]:
    """Return where values are drawn: no noise at all, a little beyond the other epsilons."""
    silent = over == "epsilon" and len(xs) > 1
    return {x: 4 * xs[-2] if silent and x == NO_NOISE else x for x in xs}


def _no_more_than(most: int, results: Results, metric: Metric) -> Results:
    """Leave in each panel no more methods than can be told apart: our default, and the best others."""
    kept = []
    for series in results.distinct("series"):
        here = results.where(series=series)
        labels = here.distinct("method")
        typical = {label: _typical_of(here.where(method=label), metric) for label in labels}
        ranked = sorted(labels, key=lambda label: (label not in (DEFAULT, ONE_START.label), typical[label]))
        chosen = set(ranked[:most])
        kept += [record for record in here if record["method"] in chosen]
    return Results(kept)


def _typical_of(results: Results, metric: str) -> float:
    means = [cell.mean(metric) for _, _, cell in results.cells()]
    logs = [math.log(mean) for mean in means if mean > 0]
    return sum(logs) / len(logs) if logs else math.inf


def matrix(experiment: Experiment, results: Results, metric: Metric) -> Any:
    """Draw a panel per value of what is varied: a line per table, a column per method, the best framed."""
    from matplotlib.colors import LogNorm
    from matplotlib.patches import Rectangle

    with style():
        values, tables = sorted(results.distinct("x"))[-4:], results.distinct("series")
        means = {
            (x, series, label): cell.where(method=label).mean(metric)
            for series, x, cell in results.cells()
            for label in cell.distinct("method")
        }
        labels = sorted(results.distinct("method"), key=lambda name: _typical(means, name))
        width = 0.5 * len(labels) + 0.085 * max(map(len, tables)) + 0.3
        figure = figure_of(width, (0.23 * len(tables) + 0.35) * len(values) + 1.5)
        grid = figure.subplots(len(values), 1, squeeze=False)
        norm = LogNorm(1, 10, clip=True)
        for ax, x in zip(grid[:, 0], values, strict=True):
            shown = np.array([[means.get((x, t, name), np.nan) for name in labels] for t in tables])
            ax.imshow(shown, cmap="YlOrRd", norm=norm, aspect="auto")
            for i, j in np.argwhere(np.isfinite(shown)):
                best = shown[i, j] == np.nanmin(shown[i])
                ax.text(j, i, _short(shown[i, j]), ha="center", va="center", fontsize=7.5,
                        weight="bold" if best else "normal",
                        color="white" if norm(shown[i, j]) > 0.6 else "#222222")  # fmt: skip
                if best:
                    ax.add_patch(
                        Rectangle((j - 0.48, i - 0.46), 0.96, 0.92, fill=False, lw=1.6, ec="#0060a8")
                    )
            ax.set_yticks(range(len(tables)), tables)
            ax.set_xticks([])
            ax.grid(visible=False)
            ax.tick_params(length=0)
            ax.spines[:].set_visible(False)
            ax.set_ylabel(f"{experiment.sweep.over} = {number(x)}", weight="bold")
        top = grid[0, 0]
        top.set_xticks(range(len(labels)), labels, rotation=40, ha="left", rotation_mode="anchor")
        top.xaxis.tick_top()
        top.tick_params(length=0)
        return figure


def _typical(means: dict[tuple[float, str, str], float], label: str) -> float:
    """Return the mean logarithm of a method's means, where it has any."""
    own = [math.log(mean) for (_, _, name), mean in means.items() if name == label and math.isfinite(mean)]
    return sum(own) / len(own) if own else math.inf


def _short(value: float) -> str:
    """Write a number with two digits, or three where it is near 1."""
    return f"{value:.2f}" if value < 9.95 else f"{value:.0f}"


def heatmap(experiment: Experiment, results: Results, metric: Metric) -> Any:
    """Draw a panel a method: the metric over the number of columns and of groups."""
    from matplotlib.colors import LogNorm

    with style():
        labels = results.distinct("method")
        # A method that was run on fewer tables has a smaller map, not one with holes.
        sides, grids = {}, {}
        for label in labels:
            own = results.where(method=label)
            ds, ks = (sorted({record[fact] for record in own}) for fact in ("columns", "k"))
            sides[label] = ds, ks
            grids[label] = np.array([[own.where(columns=d, k=k).mean(metric) for d in ds] for k in ks])
        every = np.concatenate([grid[np.isfinite(grid)] for grid in grids.values()])
        low, high = max(every[every > 0].min(), every.max() / 1e4), every.max()
        norm = LogNorm(low, high)
        most = [max(len(side[i]) for side in sides.values()) for i in (0, 1)]
        width = 0.42 * most[0] + 1.2
        columns = max(1, min(3, len(labels), int(PAGE / width)))
        figure, axes = panels(len(labels), columns, size=(width, 0.3 * most[1] + 1.0))
        for ax, label in zip(axes, labels, strict=False):
            ds, ks = sides[label]
            image = ax.imshow(grids[label], origin="lower", cmap="YlOrRd", norm=norm, aspect="auto")
            for i in range(len(ks)):
                for j in range(len(ds)):
                    value = grids[label][i, j]
                    if math.isfinite(value):
                        dark = norm(max(value, low)) > 0.6
                        ax.text(j, i, f"{value:.2g}", ha="center", va="center", fontsize=7,
                                color="white" if dark else "#333333")  # fmt: skip
            ax.set_xticks(range(len(ds)), [str(d) for d in ds])
            ax.set_yticks(range(len(ks)), [str(k) for k in ks])
            ax.grid(visible=False)
            ax.set_title(label, color=look(label).colour)
            ax.set_xlabel(AXES["d"])
        for ax in axes[::columns]:
            ax.set_ylabel(AXES["k"])
        bar = figure.colorbar(image, ax=list(axes), label=METRICS[metric], shrink=0.9, aspect=30, pad=0.02)
        log_ticks(bar.ax.yaxis, low, high)
        at = " and ".join(number(x) for x in results.distinct("x"))
        figure.suptitle(f"{experiment.sweep.over} = {at}", x=0.01, ha="left", fontsize=9, color="#555555")
        return figure


def predicted(experiment: Experiment, results: Results, metric: Metric) -> Any:
    """Draw what was predicted against what was measured; on the diagonal the theory is right."""
    markers = "osD^vP*X"
    with style():
        figure, axes = panels(2, 2, size=(4.3, 3.9))
        equation = re.search(r"\(\d+\)", experiment.title)
        kinds = (("predicted", f"Su et al. {equation[0] if equation else ''}: groups of equal size"),
                 ("predicted_sizes", "the same, with every group's own size"))  # fmt: skip
        tables, labels = results.distinct("series"), results.distinct("method")
        for ax, (kind, title) in zip(axes, kinds, strict=True):
            drawn = []
            for table, marker in zip(tables, markers, strict=False):
                for label in labels:
                    own = results.where(series=table, method=label)
                    points = [(c.mean(kind), c.mean(metric)) for _, _, c in own.cells()]
                    points = [p for p in points if all(map(math.isfinite, p))]
                    drawn += points
                    ax.plot(
                        *zip(*points, strict=True),
                        marker,
                        color=look(label).colour,
                        mec="white",
                        mew=0.5,
                        markersize=6.5,
                        label=table if label == labels[0] else None,
                    )
            ends = np.array([min(map(min, drawn)) / 1.5, max(map(max, drawn)) * 1.5])
            ax.plot(ends, ends, color="#444444", linewidth=1.2, linestyle=(0, (1, 1)), zorder=0)
            ax.fill_between(ends, ends / 2, ends * 2, color="#000000", alpha=0.06, linewidth=0, zorder=0)
            ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends, xlabel="predicted " + METRICS[metric])
            ax.set_title(title)
        axes[0].set_ylabel("measured " + METRICS[metric])
        axes[0].annotate("as predicted\n(grey: within a factor of 2)", (0.97, 0.06), xycoords="axes fraction",
                         ha="right", color="#555555", fontsize=8)  # fmt: skip
        legend = axes[1].legend(loc="lower right", frameon=False, fontsize=8, handletextpad=0.2)
        for handle in legend.legend_handles:
            handle.set_color("#666666")
        names_above(figure, labels)
        return figure


def _points(here: Results, label: str, metric: str, *, relative: bool) -> Any:
    """Return rows of x, mean, 10th and 90th percentile."""
    rows = []
    for _, x, cell in here.where(method=label).cells():
        summary = cell.summary(metric)
        scale = here.where(method=ONE_START.label, x=x).mean(metric) if relative else 1.0
        if summary is not None and math.isfinite(scale):
            rows.append([x, *(v / scale for v in (summary.mean, summary.low, summary.high))])
    return np.array(sorted(rows))


def _title(ax: Any, here: Results, name: str, experiment: Experiment) -> None:
    first = here.records[0]
    facts = {"n": f"{number(first['rows'])} rows", "d": f"d = {first['columns']}", "k": f"k = {first['k']}"}
    facts.pop(experiment.sweep.over, None)
    ax.set_title(name.split()[0], pad=18)
    ax.annotate(", ".join(facts.values()), (0, 1), xycoords="axes fraction", xytext=(0, 6),
                textcoords="offset points", fontsize=8, color="#666666")  # fmt: skip


DRAWINGS = {
    "curves": curves,
    "matrix": matrix,
    "overview": overview,
    "heatmap": heatmap,
    "predicted": predicted,
}
