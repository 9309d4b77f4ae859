"""Pictures of released groups: a map where there is one, and columns against each other elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._typing import Array
from shoal.domain.earth import KM_PER_DEGREE
from shoal.errors import InvalidInput
from shoal.release.geojson import map_columns
from shoal.release.told import size_with_error

if TYPE_CHECKING:
    from shoal.release.intervals import TotalIntervals
    from shoal.release.places import Groups
    from shoal.release.release import Release

_DARK, _AREA, _ERROR, _TOTAL = "#12355b", "#2a78d6", "#c8452c", "#e0a100"
# Points squared that the largest group covers.
_LARGEST = 1600.0
# Columns that are drawn against each other at most.
_MOST_COLUMNS = 5
# Of the legend beside a scatter matrix.
_MOST_LISTED = 20

_STYLE = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "figure.facecolor": "white",
}


def plot_groups(
    release: Release | Groups,
    *,
    title: str | None = None,
    columns: Sequence[str] | None = None,
    total: bool = False,
) -> Any:
    """Draw groups: their centres with errors, and their sizes as areas.

    Parameters
    ----------
    release : Release or Groups
        What may be published.
    title : str, optional
        Above the picture; the number of groups and the guarantee, if not given.
    columns : sequence of str, optional
        Which columns to draw. If not given: longitude and latitude, where there are such; else those along
        which centres are furthest apart.
    total : bool
        Whether to draw where most other fits would put the centres: as discs, with a broken edge where a
        group is not stable, or as wider bars. Of releases only.

    Returns
    -------
    matplotlib.figure.Figure
        Drawn without a display.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidInput("drawing needs matplotlib: pip install 'shoal[plot]'") from None
    known = _totals(release) if total else None
    places = None if columns is None else _chosen(release, columns)
    on_map = map_columns(release.domain)
    if on_map is not None and (places is None or sorted(places) == sorted(on_map)):
        places = list(on_map)
    else:
        on_map = None
        places = _most_apart(release) if places is None else places
    with mpl.rc_context(_STYLE):
        if len(places) > 2:
            figure = _matrix(Figure(figsize=(9, 8.6), layout="constrained"), release, places, known)
        else:
            figure = Figure(figsize=(8.4, 6.8), layout="constrained")
            axes = figure.subplots()
            if len(places) == 1:
                _line(axes, release, places[0], known)
            else:
                _pair(axes, release, places[0], places[1], area=1.0, known=known)
                if on_map is not None:
                    _as_map(axes, release, places[0], places[1])
                _borders(axes, release, places[0], places[1])
                engine: Any = figure.get_layout_engine()
                engine.set(rect=(0.03, 0.0, 0.76, 1.0))  # the list is beside it
                _list_sizes(figure, release, x=0.81, y=0.92, ha="left")
        figure.suptitle(title or _title(release), x=0.02, ha="left", fontsize=12, weight="bold")
        stated = "Red: 95 % of the privacy noise of the last answer, for this grouping. "
        note = stated if hasattr(release, "intervals") else "Found on released counts; errors are not drawn. "
        note += "" if known is None else _about(known)
        figure.supxlabel(
            f"{note}{_left_out(release, places)}", x=0.02, ha="left", fontsize=8, color="#555555"
        )
    return figure


def _totals(release: Release | Groups) -> TotalIntervals:
    if not hasattr(release, "intervals"):
        raise InvalidInput("groups found on released counts state no errors, and so no total ones")
    return release.intervals(total=True)


def _about(known: TotalIntervals) -> str:
    if not known.known:
        return "Total errors are not known. "
    broken = "" if known.stable.all() else "; broken where a group is not stable"
    return f"\nYellow: where 95 % of other fits would be{broken}. "


def _chosen(release: Release | Groups, columns: Sequence[str]) -> list[int]:
    unknown = [name for name in columns if name not in release.names]
    if unknown or not columns:
        raise InvalidInput(
            f"the release has no column {unknown[:1] or ''}; it has {', '.join(release.names)}"
        )
    return [release.names.index(name) for name in columns]


def _most_apart(release: Release | Groups) -> list[int]:
    half = release.domain.bounds.half_width
    apart = np.ptp(release.centres, axis=0) / np.where(half > 0, half, 1.0)
    return sorted(np.argsort(-apart, kind="stable")[:_MOST_COLUMNS].tolist())


def _title(release: Release | Groups) -> str:
    k, guarantee = len(release.sizes), next(iter(release.certificate.guarantee.values()))
    levels = sorted(getattr(release, "epsilons", {}).values())
    if levels:
        guarantee = f"epsilon = {levels[0]:g} to {levels[-1]:g}, by zone"
    return f"{k} group{'s' if k > 1 else ''}, released with {guarantee}"


def _left_out(release: Release | Groups, places: list[int]) -> str:
    n = len(release.names) - len(places)
    return f"{n} column{'s' if n > 1 else ''} not drawn." if n else ""


