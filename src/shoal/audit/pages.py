"""A report as a table in the terminal, as Markdown and as a page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.table import Table as RichTable

from shoal.audit.audited import status_of
from shoal.audit.canaries import CANARIES, canary
from shoal.audit.relevance import CONCERNS
from shoal.audit.report import Finding, Report, claims_only
from shoal.reporting.document import Block, Bullets, Cell, Gauge, Heading, Table, Text
from shoal.reporting.document import markdown as as_markdown
from shoal.reporting.document import page as as_page

_AUDITS = (
    "**Black box**: an algorithm is run on two neighbouring tables, {runs:,} times on each. On half of the "
    "runs the most telling event is chosen among all that can be seen, on the other half that event alone is "
    "tested. The number is a lower bound on the true epsilon.",
    "**Exact**: the loss of the questions that were really asked, computed on every pair of tables and held "
    "against what was charged. 100 % is a charge that is exactly right.",
    "**Law**: the noise in the answers, tested against the law that was charged for; the number is the loss "
    "of noise as small as what was drawn, an estimate that may lie on either side of the charge.",
    "**Replay**: the same result, bit for bit, from the noisy answers alone.",
    "**Contents**: no row, label or exact count in anything that is published.",
)
_CATCHES = {
    "exact": "a charge below what is lost",
    "law": "noise of the wrong size, shared, or repeatable",
    "replay": "seeing more than noisy answers; cells that depend on other rows",
    "contents": "rows, labels or exact counts that are kept",
}
_WARNING = (
    "As published, without a proof, and here to be looked at: it states no epsilon, and it is expected that "
    "the audit catches it."
)


def rich_table(report: Report) -> RichTable:
    """Make a table for the terminal, one line a finding."""
    table = RichTable(box=None, pad_edge=False)
    for name in ("algorithm", "epsilon", "audit", "case", "measured", "claimed", "verdict"):
        table.add_column(name, no_wrap=True, justify="right" if name in ("measured", "claimed") else "left")
    for f in report.subjects:
        verdict = "[green]not detected[/]" if f.passed else "[bold red]leaks[/]"
        numbers = ("", "") if f.measured is None else (f"{f.measured:.3f}", f"{f.claimed:.4g} {f.currency}")
        table.add_row(f.algorithm, f"{f.epsilon:g}", f.audit, f.case, *numbers, verdict)
    return table


def markdown(report: Report) -> str:
    """Write the report as Markdown."""
    return as_markdown(list(blocks(report)))


def html(report: Report) -> str:
    """Write the report as one page, with a bar for every measured loss against its claim."""
    return as_page(list(blocks(report)))


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


def blocks(report: Report) -> Iterator[Block]:
    """Yield the report, top to bottom."""
    yield Heading("Does it leak?", 1)
    yield Text(f"**{_verdict(report)}**")
    yield Text(
        "Five audits try to catch every algorithm losing more than it claims. Not detected is not a proof "
        "that nothing leaks: those are in `docs/proofs`. A lower bound above the claim would be a proof that "
        "something does."
    )
    yield Bullets(tuple(text.format(runs=report.runs) for text in _AUDITS))
    yield Text(_resolution(report))
    yield Heading("At a glance")
    yield Text(
        "For every epsilon, the largest lower bound of the black box, and the largest exact loss in percent "
        "of what was charged. A full bar is the claim."
    )
    yield _glance(report)
    yield from _controls(report.controls)
    yield Heading("Case by case")
    for name in _names(report.subjects):
        yield Heading(name, 3)
        if claims_only(name):
            yield Text(_WARNING)
        yield _cases([f for f in report.subjects if f.algorithm == name])
    yield Heading("Which pairs of tables, and why")
    yield _pairs()
    yield from _footer(report)


def _verdict(report: Report) -> str:
    promised = [f for f in report.subjects if not claims_only(f.algorithm)]
    caught = [f for f in promised if not f.passed]
    text = f"No leak was detected in {len(promised):,} audits of what promises privacy."
    if caught:
        where = "; ".join(f"{f.algorithm} at {f.epsilon:g}, {f.audit} ({f.case})" for f in caught)
        text = f"{len(caught)} of {len(promised):,} audits found a leak: {where}."
    published = [f for f in report.subjects if claims_only(f.algorithm)]
    names = sorted({f.algorithm for f in published if not f.passed})
    if names:
        text += f" What is there as published, without a proof, was caught: {', '.join(names)}."
    known = [f for f in report.controls if f.role == "control"]
    if known:
        text += f" Known mistakes were caught by {sum(not f.passed for f in known)} of {len(known)} audits."
    return text


def _resolution(report: Report) -> str:
    return (
        f"Every lower bound holds with confidence {report.confidence:.7g}, so that all of them hold together "
        f"with at least 99.9 %. With {report.runs:,} runs on each table no bound can exceed "
        f"{report.power:.2f}, even of something that tells the tables apart always; smaller leaks show by "
        "less. So the black box finds gross mistakes, and the exact audit the small ones."
    )


def _glance(report: Report) -> Table:
    epsilons = _epsilons(report.subjects)
    heads = [f"ε = {e:g}, {what}" for e in epsilons for what in ("lower bound", "exact loss")]
    rows = []
    for name in _names(report.subjects):
        mine = [f for f in report.subjects if f.algorithm == name]
        cells = [
            _worst([f for f in mine if f.epsilon == e and f.audit == audit])
            for e in epsilons
            for audit in ("black box", "exact")
        ]
        status = status_of(name)
        rows.append((name, status, *cells, f"{len(mine)}", _word(mine)))
    return Table(("algorithm", "status", *heads, "audits", "verdict"), tuple(rows))


def _word(findings: Iterable[Finding]) -> str:
    found = list(findings)
    if all(f.passed for f in found):
        return "not detected"
    return "caught" if claims_only(found[0].algorithm) else "leaks"


def _worst(findings: Sequence[Finding]) -> Cell:
    measured = [f for f in findings if f.measured is not None and f.claimed]
    return _gauge(max(measured, key=_share)) if measured else ""


def _controls(controls: Sequence[Finding]) -> Iterator[Block]:
    yield Heading("Known mistakes, which the audit must catch")
    if not controls:
        yield Text("Not in these results: `python tests/audit/catch_controls.py --results FILE` adds them.")
        return
    yield Text(
        "An audit that lets these pass would be worth nothing. Each is a mistake of published code, beside a "
        "twin that is the same without it. Numbers are measured against claimed, in epsilon; of noise, the "
        "loss of as little as was drawn, which says nothing where its size is not what is wrong."
    )
    twins = {(f.algorithm, f.epsilon, f.audit): f for f in controls if f.role == "twin"}
    rows = []
    for f in controls:
        if f.role == "control":
            twin = twins.get((f.algorithm, f.epsilon, f.audit))
            honest = "" if twin is None else ("not detected" if twin.passed else "leaks")
            measured = "" if twin is None else _plain(twin)
            verdict = "missed" if f.passed else "caught"
            rows.append(
                (f.algorithm, f"{f.audit}, {f.case}", f"{f.epsilon:g}", _plain(f), verdict, measured, honest)
            )
    yield Table(("mistake", "audit", "ε", "measured", "verdict", "its twin", "verdict"), tuple(rows))


def _plain(f: Finding) -> str:
    if f.measured is None:
        return f.detail
    number = f"{f.measured:.2f} of {f.claimed:.3g}"
    return f"{number}, {f.detail}" if f.audit == "law" and not f.passed else number


def _cases(findings: Sequence[Finding]) -> Table:
    epsilons = _epsilons(findings)
    found = {(f.audit, f.case, f.epsilon): f for f in findings}
    rows = []
    for audit, case in dict.fromkeys((f.audit, f.case) for f in findings):
        cells = [_gauge(found.get((audit, case, e))) for e in epsilons]
        catches = (
            canary(case).catches if audit == "black box" and case in CANARIES else _CATCHES.get(audit, "")
        )
        rows.append((audit, case, *cells, catches))
    return Table(("audit", "case", *(f"ε = {e:g}" for e in epsilons), "catches"), tuple(rows))


def _gauge(f: Finding | None) -> Cell:
    if f is None:
        return ""
    bad = not f.passed
    if f.measured is None or not f.claimed:
        return "leaks" if bad else "passed"
    text = f"{100 * _share(f):.0f} %" if f.audit in ("exact", "law") else f"{f.measured:.2f}"
    return Gauge(f"{text}: leaks" if bad else text, _share(f), bad, f.detail)


def _share(f: Finding) -> float:
    return (f.measured or 0.0) / (f.claimed or 1.0)


def _pairs() -> Table:
    rows = []
    for concern in CONCERNS:
        about = ", ".join(concern.algorithms) or "all"
        rows += [(name, canary(name).catches, about, concern.why) for name in concern.canaries]
    return Table(("pair", "catches", "told apart for", "because"), tuple(rows), folded=f"{len(rows)} pairs")


def _footer(report: Report) -> Iterator[Block]:
    yield Heading("How this was made")
    facts = dict(report.facts)
    date, machine, commit = (facts.pop(name, "") for name in ("date", "machine", "commit"))
    lines = [
        f"Measured {date}" + (f", at commit {commit}" if commit else ""),
        f"Machine: {machine}",
        f"Versions: {', '.join(f'{name} {text}' for name, text in facts.items())}",
        f"{report.runs:,} runs on each table of a case, {1000 * report.seconds_per_run:.1f} ms each",
        "Again: `shoal audit --all --results FILE --out PATH`; interrupted, the same command goes on",
    ]
    yield Bullets(tuple(lines))


def _names(findings: Iterable[Finding]) -> list[str]:
    return list(dict.fromkeys(f.algorithm for f in findings))


def _epsilons(findings: Iterable[Finding]) -> list[float]:
    return sorted({f.epsilon for f in findings})
