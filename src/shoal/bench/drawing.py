"""What figures are put together from: panels, names of lines, ticks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shoal.bench.style import look, number

# As wide as a page of the report shows without shrinking, in inches.
PAGE = 11.0
# The size of the names at the ends of lines.
_SMALL = 8.0
# Lines in a panel: more cannot be told by names at their ends, nor bands from each other.
FEW = 8


def figure_of(width: float, height: float) -> Any:
    """Return an empty figure."""
    # Not by way of pyplot, which would keep it and touch the user's own figures.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def panels(n: int, columns: int, size: tuple[float, float], above: float = 0.0) -> tuple[Any, Any]:
    """Return a figure with n panels of a size, and room above them."""
    rows = math.ceil(n / columns)
    figure = figure_of(size[0] * columns, size[1] * rows + above)
    axes = figure.subplots(rows, columns, squeeze=False)
    for extra in axes.flat[n:]:
        extra.remove()
    return figure, axes.flat[:n]


def line_panels(n: int, labels: tuple[str, ...]) -> tuple[Any, Any, int]:
    """Return a figure with n panels that leave room for the names of lines, and the panels in a row."""
    beside = _widest(labels, size=_SMALL)
    width = 2.5 + beside
    columns = max(1, min(2 if n == 4 else 3, n, int(PAGE / width)))
    if columns == 1:
        width = max(5.2, 3.6 + beside)
    figure, axes = panels(n, columns, (width, 3.1 if columns == 1 else 2.75))
    return figure, axes, columns


def line(ax: Any, points: Any, label: str, *, band: bool) -> None:
    """Draw a method's means, and the band of its runs."""
    own = look(label)
    ax.plot(
        points[:, 0],
        points[:, 1],
        own.line,
        marker=own.marker,
        color=own.colour,
        linewidth=own.width,
        mec="white",
        mew=0.5,
    )
    if band:
        ax.fill_between(points[:, 0], points[:, 2], points[:, 3], color=own.colour, alpha=0.12, linewidth=0)


def names_at_ends(ax: Any, ends: list[tuple[float, float, str]]) -> None:
    """Write each method's name at the end of its line, and push apart those that would overlap."""
    height = ax.get_figure().get_size_inches()[1] * ax.get_subplotspec().get_gridspec().nrows ** -1 * 72
    low, high = np.log(ax.get_ylim())
    gap = 11.0 / (0.72 * height) * (high - low)
    ranked = sorted(ends, key=lambda end: end[1])
    places = [max(math.log(y), low) for _, y, _ in ranked]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + gap)
    ceiling = high
    for i in reversed(range(len(places))):
        places[i] = min(places[i], ceiling)
        ceiling = places[i] - gap
    for at, (_, _, label) in zip(places, ranked, strict=True):
        colour = "#444444" if label == "best non-private" else look(label).colour
        ax.annotate(label, (1.0, math.exp(at)), xycoords=("axes fraction", "data"), xytext=(3, 0),
                    textcoords="offset points", color=colour, va="center", fontsize=_SMALL,
                    annotation_clip=False)  # fmt: skip


def names_above(figure: Any, labels: tuple[str, ...], *, lines: bool = False) -> None:
    """Write the methods' names above a figure, as many in a line as it is wide."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=own.colour, marker=own.marker, linestyle=own.line if lines else "", label=name)
        for name in labels
        for own in (look(name),)
    ]
    legend = figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=_names_a_line(labels, figure.get_size_inches()[0]),
        frameon=False,
        handletextpad=0.4 if lines else 0.1,
        columnspacing=1.2,
        borderaxespad=0.1,
    )
    for text, name in zip(legend.get_texts(), labels, strict=True):
        text.set_color(look(name).colour)
        text.set_fontweight("bold")


def names_height(labels: tuple[str, ...], width: float) -> float:
    """Return how much room names above a figure of some width take, in inches."""
    return 0.2 * math.ceil(len(labels) / _names_a_line(labels, width))


def _names_a_line(labels: tuple[str, ...], width: float) -> int:
    return max(1, int(width / (_widest(labels, size=9, weight="bold") + 0.55)))


def _widest(texts: tuple[str, ...], *, size: float, weight: str = "normal") -> float:
    """Return how wide the widest of some texts is, in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(size=size, weight=weight)
    return float(max(TextPath((0, 0), text, prop=font).get_extents().width for text in texts)) / 72


def ticks_of(ax: Any, xs: list[float], names: list[str] | None = None) -> None:
    """Put the values that were run on the x axis, and round numbers on the y axis."""
    from matplotlib.ticker import NullFormatter, NullLocator

    # All of them, as long as their numbers do not run into each other.
    named = dict(zip(xs, names or map(number, xs), strict=True))
    shown = [xs[0]]
    for x in xs[1:]:
        if math.log(x / shown[-1]) > 0.14 * math.log(xs[-1] / xs[0]):
            shown.append(x)
    ax.set_xticks(shown, [named[x] for x in shown])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
    log_ticks(ax.yaxis, *ax.get_ylim())


_TICKS: tuple[tuple[float, ...], ...] = (
    *(tuple(np.arange(1, 10, step)) for step in (0.01, 0.02, 0.05, 0.1)),
    (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9),
    (1, 1.5, 2, 3, 4, 5, 7),
    (1, 2, 5),
    (1, 3),
    (1,),
)


def log_ticks(axis: Any, low: float, high: float, most: int = 6) -> None:
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
