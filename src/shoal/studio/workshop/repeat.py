"""The same thing as Python and as a command line, and a script and a notebook that repeat a release."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pprint import pformat
from typing import TYPE_CHECKING, Any

from shoal.studio.workshop.draft import ESTIMATE, Draft
from shoal.studio.workshop.levels import Level
from shoal.studio.workshop.models import parameters

if TYPE_CHECKING:
    from shoal.studio.workshop.study import Study

# Wider lines are broken.
_WIDTH = 96


def as_python(study: Study, level: Level | None) -> str:
    """Return a step of a study as Python.

    Parameters
    ----------
    study : Study
        Which.
    level : Level, optional
        At which it is released; without, the one look.
    """
    draft, source, bounds = study.draft, study.source, study.bounds()
    ledger = draft.ledger or study.studio.ledger
    opened = f"budget = Accountant.open({ledger!r}, {draft.dataset!r})"
    table = f"table = {_table(draft, repr(source.path))}"
    if level is None:
        model = _call(
            "PrivTreeSynopsis",
            [],
            _given(draft, draft.preview_epsilon, bounds, look=True) | {"count_clipped": True},
        )
        return "\n".join(
            [
                "from shoal import Accountant, FileTable, PrivTreeSynopsis",
                "",
                table,
                opened,
                f"model = {model}",
                "look = model.fit(table).release_  # paid for; all that follows is free",
                'look.save("look")',
                "rows = look.sample(10_000)  # nobody's",
                "",
            ]
        )
    model = _call("KMeans", [repr(draft.k)], _given(draft, level.epsilon, bounds))
    return "\n".join(
        [
            f"from shoal import Accountant, FileTable, KMeans{', Zones' if draft.zones else ''}",
            "",
            table,
            opened,
            f"model = {model}",
            f"model.fit(table)  # spends epsilon {level.epsilon:g}",
            'model.release_.save("release")',
            "print(model.certificate_)",
            "",
        ]
    )


def as_command(study: Study, level: Level | None) -> str:
    """Return a step of a study as a command line; parameters as of :func:`as_python`."""
    draft, bounds = study.draft, study.bounds()
    words = ["shoal", "fit", study.source.path, "--columns", ",".join(draft.columns)]
    words += [] if draft.header else ["--no-header"]
    for name, kind in draft.types.items():
        words += ["--types", f"{name}={kind}"]
    if bounds is not None:
        for name, (low, high) in bounds.items():
            words += ["--bounds", f"{name}={low}..{high}" if isinstance(low, str) else f"{name}={low}:{high}"]
    for name, found in draft.levels.items():
        words += ["--levels", f"{name}={','.join(map(str, found))}"]
    if draft.unit is not None:
        words += ["--max-rows", str(draft.max_rows)]
    if draft.delta:
        words += ["--delta", f"{draft.delta:g}"]
    if level is None:
        words += [
            "--synopsis",
            "--algorithm",
            "tree",
            "--count-clipped",
            "--epsilon",
            f"{draft.preview_epsilon:g}",
        ]
    else:
        words += ["--k", str(draft.k), "--epsilon", f"{level.epsilon:g}"]
        words += ["--public-rows", str(draft.n_rows)] if draft.n_rows is not None else []
        words += ["--zones", "zones.geojson"] if draft.zones else []
    words += ["--ledger", draft.ledger or study.studio.ledger, "--dataset", draft.dataset]
    return _wrapped([*words, "--out", "look" if level is None else "release"])


def script(request: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Return a script that repeats a release from its ledger, for nothing, and says whether it is the same.

    Parameters
    ----------
    request : mapping
        What the release's job was asked for.
    record : mapping
        Of its certificate: `date`, `transcript`, and the epsilon and delta of the fit.
    """
    return "\n".join(_script(request, record))