def _areas(release: Release | Groups) -> Array:
    sizes = np.maximum(release.sizes, 0.0)
    return np.asarray(np.maximum(_LARGEST * sizes / max(float(sizes.max()), 1.0), 4.0))


def _spread(release: Release | Groups, j: int) -> tuple[Array, Array] | None:
    """Return how far the interval of each centre reaches below and above it, in one column."""
    if not hasattr(release, "intervals"):  # groups found on a synopsis state none
        return None
    low, high = release.intervals.centre_low[:, j], release.intervals.centre_high[:, j]
    lower, upper = release.domain.bounds.lower[j], release.domain.bounds.upper[j]
    centres = release.centres[:, j]
    return centres - np.maximum(low, lower), np.minimum(high, upper) - centres


def _pair(
    axes: Any,
    release: Release | Groups,
    i: int,
    j: int,
    *,
    area: float,
    known: TotalIntervals | None = None,
) -> None:
    x, y = release.centres[:, i], release.centres[:, j]
    areas = _areas(release) * area
    if known is not None and known.known:
        _discs(axes, release, i, j, known)
    axes.scatter(x, y, s=areas, c=_AREA, alpha=0.3, linewidths=0, zorder=2)
    how = {"fmt": "none", "ecolor": _ERROR, "elinewidth": 1.6, "capsize": 2.5, "zorder": 4}
    axes.errorbar(x, y, xerr=_spread(release, i), yerr=_spread(release, j), **how)
    axes.scatter(x, y, s=12, c=_DARK, linewidths=0, zorder=3)
    for k in range(len(x)):
        axes.annotate(
            f"{k}",
            (x[k], y[k]),
            xytext=(6, 4),
            textcoords="offset points",
            fontsize=9,
            weight="bold",
            color=_DARK,
            path_effects=[_halo()],
            zorder=5,
        )
    _ends(axes, release, i, j)


def _discs(axes: Any, release: Release | Groups, i: int, j: int, known: TotalIntervals) -> None:
    """Draw where other fits would put each centre, within the bounds."""
    from matplotlib.patches import Ellipse

    bounds = release.domain.bounds
    low = np.maximum(known.centre_low, bounds.lower)[:, [i, j]]
    high = np.minimum(known.centre_high, bounds.upper)[:, [i, j]]
    for a, b, stable in zip(low, high, known.stable, strict=True):
        edge: Any = {"edgecolor": _TOTAL, "linewidth": 1.2, "linestyle": "-" if stable else (0, (3, 2))}
        disc = Ellipse(tuple((a + b) / 2), *(b - a), facecolor=_TOTAL, zorder=2.5)
        disc.set(alpha=0.3)
        axes.add_patch(disc)
        axes.add_patch(Ellipse(tuple((a + b) / 2), *(b - a), fill=False, zorder=2.6, **edge))


def _ends(axes: Any, release: Release | Groups, i: int, j: int) -> None:
    bounds, margin = release.domain.bounds, 0.02
    for place, limit in ((i, axes.set_xlim), (j, axes.set_ylim)):
        low, high = bounds.lower[place], bounds.upper[place]
        more = margin * (high - low) or 0.5
        limit(low - more, high + more)
    axes.set(xlabel=release.names[i], ylabel=release.names[j])
    _times(axes.xaxis, release, i)
    _times(axes.yaxis, release, j)


def _times(axis: Any, release: Release | Groups, j: int) -> None:
    schema = release.domain.schema
    if schema is not None and schema.kinds[j] == "time":
        axis.set_major_formatter(lambda value, _: str(np.datetime64(int(value), "s"))[:10])


def _halo() -> Any:
    from matplotlib.patheffects import withStroke

    return withStroke(linewidth=2.5, foreground="white")


def _as_map(axes: Any, release: Release | Groups, east: int, north: int) -> None:
    """Show where the centres are, a kilometre as long to the north as to the east, and how long it is."""
    bounds, shrink = release.domain.bounds, math.cos(math.radians(release.domain.bounds.middle[north]))
    shrink = max(shrink, 0.05)
    centres = release.centres[:, [east, north]]
    middle = (centres.max(axis=0) + centres.min(axis=0)) / 2
    # As far to each side as the furthest centre and a third more, but no less than a tenth of the bounds.
    half = 0.65 * np.ptp(centres, axis=0)[:, np.newaxis].max(axis=1) * [shrink, 1.0]
    least = 0.1 * bounds.half_width[[east, north]] * [shrink, 1.0]
    reach = max(float(half.max()), float(least.max()), 1e-6)
    axes.set_xlim(middle[0] - reach / shrink, middle[0] + reach / shrink)
    axes.set_ylim(middle[1] - reach, middle[1] + reach)
    axes.set_aspect(1 / shrink, adjustable="box")
    axes.ticklabel_format(useOffset=False)
    width = 2 * reach * KM_PER_DEGREE
    power = 10.0 ** math.floor(math.log10(width / 4))
    length = power * max(factor for factor in (1, 2, 5) if factor * power <= width / 4)
    degrees = length / (KM_PER_DEGREE * shrink)
    x, y = middle[0] + 0.94 * reach / shrink, middle[1] - 0.92 * reach
    axes.plot([x - degrees, x], [y, y], color=_DARK, linewidth=3, solid_capstyle="butt", zorder=6)
    how = {"xytext": (0, 4), "textcoords": "offset points", "ha": "center", "color": _DARK}
    axes.annotate(f"{length:g} km", (x - degrees / 2, y), **how)


