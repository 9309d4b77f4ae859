"""One version: the package's, the changelog's and the citation's agree."""

import re
from pathlib import Path

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