def notebook(request: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Return a notebook that does the same; parameters as of :func:`script`."""
    lines = _script(request, record)
    about = lines[: lines.index("")]
    cells = _cells(lines[lines.index("") + 1 :])
    told = "\n".join(about).strip('"').strip()
    made = [_cell("markdown", told.split("\n")), *(_cell("code", cell) for cell in cells)]
    return json.dumps({
        "cells": made,
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }, indent=1)  # fmt: skip


def _script(request: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
    draft = Draft.from_dict(request["draft"]).changed({"delta": record["delta"]})
    name, fit = request["source"]["name"], request["fits"]["centres"]
    given = _given(draft, float(record["epsilon"]), request["bounds"])
    model = _call("KMeans", [repr(draft.k)], given)
    zones = ", Zones" if draft.zones else ""
    return [
        f'"""Repeats the release {request["title"]!r} of {record["date"]}.',
        "",
        "Put the table and the ledger beside this file, or change the two names below. The answers are",
        "read back from the ledger: the same release comes again, to the last digit, and nothing is",
        f"spent. With FIT = None it is a new release, which spends epsilon {record['epsilon']:g} anew.",
        '"""',
        "",
        f"from shoal import Accountant, FileTable, KMeans{zones}",
        "",
        f"TABLE, LEDGER, DATASET = {name!r}, 'budget.ledger', {draft.dataset!r}",
        f"FIT = {fit!r}",
        f"TRANSCRIPT = {record['transcript']!r}",
        "",
        f"table = {_table(draft, 'TABLE')}",
        "budget = Accountant.open(LEDGER, DATASET, fit=FIT)",
        f"model = {model}",
        "model.fit(table)",
        "",
        "print(model.release_.told())",
        'print("the same release" if model.certificate_.transcript == TRANSCRIPT else "another release")',
        "",
    ]


def _cells(lines: list[str]) -> list[list[str]]:
    start = lines.index('"""') + 1 if '"""' in lines else 0
    cells: list[list[str]] = [[]]
    for line in lines[start:]:
        if line:
            cells[-1].append(line)
        elif cells[-1]:
            cells.append([])
    return [cell for cell in cells if cell]


def _cell(kind: str, lines: list[str]) -> dict[str, Any]:
    source = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    code: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {
        "cell_type": kind,
        "id": f"cell-{abs(hash(tuple(lines))) % 10**8}",
        "metadata": {},
        "source": source,
        **code,
    }


def _given(draft: Draft, epsilon: float, bounds: Any, *, look: bool = False) -> dict[str, Any]:
    given = {"epsilon": epsilon, **parameters(draft, _plain(bounds))}
    if draft.zones and not look:
        given["zones"] = draft.zones
    if draft.bounds == ESTIMATE and bounds is None:
        del given["bounds"]  # estimated, inside the budget
    return given


def _plain(bounds: Any) -> Any:
    return {name: tuple(ends) for name, ends in bounds.items()} if isinstance(bounds, Mapping) else bounds


def _table(draft: Draft, path: str) -> str:
    more = f", types={draft.types!r}" if draft.types else ""
    more += "" if draft.header else ", header=False"
    return f"FileTable({path}, columns={list(draft.columns)!r}{more})"


def _call(name: str, first: list[str], given: Mapping[str, Any]) -> str:
    words = [*first, *(f"{key}={_written(key, value)}" for key, value in given.items()), "budget=budget"]
    flat = f"{name}({', '.join(words)})"
    if len(flat) <= _WIDTH and "\n" not in flat:
        return flat
    return "\n".join(
        [f"{name}(", *(f"    {word.replace(chr(10), chr(10) + '    ')}," for word in words), ")"]
    )


def _written(key: str, value: Any) -> str:
    if key != "zones":
        return pformat(value, width=_WIDTH - 16, sort_dicts=False)
    if "column" in value:
        rest = f", rest={value['rest']!r}" if value.get("rest") is not None else ""
        return f"Zones.from_column({value['column']!r}, {value['levels']!r}{rest})"
    return f"Zones.from_geojson({pformat(value, width=_WIDTH - 16, sort_dicts=False)})"


def _wrapped(words: list[str]) -> str:
    lines, line = [], ""
    for word in words:
        quoted = shlex.quote(word)
        if line and len(line) + len(quoted) + 1 > _WIDTH and word.startswith("--"):
            lines.append(line + " \\")
            line = "  " + quoted
        else:
            line = f"{line} {quoted}" if line else quoted
    return "\n".join([*lines, line])
