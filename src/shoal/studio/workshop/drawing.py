"""A map of released values as plain SVG: for the report and for pages that need no script.

Colours are CSS variables with light values, so that a page may be dark. What it is given was released, or is
on a basemap: nothing here sees a row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from shoal.domain.bounds import geographic_axis
from shoal.domain.earth import KM_PER_DEGREE

_WIDTH, _HEIGHT = 720.0, 520.0
# Square pixels that the largest group covers, and the heaviest point.
_LARGEST, _HEAVIEST = 2600.0, 60.0
# As far beyond the outermost centre, as a share of the width between them.
_MARGIN = 0.25
# Of a basemap: what is no land, and lines that are many, and so thin.
_FILLS = {"box": "var(--map-sea, #f4f6f8)", "park": "var(--map-park, #dfeadb)"}
_WIDTHS = {"box": 0, "street": 0.15, "avenue": 0.4}

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Frame:
    """Where places lie on a drawing.

    Parameters
    ----------
    x, y : int
        The columns that are drawn.
    box : (float, float, float, float)
        West, south, east and north of what is shown.
    on_map : bool
        Whether these are longitude and latitude.
    """

    x: int
    y: int
    box: Box
    on_map: bool

    def place(self, at: Sequence[float]) -> tuple[float, float]:
        """Return the pixel of a place of all columns."""
        return self.pixel(at[self.x], at[self.y])

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixel of two coordinates."""
        west, south, east, north = self.box
        return _WIDTH * (x - west) / (east - west), _HEIGHT * (north - y) / (north - south)


def frame_of(
    names: Sequence[str],
    bounds: Mapping[str, Sequence[float]],
    centres: Sequence[Sequence[float]],
    columns: tuple[int, int] | None = None,
) -> Frame:
    """Choose what is drawn: longitude and latitude, or two columns along which centres are furthest apart.

    Parameters
    ----------
    names : sequence of str
        Columns.
    bounds : mapping of str to (low, high)
        Public bounds.
    centres : sequence of places
        Released ones.
    columns : (int, int), optional
        Which two, instead.
    """
    ends = [tuple(map(float, bounds.get(name, (0.0, 1.0)))) for name in names]
    axes = [geographic_axis(name) for name in names]
    on_map = axes.count("longitude") == 1 and axes.count("latitude") == 1 and columns is None
    if on_map:
        x, y = axes.index("longitude"), axes.index("latitude")
    elif columns is not None:
        x, y = columns
    else:
        spread = [_reach(centres, j) / ((high - low) or 1.0) for j, (low, high) in enumerate(ends)]
        first = sorted(range(len(names)), key=lambda j: -spread[j])[:2]
        x, y = (min(first), max(first)) if len(first) == 2 else (0, 0)
    west, east = _window(centres, x, *ends[x])
    south, north = _window(centres, y, *ends[y])
    if on_map:  # a kilometre is as long to the north as to the east
        west, south, east, north = _squared(west, south, east, north)
    return Frame(x, y, (west, south, east, north), on_map)


def svg_map(
    names: Sequence[str],
    bounds: Mapping[str, Sequence[float]],
    centres: Sequence[Sequence[float]],
    sizes: Sequence[float],
    *,
    centre_errors: Sequence[Sequence[float | None] | None] | None = None,
    points: Sequence[Sequence[float]] = (),
    weights: Sequence[float] = (),
    basemap: Mapping[str, Any] | None = None,
    zones: Mapping[str, Any] | None = None,
    title: str = "Groups on a map",
) -> str:
    """Draw centres with discs of their errors and areas of their sizes, over points and a basemap.

    Parameters
    ----------
    names, bounds
        Columns, and their public bounds.
    centres, sizes
        Of groups, as they were released.
    centre_errors : sequence, optional
        How far each may be off, column by column; None where that is not known.
    points, weights
        Of a coreset or a synopsis.
    basemap : mapping, optional
        GeoJSON of lines and polygons, in longitude and latitude.
    zones : mapping, optional
        GeoJSON of regions with levels of their own, whose borders were released.
    title : str
        For those who do not see it.
    """
    frame = frame_of(names, bounds, centres)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(title)}" '
        'xmlns="http://www.w3.org/2000/svg" class="shoal-map" preserveAspectRatio="xMidYMid meet">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="var(--map-sea, #f4f6f8)"/>',
        *(_basemap(frame, basemap) if basemap and frame.on_map else ()),
        *_points(frame, points, weights),
        *(_zones(frame, zones) if zones and frame.on_map else ()),
        *_groups(frame, centres, sizes, centre_errors),
        *_scale(frame, names),
        "</svg>",
    ]
    return "\n".join(parts)


