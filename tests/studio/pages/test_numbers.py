"""Numbers that people write into fields."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import shoal.studio.pages as pages
from shoal.errors import InvalidInput
from shoal.studio.pages.frame import read_number


@pytest.mark.parametrize(
    ("said", "number"), [("0.25", 0.25), (" 1e-6 ", 1e-6), ("0", 0.0), ("", None), (None, None)]
)
def test_a_number_is_read_as_it_was_written(said, number):
    assert read_number(said, "Delta", (0, 1)) == number


@pytest.mark.parametrize(
    ("said", "whole", "wanted"),
    [
        ("0,5", False, "a number from 0 to 1"),
        ("2", False, "a number from 0 to 1"),
        ("-1", False, "a number from 0 to 1"),
        ("nan", False, "a number from 0 to 1"),
        ("inf", False, "a number from 0 to 1"),
        ("0.5", True, "a whole number from 0 to 1"),
        ("<b>", False, "a number from 0 to 1"),
    ],
)
def test_what_is_no_number_is_told(said, whole, wanted):
    with pytest.raises(InvalidInput) as told:
        read_number(said, "Delta", (0, 1), whole=whole, example="1e-9")
    assert str(told.value) == f"Delta is {said!r}; give {wanted}, such as 1e-9"


def test_no_page_has_a_number_field_of_nicegui():
    """The server writes such a field anew when it is left, and a slow one loses digits."""
    for path in Path(pages.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert "number" not in used, path.name
