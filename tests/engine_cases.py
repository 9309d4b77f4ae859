"""What every engine is tried with: tables with all in them, and what must be the same to the last bit.

The zoo (`tests/zoo.py`) is what can be fitted; this is how a fit on an engine is compared with one in memory.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

import zoo
from shoal import DPLloyd, Zones
from shoal.queries.gate.codec import digest

ALL = [*zoo.MODELS, *zoo.SYNOPSES, *zoo.STEPS]
BOUNDS = {"a": (-1, 1), "b": (-1, 1), "c.d": (-1, 1)}


def seeded(member: zoo.Member) -> Any:
    """Return an estimator of the zoo with noise that can be had again, and a budget of its own."""
    model = clone(member.model).set_params(random_state=3)
    return model.set_params(budget=None) if "budget" in model.get_params() else model


def bits(model: Any) -> str:
    """Return what was asked, answered and charged, and what came of it, as one word."""
    names = ("cluster_centers_", "cluster_sizes_")
    released = [getattr(model, name) for name in names if hasattr(model, name)]
    # The release of a coreset may be of several tables, that of zones is of each: a transcript for every one.
    parts = getattr(model.release_, "parts", (model.release_,))
    return digest([*(part.transcript for part in parts), model.certificate_, *released])


def same(model: Any, in_memory: Any, elsewhere: Any, **given: Any) -> Any:
    """Fit two tables with the same noise and compare all that comes of it; return the second model."""
    one, other = (zoo.quietly(partial(clone(model).fit, **given), table) for table in (in_memory, elsewhere))
    assert bits(one) == bits(other)
    return other


def frame(n: int = 300, people: int = 80) -> pd.DataFrame:
    """Return numbers, some missing; people, some of them nobody; words, one without a level; and weights."""
    rng = np.random.default_rng(5)
    found = pd.DataFrame(np.round(zoo.table(3, n), 1), columns=list(BOUNDS))
    found.loc[::7, "a"] = np.nan
    found["who"] = pd.array(rng.integers(0, people, n).astype(str), dtype="string")
    found.loc[::11, "who"] = pd.NA
    found["hue"] = pd.array(rng.choice(["red", "blue", "odd"], n), dtype="string")
    found["w"] = rng.uniform(0, 2, n)
    return found


def strips(columns: tuple[str, str]) -> Zones:
    """Return two strips with a level each: rows that are rounded lie on their borders, too."""
    ends = {"left": (-1.0, -0.5, 4.0), "middle": (-0.5, 0.6, 9.0)}
    features = [
        {
            "type": "Feature",
            "properties": {"name": name, "epsilon": epsilon},
            "geometry": {"type": "Polygon", "coordinates": [[[a, -1], [b, -1], [b, 1], [a, 1], [a, -1]]]},
        }
        for name, (a, b, epsilon) in ends.items()
    ]
    return Zones.from_geojson({"type": "FeatureCollection", "features": features}, columns=columns)


# Places in a column that is not clustered, and people, who may be in several zones; and words, and rows.
PEOPLE_IN_STRIPS = DPLloyd(
    {"left": 1, "middle": 2, "rest": 1},
    epsilon=5.0,
    bounds={"b": (-1, 1), "c.d": (-1, 1)},
    zones=strips(("a", "b")),
    unit="who",
    max_rows=2,
    max_iter=1,
    max_weight=2.0,
    random_state=0,
)
ROWS_BY_WORD = DPLloyd(
    4,
    epsilon=5.0,
    bounds=BOUNDS,
    zones=Zones.from_column("hue", {"red": 4.0, "blue": 9.0}),
    missing="drop",
    max_iter=1,
    random_state=0,
)
