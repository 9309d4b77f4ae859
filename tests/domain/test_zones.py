"""Zones: what is refused, and that rows and borders are settled exactly, against arithmetic in fractions."""

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

from shoal import Zones
from shoal.domain.polygons import Axis, Ring, relation, touches_itself
from shoal.errors import InvalidInput, InvalidTable
from shoal.sources.zones import find_loop, find_numpy, zones_of_places


def box(x, y, width=1.0, height=None):
    up = width if height is None else height
    return [[x, y], [x + width, y], [x + width, y + up], [x, y + up], [x, y]]


def collection(**zones):
    """Write zones as GeoJSON: a line, or a line and its holes, for each name; epsilons are 0.1, 0.2, ..."""
    features = [
        {
            "type": "Feature",
            "properties": {"name": name, "epsilon": (i + 1) / 10},
            "geometry": {"type": "Polygon", "coordinates": lines},
        }
        for i, (name, lines) in enumerate(zones.items())
    ]
    return {"type": "FeatureCollection", "features": features}


# By hand, in fractions: what the integers of the lattice are compared with.


def side(a, b, c):
    value = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    return (value > 0) - (value < 0)


def edges(corners):
    return list(zip(corners, corners[1:] + corners[:1], strict=True))


def on_segment(a, b, p):
    return side(a, b, p) == 0 and all(min(s, t) <= v <= max(s, t) for s, t, v in zip(a, b, p, strict=True))


def place(corners, p):
    """Say whether a point is inside a ring (1), outside (-1) or on its line (0)."""
    if any(on_segment(a, b, p) for a, b in edges(corners)):
        return 0
    odd = False
    for (ax, ay), (bx, by) in edges(corners):
        if (ay > p[1]) != (by > p[1]) and p[0] < Fraction(bx - ax) * (p[1] - ay) / (by - ay) + ax:
            odd = not odd
    return 1 if odd else -1


def is_simple(corners):
    pairs = itertools.combinations(enumerate(edges(corners)), 2)
    n = len(corners)
    for (i, (a, b)), (j, (c, d)) in pairs:
        if j - i == 1 or (i == 0 and j == n - 1):
            shared, one, other = (b, a, d) if j - i == 1 else (a, b, c)
            if side(one, shared, other) == 0 and not on_segment(one, other, shared):
                return False
            continue
        touching = any(on_segment(p, q, r) for p, q, r in ((a, b, c), (a, b, d), (c, d, a), (c, d, b)))
        if touching or (side(a, b, c) != side(a, b, d) and side(c, d, a) != side(c, d, b)):
            return False
    return True


def crossing(a, b, c, d):
    """Return where two lines cross, if they do in one point of both."""
    den = (b[0] - a[0]) * (d[1] - c[1]) - (b[1] - a[1]) * (d[0] - c[0])
    if den == 0:
        return None
    t = Fraction((c[0] - a[0]) * (d[1] - c[1]) - (c[1] - a[1]) * (d[0] - c[0]), den)
    p = (a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]))
    return p if on_segment(a, b, p) and on_segment(c, d, p) else None


def share_inside(one, other):
    """Say whether some point is inside both rings.

    What both have in common is made of triangles of corners and crossings: the middle of one is inside both.
    """
    crossed = [crossing(a, b, c, d) for a, b in edges(one) for c, d in edges(other)]
    points = list({*one, *other, *(p for p in crossed if p is not None)})
    for triangle in itertools.combinations(points, 3):
        middle = tuple(sum((Fraction(p[k]) for p in triangle), Fraction(0)) / 3 for k in (0, 1))
        if place(one, middle) == place(other, middle) == 1:
            return True
    return False


def random_ring(rng, most=6):
    """Return a ring of whole numbers that need not be simple."""
    return [tuple(map(int, corner)) for corner in rng.integers(0, most, (int(rng.integers(3, 7)), 2))]


def simple_rings(rng, n):
    found = []
    while len(found) < n:
        ring = random_ring(rng)
        if len(set(ring)) == len(ring) and is_simple(ring):
            found.append(ring)
    return found


def test_a_ring_is_simple_if_and_only_if_fractions_say_so():
    rng, said = np.random.default_rng(0), []
    for _ in range(600):
        ring = random_ring(rng)
        if len(set(ring)) == len(ring):
            said.append(is_simple(ring))
            assert (touches_itself(Ring.of(np.array(ring))) is None) == said[-1], ring
    assert 20 < sum(said) < len(said) - 20


