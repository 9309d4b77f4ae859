"""A report as a table in the terminal, as Markdown and as a page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import fill

from rich.table import Table

from shoal.audit.canaries import CANARIES, canary
from shoal.audit.report import Finding, Report, claims_only

_HOW = (
    "Black box: neighbouring tables, {runs:,} runs on each; on half of them the most telling event is "
    "chosen, on the other half it is tested. The number is a lower bound on the true epsilon, right with "
    "confidence {confidence:.6f} (99.9 % for all bounds together). *Not detected* is not a proof that "
    "nothing leaks; a bound above the claim would be a proof that something does. Exact: the computed loss "
    "of the questions that were really asked. Law: the loss of noise as small as what was drawn, an "
    "estimate. Replay: the same result bit for bit without the rows. Contents: no row, label or exact count "
    "in what is published."
)


def rich_table(report: Report) -> Table:
    """Make a table for the terminal, one line a finding."""
    table = Table(box=None, pad_edge=False)
    for name in ("algorithm", "epsilon", "audit", "case", "measured", "claimed", "verdict"):
        table.add_column(name, no_wrap=True, justify="right" if name in ("measured", "claimed") else "left")
    for f in report.findings:
        verdict = "[green]not detected[/]" if f.passed else "[bold red]leaks[/]"
        numbers = ("", "") if f.measured is None else (f"{f.measured:.3f}", f"{f.claimed:.4g} {f.currency}")
        table.add_row(f.algorithm, f"{f.epsilon:g}", f.audit, f.case, *numbers, verdict)
    return table


def markdown(report: Report) -> str:
    """Write the report as Markdown: for each algorithm a table of cases by epsilon."""
    lines = [
        "# Does it leak?",
        "",
        fill(
            f"Made by `shoal audit` on {report.facts['date']}, {report.runs:,} runs on each table: "
            f"{_versions(report)}. A run took {1000 * report.seconds_per_run:.1f} ms.",
            120,
        ),
        "",
        fill(_HOW.format(runs=report.runs, confidence=report.confidence), 120),
        "",
        f"**{_summary(report)}**",
    ]
    for name, epsilons, rows in _tables(report):
        lines += ["", f"## {name}", *(["", _WARNING] if claims_only(name) else []), ""]
        lines.append("| audit | case | " + " | ".join(f"ε = {e:g}" for e in epsilons) + " | catches |")
        lines.append("|---|---|" + "---:|" * len(epsilons) + "---|")
        for (audit, case), cells in rows:
            shown = " | ".join(_cell(f, "**", "**") for f in cells)
            lines.append(f"| {audit} | {case} | {shown} | {_catches(audit, case)} |")
    return "\n".join([*lines, ""])


def html(report: Report) -> str:
    """Write the report as one page, with a bar for every measured loss against its claim."""
    parts = []
    for name, epsilons, rows in _tables(report):
        heads = "".join(f"<th>ε = {e:g}</th>" for e in epsilons)
        body = "".join(
            f"<tr><td>{escape(audit)}</td><td>{escape(case)}</td>{''.join(map(_bar, cells))}"
            f"<td class=why>{escape(_catches(audit, case))}</td></tr>"
            for (audit, case), cells in rows
        )
        note = f"<p>{escape(_WARNING)}</p>" if claims_only(name) else ""
        parts.append(
            f"<h2>{escape(name)}</h2>{note}<table><tr><th>audit<th>case{heads}<th>catches</tr>{body}</table>"
        )
    how = escape(_HOW.format(runs=report.runs, confidence=report.confidence)).replace("*", "")
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'><title>Does it leak?</title>"
        f"<style>{_STYLE}</style><h1>Does it leak?</h1>"
        f"<p class={'ok' if report.passed else 'bad'}>{escape(_summary(report))}</p><p>{how}</p>"
        f"{''.join(parts)}<p class=facts>{escape(report.facts['date'])}: {escape(_versions(report))}. "
        f"A run took {1000 * report.seconds_per_run:.1f} ms.</p></html>\n"
    )


def write(report: Report, out: str | Path) -> tuple[Path, Path]:
    """Write the Markdown and the page beside each other, and return where."""
    stem = Path(out)
    if stem.suffix in (".md", ".html"):
        stem = stem.with_suffix("")
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = stem.with_name(stem.name + ".md"), stem.with_name(stem.name + ".html")
    for path, text in zip(paths, (markdown(report), html(report)), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


_WARNING = "As published, without a proof: it is here to be looked at, and may well leak."

_Row = tuple[tuple[str, str], list[Finding | None]]


def _tables(report: Report) -> Iterator[tuple[str, list[float], list[_Row]]]:
    for name in dict.fromkeys(f.algorithm for f in report.findings):
        mine = [f for f in report.findings if f.algorithm == name]
        epsilons = list(dict.fromkeys(f.epsilon for f in mine))
        # How many draws a law audit saw differs from one epsilon to the next; it is one row all the same.
        keys = dict.fromkeys(_key(f) for f in mine)
        found = {(*_key(f), f.epsilon): f for f in mine}
        yield name, epsilons, [(key, [found.get((*key, e)) for e in epsilons]) for key in keys]


def _key(f: Finding) -> tuple[str, str]:
    return f.audit, "noise in its answers" if f.audit == "law" and f.case.endswith("draws") else f.case


def _cell(f: Finding | None, mark: str, unmark: str) -> str:
    if f is None:
        return ""
    text = ("passed" if f.passed else "leaks") if f.measured is None else _number(f)
    return (
        text
        if f.passed
        else f"{mark}{text}: leaks{unmark}"
        if f.measured is not None
        else f"{mark}leaks{unmark}"
    )


def _number(f: Finding) -> str:
    return f"{f.measured:.2f}" if f.currency == "epsilon" else f"{f.measured:.4f} of {f.claimed:.4f} rho"


def _bar(f: Finding | None) -> str:
    if f is None or f.measured is None or not f.claimed:
        return f"<td class={'ok' if f is None or f.passed else 'bad'}>{_cell(f, '', '')}</td>"
    # The claim is the full width; what exceeds it does not fit.
    width = min(100.0, 100 * f.measured / f.claimed)
    kind = "ok" if f.passed else "bad"
    return (
        f"<td class={kind} title='{escape(f.detail, quote=True)}'><i style='width:{width:.0f}%'></i>"
        f"<b>{escape(_cell(f, '', ''))}</b></td>"
    )


def _catches(audit: str, case: str) -> str:
    if audit == "black box":
        return canary(case).catches if case in CANARIES else ""
    return {
        "exact": "a charge below what is lost",
        "law": "noise of the wrong size, shared, or repeatable",
        "replay": "seeing more than noisy answers; cells that depend on other rows",
        "contents": "rows, labels or exact counts that are kept",
    }[audit]


def _summary(report: Report) -> str:
    caught = [f for f in report.findings if not f.passed]
    n = len(report.findings)
    if not caught:
        return f"No leak was detected in {n} audits."
    return f"{len(caught)} of {n} audits found a leak: " + "; ".join(
        f"{f.algorithm} at {f.epsilon:g}, {f.audit} ({f.case})" for f in caught
    )


def _versions(report: Report) -> str:
    return ", ".join(f"{name} {text}" for name, text in report.facts.items() if name != "date")


_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#223}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.25rem .6rem;border-bottom:1px solid #dde}
td{position:relative}td b{position:relative;font-weight:500}
td i{position:absolute;left:0;top:15%;bottom:15%;background:#cfe8d5}
.bad i{background:#f3c1c1}.bad b,p.bad,td.bad{color:#a11;font-weight:600}
p.ok{color:#185a2c;font-weight:600}.why,.facts{color:#667;font-size:90%}
"""
