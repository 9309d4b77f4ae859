"""The how-to runs as it is written."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "audit.md"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_how_to_runs(capsys):
    names: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    said = capsys.readouterr().out
    assert "not detected: lower bound" in said
    assert "lowest bit of output" in said
