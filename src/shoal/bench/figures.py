"""The figures of the report. Each takes an experiment with its results and gives a matplotlib figure."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from shoal.bench.experiment import Experiment, Metric
from shoal.bench.looks import AXES, METRICS, look, number, style
from shoal.bench.methods import ONE_START
from shoal.bench.results import Results

_PANEL, _ALONE = (3.5, 2.75), (5.2, 3.1)


def curves(experiment: Experiment, results: Results, metric: Metric) -> Any:
    """Draw one panel a table: the metric against what is varied, a line and a band a method."""
    with style():
        series = results.distinct("series")
        columns = 2 if len(series) == 4 else min(3, len(series))
        figure, axes = _panels(len(series), columns, size=_PANEL if columns > 1 else _ALONE)
        timed = metric == "seconds" and len(results.where(method=ONE_START.label)) > 0
        for ax, name in zip(axes, series, strict=False):
            here = results.where(series=name)
            ends = []
            for label in here.distinct("method"):
                points = _points(here, label, metric, relative=timed)
                if len(points):
                    ends.append((points[-1, 0], points[-1, 1], label))
                    _line(ax, points, label, band=not timed)
            ax.set_xscale("log")
            ax.set_yscale("log")
            if metric == "nicv" and len(here.values("best")):
                best = float(here.values("best").min())
                ax.axhline(best, color="#444444", linewidth=1.2, linestyle=(0, (1, 1)))
                ends.append((max(p[0] for p in ends), best, "best non-private"))
            if metric == "ratio":
                ax.axhline(1, color="#444444", linewidth=1.2, linestyle=(0, (1, 1)))
            _ticks(ax, sorted(here.distinct("x")))
            _label_ends(ax, ends)
            _title(ax, here, name, experiment)
            ax.set_xlabel(AXES[experiment.sweep.over])
        for ax in axes[::columns]:
            ax.set_ylabel("time ÷ scikit-learn's, one start" if timed else METRICS[metric].split(":")[0])
        return figure


def overview(experiment: Experiment, results: Results, metric: Metric) -> Any:
    """Draw a dot for every method on every table, a panel for each value of what is varied."""
    with style():
        values = sorted(results.distinct("x"))[-4:]
        tables = sorted(
            results.distinct("series"),
            key=lambda name: -_least(results.where(series=name, x=values[-1]), metric),
        )
        height = 1.4 + (0.15 + 0.055 * len(results.distinct("method"))) * len(tables)
        figure = _figure(3.0 * len(values) + 1.6, height)
        grid = figure.subplots(1, len(values), sharey=True, sharex=True, squeeze=False)
        labels = results.distinct("method")
        for ax, x in zip(grid[0], values, strict=True):
            for i, table in enumerate(tables):
                for j, label in enumerate(labels):
                    summary = results.where(series=table, x=x, method=label).summary(metric)
                    if summary is None:
                        continue
                    y = i - (j - (len(labels) - 1) / 2) * 0.68 / len(labels)  # the first on top
                    own = look(label)
                    ax.plot([summary.low, summary.high], [y, y], color=own.colour, alpha=0.35, linewidth=3)
                    ax.plot(summary.mean, y, own.marker, color=own.colour, markersize=6, mec="white", mew=0.6)
            ax.set_xscale("log")
            if metric == "ratio":
                ax.axvline(1, color="#444444", linewidth=1.2, linestyle=(0, (1, 1)))
            _log_ticks(ax.xaxis, *ax.get_xlim())
            ax.set_title(f"{experiment.sweep.over} = {number(x)}")
            ax.grid(axis="y", visible=False)
        grid[0, 0].set_yticks(range(len(tables)), [str(name) for name in tables])
        grid[0, 0].set_ylim(-0.7, len(tables) - 0.3)
        for edge in np.arange(0.5, len(tables) - 1):
            for ax in grid[0]:
                ax.axhline(edge, color="#eeeeee", linewidth=0.7, zorder=0)
        figure.supxlabel(
            METRICS[metric] + ("   (1 = as good as without privacy)" if metric == "ratio" else "")
        )
        _names_above(figure, labels)
        return figure


def heatmap(experiment: Experiment, results: Results, metric: Metric) -> Any:
    """Draw a panel a method: the metric over the number of columns and of groups."""
    from matplotlib.colors import LogNorm

    with style():
        labels = results.distinct("method")
        ds, ks = (sorted({record[fact] for record in results}) for fact in ("columns", "k"))
        grids = {}
        for label in labels:
            own = results.where(method=label)
            grids[label] = np.array([[own.where(columns=d, k=k).mean(metric) for d in ds] for k in ks])
        every = np.concatenate([grid[np.isfinite(grid)] for grid in grids.values()])
        low, high = max(every[every > 0].min(), every.max() / 1e4), every.max()
        norm = LogNorm(low, high)
        columns = min(3, len(labels))
        figure, axes = _panels(len(labels), columns, size=(0.52 * len(ds) + 1.5, 0.42 * len(ks) + 1.3))
        for ax, label in zip(axes, labels, strict=False):
            image = ax.imshow(grids[label], origin="lower", cmap="YlOrRd", norm=norm, aspect="auto")
            for i in range(len(ks)):
                for j in range(len(ds)):
                    value = grids[label][i, j]
                    if math.isfinite(value):
                        dark = norm(max(value, low)) > 0.6
                        ax.text(j, i, f"{value:.2g}", ha="center", va="center", fontsize=8,
                                color="white" if dark else "#333333")  # fmt: skip
            ax.set_xticks(range(len(ds)), [str(d) for d in ds])
            ax.set_yticks(range(len(ks)), [str(k) for k in ks])
            ax.grid(visible=False)
            ax.set_title(label, color=look(label).colour)
            ax.set_xlabel(AXES["d"])
        for ax in axes[::columns]:
            ax.set_ylabel(AXES["k"])
        bar = figure.colorbar(image, ax=list(axes), label=METRICS[metric], shrink=0.9, pad=0.02)
        _log_ticks(bar.ax.yaxis, low, high)
        at = " and ".join(number(x) for x in results.distinct("x"))
        figure.suptitle(f"{experiment.sweep.over} = {at}", x=0.01, ha="left", fontsize=9, color="#555555")
        return figure


def predicted(experiment: Experiment, results: Results, metric: Metric) -> Any:
    """Draw what was predicted against what was measured; on the diagonal the theory is right."""
    markers = "osD^vP*X"
    with style():
        figure, axes = _panels(2, 2, size=(4.3, 3.9))
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
        _names_above(figure, labels)
        return figure


def _figure(width: float, height: float) -> Any:
    # Not by way of pyplot, which would keep it and touch the user's own figures.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _panels(n: int, columns: int, size: tuple[float, float] = _PANEL) -> tuple[Any, Any]:
    rows = math.ceil(n / columns)
    figure = _figure(size[0] * columns, size[1] * rows)
    axes = figure.subplots(rows, columns, squeeze=False)
    for extra in axes.flat[n:]:
        extra.remove()
    return figure, axes.flat[:n]


def _points(here: Results, label: str, metric: str, *, relative: bool) -> Any:
    """Return rows of x, mean, 10th and 90th percentile."""
    rows = []
    for _, x, cell in here.where(method=label).cells():
        summary = cell.summary(metric)
        scale = here.where(method=ONE_START.label, x=x).mean(metric) if relative else 1.0
        if summary is not None and math.isfinite(scale):
            rows.append([x, *(v / scale for v in (summary.mean, summary.low, summary.high))])
    return np.array(sorted(rows))


def _line(ax: Any, points: Any, label: str, *, band: bool) -> None:
    own = look(label)
    ax.plot(points[:, 0], points[:, 1], own.line, marker=own.marker, color=own.colour, mec="white", mew=0.5)
    if band:
        ax.fill_between(points[:, 0], points[:, 2], points[:, 3], color=own.colour, alpha=0.12, linewidth=0)


def _label_ends(ax: Any, ends: list[tuple[float, float, str]]) -> None:
    """Write each method's name at the end of its line, and push apart those that would overlap."""
    height = ax.get_figure().get_size_inches()[1] * ax.get_subplotspec().get_gridspec().nrows ** -1 * 72
    low, high = np.log(ax.get_ylim())
    gap = 10.5 / (0.72 * height) * (high - low)
    placed: list[float] = []
    for _, y, label in sorted(ends, key=lambda end: end[1]):
        at = max(math.log(y), placed[-1] + gap) if placed else max(math.log(y), low)
        placed.append(at)
        colour = "#444444" if label == "best non-private" else look(label).colour
        ax.annotate(label, (1.0, math.exp(at)), xycoords=("axes fraction", "data"), xytext=(3, 0),
                    textcoords="offset points", color=colour, va="center", fontsize=7.5,
                    annotation_clip=False)  # fmt: skip


