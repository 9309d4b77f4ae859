"""What mkdocs does not do by itself: pages from the root of the repository, and links as on a forge.

PRIVACY.md, CONTRIBUTING.md and others stay where people look for them and are put into the site under the
names below. Links are written as files in the repository, so that they work there as well; here they are
turned into links between pages.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

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
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)")


def in_repository(page: str) -> str:
    """Where the source of a page lies in the repository."""
    return FROM_ROOT.get(page, f"docs/{page}")


def in_site(source: str) -> str | None:
    """Which page a file of the repository is in the site; None if it is not in it."""
    source = INSTEAD.get(source, source)
    if source.startswith("docs/"):
        return source.removeprefix("docs/")
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
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Mend the links of every page."""
    return relink(markdown, page.file.src_uri)
