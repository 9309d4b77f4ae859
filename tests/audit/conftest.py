"""The controls are importable by name, here and in spawned processes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
