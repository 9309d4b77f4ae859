"""Figure 8 of Feldman et al. (2017), rebuilt: a city at three privacy levels, in three layers.

    python benchmarks/studio_figure8.py docs/images

Pick-ups of 99,794 taxi trips of January 2015 (`shoal.datasets`, "nyc_taxi_2015_01"; the paper had 11.8
million). Above as in the paper: black, the points of a private coreset, by weight; blue, private centres,
found on that coreset for nothing. Below as the studio has it: black, released counts of a private tree;
blue, the centres of KMeans. Red in both: centres of k-means without privacy, which are for the curator's
screen alone; this table is public, so they may be shown here. Each panel is a release of its own: released
together, they would add up.
"""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path

import numpy as np

from shoal import KMeans, PrivateCoreset, PrivTreeSynopsis
from shoal.datasets import load
from shoal.queries.gate.one_screen import groups_for_one_screen
from shoal.studio.workshop import level_of

LEVELS = ("very strong", "good", "very weak")
K = 10
# What is drawn of the public bounds: where centres are.
VIEW = (-74.04, -73.85, 40.685, 40.815)
BLACK, BLUE, RED = "#22272e", "#1f6fd0", "#c8342c"


def cost(X, centres):
    total = 0.0
    for start in range(0, len(X), 8192):
        total += ((X[start : start + 8192, np.newaxis] - centres) ** 2).sum(axis=2).min(axis=1).sum()
    return total


def main(out: str = "docs/images") -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import pyarrow as pa

    warnings.simplefilter("ignore")
    taxi = load("nyc_taxi_2015_01")
    names, X = taxi.names[:2], np.ascontiguousarray(taxi.X[:, :2])
    bounds = {name: (float(taxi.bounds[0][j]), float(taxi.bounds[1][j])) for j, name in enumerate(names)}
    table = pa.table(dict(zip(names, X.T, strict=True)))
    model = KMeans(K, epsilon=1.0, bounds=bounds)
    opened = model._open(table, None)
    domain = model._plan(opened.schema, model._unit(), weighted=False).domain
    red = np.array(
        groups_for_one_screen(opened.source(domain), domain, K).on_the_curators_screen()["centres"]
    )
    scale = domain.bounds.half_width
    least = cost(X / scale, red / scale)

    figure, panels = plt.subplots(2, 3, figsize=(12.6, 8.3), sharex=True, sharey=True, layout="constrained")
    for column, name in enumerate(LEVELS):
        level = level_of(name)
        coreset = PrivateCoreset(K, epsilon=level.epsilon, bounds=bounds).fit(table).release_
        counts = PrivTreeSynopsis(epsilon=level.epsilon, bounds=bounds).fit(table).release_
        held = counts.synopsis
        standing = held.weights > 0
        own = KMeans(K, epsilon=level.epsilon, bounds=bounds).fit(table).cluster_centers_
        shown = (
            (coreset.points, coreset.weights, coreset.kmeans(K).centres, 900, "points of a coreset"),
            (counts.domain.decode(held.places()[standing]), held.weights[standing], own, 500, "counts"),
        )
        for row, (at, weights, blue, area, what) in enumerate(shown):
            axes, more = panels[row][column], 100 * (cost(X / scale, blue / scale) / least - 1)
            print(f"{name}, epsilon {level.epsilon:g}: {len(weights)} {what}, cost {more:+.1f} %", flush=True)
            areas = np.maximum(area * weights / weights.sum(), (6, 0.8)[row])
            axes.scatter(*at.T, s=areas, c=BLACK, alpha=(0.8, 0.6)[row], linewidths=0, zorder=2)
            axes.scatter(*red.T, s=62, c=RED, marker="x", linewidths=1.8, zorder=4)
            axes.scatter(*blue.T, s=70, facecolors="none", edgecolors=BLUE, linewidths=2.2, zorder=3)
            said = f"{len(weights):,} {what}\ncost {more:+.1f} %"
            axes.text(0.97, 0.03, said, transform=axes.transAxes, ha="right", va="bottom", fontsize=10)
            axes.set(xlim=VIEW[:2], ylim=VIEW[2:], aspect=1 / math.cos(math.radians(40.75)))
            axes.set_facecolor("#f4f6f8")
            axes.xaxis.set_major_locator(plt.MultipleLocator(0.05))
            axes.yaxis.set_major_locator(plt.MultipleLocator(0.05))
            axes.tick_params(labelsize=8, colors="#777777")
            axes.spines[:].set_color("#d3d8de")
        top = panels[0][column]
        top.set_title(f"{name.capitalize()}\n", loc="left", fontsize=13, weight="bold")
        top.text(
            0, 1.015, f"epsilon {level.epsilon:g}: {level.risk}", transform=top.transAxes, color="#555555"
        )
    panels[0][0].set_ylabel("As in the paper", fontsize=12)
    panels[1][0].set_ylabel("As in the studio", fontsize=12)
    handles = [
        plt.Line2D([], [], marker="o", linestyle="", color=BLACK, ms=6, label="released points, by weight"),
        plt.Line2D([], [], marker="o", linestyle="", markerfacecolor="none", markeredgecolor=BLUE,
                   markeredgewidth=2.2, markersize=8, label="private centres"),
        plt.Line2D([], [], marker="x", linestyle="", color=RED, markersize=7, markeredgewidth=1.8,
                   label="centres without privacy: not for release"),
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=11)
    path = Path(out) / "studio-figure8.png"
    figure.savefig(path, dpi=95)
    print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
