"""Public values survive the way to text and back, and nothing else comes back."""

import inspect
import json
import pkgutil
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from shoal import queries
from shoal.accounting import ZCDP, Accountant, Approx, Charge, NoGuarantee, Pure
from shoal.algorithms import REGISTRY
from shoal.domain import Bounds, Domain, Field, Schema, Unit
from shoal.errors import InvalidRelease, ShoalError
from shoal.queries import (
    AsPublished,
    Ball,
    Box,
    Chosen,
    ClusterCost,
    CoordinateMass,
    Cubes,
    Direction,
    Grid,
    Marginal,
    NoisyCounts,
    NoisySums,
    NotPrivate,
    Offset,
    OffsetCost,
    Picked,
    Projected,
    ProjectedLoss,
    Projection,
    SubCells,
    SwapCost,
    Value,
    Voronoi,
    WithCost,
)
from shoal.queries.gate.codec import MEMBERS, digest, from_plain, plain
from shoal.queries.questions import Histogram, PublicSeed, Question, Select, SelectEach, SparseHistogram, Sums

ANCHORS = np.array([[0.1, -0.2], [1 / 3, 0.7]])
VALUES = [
    Voronoi(ANCHORS),
    Grid((2, 3)),
    SubCells(ANCHORS, ANCHORS[:, np.newaxis], 0.5),
    Marginal(1, 32),
    Cubes(2, (np.array([1, 3]), np.array([], dtype=np.int64)), np.array([0.25, -1 / 3])),
    SparseHistogram(Projected(Projection(ANCHORS), Cubes(2)), Fraction(1, 5), 0.5),
    Projected(Projection(ANCHORS), Grid((2, 3))),
    ProjectedLoss(Projection(ANCHORS), ClusterCost(ANCHORS[np.newaxis])),
    SwapCost(ANCHORS, -ANCHORS[:1]),
    CoordinateMass(Grid((2, 1)), ANCHORS[0], np.array([[0], [1]])),
    Picked(np.array([[1, 0], [0, 1]])),
    Value(),
    Offset(ANCHORS, Box(0.5)),
    Direction(ANCHORS, 0.25),
    WithCost(Offset(ANCHORS, Ball(1))),
    Box(np.float64(0.25)),
    Histogram(Grid.whole(2), Fraction(1, 3)),
    Sums(Voronoi(ANCHORS), Value(), Fraction(2, 7), "split"),
    Sums(Voronoi(ANCHORS), WithCost(Offset(ANCHORS, Box(0.5))), Fraction(1), None),
    ClusterCost(ANCHORS[np.newaxis]),
    Select(ClusterCost(np.stack([ANCHORS, -ANCHORS])), Fraction(1, 9), 2),
    SelectEach(OffsetCost(Voronoi(ANCHORS), ANCHORS, ANCHORS[:, np.newaxis], 0.5), Fraction(1, 9)),
    Chosen(np.array([3, 0])),
    PublicSeed("starting centres"),
    NoisyCounts(np.array([1.5, -0.0, 1e300]), 0.1),
    NoisySums(ANCHORS, np.array([3.0, 1e-310]), 1.0, 2.0),
    NoisySums(ANCHORS, np.array([3.0, 4.0]), 1.0, 2.0, np.array([5.0, 6.0]), 7.0),
    Charge("q", "m", Fraction(1, 10**20), "rho"),
    AsPublished("orientation", 3, 2, 1, 0.5, 0.25),
    NotPrivate(ANCHORS, ANCHORS[np.newaxis]),
    NoGuarantee(),
    Pure(Fraction(1, 10)),
    Approx(Fraction(1), Fraction(1, 10**6)),
    ZCDP(Fraction(3, 7)),
    Bounds((0.1, -1e-300), (0.3, 1)),
    Bounds.not_known(2),
    Unit("replace", 3),
    Unit(max_rows=2, column="who"),
    Domain(Bounds((0.0,), (1.0,)), "none", "drop", Unit(), ("a",), 2.5),
    Domain(
        Bounds((0.0, 0.0), (1.0, 1.0)),
        schema=Schema((Field("c", "category", ("red", 2)), Field("b", "boolean"))),
    ),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_there_and_back_through_json(value):
    text = json.dumps(plain(value), allow_nan=False)
    again = from_plain(type(value), json.loads(text))
    assert type(again) is type(value)
    assert digest(again) == digest(value)
    assert plain(again) == plain(value)


@given(hnp.arrays(np.float64, (2, 3), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_every_double_survives(sums):
    answer = NoisySums(sums, sums[:, 0], 1.0, 2.0)
    assert digest(from_plain(NoisySums, json.loads(json.dumps(plain(answer))))) == digest(answer)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (5000,), (100, 60)])
def test_large_and_empty_arrays_are_stored_beside_the_text(shape):
    answer = NoisySums(np.random.default_rng(0).random(shape), np.ones(2), 1.0, 2.0)
    store = {}
    text = json.dumps(plain(answer, store))
    assert len(store) == 1
    assert len(text) < 500
    assert digest(from_plain(NoisySums, json.loads(text), store)) == digest(answer)
    with pytest.raises(InvalidRelease, match="stored array"):
        from_plain(NoisySums, json.loads(text))


@pytest.mark.parametrize("row", REGISTRY.values(), ids=lambda row: row.name)
def test_every_algorithm_comes_back_from_its_parameters(row):
    algorithm = row.algorithm(n_clusters=3)
    again = from_plain(row.algorithm, json.loads(json.dumps(plain(algorithm))))
    assert again == algorithm


def test_a_class_that_was_renamed_is_still_called_as_before_in_files():
    text = plain(REGISTRY["auto"].algorithm(3))
    assert text["class"] == "Best"
    assert from_plain(REGISTRY["auto"].algorithm, text).n_clusters == 3


def test_every_partition_and_statistic_is_registered():
    """A new one that is not could be asked for, but its release could not be read back."""
    import shoal.queries.losses.cell_losses as cell_losses
    import shoal.queries.losses.cluster_cost as losses
    import shoal.queries.partitions.cells as partitions
    import shoal.queries.statistics.aggregates as aggregates

    modules = [
        import_module(found.name)
        for found in pkgutil.walk_packages(queries.__path__, "shoal.queries.")
        if "compiled" not in found.name
    ]
    for protocol, verb in [
        (partitions.Partition, "assign"),
        (aggregates.RowStat, "exact_totals"),
        (losses.Loss, "exact_losses"),
        (cell_losses.CellLoss, "exact_cell_losses"),
    ]:
        concrete = {
            kind
            for module in modules
            for kind in vars(module).values()
            if isinstance(kind, type)
            and hasattr(kind, verb)
            and not getattr(kind, "_is_protocol", False)
            and not inspect.isabstract(kind)
        }
        assert concrete == set(MEMBERS[protocol])


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        (Question, {"class": "Exploit"}),
        (Question, {"class": "Grid", "shape": [1]}),
        (Question, {"class": "Histogram", "partition": {"class": "Pure", "epsilon": "1"}, "cost": "1"}),
        (Question, {"class": "Histogram", "partition": {"class": "Grid", "shape": [1]}, "cost": 0.5}),
        (Question, None),
        (Grid, {"class": "Grid"}),
        (Grid, {"class": "Grid", "shape": [1], "extra": 1}),
        (Grid, {"class": "Grid", "shape": [1.5]}),
        (Grid, {"class": "Grid", "shape": [True]}),
        (Grid, {"class": "Grid", "shape": 3}),
        (Grid, {"class": "Grid", "shape": [0]}),
        (Voronoi, {"class": "Voronoi", "centres": [["1.5"]]}),
        (Voronoi, {"class": "Voronoi", "centres": [[1.0], [1.0, 2.0]]}),
        (Voronoi, {"class": "Voronoi", "centres": [[None]]}),
        (Pure, {"class": "Pure", "epsilon": "2/4"}),
        (Pure, {"class": "Pure", "epsilon": "1/0"}),
        (Pure, {"class": "Pure", "epsilon": "-1"}),
        (Pure, {"class": "Pure", "epsilon": 1}),
        (Unit, {"class": "Unit", "neighbours": "anyone"}),
        (Charge, {"class": "Charge", "question": 1, "mechanism": "", "amount": "1", "currency": "rho"}),
        (Accountant, {"class": "Accountant"}),
    ],
)
def test_what_is_not_such_a_value_is_refused(wanted, value):
    with pytest.raises(ShoalError):
        from_plain(wanted, value)


def test_the_error_names_what_was_wanted_and_what_was_given():
    with pytest.raises(InvalidRelease, match=r"a Box or Ball is wanted, got 'Exploit'"):
        from_plain(Box | Ball, {"class": "Exploit"})