def _reach(centres: Sequence[Sequence[float]], j: int) -> float:
    values = [centre[j] for centre in centres]
    return max(values, default=0.0) - min(values, default=0.0)


def _window(centres: Sequence[Sequence[float]], j: int, low: float, high: float) -> tuple[float, float]:
    values = [centre[j] for centre in centres] or [low, high]
    width = max(max(values) - min(values), 0.05 * (high - low), 1e-9)
    return max(min(values) - _MARGIN * width, low - 0.02 * width), min(
        max(values) + _MARGIN * width, high + 0.02 * width
    )


def _squared(west: float, south: float, east: float, north: float) -> Box:
    shrink = max(math.cos(math.radians((south + north) / 2)), 0.05)
    wide, tall = (east - west) * shrink / _WIDTH, (north - south) / _HEIGHT
    if wide < tall:
        more = (tall / wide - 1) * (east - west) / 2
        return west - more, south, east + more, north
    more = (wide / tall - 1) * (north - south) / 2
    return west, south - more, east, north + more


def _points(frame: Frame, points: Sequence[Sequence[float]], weights: Sequence[float]) -> Iterator[str]:
    heaviest = max(weights, default=1.0) or 1.0
    yield '<g fill="var(--map-point, #22272e)" fill-opacity=".55">'
    for at, weight in zip(points, weights, strict=True):
        x, y = frame.place(at)
        if 0 <= x <= _WIDTH and 0 <= y <= _HEIGHT:
            radius = math.sqrt(max(_HEAVIEST * weight / heaviest, 0.6) / math.pi)
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.2f}"/>'
    yield "</g>"


def _groups(
    frame: Frame,
    centres: Sequence[Sequence[float]],
    sizes: Sequence[float],
    errors: Sequence[Sequence[float | None] | None] | None,
) -> Iterator[str]:
    largest = max((max(size, 0.0) for size in sizes), default=1.0) or 1.0
    west, south, east, north = frame.box
    for i, (at, size) in enumerate(zip(centres, sizes, strict=True)):
        x, y = frame.place(at)
        area = math.sqrt(max(_LARGEST * max(size, 0.0) / largest, 6.0) / math.pi)
        at_pixel = f'cx="{x:.1f}" cy="{y:.1f}"'
        yield f'<circle {at_pixel} r="{area:.1f}" fill="var(--map-area, #2a78d6)" fill-opacity=".25"/>'
        error = errors[i] if errors else None
        if error is not None and error[frame.x] is not None and error[frame.y] is not None:
            rx = _WIDTH * float(error[frame.x] or 0.0) / (east - west)
            ry = _HEIGHT * float(error[frame.y] or 0.0) / (north - south)
            yield (
                f'<ellipse {at_pixel} rx="{max(rx, 1.5):.1f}" ry="{max(ry, 1.5):.1f}" fill="none" '
                'stroke="var(--map-centre, #12355b)" stroke-width="1.2" stroke-dasharray="3 2"/>'
            )
        yield f'<circle {at_pixel} r="3.2" fill="var(--map-centre, #12355b)"/>'
        yield (
            f'<text x="{x + 7:.1f}" y="{y - 5:.1f}" font-size="13" font-weight="700" '
            'font-family="sans-serif" fill="var(--map-centre, #12355b)" stroke="var(--map-sea, #f4f6f8)" '
            'stroke-width="3" '
            f'paint-order="stroke">{i}</text>'
        )