@pytest.mark.slow
def test_two_rings_have_points_in_common_if_and_only_if_fractions_say_so():
    rng, said = np.random.default_rng(1), []
    rings = simple_rings(rng, 24)
    for one, other in itertools.combinations(rings, 2):
        how, _ = relation(Ring.of(np.array(one)), Ring.of(np.array(other)))
        said.append(share_inside(one, other))
        assert (how != "apart") == said[-1], (one, other, how)
    assert 20 < sum(said) < len(said) - 20


def test_a_row_is_in_the_first_zone_that_fractions_find_by_the_loop_and_by_numpy_alike():
    zones = Zones.from_geojson(
        collection(
            ring=[box(0, 0, 8), box(2, 2, 4)],
            within=[box(2, 2, 4, 2)],
            odd=[[[8, 0], [12, 1], [9, 3], [12, 8], [8, 8], [8, 0]]],
        ),
        columns=("x", "y"),
    )
    places = np.array(list(itertools.product(np.arange(-1, 14, 0.5), np.arange(-1, 10, 0.5))))
    found = zones_of_places(zones, places[:, 0], places[:, 1])

    def expected(p):
        for number, zone in enumerate(zones.zones):
            outer, *holes = ([*map(tuple, line)] for line in zone.polygons[0])
            p = tuple(map(Fraction, p))
            if place(outer, p) >= 0 and all(place(hole, p) <= 0 for hole in holes):
                return number
        return len(zones.zones)

    assert found.tolist() == [expected(p) for p in places.tolist()]
    assert set(found.tolist()) == {0, 1, 2, 3}

    from shoal.sources.zones import _edges

    held = _edges(zones)
    steps = [axis.steps(values) for axis, values in zip(zones.axes, places.T, strict=True)]
    for find in (find_loop, find_numpy):
        again = np.full(len(places), 3)
        find(*steps, held.lines, held.first, held.boxes, again)
        assert np.array_equal(again, found)


def test_a_row_is_settled_by_itself_whatever_type_holds_it_and_however_far_it_is():
    zones = Zones.from_geojson(collection(a=[box(0, 0, 2)]), columns=("x", "y"))
    odd = [1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 2.0, np.nextafter(2.0, 3)]
    assert zones_of_places(zones, odd, [1.0] * len(odd)).tolist() == [0, 1, 1, 1, 1, 1, 0, 0]
    for kind in (np.int8, np.int64, np.float32, np.longdouble):
        assert zones_of_places(zones, np.array([1, 3], kind), np.array([1, 1], kind)).tolist() == [0, 1]
    assert zones_of_places(zones, [], []).tolist() == []
    # A step of the lattice is far below what a map shows.
    assert 2.0 ** -zones.axes[0].exponent < 2e-8


@pytest.mark.parametrize("shift", [0.0, 1e6, -1e12, 1e15])
def test_corners_keep_their_place_far_from_zero(shift):
    axis = Axis.over([shift, shift + 8])
    steps = axis.steps(np.array([shift, shift + 4, shift + 8]))
    assert 0 <= steps[0] < steps[1] < steps[2]
    assert axis.value(float(steps[1])) == shift + 4


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (collection(a=[box(0, 0)], b=[box(0.5, 0.5)]), "zones 'a' and 'b' overlap near"),
        (collection(a=[box(0, 0, 4)], b=[box(1, 1)]), "overlap"),
        (collection(a=[box(0, 0)], b=[box(0, 0)]), "overlap"),
        (collection(a=[box(0, 1, 3, 1)], b=[box(1, 0, 1, 3)]), "overlap"),
        (collection(a=[box(0, 0, 4), box(1, 1)], b=[box(1, 1, 1.5)]), "overlap"),
        (collection(a=[[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]), "'a' meets itself near"),
        (collection(a=[[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0], [-1, -1], [0, 0]]]), "meets itself"),
        (collection(a=[[[0, 0], [1, 0], [0, 0], [0, 0]]]), "encloses nothing"),
        (collection(a=[box(0, 0), box(3, 3)]), "a hole of zone 'a' is not inside it"),
        (collection(a=[box(0, 0, 9), box(1, 1, 3), box(2, 2, 3)]), "two holes of zone 'a' overlap"),
        (collection(a=[box(0, 0)[:4]]), "not closed"),
        (collection(a=[box(179.5, 0)]), "no longitude and latitude"),
        (collection(a=[[[0, 0], [1, float("nan")], [1, 1], [0, 0]]]), "no longitude and latitude|not finite"),
        (collection(a=[[[0, 0], [1], [1, 1], [0, 0]]]), "two numbers are wanted"),
        (collection(a=[]), "not lists of corners"),
        (collection(rest=[box(0, 0)]), "is what all others are called"),
        (collection(), "there are no zones"),
        ({"type": "Point"}, "a FeatureCollection is wanted"),
        ({"type": "FeatureCollection", "features": [3]}, "feature 0 of the zones is none"),
        ("no such file.geojson", "cannot be read"),
        (7, "give the path"),
    ],
)
def test_zones_that_are_none_are_refused_with_their_name_and_place(given, why):
    with pytest.raises(InvalidInput, match=why):
        Zones.from_geojson(given)


