"""Draw pictures of docs/explanation and the README: `benchmarks/docs_pictures.py docs/images [NAME...]`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

from shoal import KMeans
from shoal.cli.demo import QUARTERS, visitors

OURS, GREY, RED = "#0b7285", "#9aa5b1", "#c8452c"
PEERS = {
    "Google LSH": "#b08900",
    "diffprivlib": RED,
    "DPLloyd of FastLloyd": "#5e35b1",
    "FastLloyd": "#2f7d32",
}


def epsilon() -> Figure:
    """How sure one can be of a person."""
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    ax = figure.subplots()
    levels = np.linspace(0, 5, 300)
    sure = 100 / (1 + np.exp(-levels))
    ax.fill_between(levels, 50, sure, color=OURS, alpha=0.12, linewidth=0)
    ax.plot(levels, sure, color=OURS, linewidth=2.2)
    for at in (0.1, 0.5, 1.0, 2.0, 3.0):
        here = 100 / (1 + np.exp(-at))
        ax.plot(at, here, "o", color=OURS, markersize=6, mec="white")
        ax.annotate(
            f"{at:g}: {here:.0f} %", (at, here), xytext=(9, -6), textcoords="offset points", fontsize=9
        )
    ax.axhline(50, color="#555555", linewidth=1, linestyle=(0, (2, 2)))
    ax.annotate("even odds", (5, 50), xytext=(0, 4), textcoords="offset points", ha="right", fontsize=9)
    ax.set(xlim=(0, 5), ylim=(46, 101), xlabel="epsilon (smaller is more private)", ylabel="sure at most, %")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def contents() -> Figure:
    """Rows stay on the left; what may leave is on the right."""
    rows = visitors()
    model = KMeans(5, epsilon=1.0, bounds={"east": (0, 10), "north": (0, 10)}, random_state=0).fit(rows)
    figure = Figure(figsize=(8, 4), layout="constrained")
    inside, outside = figure.subplots(1, 2, sharey=True)
    shown = np.column_stack([rows["east"], rows["north"]])[::8]
    inside.scatter(*shown.T, s=5, c=GREY, linewidths=0)
    inside.scatter(*shown[7], s=90, facecolors="none", edgecolors=RED, linewidths=1.6)
    inside.annotate("somebody", shown[7], (8, 8), textcoords="offset points", color=RED, fontsize=9)
    sizes, noise = model.cluster_sizes_, model.release_.size_sd
    outside.scatter(*model.cluster_centers_.T, s=2400 * sizes / sizes.sum(), c=OURS, alpha=0.35, linewidths=0)
    outside.scatter(*model.cluster_centers_.T, s=18, c="#12355b", linewidths=0)
    for point, size in zip(model.cluster_centers_, sizes, strict=True):
        text = f"{size:,.0f} ± {2 * noise:.0f}"
        outside.annotate(text, point, (0, 17), textcoords="offset points", ha="center", fontsize=9)
    inside.set_title("stays: rows, labels, exact sizes", loc="left", fontsize=10)
    outside.set_title("leaves: centres, noisy sizes, a certificate", loc="left", fontsize=10)
    for ax in (inside, outside):
        ax.set(xlim=(0, 10), ylim=(0, 10), aspect="equal", xlabel="km east")
    inside.set_ylabel("km north")
    return figure


def bounds() -> Figure:
    """How far centres are off, for bounds that are too narrow, right and too wide; measured."""
    rows = np.column_stack([visitors()["east"], visitors()["north"]])
    truth = np.array(QUARTERS)
    factors = np.array([0.5, 0.6, 0.7, 0.85, 1.0, 2.0, 10.0, 100.0])
    errors = np.empty((len(factors), 5))
    for i, factor in enumerate(factors):
        half = 5 * factor
        for j in range(errors.shape[1]):
            model = KMeans(5, epsilon=1.0, bounds=(5 - half, 5 + half), random_state=j).fit(rows)
            apart = np.linalg.norm(truth[:, None] - model.cluster_centers_[None], axis=2)
            errors[i, j] = 1000 * apart.min(axis=1).mean()
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    ax = figure.subplots()
    ax.axvspan(factors[0], 1, color=RED, alpha=0.06, linewidth=0)
    low, middle, high = np.quantile(errors, [0.0, 0.5, 1.0], axis=1)
    ax.fill_between(factors, low, high, color=OURS, alpha=0.2, linewidth=0)
    ax.plot(factors, middle, "o-", color=OURS, markersize=4)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="width of the bounds, over that of the town",
        ylabel="centres off by, metres",
    )
    ax.xaxis.set_major_locator(FixedLocator([0.5, 1, 2, 10, 100]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(FixedLocator([10, 30, 100, 300]))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
    ax.annotate(
        "too narrow: rows are cut off",
        (0.57, 0.93),
        xycoords=("data", "axes fraction"),
        fontsize=9,
        color=RED,
    )
    ax.annotate(
        "too wide: next to nothing", (6, 0.18), xycoords=("data", "axes fraction"), fontsize=9, color=OURS
    )
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def peers() -> Figure:
    """Draw the cost beside that of other libraries, as benchmarks/flagship/flagship.md has it."""
    text = (Path(__file__).parent / "flagship" / "flagship.md").read_text()
    head, _, *lines = re.search(r"^\| epsilon \| tables .*\n(?:^\|.*\n)+", text, re.MULTILINE)[0].splitlines()
    names = [cell.strip() for cell in head.strip("|").split("|")]
    table = np.array([[float(cell) for cell in line.strip("|").split("|")] for line in lines])
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    ax = figure.subplots()
    levels = table[:, 0]
    for name, colour in PEERS.items():
        ax.plot(
            levels, table[:, names.index(name)], "o-", color=colour, markersize=4, linewidth=1.4, label=name
        )
    ours = table[:, names.index("KMeans")]
    ax.plot(levels, ours, "o-", color="#111111", markersize=5, linewidth=2.4, label="Shoal's KMeans")
    for at, value in zip(levels, ours, strict=True):
        ax.annotate(f"{value:.2f}", (at, value), (0, 6), textcoords="offset points", ha="center", fontsize=8)
    ax.axhline(1, color="#555555", linewidth=1, linestyle=(0, (2, 2)))
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="epsilon",
        ylabel="cost over that without privacy",
        ylim=(0.93, 8.5),
    )
    for axis, ticks in ((ax.xaxis, levels), (ax.yaxis, [1, 1.5, 2, 3, 5, 7])):
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(ScalarFormatter())
    ax.legend(frameon=False, fontsize=8, loc="upper right")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    for draw in (epsilon, contents, bounds, peers):
        if draw.__name__ in (sys.argv[2:] or [draw.__name__]):
            draw().savefig(Path(sys.argv[1]) / f"{draw.__name__}.png", dpi=150)