def _scale(frame: Frame, names: Sequence[str]) -> Iterator[str]:
    how = 'font-size="12" font-family="sans-serif" fill="var(--map-ink, #444)"'
    if not frame.on_map:
        corner = f'x="{_WIDTH - 8}" y="{_HEIGHT - 8}" text-anchor="end"'
        yield f"<text {corner} {how}>{escape(names[frame.x])} →</text>"
        yield f'<text x="8" y="18" {how}>↑ {escape(names[frame.y])}</text>'
        return
    west, south, east, north = frame.box
    km = (east - west) * KM_PER_DEGREE * max(math.cos(math.radians((south + north) / 2)), 0.05)
    power = 10.0 ** math.floor(math.log10(km / 4))
    length = power * max(factor for factor in (1, 2, 5) if factor * power <= km / 4)
    wide = _WIDTH * length / km
    x, y = _WIDTH - 16 - wide, _HEIGHT - 16
    yield f'<path d="M{x:.1f} {y:.1f}h{wide:.1f}" stroke="var(--map-ink, #444)" stroke-width="3"/>'
    yield f'<text x="{x + wide / 2:.1f}" y="{y - 6:.1f}" text-anchor="middle" {how}>{length:g} km</text>'


def _basemap(frame: Frame, basemap: Mapping[str, Any]) -> Iterator[str]:
    for feature in basemap.get("features", [basemap]):
        shape = feature.get("geometry", feature)
        if shape is None:
            continue
        lines = list(_lines(shape.get("type", ""), shape.get("coordinates", [])))
        closed = "Polygon" in shape.get("type", "")
        drawn = [line for line in lines if _near(frame, line)]
        path = "".join(_path(frame, line) + ("Z" if closed else "") for line in drawn)
        kind = (feature.get("properties") or {}).get("kind", "")
        fill = _FILLS.get(kind, "var(--map-land, #ffffff)") if closed else "none"
        width = _WIDTHS.get(kind, 1)
        if path:
            yield f'<path d="{path}" fill="{fill}" stroke="var(--map-line, #d3d8de)" stroke-width="{width}"/>'


def _zones(frame: Frame, zones: Mapping[str, Any]) -> Iterator[str]:
    ink = "var(--map-zone, #8a5300)"
    for feature in zones.get("features", ()):
        shape, own = feature["geometry"], feature.get("properties") or {}
        lines = list(_lines(shape["type"], shape["coordinates"]))
        path = "".join(_path(frame, line) + "Z" for line in lines)
        said = (
            f"{own.get('name', 'zone')}: ε {own['epsilon']:g}"
            if "epsilon" in own
            else own.get("name", "zone")
        )
        x, y = min((frame.pixel(p[0], p[1]) for line in lines for p in line), key=lambda at: at[1])
        yield f'<path d="{path}" fill="{ink}" fill-opacity=".08" stroke="{ink}" stroke-dasharray="6 4"/>'
        yield (
            f'<text x="{x:.1f}" y="{y - 5:.1f}" font-size="12" font-family="sans-serif" fill="{ink}">'
            f"{escape(str(said))}</text>"
        )


def _lines(kind: str, coordinates: Any) -> Iterator[Sequence[Any]]:
    if kind == "LineString":
        yield coordinates
    elif kind in ("MultiLineString", "Polygon"):
        yield from coordinates
    elif kind == "MultiPolygon":
        for polygon in coordinates:
            yield from polygon


def _near(frame: Frame, line: Iterable[Any]) -> bool:
    west, south, east, north = frame.box
    xs, ys = zip(*((p[0], p[1]) for p in line), strict=True)
    return bool(max(xs) >= west and min(xs) <= east and max(ys) >= south and min(ys) <= north)


def _path(frame: Frame, line: Iterable[Any]) -> str:
    # Far outside, a pixel is as good as another: numbers stay short.
    pixels = (frame.pixel(p[0], p[1]) for p in line)
    kept = (f"{min(max(x, -9e3), 9e3):.1f} {min(max(y, -9e3), 9e3):.1f}" for x, y in pixels)
    return "M" + "L".join(kept)