def _borders(axes: Any, release: Release | Groups, i: int, j: int) -> None:
    """Draw the public borders of zones with their levels, where they are over the columns that are drawn."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    zones = getattr(release, "zones", None)
    drawn = (release.names[i], release.names[j])
    if zones is None or zones.by_column or zones.columns not in (drawn, drawn[::-1]):
        return
    turned = zones.columns != drawn
    for zone in zones.zones:
        for polygon in zone.polygons:
            lines = [[corner[::-1] if turned else corner for corner in line] for line in polygon]
            path = Path.make_compound_path(*(Path([*line, line[0]], closed=True) for line in lines))
            axes.add_patch(
                PathPatch(
                    path, facecolor="#8a6d1f1c", edgecolor="#8a6d1f", linewidth=1.4, linestyle="--", zorder=1
                )
            )
        top = max(
            (corner for line in lines[:1] for corner in line), key=lambda corner: (corner[1], -corner[0])
        )
        how = {
            "xytext": (2, 3),
            "textcoords": "offset points",
            "fontsize": 8,
            "color": "#6b5312",
            "zorder": 6,
        }
        label = f"{zone.name}: epsilon = {zone.epsilon:g}"
        axes.annotate(label, top, path_effects=[_halo()], annotation_clip=True, **how)
    rest = f"elsewhere: epsilon = {release.epsilons['rest']:g}"  # type: ignore[union-attr]
    how = {"xycoords": "axes fraction", "fontsize": 8, "color": "#6b5312", "va": "top"}
    axes.annotate(rest, (0.015, 0.985), path_effects=[_halo()], zorder=6, **how)


def _list_sizes(figure: Any, release: Release | Groups, x: float, y: float, ha: str) -> None:
    shown, noise = range(min(len(release.sizes), _MOST_LISTED)), getattr(release, "size_sds", None)
    lines = [
        f"{k}: {size_with_error(release.sizes[k], math.nan if noise is None else float(noise[k]))}"
        for k in shown
    ]
    more = len(release.sizes) - _MOST_LISTED
    lines += [f"and {more} more"] if more > 0 else []
    text = "\n".join(["Group: size", *lines])
    figure.text(x, y, text, ha=ha, va="top", fontsize=9, color=_DARK, linespacing=1.5)


def _line(axes: Any, release: Release | Groups, j: int, known: TotalIntervals | None) -> None:
    x, sizes = release.centres[:, j], np.maximum(release.sizes, 0.0)
    axes.vlines(x, 0, sizes, color=_AREA, linewidth=6, alpha=0.35)
    noise = getattr(release, "intervals", None)
    down, up = (0 * sizes,) * 2 if noise is None else (sizes - noise.size_low, noise.size_high - sizes)
    how = {"fmt": "o", "color": _DARK, "ecolor": _ERROR, "elinewidth": 1.6, "capsize": 2.5, "markersize": 4}
    if known is not None and known.known:
        ends = np.maximum(known.centre_low[:, j], release.domain.bounds.lower[j])
        others = np.minimum(known.centre_high[:, j], release.domain.bounds.upper[j])
        axes.hlines(sizes, ends, others, color=_TOTAL, linewidth=6, alpha=0.5, zorder=1.5)
    axes.errorbar(x, sizes, xerr=_spread(release, j), yerr=(np.maximum(down, 0), np.maximum(up, 0)), **how)
    low, high = release.domain.bounds.lower[j], release.domain.bounds.upper[j]
    axes.set(xlim=(low, high) if high > low else None, xlabel=release.names[j], ylabel="size", ylim=(0, None))
    _times(axes.xaxis, release, j)


def _matrix(figure: Any, release: Release | Groups, places: list[int], known: TotalIntervals | None) -> Any:
    n = len(places) - 1
    grid = figure.subplots(n, n, squeeze=False, sharex="col", sharey="row")
    for row, j in enumerate(places[1:]):
        for column, i in enumerate(places[:-1]):
            axes = grid[row][column]
            if column > row:
                axes.set_axis_off()
                continue
            _pair(axes, release, i, j, area=0.35, known=known)
            axes.tick_params(labelsize=7)
            axes.label_outer()
    _list_sizes(figure, release, x=0.98, y=0.95, ha="right")
    return figure
