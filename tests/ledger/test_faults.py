"""Twenty of the faults of `make faults`: in a process of their own, as they fork."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import needs

TESTS = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_nothing_is_overspent_and_nothing_lost_whatever_goes_wrong():
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "faults.run", "--some"],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
        env={**os.environ, "PYTHONPATH": path},
    )
    n = 20 if needs.postgres() else 18
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{n} of {n}" in done.stdout.splitlines()[-1]
