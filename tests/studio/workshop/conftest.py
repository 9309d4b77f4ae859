"""Tables for studios to open."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def trips(tmp_path):
    """Write a small CSV of places and people."""
    rng = np.random.default_rng(0)
    where = np.array([[-74.0, 40.7], [-73.8, 40.65]])[rng.integers(2, size=600)]
    where = where + rng.normal(0, 0.01, where.shape)
    lines = [f"{x:.5f},{y:.5f},p{i % 300}" for i, (x, y) in enumerate(where)]
    path = tmp_path / "trips.csv"
    path.write_text("\n".join(["lon,lat,who", *lines, ""]))
    return path


@pytest.fixture
def at_once(monkeypatch):
    """Do jobs in this process, when they are started: the real work, without a minute of imports."""
    from shoal.studio.workshop.processes import Processes
    from shoal.studio.workshop.worker import work

    started = []

    def start(self, job):
        started.append(job)
        work(self._studio.home, job)

    monkeypatch.setattr(Processes, "start", start)
    return started


@pytest.fixture
def study(tmp_path, trips):
    """Open the trips, with a budget of 3 and all that has to be declared."""
    from shoal.studio.workshop import Studio

    studio = Studio(tmp_path / "home")
    studio.create_dataset("trips", epsilon=3)
    bounds = {"lon": (-74.3, -73.6), "lat": (40.5, 40.9)}
    return studio.open(trips, dataset="trips", columns=("lon", "lat"), bounds=bounds, k=2)
