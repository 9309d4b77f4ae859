"""Draw the pictures of docs/explanation/kmeans.md, from made-up rows and seeded noise.

python benchmarks/kmeans_pictures.py            # writes docs/images/kmeans-*.png
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.colors import SymLogNorm
from matplotlib.patches import Ellipse, Rectangle

from shoal.accounting import Accountant, budget_of
from shoal.algorithms.kmeans.few_columns import find
from shoal.algorithms.shared.clustering import count_rows
from shoal.bench.drawing import panels
from shoal.bench.style import look as style
from shoal.domain import Bounds, Domain
from shoal.mechanisms import SeededEntropy
from shoal.queries import LiveCurator
from shoal.sources import MemorySource, Table

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
TIGHT, WIDE = (0.0, 10.0), (-300.0, 700.0)
ROWS, BOX, CENTRE, BELL = "#9aa5ad", style("DPLloyd").colour, style("diffprivlib").colour, "#111111"
PLACES = np.array([[2.0, 2.2], [3.6, 6.8], [6.2, 4.0], [8.2, 8.0], [8.6, 1.4]])
SIZES, SPREADS = (1400, 1100, 900, 500, 100), (0.5, 0.6, 0.35, 0.5, 0.2)


def table() -> np.ndarray:
    """Return five groups of 1,400 to 100 rows in [0, 10]^2."""
    rng = np.random.default_rng(4)
    groups = [rng.normal(p, s, (n, 2)) for p, s, n in zip(PLACES, SPREADS, SIZES, strict=True)]
    return np.clip(np.vstack(groups), 0, 10)


def fitted(X, epsilon, bounds, seed=2):
    """Return what KMeans finds, and how to turn its units into the table's."""
    rows = Table(X)
    domain = Domain(Bounds.parse(bounds, 2), names=rows.names)
    allowance = Accountant(epsilon=epsilon).reserve(budget_of(epsilon, 0.0), "picture")
    curator = LiveCurator(MemorySource(rows, domain), domain, allowance, SeededEntropy(seed))
    counted, rest = count_rows(curator, adaptive=True)
    low, high = bounds
    return find(
        curator, len(PLACES), counted, rest
    ), lambda values: values * (high - low) / 2 + (high + low) / 2


def draw_rows(axes, X, corner=0.0, size=10.0):
    axes.scatter(*X.T, s=1, color=ROWS, linewidths=0, rasterized=True)
    axes.set(xlim=(corner, corner + size), ylim=(corner, corner + size), aspect="equal", xticks=[], yticks=[])


def draw_boxes(axes, boxes, units, values=None, **options):
    patches = [Rectangle(a, *(b - a)) for a, b in zip(units(boxes.lower), units(boxes.upper), strict=True)]
    drawn = PatchCollection(patches, **options)
    if values is not None:
        drawn.set_array(values)
    axes.add_collection(drawn)
    return drawn


def boxes_picture(X):
    """Rows and the cells of the look: two budgets, a tight box and one 100 times too wide."""
    figure, axes = panels(6, 3, (3.6, 3.8))
    for row, epsilon in enumerate((1.0, 0.1)):
        for column, (bounds, corner, size, words) in enumerate(
            [
                (TIGHT, 0.0, 10.0, "the rows' own box"),
                (WIDE, -300.0, 1000.0, "a box 100 times too wide"),
                (WIDE, 0.0, 10.0, "the same, where the rows are"),
            ]
        ):
            found, units = fitted(X, epsilon, bounds)
            panel = axes[3 * row + column]
            draw_rows(panel, X, corner, size)
            draw_boxes(panel, found.seen.boxes, units, facecolor="none", edgecolor=BOX, linewidth=0.45)
            panel.set_title(f"epsilon = {epsilon:g}: {words}\n{len(found.seen.levels)} cells", fontsize=9)
    return figure


def belief_picture(X):
    """Noisy counts, what is believed of them, and the bells."""
    figure, axes = panels(3, 3, (3.7, 4.2))
    found, units = fitted(X, 0.1, TIGHT)
    boxes, shown = found.seen.boxes, found.believed
    most = float(np.abs(boxes.counts).max())
    scale = SymLogNorm(linthresh=10.0, vmin=-most, vmax=most)
    for panel in axes:
        draw_rows(panel, X)
    drawn = draw_boxes(axes[0], boxes, units, boxes.counts, cmap="RdBu", norm=scale, edgecolor="none")
    figure.colorbar(drawn, ax=axes[0], orientation="horizontal", ticks=[-100, -10, 0, 10, 100], shrink=0.9)
    axes[0].set_title("counts with noise at epsilon = 0.1:\nred is below nothing", fontsize=9)
    inside = (
        (shown.places[:, np.newaxis] >= boxes.lower) & (shown.places[:, np.newaxis] <= boxes.upper)
    ).all(axis=2)
    weights = np.zeros(len(boxes.counts))
    weights[inside.argmax(axis=1)] = shown.weights
    drawn = draw_boxes(axes[1], boxes, units, weights, cmap="RdBu", norm=scale, edgecolor="none")
    figure.colorbar(drawn, ax=axes[1], orientation="horizontal", ticks=[-100, -10, 0, 10, 100], shrink=0.9)
    axes[1].set_title("what is believed of them\n(none is below nothing)", fontsize=9)
    for mean, spread, rows in zip(
        units(shown.bells.means), units(shown.bells.spreads) - units(0.0), shown.bells.rows, strict=True
    ):
        for sds in (1, 2):
            axes[2].add_patch(Ellipse(mean, *(2 * sds * spread), facecolor="none", edgecolor=BELL, lw=1.2))
        axes[2].annotate(
            f"{rows:.0f} rows",
            (mean[0], mean[1] + 2.2 * spread[1] + 0.1),
            ha="center",
            fontsize=9,
            color=CENTRE,
        )
    axes[2].set_title("the bells at one and two deviations, and\nthe rows (which nobody sees)", fontsize=9)
    return figure


def errors_picture(X):
    """Centres and their errors, at two budgets; crosses are where non-private means lie."""
    figure, axes = panels(2, 2, (4.6, 4.9))
    ends = np.cumsum([0, *SIZES])
    means = np.array([X[a:b].mean(axis=0) for a, b in pairwise(ends)])
    for panel, epsilon in zip(axes, (1.0, 0.1), strict=True):
        found, units = fitted(X, epsilon, TIGHT)
        centres = units(found.result.centres)
        errors = np.sqrt(found.result.centre_variance) * 5.0
        draw_rows(panel, X)
        panel.plot(*means.T, "+", color=BELL, ms=14, mew=0.9, label="means of the groups (not released)")
        for centre, error in zip(centres, errors, strict=True):
            panel.add_patch(
                Rectangle(centre - 2 * error, *(4 * error), facecolor=CENTRE, alpha=0.25, edgecolor=CENTRE)
            )
        panel.plot(*centres.T, "o", color=CENTRE, ms=2.5, label="released centres, ± two errors")
        panel.set_title(f"epsilon = {epsilon:g}", fontsize=9)
    axes[0].legend(fontsize=7.5, loc="lower right", bbox_to_anchor=(0.8, 0.0))
    return figure


def main() -> None:
    """Draw all."""
    X = table()
    for name, draw in (("boxes", boxes_picture), ("belief", belief_picture), ("errors", errors_picture)):
        draw(X).savefig(IMAGES / f"kmeans-{name}.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
