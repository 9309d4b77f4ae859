"""One version: the package's, the changelog's and the citation's agree."""

import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import shoal

ROOT = Path(__file__).parents[2]


def test_the_changelog_and_the_citation_know_the_version():
    sections = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    unreleased = shoal.__version__.endswith(".dev0")
    assert (sections[0] == "Unreleased") == unreleased
    released = [section for section in sections if section != "Unreleased"]
    assert released == sorted(released, key=lambda v: [int(part) for part in v.split(".")], reverse=True)
    assert re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1] == released[0]
    if not unreleased:
        assert shoal.__version__ == released[0]


def test_links_and_pictures_of_the_readme_work_on_a_package_index(monkeypatch):
    asked_for = ModuleType("hatchling.metadata.plugin.interface")  # which only a build has
    vars(asked_for)["MetadataHookInterface"] = object
    monkeypatch.setitem(sys.modules, asked_for.__name__, asked_for)
    names = {"__name__": "hatch_build"}
    exec((ROOT / "hatch_build.py").read_text(), names)
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    text = names["for_an_index"]((ROOT / "README.md").read_text(), urls["Homepage"], "0.2.0")
    found = re.findall(r"\]\(([^)]+)", text) + re.findall(r'src="([^"]+)', text)
    assert found
    for link in found:
        inside = re.fullmatch(rf"{urls['Homepage']}/(?:blob|raw)/v0.2.0/([^#]+)(?:#.*)?", link)
        assert inside is None or (ROOT / inside[1]).exists(), link
        assert link.startswith("https://"), link
