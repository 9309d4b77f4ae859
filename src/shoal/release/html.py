"""Releases and certificates as HTML: for notebooks, and as a page that a data protection officer can file."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from shoal.accounting import Budget, budget_of
from shoal.release.words import risk_sentence

if TYPE_CHECKING:
    from shoal.release.certificate import Certificate
    from shoal.release.release import Release

# Points of a coreset, or groups, that a notebook shows.
_SHOWN = 20

_CELL = "padding:.15em .7em;border-bottom:1px solid #ddd"
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 46em;
  margin: 2em auto; padding: 0 1.2em; }
h1 { font-size: 1.55em; margin: 0 0 .2em; } h2 { font-size: 1.1em; margin: 1.5em 0 .4em; }
.lead { font-size: 1.08em; border-left: 4px solid #00695c; padding: .5em .9em; background: #f2f8f7; }
.bad { border-color: #b3261e; background: #fcf0ef; }
dl { display: grid; grid-template-columns: 11em 1fr; gap: .25em 1em; margin: 0; }
dt { color: #555; } dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .25em .6em;
  border-bottom: 1px solid #ddd; vertical-align: top; } th { color: #555; font-weight: 600; }
.sign { display: grid; grid-template-columns: 1fr 1fr; gap: 2em; margin-top: 2.5em; }
.sign div { border-top: 1px solid #555; padding-top: .3em; color: #555; }
code { font-size: .88em; overflow-wrap: anywhere; } footer { color: #555; font-size: .85em; margin-top: 2em; }
@page { margin: 12mm; }
@media print { body { margin: 0; max-width: none; font-size: 9.5px; line-height: 1.3; padding: 0; }
  h1 { font-size: 1.8em; } h2 { margin: .8em 0 .2em; } .lead { background: none; }
  th, td { padding: .1em .5em; } .sign { margin-top: 3em; } footer { margin-top: 1em; } }
@media (max-width: 40em) { dl { grid-template-columns: 1fr; } dt { margin-top: .5em; } }
"""


@dataclass(frozen=True)
class About:
    """What the holder of a table says about a release; nothing of it is checked.

    Parameters
    ----------
    title : str
        What the release is called.
    table : str
        The table that it was made from.
    purpose : str
        What it is for.
    contact : str
        Who answers questions.
    date : str
        When it was made; today, if not given.
    fingerprint : str
        SHA-256 of the manifest of the release that it belongs to.
    """

    title: str = ""
    table: str = ""
    purpose: str = ""
    contact: str = ""
    date: str = ""
    fingerprint: str = ""


def certificate_page(certificate: Certificate, about: About) -> str:
    """Return a certificate as one page of HTML that needs nothing else.

    Parameters
    ----------
    certificate : Certificate
        What is guaranteed.
    about : About
        What the holder says.
    """
    title = about.title or "Certificate of a private release"
    date = about.date or datetime.now(UTC).date().isoformat()
    stated = [("Table", about.table), ("Purpose", about.purpose), ("Date", date), ("Contact", about.contact)]
    first, *others = certificate.guarantee.items()
    if certificate.private:
        budget = _budget(certificate)
        meaning = "" if budget is None else f" That is {_e(risk_sentence(budget))}."
        lead = (
            f'<p class="lead">This release is differentially private: <strong>{_e(first[1])}</strong>, for '
            f"{_e(certificate.unit)}.{meaning}</p>"
        )
    else:
        lead = (
            '<p class="lead bad"><strong>This release is not private.</strong> It states no guarantee: '
            f"{_e(certificate.entropy)}; {_e(certificate.status)}.</p>"
        )
    facts: list[tuple[str, str]] = [
        ("Guarantee", f"{first[1]} ({_relation(first[0])})"),
        *(("", f"{text} ({_relation(relation)})") for relation, text in others),
        ("Who is protected", certificate.unit),
        *_named("By zone", certificate.zone_lines()),
        ("Which rows", certificate.covers),
        ("Adds up", certificate.composition),
        *(("", f"{name}: {text}") for name, text in certificate.ledger_lines()),
        ("Spent", certificate.spent),
        ("Number of rows", certificate.rows),
        ("Randomness", certificate.entropy),
        ("Algorithm", f"{certificate.algorithm} ({certificate.paper})"),
        ("Its privacy", f"{certificate.status}: {certificate.condition}"),
        *_named("How rows were read", certificate.measured),
        *_named("Missing or clipped", certificate.clipped_lines()),
        *_named("Doubts", certificate.doubts),
    ]
    columns = [(n, f"{low:g}", f"{high:g}") for n, (low, high) in certificate.bounds["columns"].items()]
    unit = certificate.charges[0].currency.capitalize() if certificate.charges else "Cost"
    charges = [
        (f"{len(list(alike))}", c.question, c.mechanism.split("(")[0], f"{float(c.amount):.4g}")
        for c, alike in groupby(certificate.charges)
    ]
    software = ", ".join(f"{name} {number}" for name, number in certificate.versions.items())
    prints = [("Transcript, SHA-256", certificate.transcript)]
    prints += [("Release, SHA-256 of its manifest", about.fingerprint)] if about.fingerprint else []
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_e(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{_e(title)}</h1>\n"
        f"{_list([pair for pair in stated if pair[1]])}\n{lead}\n"
        f"<h2>What is guaranteed</h2>\n{_list(facts)}\n"
        f"<h2>Public bounds ({_e(certificate.bounds['source'])})</h2>\n"
        f"{_table(('Column', 'From', 'To'), columns)}\n"
        f"<h2>What was paid for</h2>\n{_table(('Times', 'Question', 'Noise', f'{unit} each'), charges)}\n"
        f"<h2>How to check it</h2>\n{_list(prints, code=True)}\n"
        "<p>Whoever has the folder of the release can recompute every charge and result with "
        "<code>shoal verify</code>, without the table.</p>\n"
        '<div class="sign"><div>Place and date</div><div>Signature</div></div>\n'
        f"<footer>Written by Shoal; {_e(software)}.</footer>\n</main>\n</body>\n</html>\n"
    )


