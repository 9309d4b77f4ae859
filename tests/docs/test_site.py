"""The site holds every page and public name, builds without a warning and fetches nothing from elsewhere."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import click
import pytest

import shoal
from needs import chromium, needs
from shoal.cli import main

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
    listed = re.findall(r"([\w./-]+\.md)$", nav, re.MULTILINE)
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


def commands(group=main, path="shoal"):
    """Every command by the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def test_every_command_is_shown_at_work():
    pages = " ".join(page.read_text() for page in DOCS.rglob("*.md"))
    for name, _ in commands():
        said = " ".join(name.split()[-2:])  # "users add", where the page is about the studio
        assert re.search(rf"{said}\b", pages), name


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet: it would count no warnings, and so let everything pass.
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@needs("mkdocs")
@pytest.mark.slow
def test_it_fetches_nothing_from_elsewhere_and_no_link_is_dead(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(from_root())
    for page in pages:
        fetches = Fetches()
        fetches.feed(page.read_text())
        assert fetches.found
        assert not [one for one in fetches.found if re.match(r"(https?:)?//", one)], page.name
        for target in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text()):
            elsewhere = re.match(r"[a-z]+:|/", target)
            assert elsewhere or (page.parent / target).exists(), f"{page.name} leads to {target}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//|@import", sheet.read_text()), sheet.name


@needs("mkdocs")
def test_every_command_and_option_has_a_place_in_the_reference():
    hooks = {"__file__": str(DOCS / "hooks.py")}
    exec((DOCS / "hooks.py").read_text(), hooks)
    assert hooks["EVERY_COMMAND"] in (DOCS / "reference" / "commands.md").read_text()
    told = {" ".join(path): "\n".join(hooks["told"](command, path)) for command, path in hooks["commands"]()}
    assert list(told) == [name for name, _ in commands()]
    for name, command in commands():
        assert f"# {name}\n" in told[name]
        for one in command.params:
            if isinstance(one, click.Option) and not one.hidden:
                assert one.opts[-1] in told[name], (name, one.opts)


@needs("mkdocs", "chromium")
@pytest.mark.slow
def test_it_is_searched_from_a_folder_and_fits_a_phone(site):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as browser:
        chrome = browser.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = chrome.new_page(viewport={"width": 390, "height": 844})
        page.goto((site / "index.html").as_uri())
        page.click("header label[for=__search]")
        page.wait_for_function("typeof __index === 'object'")  # which opening the search loads
        page.keyboard.type("curator")
        page.wait_for_selector(".md-search-result__item a")
        for one in ("start", "examples", "explanation/comparison", "reference/commands", "how-to/budget"):
            page.goto((site / f"{one}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, one
        chrome.close()
