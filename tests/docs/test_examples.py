"""Every example runs in its small form, prints something, and draws its picture; and is a notebook too."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("_common", "notebooks"))
NEEDS = {"dask_cluster": "distributed"}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_it_runs(name, tmp_path):
    pytest.importorskip(NEEDS.get(name, "shoal"))
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--small", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert (tmp_path / f"{name}.png").stat().st_size > 5_000


def test_every_example_is_a_page_and_a_notebook(tmp_path):
    page = (FOLDER.parent / "docs" / "examples.md").read_text()
    subprocess.run([sys.executable, str(FOLDER / "notebooks.py"), str(tmp_path)], check=True)
    for name in EXAMPLES:
        assert f"examples/{name}.py" in page
        assert (FOLDER.parent / "docs" / "images" / "examples" / f"{name}.png").is_file()
        cells = json.loads((tmp_path / f"{name}.ipynb").read_text())["cells"]
        code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
        assert code[0].startswith("%matplotlib inline\n")  # or the last cell would show words
        code[0] = code[0].split("\n", 1)[1]
        assert cells[0]["cell_type"] == "markdown"
        assert len(code) >= 2
        for source in code:  # alone: with nothing of _common.py
            used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
            assert not used & {"rows", "runs", "picture"}
            assert "_common" not in source
        assert isinstance(ast.parse(code[-1]).body[-1], ast.Expr)  # which shows the picture