def _budget(certificate: Certificate) -> Budget | None:
    """Read the budget off its words; None where it was given otherwise than by epsilon."""
    said = re.fullmatch(r"epsilon = ([0-9.e+-]+)(?:, delta = ([0-9.e+-]+))?", certificate.budget)
    return None if said is None else budget_of(float(said[1]), float(said[2] or 0))


def release_html(release: Release) -> str:
    """Return groups as a table for a notebook, with the guarantee under it."""
    header, lines = release.told()
    doubts = [f"Doubt: {doubt.text}." for doubt in release.doubts]
    return _fragment(
        "± is the noise of the last answer, for this grouping.", header, lines, release.certificate, doubts
    )


def places_html(what: str, header: Sequence[str], lines: Sequence[Sequence[str]], certificate: Any) -> str:
    """Return a synopsis or a coreset as a table for a notebook."""
    return _fragment(what, header, lines, certificate, [])


def certificate_html(certificate: Certificate) -> str:
    """Return a certificate as a table for a notebook."""
    pairs = [line.split(" ", 1) for line in str(certificate).splitlines() if line[:1] != " "]
    rows = "".join(
        f'<tr><th style="{_CELL};text-align:left">{_e(name)}</th><td style="{_CELL};text-align:left">'
        f"{_e(text.strip())}</td></tr>"
        for name, text in pairs
    )
    return f"<table>{rows}</table>"


def _fragment(
    note: str,
    header: Sequence[str],
    lines: Sequence[Sequence[str]],
    certificate: Certificate,
    more: Iterable[str],
) -> str:
    head = "".join(f'<th style="{_CELL};text-align:right">{_e(name)}</th>' for name in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL};text-align:right">{_e(cell)}</td>' for cell in line) + "</tr>"
        for line in lines[:_SHOWN]
    )
    left = f" {len(lines) - _SHOWN} more are not shown." if len(lines) > _SHOWN else ""
    said = "; ".join(f"{text} ({relation})" for relation, text in certificate.guarantee.items())
    notes = [f"{note}{left}", f"{said}; protects {certificate.unit}.", *more]
    under = "".join(f'<div style="color:#666">{_e(text)}</div>' for text in notes)
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{under}</div>"


def _named(name: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    return [(name if i == 0 else "", text) for i, text in enumerate(texts)]


def _relation(name: str) -> str:
    words = {
        "add-remove": "whether somebody is in the table",
        "replace": "what somebody's rows say",
        "between zones": "a row that moves from one to another",
    }
    return f"{name}: {words[name]}" if name in words else name


def _list(pairs: Sequence[tuple[str, str]], code: bool = False) -> str:
    wrap = "<code>{}</code>" if code else "{}"
    items = "".join(f"<dt>{_e(name)}</dt><dd>{wrap.format(_e(text))}</dd>" for name, text in pairs)
    return f"<dl>{items}</dl>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{_e(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{_e(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _e(text: Any) -> str:
    return html.escape(str(text))
