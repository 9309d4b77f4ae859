"""The page on KMeans lists every constant of its room, with its value."""

import ast
import importlib
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOM = ROOT / "src" / "shoal" / "algorithms" / "kmeans"
PAGE = (ROOT / "docs" / "explanation" / "kmeans.md").read_text()
# Powers of two that are tried or counted: no choice is in them.
LADDERS = {"_SIGNALS", "_WIDER"}


def constants(path):
    """Return the names of a module's constants."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        found |= {name for name in names if name.isupper()}
    return found - LADDERS


def flat(value):
    """Return the numbers of nested tuples."""
    return [x for part in value for x in flat(part)] if isinstance(value, tuple) else [float(value)]


@pytest.mark.parametrize("path", sorted(ROOM.glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_every_constant_is_on_the_page_with_its_value(path):
    wanted = constants(path)
    if not wanted:
        return
    part = PAGE.split(f"**`{path.name}`**")[1].split("\n**`")[0]
    listed = dict(re.findall(r"^\| `(\w+)` \| `(.+?)` \|", part, flags=re.MULTILINE))
    assert set(listed) == wanted
    module = importlib.import_module(f"shoal.algorithms.kmeans.{path.stem}")
    for name, text in listed.items():
        written = eval(text, {"inf": np.inf, "Fraction": Fraction})
        assert flat(written) == pytest.approx(flat(getattr(module, name))), name
