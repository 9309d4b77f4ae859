"""Shared: a fitted model and its release on disk."""

import numpy as np
import pandas as pd
import pytest

from shoal import DPLloyd


@pytest.fixture(scope="session")
def places():
    """Three groups of 4,000 places, as longitude and latitude."""
    rng = np.random.default_rng(11)
    hub = np.array([[-73.98, 40.75], [-73.78, 40.64], [-73.95, 40.85]])[rng.integers(0, 3, 4000)]
    where = hub + rng.normal(0, 0.01, hub.shape)
    return pd.DataFrame(where, columns=["pickup_longitude", "pickup_latitude"])


BOUNDS = {"pickup_longitude": (-74.26, -73.70), "pickup_latitude": (40.47, 40.92)}


@pytest.fixture(scope="session")
def model(places):
    """Fit once: tests copy what it released."""
    return DPLloyd(3, epsilon=2.0, bounds=BOUNDS, max_iter=3).fit(places)


@pytest.fixture
def folder(model, tmp_path):
    """A fresh release on disk."""
    model.release_.save(tmp_path / "release")
    return tmp_path / "release"
