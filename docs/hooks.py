"""What mkdocs does not do by itself: pages from the root of the repository, and links as on a forge.

PRIVACY.md, CONTRIBUTING.md and others stay where people look for them and are put into the site under the
names below, and so are the examples, as scripts and as notebooks. Links are written as files in the
repository, so that they work there as well; here they are turned into links between pages. The page of
commands is written from the commands themselves.
"""

from __future__ import annotations

import inspect
import json
import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from mkdocs.structure.files import File

from shoal.cli import main

ROOT = Path(__file__).resolve().parents[1]
FROM_ROOT = {
    "explanation/privacy.md": "PRIVACY.md",
    "explanation/architecture.md": "ARCHITECTURE.md",
    "project/contributing.md": "CONTRIBUTING.md",
    "project/changelog.md": "CHANGELOG.md",
    "project/security.md": "SECURITY.md",
}
# Where a link to a folder or to the README leads.
INSTEAD = {
    "README.md": "docs/index.md",
    "docs/proofs": "docs/proofs/index.md",
    "docs/audit": "docs/audit/README.md",
}
EVERY_COMMAND = "<!-- every command -->"
EXAMPLE = re.compile(r"\[`examples/(\w+)\.py`\]\([^)]*\)")
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)")


def in_repository(page: str) -> str:
    """Where the source of a page lies in the repository."""
    return FROM_ROOT.get(page, f"docs/{page}")


def in_site(source: str) -> str | None:
    """Which page a file of the repository is in the site; None if it is not in it."""
    source = INSTEAD.get(source, source)
    if source.startswith("docs/"):
        return source.removeprefix("docs/")
    if source.startswith("examples/"):
        return source
    return next((page for page, file in FROM_ROOT.items() if file == source), None)


def relink(markdown: str, page: str) -> str:
    """Turn links between files of the repository into links between pages."""

    def one(match: re.Match[str]) -> str:
        source = posixpath.normpath(posixpath.join(posixpath.dirname(in_repository(page)), match[2]))
        target = in_site(source)
        return match[1] + (posixpath.relpath(target, posixpath.dirname(page) or ".") if target else match[2])

    return LINK.sub(one, markdown)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that come from the root."""
    for page, source in FROM_ROOT.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    sys.path.insert(0, str(ROOT / "examples"))
    from notebooks import EXAMPLES, notebook

    for path in [*EXAMPLES, ROOT / "examples" / "_common.py"]:
        files.append(File.generated(config, f"examples/{path.name}", abs_src_path=str(path)))
    for path in EXAMPLES:
        text = json.dumps(notebook(path.read_text()), indent=1)
        files.append(File.generated(config, f"examples/{path.stem}.ipynb", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Mend the links of every page, offer examples as notebooks too, and write down the commands."""
    markdown = relink(markdown, page.file.src_uri)
    markdown = re.sub(
        r"(\[`examples/)(\w+)(\.py`\]\(.*?\))", r"\1\2\3 ([notebook](examples/\2.ipynb))", markdown
    )
    return markdown.replace(EVERY_COMMAND, "\n".join(line for path in commands() for line in told(*path)))


def commands(group: Any = main, path: tuple[str, ...] = ("shoal",)) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Yield every command with the words that call it."""
    context = click.Context(group, info_name=" ".join(path))
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield command, (*path, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def told(command: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of the page that tell of one command: what it does, how it is called, its options."""
    context = click.Context(command, info_name=" ".join(path))
    usage = command.get_usage(context).removeprefix("Usage: ")
    text = inspect.cleandoc((command.help or "").replace("\b\n", ""))
    yield from ("", f"{'#' * len(path)} {' '.join(path)}", "", text, "", "```", usage, "```", "")
    for one in command.get_params(context):
        record = one.get_help_record(context)
        if record is not None and record[1]:  # what has none is told of by the text
            yield from (f"`{record[0]}`", f":   {' '.join(record[1].split())}", "")
