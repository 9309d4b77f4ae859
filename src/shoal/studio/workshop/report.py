"""One page that tells a release to people: the map, the groups, what is promised, and how to check it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from shoal.studio.workshop.drawing import svg_map
from shoal.studio.workshop.shown import page_of

if TYPE_CHECKING:
    from shoal.studio.workshop.releases import ReleaseRecord

# Groups in the table; the CSV has all.
_MOST = 16

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2733; --soft: #5b6773; --line: #dde2e7; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ecf0; --soft: #a3adb8; --line: #36404a;
  --paper: #161b21;
  --map-sea: #1e252d; --map-land: #262e37; --map-line: #3a444f; --map-ink: #a3adb8; --map-point: #cfd6dd;
  --map-area: #4a98f0; --map-centre: #9cc7ff; --map-zone: #f0bd6b; --map-park: #1d3526; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 50em;
  margin: 1.6em auto; padding: 0 1.2em; }
h1 { font-size: 1.5em; margin: 0; } h2 { font-size: 1.05em; margin: 1.2em 0 .3em; }
.sub { color: var(--soft); margin: .2em 0 1em; }
.lead { border-left: 4px solid #2a78d6; padding: .35em .9em; margin: 0 0 1em; }
svg { width: 100%; height: auto; border: 1px solid var(--line); border-radius: 6px; }
.legend { color: var(--soft); font-size: .85em; margin: .3em 0 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .92em; }
th, td { text-align: right; padding: .18em .6em; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; } th:first-child, td:first-child { text-align: left; }
dl { display: grid; grid-template-columns: 10em 1fr; gap: .15em 1em; margin: 0; font-size: .92em; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
footer { color: var(--soft); font-size: .82em; margin-top: 1.2em; }
@page { size: A4; margin: 11mm; }
@media print { body { margin: 0; padding: 0; max-width: none; font-size: 10.5px; }
  svg { max-height: 105mm; } }
"""


def report_page(record: ReleaseRecord, basemap: dict[str, Any] | None = None) -> str:
    """Return one page of HTML that needs nothing else.

    Parameters
    ----------
    record : ReleaseRecord
        Which release.
    basemap : dict, optional
        GeoJSON to draw the map on.
    """
    page = page_of(record)
    certificate = record.release.certificate
    shapes = {name: page[name] for name in ("names", "bounds", "centres", "sizes", "centre_errors")}
    drawn = svg_map(
        shapes.pop("names"),
        shapes.pop("bounds"),
        shapes.pop("centres"),
        shapes.pop("sizes"),
        **shapes,
        points=page["points"],
        weights=page["weights"],
        basemap=basemap,
        zones=page["zones"],
        title=f"{record.groups} groups of {record.title}",
    )
    facts = [
        *page["promised"],
        ("Adds up", certificate.composition),
        *(("Doubt", doubt) for doubt in page["doubts"]),
        ("Bounds", certificate.bounds["source"]),
        ("Algorithm", f"{certificate.algorithm}: {certificate.status}"),
        ("Released by", record.by + (f", approved by {record.approved_by}" if record.approved_by else "")),
        ("Transcript", f"sha256 {certificate.transcript}"),
    ]
    promised = "".join(f"<dt>{_e(name)}</dt><dd>{_e(text)}</dd>" for name, text in facts)
    dots = "dots: released counts or a coreset, by weight; " if page["points"] else ""
    dots += "brown: zones with levels of their own; " if page["zones"] else ""
    legend = f"{dots}blue: private centres, area by size; dashed: {page['errors_are']}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_e(record.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{_e(record.title)}</h1>\n"
        f'<p class="sub">{record.groups} groups over {_e(", ".join(record.names))}, released '
        f"{record.created[:10]} at level “{_e(record.level.name)}” (epsilon = {record.level.epsilon:g})</p>\n"
        f'<p class="lead">After this and all earlier releases of the table (epsilon {record.spent:.3g} '
        f"together, of {_e(record.total)} that may ever be released), {_e(page['risk'])}.</p>\n"
        f'{drawn}\n<p class="legend">{_e(legend)}.</p>\n'
        f"<h2>Groups</h2>\n{_table(page['table']['header'], page['table']['lines'])}\n"
        '<p class="legend">± is one standard deviation; the disc on the map is as far as 19 of 20 lie.</p>\n'
        f"<h2>What is promised</h2>\n<dl>{promised}</dl>\n"
        "<footer>Whoever has the folder of the release can recompute every charge and result, without the "
        "table: <code>shoal verify</code>. Written by Shoal.</footer>\n</main>\n</body>\n</html>\n"
    )


def _table(header: list[str], lines: list[list[str]]) -> str:
    head = "".join(f"<th>{_e(name)}</th>" for name in header)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_e(cell)}</td>" for cell in line) + "</tr>" for line in lines[:_MOST]
    )
    more = f'<p class="legend">{len(lines) - _MOST} more are in the table.</p>' if len(lines) > _MOST else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _e(text: Any) -> str:
    return escape(str(text))
