"""A report as a list of blocks, written out as Markdown with pictures or as one page of HTML."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Heading:
    """A heading of level 1, 2 or 3."""

    text: str
    level: int = 2

    @property
    def anchor(self) -> str:
        """What a link to it is called, in HTML as in Markdown.

        Examples
        --------
        >>> Heading("Su et al. 2016, figure 1").anchor
        'su-et-al-2016-figure-1'
        """
        return re.sub(r"[^\w -]", "", self.text.lower()).strip().replace(" ", "-")


@dataclass(frozen=True)
class Text:
    """A paragraph; ``**bold**`` and ```code``` are understood."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Gauge:
    """A cell with a bar behind its text: `share` of the whole width, `bad` in red, `note` to hover over."""

    text: str
    share: float
    bad: bool = False
    note: str = ""


Cell: TypeAlias = str | Gauge


@dataclass(frozen=True)
class Table:
    """A table; `folded` under a line to click on."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    folded: str = ""


@dataclass(frozen=True, eq=False)
class Picture:
    """A matplotlib figure with a name for its file and a caption that says what it shows."""

    name: str
    caption: str
    figure: Any


Block: TypeAlias = Heading | Text | Bullets | Table | Picture


@contextmanager
def style() -> Iterator[Any]:
    """Draw with our fonts and colours, without touching the user's settings."""
    import matplotlib as mpl

    settings = {
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": "#888888",
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#e4e4e4",
        "grid.linewidth": 0.7,
        "xtick.color": "#444444",
        "ytick.color": "#444444",
        "lines.linewidth": 1.8,
        "lines.markersize": 4.5,
        "figure.facecolor": "white",
        "svg.fonttype": "none",  # text stays text: small files, and it can be searched
        "svg.hashsalt": "shoal",  # the same figure is the same file
    }
    with mpl.rc_context(settings):
        yield


def write(blocks: Sequence[Block], out: Path) -> None:
    """Write report.html, which needs nothing else, and report.md with its pictures beside it."""
    out.mkdir(parents=True, exist_ok=True)
    pictures = out / "figures"
    pictures.mkdir(exist_ok=True)
    for stale in pictures.glob("*.png"):
        stale.unlink()
    with style():
        for block in blocks:
            if isinstance(block, Picture):
                _png(block.figure, pictures / f"{block.name}.png")
        (out / "report.html").write_text(page(blocks), encoding="utf-8")
    (out / "report.md").write_text(markdown(blocks), encoding="utf-8")


def markdown(blocks: Sequence[Block]) -> str:
    """Return the report as Markdown.

    Examples
    --------
    >>> print(markdown([Heading("Speed", 2), Bullets(("fast", "**small**"))]))
    ## Speed
    <BLANKLINE>
    - fast
    - **small**
    <BLANKLINE>
    """
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {block.text}"
        case Text():
            return block.text
        case Bullets():
            return "\n".join(f"- {item}" for item in block.items)
        case Picture():
            return f"![{block.caption}](figures/{block.name}.png)\n\n*{block.caption}*"
        case Table():
            lines = [block.head, ("---",) * len(block.head), *block.rows]
            table = "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)
            if not block.folded:
                return table
            return f"<details><summary>{html.escape(block.folded)}</summary>\n\n{table}\n\n</details>"


def _cell(cell: Cell) -> str:
    text = cell if isinstance(cell, str) else f"**{cell.text}**" if cell.bad else cell.text
    return text.replace("|", "\\|")


_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; color: #222;
  background: #fff; max-width: 68rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: .5rem 0 1rem; }
