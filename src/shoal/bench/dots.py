"""Figures of dots: every method at a glance, on every table or on one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shoal.bench.drawing import figure_of, log_ticks, names_above, names_height
from shoal.bench.experiment import Experiment, Metric
from shoal.bench.results import Results, Summary
from shoal.bench.style import METRICS, look, number
from shoal.bench.trends import NO_NOISE
from shoal.reporting.document import style


def overview(experiment: Experiment, results: Results, metric: Metric) -> Any:
    """Draw a dot for every method on every table, a panel for each value of what is varied."""
    with style():
        values = sorted(results.distinct("x"))[-4:]
        tables = sorted(
            results.distinct("series"),
            key=lambda name: -_least(results.where(series=name, x=values[-1]), metric),
        )
        labels = results.distinct("method")
        if len(tables) == 1:
            return _one_table(experiment, results, metric)
        width = max(3.0 * len(values) + 1.6, 7.0)
        height = 1.2 + names_height(labels, width) + (0.15 + 0.09 * len(labels)) * len(tables)
        figure = figure_of(width, height)
        grid = figure.subplots(1, len(values), sharey=True, sharex=True, squeeze=False)
        for ax, x in zip(grid[0], values, strict=True):
            for i, table in enumerate(tables):
                for j, label in enumerate(labels):
                    y = i - (j - (len(labels) - 1) / 2) * 0.68 / len(labels)  # the first on top
                    _dot(ax, y, label, results.where(series=table, x=x, method=label).summary(metric))
            _along(ax, metric)
            silent = experiment.sweep.over == "epsilon" and x == NO_NOISE
            ax.set_title("no noise" if silent else f"{experiment.sweep.over} = {number(x)}")
            ax.grid(axis="y", visible=False)
        grid[0, 0].set_yticks(range(len(tables)), [str(name) for name in tables])
        grid[0, 0].set_ylim(-0.7, len(tables) - 0.3)
        for edge in np.arange(0.5, len(tables) - 1):
            for ax in grid[0]:
                ax.axhline(edge, color="#eeeeee", linewidth=0.7, zorder=0)
        figure.supxlabel(
            METRICS[metric] + ("   (1 = as good as without privacy)" if metric == "ratio" else "")
        )
        names_above(figure, labels)
        return figure


def _one_table(experiment: Experiment, results: Results, metric: Metric) -> Any:
    """Draw a line for every method, with its name before it: there is room where there is one table."""
    values, labels = sorted(results.distinct("x"))[-4:], results.distinct("method")
    figure = figure_of(max(3.4 * len(values) + 3.2, 7.0), 0.3 * len(labels) + 1.1)
    grid = figure.subplots(1, len(values), sharey=True, sharex=True, squeeze=False)
    for ax, x in zip(grid[0], values, strict=True):
        for y, label in enumerate(labels):
            _dot(ax, y, label, results.where(x=x, method=label).summary(metric), size=7)
        _along(ax, metric)
        ax.set_title(f"{results.records[0]['series']}, {experiment.sweep.over} = {number(x)}")
    grid[0, 0].set_yticks(range(len(labels)), labels)
    grid[0, 0].set_ylim(len(labels) - 0.4, -0.6)
    for text, label in zip(grid[0, 0].get_yticklabels(), labels, strict=True):
        text.set_color(look(label).colour)
    figure.supxlabel(METRICS[metric])
    return figure


def _dot(ax: Any, y: float, label: str, summary: Summary | None, size: int = 6) -> None:
    """Draw a method's mean, and a bar from the 10th to the 90th percentile of its runs."""
    if summary is not None:
        own = look(label)
        ax.plot([summary.low, summary.high], [y, y], color=own.colour, alpha=0.35, linewidth=size - 3)
        ax.plot(summary.mean, y, own.marker, color=own.colour, markersize=size, mec="white", mew=0.6)


def _along(ax: Any, metric: Metric) -> None:
    """Make the axis logarithmic, and mark what is as good as without privacy."""
    ax.set_xscale("log")
    if metric == "ratio":
        ax.axvline(1, color="#444444", linewidth=1.2, linestyle=(0, (1, 1)))
    log_ticks(ax.xaxis, *ax.get_xlim())


def _least(results: Results, metric: str) -> float:
    means = [results.where(method=label).mean(metric) for label in results.distinct("method")]
    return min((mean for mean in means if math.isfinite(mean)), default=math.inf)
