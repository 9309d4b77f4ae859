"""Ledgers to test with: in a file, and on a server that the tests start."""

from __future__ import annotations

import numpy as np
import pytest

from postgres_server import new_database
from shoal import Accountant


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))])
def url(request, tmp_path):
    """Where a ledger may be made."""
    if request.param == "sqlite":
        return str(tmp_path / "budget.ledger")
    return new_database(request.getfixturevalue("postgres"))


@pytest.fixture
def path(tmp_path):
    """Where a ledger in a file may be made."""
    return str(tmp_path / "budget.ledger")


@pytest.fixture
def trips(path):
    """A data set with epsilon 4, in a file."""
    return Accountant.create(path, "trips", epsilon=4)


@pytest.fixture
def rows():
    """Two groups, 400 rows."""
    rng = np.random.default_rng(3)
    return np.where(rng.random((400, 1)) < 0.5, -0.5, 0.5) + rng.normal(0, 0.05, (400, 2))
