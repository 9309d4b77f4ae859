"""The site holds every page and public name, builds without a warning and fetches nothing from elsewhere."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import pytest

import shoal
from needs import needs

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# What a browser fetches by itself when it opens a page; links of the text are followed by the reader.
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


def from_root():
    """Pages whose source is in the root, as docs/hooks.py has them."""
    return re.findall(r'^    "([\w/-]+\.md)": "[A-Z]+\.md",$', (DOCS / "hooks.py").read_text(), re.MULTILINE)


def entries():
    """Names that have an entry in the reference, in order."""
    pages = (page.read_text() for page in sorted((DOCS / "reference").glob("*.md")))
    return [name for page in pages for name in re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)]


def test_the_navigation_holds_every_page_once():
    nav = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1]
    listed = re.findall(r"([\w/-]+\.md)$", nav, re.MULTILINE)
    assert from_root()
    assert sorted(listed) == sorted(
        [*(p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md")), *from_root()]
    )


def test_every_public_name_has_one_entry_in_the_reference():
    public = [f"shoal.{name}" for name in shoal.__all__ if name != "__version__"]
    assert sorted(entries()) == sorted([*public, "shoal.errors"])


def test_every_entry_of_the_reference_is_something():
    for name in entries():
        home, _, last = name.rpartition(".")
        assert hasattr(import_module(home), last), name


class Fetches(HTMLParser):
    """Collects what a page makes a browser fetch."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found += [value for key, value in attributes if key == FETCHED.get(tag)]


@needs("mkdocs")
@pytest.mark.slow
def test_the_site_builds_strictly_and_fetches_nothing_from_elsewhere(tmp_path):
    # Not --quiet: it would count no warnings, and so let everything pass.
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(from_root())
    for page in pages:
        fetches = Fetches()
        fetches.feed(page.read_text())
        assert fetches.found
        assert not [one for one in fetches.found if re.match(r"(https?:)?//", one)], page.name
    for sheet in tmp_path.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//|@import", sheet.read_text()), sheet.name
