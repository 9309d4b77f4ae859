"""Shared: how to put a table behind the gate, and hypothesis settings that suit slow machines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import needs
import postgres_server
from needs import pytest_configure, pytest_runtest_setup
from shoal import _compiling
from shoal.accounting import Accountant, budget_of
from shoal.domain import Bounds, Domain
from shoal.mechanisms import SeededEntropy
from shoal.queries import LiveCurator
from shoal.sources import MemorySource, Table

__all__ = ["pytest_configure", "pytest_runtest_setup"]  # hooks: a test that needs a browser says so

settings.register_profile(
    "shoal", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, max_examples=60
)
settings.load_profile("shoal")
# Tests are of the compiled loops. Where twins are meant, a test says so.
_compiling.at_once()


@pytest.fixture
def behind_gate():
    """Make a live curator for a table: `behind_gate(X, epsilon=1.0, ...)`."""

    def make(
        X,
        *,
        epsilon=1.0,
        delta=0.0,
        bounds=(-1, 1),
        seed=0,
        n_rows=None,
        chunk_rows=65_536,
        threads=1,
        **domain,
    ):
        table = Table(X)
        public = Domain(Bounds.parse(bounds, table.n_columns, table.names), names=table.names, **domain)
        source = MemorySource(table, public, chunk_rows=chunk_rows, threads=threads)
        allowance = Accountant(epsilon=epsilon, delta=delta).reserve(budget_of(epsilon, delta), "test")
        return LiveCurator(source, public, allowance, SeededEntropy(seed), n_rows=n_rows)

    return make


@pytest.fixture
def blobs():
    """Four groups in the unit square, 2,000 rows."""
    rng = np.random.default_rng(7)
    centres = np.array([[-0.6, -0.6], [-0.6, 0.6], [0.6, -0.6], [0.6, 0.6]])
    return centres[rng.integers(0, 4, 2000)] + rng.normal(0, 0.08, (2000, 2))


@pytest.fixture(scope="session")
def postgres():
    """The URL of an empty PostgreSQL server, for tests with `@needs("postgres")`."""
    programs = needs.postgres()
    assert programs, 'mark the test with @needs("postgres")'
    with postgres_server.server(programs) as url:
        yield url