def test_levels_are_numbers_above_0_of_zones_that_are_there():
    one = collection(a=[box(0, 0)])
    assert Zones.from_geojson(one, levels={"a": 0.5}).epsilons(2) == {"a": 0.5, "rest": 2.0}
    del one["features"][0]["properties"]["epsilon"]
    with pytest.raises(InvalidInput, match="zone 'a' has no level"):
        Zones.from_geojson(one)
    one["features"][0]["properties"]["level"] = 0.3
    assert Zones.from_geojson(one, rest=1).epsilons() == {"a": 0.3, "rest": 1.0}
    for bad in (0, -1, float("nan"), float("inf"), "strong", True):
        with pytest.raises(InvalidInput, match="zone 'a'"):
            Zones.from_geojson(one, levels={"a": bad})
    with pytest.raises(InvalidInput, match="'b', which is not there; there are a"):
        Zones.from_geojson(one, levels={"b": 1})
    with pytest.raises(InvalidInput, match="the level of the rest is missing"):
        Zones.from_geojson(one).epsilons()
    with pytest.raises(InvalidInput, match="leave rest out"):
        Zones.from_geojson(one, rest=1).epsilons(2)
    with pytest.raises(InvalidInput, match="rest, which is"):
        Zones.from_geojson(one, rest=0)
    assert Zones.from_geojson(one).with_levels({"a": 2}, rest=3).epsilons() == {"a": 2.0, "rest": 3.0}
    with pytest.raises(InvalidInput, match="there is no zone 'b'"):
        Zones.from_geojson(one).with_levels({"b": 2})


def test_borders_come_back_from_a_file_as_they_were(tmp_path):
    zones = Zones.from_geojson(collection(a=[box(0, 0, 4), box(1, 1)], b=[box(1, 1)]), rest=1.5)
    path = tmp_path / "zones.geojson"
    path.write_text(json.dumps(zones.to_geojson()))
    assert Zones.from_geojson(path, rest=1.5) == zones
    path.write_text("{")
    with pytest.raises(InvalidInput, match="is not GeoJSON"):
        Zones.from_geojson(path)


def test_columns_of_places_are_known_by_their_names_or_asked_for():
    zones = Zones.from_geojson(collection(a=[box(0, 0)]))
    assert zones.placed([], ["fare", "pickup_lat", "pickup_lon"]).columns == ("pickup_lon", "pickup_lat")
    assert zones.placed(["lon", "lat"], ["lon", "lat", "drop_lat"]).columns == ("lon", "lat")
    with pytest.raises(InvalidTable, match="no column of longitude"):
        zones.placed([], ["x", "lat"])
    with pytest.raises(InvalidTable, match="several columns of latitude: lat, drop_lat"):
        zones.placed([], ["lon", "lat", "drop_lat"])
    with pytest.raises(InvalidInput, match="polygons lie over two"):
        Zones.from_geojson(collection(a=[box(0, 0)]), columns=("x", "x"))


def test_levels_of_a_column_are_zones():
    zones = Zones.from_column("ward", {"north": 0.5, 7: 0.1})
    assert zones.by_column
    assert zones.names == ("north", "7", "rest")
    assert zones.placed([], ["anything"]) is zones
    with pytest.raises(InvalidInput, match="a mapping of its levels"):
        Zones.from_column("ward", ["north"])
    with pytest.raises(InvalidInput, match="no zones"):
        Zones.from_column("ward", {})
