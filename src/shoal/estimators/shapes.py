"""What a table is like, said in public: a release, a public table or a shape. Rows are made up from it."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from shoal._typing import Array
from shoal.algorithms import Clustering
from shoal.domain import Domain
from shoal.errors import InvalidInput, ShoalWarning
from shoal.postprocess.lloyd_loops import nearest
from shoal.postprocess.shown import Shown
from shoal.queries import MadeUpCurator, MadeUpTable
from shoal.release import Release, SynopsisRelease
from shoal.release.totals import shown_by

# Runs that an expected cost is the mean of, and starts of what it is held against.
RUNS, _STARTS = 6, 4
# Rows of a named shape: as many as a made-up table has different ones.
_ROWS = 2**15


class Likeness(NamedTuple):
    """Where rows lie, in the units of the bounds, and what says so."""

    shown: Shown
    lower: Array
    upper: Array
    name: str


def likeness(like: Any, domain: Domain) -> Likeness:
    """Return what a table is like.

    Parameters
    ----------
    like : Release, SynopsisRelease, shape or array
        Groups with a look, or a synopsis, that were released; a shape such as :class:`EvenGroups`; or the
        rows of a public table with the columns of the domain.
    domain : Domain
        Of the table that is to be clustered.
    """
    d = domain.n_columns
    if isinstance(like, Release):
        shown, own = shown_by(like), like.domain
        if shown is None:
            raise InvalidInput(
                f"the release of {like.certificate.algorithm} has no look that rows could be made up from: "
                "give one of KMeans, a synopsis, a public table or EvenGroups(...)"
            )
        found = Likeness(shown, *_ends(own), f"the release of {len(like.sizes)} groups")
    elif isinstance(like, SynopsisRelease):
        shown, own = like.synopsis.shown(), like.domain
        if shown is None:
            raise InvalidInput("the synopsis holds no boxes: nothing can be made up from it")
        found = Likeness(shown, *_ends(own), f"the released {like.synopsis.describe()}")
    elif callable(getattr(like, "rows", None)) and not hasattr(like, "__array__"):
        # A shape is scaled to any bounds.
        lower, upper = (np.full(d, -1.0), np.full(d, 1.0)) if domain.bounds.unknown else _ends(domain)
        found = Likeness(_shown(np.asarray(like.rows(_ROWS, 0))), lower, upper, repr(like))
    else:
        rows = _numbers(like)
        if domain.bounds.unknown:
            lower, upper = rows.min(axis=0), rows.max(axis=0)  # of a public table
        else:
            lower, upper = _ends(domain)
        half = np.where(upper > lower, (upper - lower) / 2, 1.0)
        shown = _shown((rows - (upper + lower) / 2) / half)
        found = Likeness(shown, lower, upper, f"a public table of {len(rows):,} rows")
    if found.shown.places.shape[1] != d:
        raise InvalidInput(
            f"like has {found.shown.places.shape[1]} columns; the table has {d}: give one of the same columns"
        )
    return found


def _ends(domain: Domain) -> tuple[Array, Array]:
    return np.array(domain.bounds.lower, dtype=np.float64), np.array(domain.bounds.upper, dtype=np.float64)


def _numbers(like: Any) -> Array:
    try:
        rows = np.asarray(like, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.zeros(0)
    if rows.ndim != 2 or not len(rows) or not np.isfinite(rows).all():
        raise InvalidInput(
            f"like is {type(like).__name__}; give a release with a look, a synopsis, EvenGroups(...), or the "
            "rows of a public table as numbers"
        )
    return rows


def _shown(points: Array) -> Shown:
    points = np.clip(points, -1.0, 1.0)
    return Shown(points, np.ones(len(points)), np.zeros(points.shape), float(len(points)))


def scaled_to(found: Likeness, domain: Domain) -> Shown:
    """Return the same in the scaled units of a domain; as it is, where that has no bounds yet."""
    if domain.bounds.unknown:
        return found.shown
    half, middle = (found.upper - found.lower) / 2, (found.upper + found.lower) / 2
    wide = np.where(domain.bounds.half_width > 0, domain.bounds.half_width, 1.0)
    places = (middle + found.shown.places * half - domain.bounds.middle) / wide
    shown, variances = found.shown, found.shown.variances * (half / wide) ** 2
    return Shown(np.clip(places, -1.0, 1.0), shown.weights, variances, shown.rows)


def expected_excess(
    algorithm: Any, table: MadeUpTable, budget: Any, n_rows: int | None, portion: Any, seed: int = 0
) -> tuple[float, ...]:
    """Return how much more than without privacy centres of made-up rows cost, run by run.

    Parameters
    ----------
    algorithm : Algorithm
        What is to be run.
    table : MadeUpTable
        The rows.
    budget : Budget
        What would be spent.
    n_rows : int, optional
        The public number of rows, if there is one.
    portion : Fraction
        What an algorithm has of the budget, after what comes before it.
    seed : int
        Public.
    """
    from sklearn.cluster import KMeans as PlainKMeans  # which a fit does without
    from sklearn.exceptions import ConvergenceWarning

    scale = table.domain.column_scale
    points, best = table.points * scale, dict[int, float]()
    found: list[tuple[int, float]] = []
    for run in range(RUNS):
        curator = MadeUpCurator(table, budget, seed + run, n_rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShoalWarning)
            fit: Clustering = algorithm.run(curator.within(table.domain.bounds, portion))
        k = min(len(fit.centres), len(points))
        if k not in best:
            best[k] = PlainKMeans(k, n_init=_STARTS, random_state=seed).fit(points).inertia_
        centres = fit.centres[:k] * scale
        # A few starts miss small groups that a look has found: no fit is better than the best.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # centres that noise made one
            best[k] = min(best[k], PlainKMeans(k, init=centres, n_init=1).fit(points).inertia_)
        found.append((k, _cost(points, fit.centres * scale)))
    return tuple(cost / max(best[k], 1e-12) - 1 for k, cost in found)


def _cost(points: Array, centres: Array) -> float:
    columns, squares, lower = np.ascontiguousarray(points.T), np.full(len(points), np.inf), nearest()
    for centre in centres:
        lower(columns, centre, squares)
    return float(squares.sum())
