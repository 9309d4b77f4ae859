"""What the examples share: `--small` for a quick run, and where pictures go. Notebooks do without (notebooks.py)."""

from __future__ import annotations

import sys
from pathlib import Path

SMALL = "--small" in sys.argv


def rows(usual: int) -> int:
    """Return how many rows to make up: a twentieth, but at least 4,000, in a small run."""
    return max(usual // 20, 4_000) if SMALL else usual


def runs(usual: int) -> int:
    """Return how many runs to make: a tenth in a small run."""
    return usual // 10 if SMALL else usual


def picture(name: str) -> Path:
    """Return where a picture goes: the folder named after `--out`, or here."""
    folder = Path(sys.argv[sys.argv.index("--out") + 1] if "--out" in sys.argv else ".")
    return folder / f"{name}.png"
