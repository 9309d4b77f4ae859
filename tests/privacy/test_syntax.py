"""Read the source of the algorithms: they may name nothing that could show them rows, noise or budget."""

import ast
from pathlib import Path

import pytest

import shoal

ROOT = Path(shoal.__file__).parent
FORBIDDEN_MODULES = ("shoal.sources", "shoal.mechanisms", "shoal.accounting.accountant", "shoal.estimators")
# Names of array types are private to the package, and show nothing of rows.
PRIVATE_BUT_HARMLESS = {"__future__", "_typing"}
FORBIDDEN_NAMES = {"len_X", "LiveCurator", "Accountant", "Allowance", "os", "time", "open"}


def complaints(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None) or ""
            names = [alias.name for alias in node.names]
            for full in [module, *(f"{module}.{name}" if module else name for name in names)]:
                if full.startswith(FORBIDDEN_MODULES):
                    found.append(f"imports {full}")
                if any(part.startswith("_") and part not in PRIVATE_BUT_HARMLESS for part in full.split(".")):
                    found.append(f"imports the private {full}")
            found += [f"imports {name}" for name in names if name in FORBIDDEN_NAMES]
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            owner = node.value.id if isinstance(node.value, ast.Name) else "?"
            if owner != "self":
                found.append(f"reaches for .{node.attr}")
        owner = node.value if isinstance(node, ast.Attribute) else None
        # `np.random.Generator` names a type; anything else there makes randomness of its own.
        if isinstance(owner, ast.Attribute) and owner.attr == "random" and node.attr != "Generator":
            found.append("makes its own randomness")
        if isinstance(node, ast.Name) and node.id in FORBIDDEN_NAMES:
            found.append(f"names {node.id}")
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("getattr", "vars")
        ):
            found.append(f"calls {node.func.id}")
    return found


@pytest.mark.parametrize(
    "path", sorted((ROOT / "algorithms").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT))
)
def test_algorithms_name_only_what_the_curator_tells(path):
    assert complaints(path.read_text()) == []


@pytest.mark.parametrize(
    "cheat",
    [
        "from shoal.sources import MemorySource",
        "from shoal.mechanisms import discrete_laplace",
        "import shoal.sources.table",
        "from shoal.queries.gate.curator import LiveCurator",
        "def run(curator): return curator._source",
        "def run(curator): return getattr(curator, '_so' + 'urce')",
        "import numpy as np\nx = np.random.default_rng()",
        "from shoal.queries import _private",
        "import os",
    ],
)
def test_the_reader_would_notice(cheat):
    assert complaints(cheat)


def test_only_the_gate_and_the_sources_name_exact_values():
    for path in ROOT.rglob("*.py"):
        layer = path.relative_to(ROOT).parts[0]
        if layer in ("queries", "sources", "audit"):  # the audit invents the rows it computes exactly
            continue
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        assert not [name for name in names if name.startswith("exact_")], path
