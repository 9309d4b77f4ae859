"""Small trees, their nodes and terms: what tests of parts share."""

import numpy as np
import pytest

from shoal.accounting import budget_of
from shoal.domain import Bounds, Domain, Unit
from shoal.queries import Nodes
from shoal.queries.questions import Terms

LEAVES, AXES = 8, (0, 0, 0)
UNITS = [Unit(), Unit(max_rows=2), Unit("replace"), Unit("replace", 2)]
every_unit = pytest.mark.parametrize("unit", UNITS, ids=Unit.describe)


def nodes(*pairs):
    starts, levels = zip(*pairs, strict=True)
    return Nodes(np.array(starts, dtype=np.int64), np.array(levels, dtype=np.int64))


def more(*deeper):
    return np.array(deeper, dtype=np.int64)


def terms_for(unit, delta=0.0, epsilon=4.0):
    return Terms(Domain(Bounds.parse((-1, 1), 1), unit=unit), budget_of(epsilon, delta))
