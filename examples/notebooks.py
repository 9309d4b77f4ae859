"""Write every example as a notebook too: `python examples/notebooks.py OUT`.

A notebook needs nothing beside it: numbers of rows are written out, and the picture is shown where a script saves it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
EXAMPLES = sorted(path for path in HERE.glob("*.py") if path.stem not in ("_common", "notebooks"))
SHOWS = "%matplotlib inline"  # a figure that is a cell's last word is drawn
CELL = re.compile(r"^# %%( \[markdown\])?\n(.*?)(?=^# %%|\Z)", re.MULTILINE | re.DOTALL)


def notebook(script: str) -> dict[str, object]:
    """Return the notebook of a script whose cells begin with ``# %%``."""
    cells: list[dict[str, object]] = []
    for i, (kind, text) in enumerate(CELL.findall(script)):
        if kind:
            source = re.sub(r"^# ?", "", text.strip(), flags=re.MULTILINE)
            cell: dict[str, object] = {"cell_type": "markdown", "metadata": {}, "source": source}
        else:
            cell = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
            cell["source"] = _alone(text.strip())
            if not any(one["cell_type"] == "code" for one in cells):
                cell["source"] = f"{SHOWS}\n{cell['source']}"
        cells.append({**cell, "id": f"cell-{i}"})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _alone(code: str) -> str:
    """Return code that needs no _common.py beside it."""
    code = re.sub(r"^from _common import .*\n", "", code, flags=re.MULTILINE)
    code = re.sub(r"\b(?:rows|runs)\(([\d_]+)\)", r"\1", code)
    return re.sub(r"^(\w[\w.]*)\.savefig\(picture\(.*\)$", r"\1", code, flags=re.MULTILINE)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for path in EXAMPLES:
        (folder / f"{path.stem}.ipynb").write_text(json.dumps(notebook(path.read_text()), indent=1) + "\n")
    print(f"{len(EXAMPLES)} notebooks in {folder}")
