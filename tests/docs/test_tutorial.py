"""Every block of the start page, the tutorial and some how-to pages runs, in order, in an empty folder."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from shoal.cli import main

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("start.md", 5),
        ("index.md", 1),
        ("tutorial.md", 6),
        ("how-to/map.md", 2),
        ("how-to/choose-k.md", 2),
        ("how-to/audit-another-library.md", 2),
        ("how-to/add-an-algorithm.md", 2),
        ("how-to/pipelines.md", 1),
        ("how-to/coreset.md", 4),
        ("how-to/columns.md", 1),
        ("how-to/releases.md", 4),
        ("how-to/streams.md", 1),
        ("how-to/plan.md", 1),
    ],
)
def test_page_runs(page, least, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = BLOCK.findall((DOCS / page).read_text())
    assert len(blocks) >= least
    for kind, text in blocks:
        if kind == "python":
            exec(compile(text, page, "exec"), names)
            continue
        for line in text.splitlines():
            command = shlex.split(line.removeprefix("$ "))
            assert command[0] == "shoal"
            result = CliRunner().invoke(main, command[1:])
            assert result.exit_code == 0, f"{line}\n{result.output}"


@pytest.mark.slow
def test_the_block_of_the_readme_runs_and_prints_what_it_says(capsys):
    text = (DOCS.parent / "README.md").read_text()
    [(_, block)] = BLOCK.findall(text)
    exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    shown = re.search(r"^```\n(\[\[.*?)^\.\.\.", text, re.MULTILINE | re.DOTALL)
    assert shown is not None
    for line in shown[1].splitlines():
        # The order of groups, and how much of the budget is left over, differ from fit to fit.
        assert line.strip("[] ").split("spent")[0] in printed, line


def test_every_relative_link_of_the_docs_leads_somewhere():
    root = DOCS.parent
    for page in [*root.glob("*.md"), *DOCS.rglob("*.md")]:
        text = page.read_text()
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text) + re.findall(r'src="([^"]+)"', text):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_public_name_is_documented():
    import shoal

    pages = " ".join(p.read_text() for p in [DOCS.parent / "README.md", *DOCS.rglob("*.md")])
    for name in shoal.__all__:
        thing = getattr(shoal, name)
        assert name.startswith("__") or (thing.__doc__ and name in pages), name


def test_every_algorithm_has_its_proof_note():
    from shoal.algorithms import REGISTRY

    for row in REGISTRY.values():
        text = (DOCS.parent / row.proof).read_text()
        assert f"Status: {row.status.value}" in text, row.name
