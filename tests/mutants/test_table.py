"""Every mutant is still in its place, its tests are there, and the page tells of it."""

import ast

import pytest

from mutants.run import PAGE, ROOT, SOURCE, mutants

# Whose tests are about privacy: what is released, charged, drawn or read of a row.
PRIVACY = ("privacy", "mechanisms", "accounting", "audit", "domain", "ledger", "studio")


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.what)
def test_a_mutant_is_in_its_place(mutant):
    broken = mutant.applied((SOURCE / mutant.place()).read_text())
    ast.parse(broken)
    assert bool(mutant.tests) != bool(mutant.why)
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert f"\ndef {name.partition('[')[0]}(" in (ROOT / file).read_text(), f"there is no {test}"
        assert file.split("/")[1] in PRIVACY, f"{test} is not about privacy"
    assert f"| {mutant.what} |" in PAGE.read_text() or f"- {mutant.what} (" in PAGE.read_text(), (
        "run `make mutants`"
    )


def test_there_are_enough_of_every_layer():
    tried = [mutant for mutant in mutants() if mutant.tests]
    assert len(tried) >= 40
    for layer in ("queries", "mechanisms", "accounting", "sources"):
        assert sum(mutant.layer == layer for mutant in tried) >= 6


def test_all_were_killed():
    tried = sum(bool(mutant.tests) for mutant in mutants())
    assert f"**{tried} of {tried} mutants are killed" in PAGE.read_text()
