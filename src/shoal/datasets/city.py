"""A made-up city of pick-ups: streets, hot spots, airports and rivers, in a box like New York's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.datasets.dataset import Dataset, check_options

Points = npt.NDArray[np.float64]

LOWER = np.array([-74.2591, 40.4774])
UPPER = np.array([-73.7002, 40.9176])
_ORIGIN = np.array([-74.0150, 40.7010])  # the island's southern tip
_KM = np.array([84.4, 111.2])  # kilometres in a degree of longitude and latitude here
_TILT = np.deg2rad(61.0)  # the island's long side against east

# The island: kilometres along (from the tip) and across (from its middle line).
_ISLAND = (0.0, 20.0, -1.5, 1.5)
_PARK = (8.6, 12.6, -0.55, 0.30)
# Along, across, spread, weight: downtown, squares, stations, midtown, theatres, museums, uptown.
_SPOTS = np.array([
    [0.9, -0.1, 0.45, 8], [3.2, 0.2, 0.5, 9], [4.4, -0.6, 0.4, 8], [5.3, 0.1, 0.35, 10], [6.1, -0.7, 0.3, 12],
    [6.7, 0.5, 0.35, 12], [7.4, -0.2, 0.5, 14], [8.2, 0.7, 0.5, 9], [9.6, 0.9, 0.8, 9], [10.2, -1.0, 0.8, 7],
    [13.6, -0.9, 0.9, 2], [14.2, 0.5, 0.9, 2], [17.5, -0.2, 1.2, 1],
])  # fmt: skip
# Longitude, latitude, spread in km, weight: the two airports' terminals.
_AIRPORTS = np.array([[-73.8737, 40.7740, 0.25, 4], [-73.8688, 40.7692, 0.2, 1.5],
                      [-73.7822, 40.6441, 0.35, 4], [-73.7765, 40.6480, 0.3, 2]])  # fmt: skip
# Quarters beyond the rivers: longitude, latitude, spread in km, tilt of the streets, weight.
_QUARTERS = np.array([[-73.9572, 40.7150, 1.3, 0.9, 5], [-73.9860, 40.6900, 1.4, 0.5, 5],
                      [-73.9770, 40.6610, 2.6, 1.2, 3], [-73.9250, 40.7610, 1.8, 1.1, 4],
                      [-73.8830, 40.7440, 3.0, 0.2, 2], [-73.9100, 40.8500, 3.2, 1.3, 2],
                      [-73.8300, 40.7000, 4.5, 0.4, 1], [-73.9500, 40.6300, 4.0, 0.1, 1]])  # fmt: skip
_STREET, _AVENUE, _BLOCK = 0.0805, 0.27, 0.20  # kilometres between streets, avenues, and across the rivers
_KERB = 0.008


def city_pickups(*, n: int = 100_000, k: int = 10, seed: int = 0) -> Dataset:
    """Make up taxi pick-ups: a crowded island of streets and avenues, airports, quarters across the water.

    Nobody's trips: a mixture drawn from `seed`. It has what makes real pick-ups hard: most rows on a thin
    tilted strip of the box, points on lines, small dense spots far away, and holes (rivers, a park).

    Parameters
    ----------
    n : int
        Rows; a million take about a second.
    k : int
        Number of groups to look for; the rows do not depend on it.
    seed : int
        Another seed, other rows of the same city.

    Examples
    --------
    >>> city = city_pickups(n=1000)
    >>> city.names
    ('longitude', 'latitude')
    """
    check_options("city_pickups", {"n": n, "k": k, "seed": seed}, {"k": 1})
    rng = np.random.default_rng(seed)
    parts: list[Points] = []
    missing = n
    while missing > 0:
        points = _draw(int(missing * 1.15) + 16, rng)
        parts.append(points[_on_land(points)][:missing])
        missing -= len(parts[-1])
    X = np.concatenate(parts) if parts else np.empty((0, 2))
    return Dataset(
        name="city_pickups",
        title="Made-up city pick-ups",
        X=np.clip(X, LOWER, UPPER),
        names=("longitude", "latitude"),
        bounds=(LOWER.copy(), UPPER.copy()),
        bounds_source="documented: bounding box of New York City",
        k=k,
        source="made up by Shoal: streets, hot spots, airports and rivers",
        licence="none needed: generated",
    )


def _draw(n: int, rng: np.random.Generator) -> Points:
    kind = rng.choice(4, n, p=[0.62, 0.20, 0.06, 0.12])
    makers = (_hot_spots, _anywhere_on_island, _airports, _quarters)
    points = np.empty((n, 2))
    for i, make in enumerate(makers):
        rows = np.flatnonzero(kind == i)
        points[rows] = make(len(rows), rng)
    return points


def _hot_spots(n: int, rng: np.random.Generator) -> Points:
    spot = _SPOTS[rng.choice(len(_SPOTS), n, p=_SPOTS[:, 3] / _SPOTS[:, 3].sum())]
    return _to_degrees(_snap(spot[:, :2] + rng.normal(0, 1, (n, 2)) * spot[:, 2:3], rng))


def _anywhere_on_island(n: int, rng: np.random.Generator) -> Points:
    # Fewer and fewer towards the north.
    along = _ISLAND[1] * rng.beta(1.5, 2.4, n)
    across = rng.uniform(_ISLAND[2], _ISLAND[3], n)
    return _to_degrees(_snap(np.column_stack([along, across]), rng))


def _airports(n: int, rng: np.random.Generator) -> Points:
    port = _AIRPORTS[rng.choice(len(_AIRPORTS), n, p=_AIRPORTS[:, 3] / _AIRPORTS[:, 3].sum())]
    # A terminal's kerb is an arc.
    angle = rng.uniform(0, np.pi, n)
    radius = port[:, 2] * (1 + 0.05 * rng.standard_normal(n))
    kerb: Points = port[:, :2] + np.column_stack([np.cos(angle), np.sin(angle)]) * radius[:, np.newaxis] / _KM
    return kerb


def _quarters(n: int, rng: np.random.Generator) -> Points:
    home = _QUARTERS[rng.choice(len(_QUARTERS), n, p=_QUARTERS[:, 4] / _QUARTERS[:, 4].sum())]
    km = rng.normal(0, 1, (n, 2)) * home[:, 2:3]
    on_first = rng.random(n) < 0.5
    jitter = rng.normal(0, _KERB, n)
    for axis, chosen in ((0, on_first), (1, ~on_first)):
        km[chosen, axis] = np.round(km[chosen, axis] / _BLOCK) * _BLOCK + jitter[chosen]
    turned: Points = home[:, :2] + _turn(km, home[:, 3]) / _KM
    return turned


def _snap(km: Points, rng: np.random.Generator) -> Points:
    # Two in three stop on an avenue, the others in a cross street.
    on_avenue = rng.random(len(km)) < 0.65
    jitter = rng.normal(0, _KERB, len(km))
    km[on_avenue, 1] = np.round(km[on_avenue, 1] / _AVENUE) * _AVENUE + jitter[on_avenue]
    km[~on_avenue, 0] = np.round(km[~on_avenue, 0] / _STREET) * _STREET + jitter[~on_avenue]
    return km


def _to_degrees(km: Points) -> Points:
    # Along is turned up from east, across points to the right of it.
    turned: Points = _ORIGIN + _turn(km * np.array([1, -1]), np.full(len(km), _TILT)) / _KM
    return turned


def _to_km(points: Points) -> Points:
    turned: Points = _turn((points - _ORIGIN) * _KM, np.full(len(points), -_TILT)) * np.array([1, -1])
    return turned


def _turn(km: Points, angle: npt.NDArray[np.float64]) -> Points:
    cos, sin = np.cos(angle), np.sin(angle)
    return np.column_stack([cos * km[:, 0] - sin * km[:, 1], sin * km[:, 0] + cos * km[:, 1]])


def _on_land(points: Points) -> npt.NDArray[np.bool_]:
    """Tell which points lie inside the box and neither in a river, nor in the bay, nor in the park."""
    along, across = _to_km(points).T
    # The island narrows to its tip and towards the north.
    half = np.interp(along, [-0.2, 0, 2, 4, 12, 16, 20, 20.2], [0, 0.45, 1.2, 1.5, 1.5, 1.0, 0.5, 0])
    island = np.abs(across) <= half
    west_river = (across < -half) & (across > -3.2)
    bay = (along < 0) & (across < 1.2) | ((along < -9) & (across < 4))
    east_river = (across > half) & (
        across < half + np.interp(along, [0, 4, 9, 14, 20], [0.7, 0.9, 0.9, 0.6, 0.2])
    )
    far_shore = across <= -3.2
    park = (along > _PARK[0]) & (along < _PARK[1]) & (across > _PARK[2]) & (across < _PARK[3])
    inside = ((points >= LOWER) & (points <= UPPER)).all(axis=1)
    dry = island | ~(west_river | bay | east_river | far_shore)
    return np.asarray(inside & dry & ~park)