def _names_above(figure: Any, labels: tuple[str, ...]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look(name).colour, marker=look(name).marker, linestyle="", label=name)
        for name in labels
    ]
    legend = figure.legend(
        handles=handles, loc="outside upper left", ncols=5, frameon=False, handletextpad=0.1
    )
    for text, name in zip(legend.get_texts(), labels, strict=True):
        text.set_color(look(name).colour)
        text.set_fontweight("bold")


def _ticks(ax: Any, xs: list[float]) -> None:
    from matplotlib.ticker import NullFormatter, NullLocator

    # All of them, as long as their numbers do not run into each other.
    shown = [xs[0]]
    for x in xs[1:]:
        if math.log(x / shown[-1]) > 0.14 * math.log(xs[-1] / xs[0]):
            shown.append(x)
    ax.set_xticks(shown, [number(x) for x in shown])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
    _log_ticks(ax.yaxis, *ax.get_ylim())


_TICKS: tuple[tuple[float, ...], ...] = (
    tuple(np.arange(1, 10, 0.1)),
    (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9),
    (1, 1.5, 2, 3, 4, 5, 7),
    (1, 2, 5),
    (1, 3),
    (1,),
)


def _log_ticks(axis: Any, low: float, high: float, most: int = 6) -> None:
    """Put a few round numbers on a log axis, also where it spans less than ten times."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for heads in _TICKS:
        ticks = [head * 10.0**decade for decade in decades for head in heads]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= most:
            break
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(round(value, 10))))


def _least(results: Results, metric: str) -> float:
    means = [results.where(method=label).mean(metric) for label in results.distinct("method")]
    return min((mean for mean in means if math.isfinite(mean)), default=math.inf)


def _title(ax: Any, here: Results, name: str, experiment: Experiment) -> None:
    first = here.records[0]
    facts = {"n": f"{number(first['rows'])} rows", "d": f"d = {first['columns']}", "k": f"k = {first['k']}"}
    facts.pop(experiment.sweep.over, None)
    ax.set_title(name.split()[0], pad=18)
    ax.annotate(", ".join(facts.values()), (0, 1), xycoords="axes fraction", xytext=(0, 6),
                textcoords="offset points", fontsize=8, color="#666666")  # fmt: skip


DRAWINGS = {"curves": curves, "overview": overview, "heatmap": heatmap, "predicted": predicted}
