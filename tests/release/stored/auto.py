"""Write the stored release of the flagship anew, where it goes another way than it went: python auto.py."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd

from shoal import KMeans
from shoal.release.folder import FORMAT

if __name__ == "__main__":  # and not where doctests are looked for
    places = np.repeat([[-73.951, 40.699], [-73.8, 40.8]], 300, axis=0)
    rows = places + np.random.default_rng(0).normal(0, 0.005, places.shape)
    bounds = {"lon": (-74.0, -73.7), "lat": (40.6, 40.9)}
    folder = Path(__file__).parent / str(FORMAT) / "auto"
    model = KMeans(2, epsilon=5.0, bounds=bounds).fit(pd.DataFrame(rows, columns=list(bounds)))
    shutil.rmtree(folder, ignore_errors=True)
    model.release_.save(folder)
