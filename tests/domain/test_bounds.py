import numpy as np
import pytest

from shoal.domain import Bounds
from shoal.errors import InvalidBounds


def test_scalars_arrays_and_names_mean_the_same():
    want = Bounds((0.0, -1.0), (1.0, 1.0))
    assert Bounds.parse(([0, -1], [1, 1]), 2) == want
    assert Bounds.parse((np.array([0.0, -1.0]), 1), 2) == want
    assert Bounds.parse({"b": (-1, 1), "a": (0, 1)}, 2, ("a", "b")) == want


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ("wide", "preset"),
        ("latlon", "longitude and latitude"),
        ((1, 0), "reversed"),
        (([0, 2], [1, 1]), "column 1 are reversed"),
        ((float("nan"), 1), "finite"),
        ((0, float("inf")), "finite"),
        ((0, 1, 2), "not a pair"),
        (5, "not a pair"),
        (("a", "b"), "not a number"),
        (([0, 0, 0], [1, 1, 1]), "for 3 columns, the table has 2"),
        (([0, 0], [1]), "2 lower and 1 upper"),
        ({"x": (0, 1)}, r"missing \['y'\]"),
        ({"x": (0, 1), "y": (0, 1), "z": (0, 1)}, r"unknown \['z'\]"),
        ({"x": (0, 1), "y": 3}, "column 'y'"),
    ],
)
def test_bad_bounds_say_what_is_wanted(bounds, says):
    with pytest.raises(InvalidBounds, match=says):
        Bounds.parse(bounds, 2, ("x", "y"))


@pytest.mark.parametrize(
    "bounds",
    [
        [(0, 10), (20, 30)],
        [(0, 10), (0, 100)],  # as (lower, upper) the first column would be nothing but 0
        ((0, 10), (0, 10)),
        [[0, 10], [5, 100]],  # as a config file has it
        np.array([[0, 10], [0, 100]]),
    ],
    ids=str,
)
def test_what_can_be_read_in_two_ways_is_refused(bounds):
    with pytest.raises(InvalidBounds, match="in two ways"):
        Bounds.parse(bounds, 2)


@pytest.mark.parametrize(
    "bounds",
    [
        ([-75, 40], [-73, 41]),
        [np.array([-75, 40]), np.array([-73, 41])],
        (np.array([-75, 40]), [-73, 41]),
    ],
)
def test_lists_in_a_tuple_and_arrays_are_lower_and_upper(bounds):
    assert Bounds.parse(bounds, 2) == Bounds((-75.0, 40.0), (-73.0, 41.0))


def test_pairs_that_nobody_can_mean_are_lower_and_upper():
    assert Bounds.parse([(17, 0), (90, 99)], 2) == Bounds((17.0, 0.0), (90.0, 99.0))
    assert Bounds.parse(((0, 0), (10, 10)), 2) == Bounds((0.0, 0.0), (10.0, 10.0))
    assert Bounds.parse([(0, 1, 2), (5, 6, 7)], 3).lower == (0.0, 1.0, 2.0)


def test_names_need_a_frame():
    with pytest.raises(InvalidBounds, match="no column names"):
        Bounds.parse({"x": (0, 1)}, 1, None)


def test_wide_bounds_do_not_overflow():
    wide = Bounds.parse((-1.7e308, 1.7e308), 1)
    assert wide.middle[0] == 0.0
    assert np.isfinite(wide.half_width).all()