h2 { font-size: 1.35rem; margin: 2.6rem 0 .6rem; padding-top: 1rem; border-top: 2px solid #eee; }
h3 { font-size: 1.08rem; margin: 1.8rem 0 .4rem; }
p, ul { max-width: 50rem; }
figure { margin: 1rem 0 1.5rem; overflow-x: auto; }
figure img { max-width: 100%; height: auto; }
figcaption { color: #555; font-size: .9rem; max-width: 50rem; }
.scroll { overflow-x: auto; margin: .8rem 0 1.2rem; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .32rem .7rem; text-align: left; border-bottom: 1px solid #e8e8e8; vertical-align: top; }
th { border-bottom: 2px solid #bbb; position: sticky; top: 0; background: #fff; }
tr:hover td { background: #f6f9fc; }
details { margin: .6rem 0 1.2rem; }
summary { cursor: pointer; color: #0060a8; }
code { background: #f3f3f3; padding: .1em .3em; border-radius: 3px; font-size: .9em; }
.holds { color: #00694f; font-weight: 600; }
.fails { color: #b3261e; font-weight: 600; }
.open { color: #6b6b6b; }
.holds, .fails { white-space: nowrap; }
.gauge { position: relative; min-width: 3.6rem; white-space: nowrap; }
.gauge i { position: absolute; left: 3px; top: 3px; bottom: 3px; background: #cbe6d8; border-radius: 2px; }
.gauge span { position: relative; font-variant-numeric: tabular-nums; }
.gauge.fails i { background: #f6cfcb; }
"""

_VERDICTS = {
    "holds": "holds",
    "does not hold": "fails",
    "in part": "open",
    "depends on what the paper leaves open": "open",
    "not run": "open",
    "not detected": "holds",
    "caught": "holds",
    "leaks": "fails",
    "missed": "fails",
}


def page(blocks: Sequence[Block]) -> str:
    """Return the report as one HTML page with everything inside."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "Report")
    body = "\n".join(_html(block) for block in blocks)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _html(block: Block) -> str:
    match block:
        case Heading():
            return f'<h{block.level} id="{block.anchor}">{_inline(block.text)}</h{block.level}>'
        case Text():
            return f"<p>{_inline(block.text)}</p>"
        case Bullets():
            return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in block.items) + "</ul>"
        case Picture():
            caption = html.escape(block.caption)
            return f"<figure>{_svg(block)}<figcaption>{caption}</figcaption></figure>"
        case Table():
            head = "".join(f"<th>{_inline(cell)}</th>" for cell in block.head)
            rows = "".join("<tr>" + "".join(map(_td, row)) + "</tr>" for row in block.rows)
            table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            table = f'<div class="scroll">{table}</div>'
            if not block.folded:
                return table
            return f"<details><summary>{html.escape(block.folded)}</summary>{table}</details>"


def _td(cell: Cell) -> str:
    if isinstance(cell, Gauge):
        width = f"calc({100 * min(1.0, max(0.0, cell.share)):.0f}% - 6px)"
        note = f' title="{html.escape(cell.note)}"' if cell.note else ""
        return (
            f'<td class="gauge{" fails" if cell.bad else ""}"{note}><i style="width: {width}"></i>'
            f"<span>{html.escape(cell.text)}</span></td>"
        )
    kind = _VERDICTS.get(cell)
    return f'<td class="{kind}">{html.escape(cell)}</td>' if kind else f"<td>{_inline(cell)}</td>"


def _inline(text: str) -> str:
    safe = html.escape(text, quote=False)
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    safe = re.sub(r"\[([^\]]+)\]\((#[\w-]+)\)", r'<a href="\2">\1</a>', safe)  # within the page alone
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe)


def _png(figure: Any, path: Path) -> None:
    from PIL import Image

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    figure.set_layout_engine("none")  # it is laid out now; once is enough
    # A palette makes the file a third as large and cannot be told from the original: not the usual one, which
    # paints what is small, as a name in its method's colour, like what is large.
    small = Image.open(buffer).convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE)
    small.save(path, optimize=True)


def _svg(picture: Picture) -> str:
    # As an image of its own: ids inside one drawing must not meet those of another.
    buffer = io.BytesIO()
    picture.figure.savefig(buffer, format="svg", metadata={"Date": None})
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="{html.escape(picture.caption)}" src="data:image/svg+xml;base64,{data}">'
