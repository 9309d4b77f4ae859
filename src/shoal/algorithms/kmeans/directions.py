"""Many columns and few rows: find a few directions that groups differ in, then look along them.

The noise of a mean grows with the columns, that of a count does not. So as many means are asked for as can be
told from noise: of cells between random directions. What sets these means apart is where rows vary most (a
step of the power method), so it spans the directions that groups differ in. Rows are counted along these
only, in a grid; groups are found there, and one last round finds their means in all columns. Where rows are
many, what the grid shows is where rounds begin that follow more centres than groups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from shoal._typing import Array
from shoal.algorithms.kmeans.believed import Believed, believed
from shoal.algorithms.kmeans.boxes import Boxes
from shoal.algorithms.kmeans.centre_round import RoundResult, common_step, round_along
from shoal.algorithms.kmeans.middle import BALL, Middle, find_middle, mean_noise
from shoal.algorithms.kmeans.tree_record import GRAIN, Cells
from shoal.algorithms.shared.clustering import RowCount
from shoal.postprocess.choose_k import CostCurve
from shoal.postprocess.evidence import smallest_count
from shoal.postprocess.mixture import NoisyBoxes
from shoal.postprocess.shown import Shown
from shoal.queries import Curator, Projected, Projection, Relative, Voronoi
from shoal.queries.partitions.projections import orthogonal, orthonormal

# Shares of the budget: the mean of all rows, how far they lie from it; of the rest what sets cells apart, the
# grid. What is left then has the last round.
_FOR_MEAN, _FOR_SPREAD, _FOR_CELLS, _FOR_GRID = (
    Fraction(7, 100),
    Fraction(3, 100),
    Fraction(1, 4),
    Fraction(1, 6),
)
# Cells are as many as keep the noise of their means below a radius, but no more than this: a grid along more
# than four directions would be empty. Where fewer than the second could be told apart, random directions are
# as good as any that are found; where fewer than the third, one mean. Where the mean is known, and so what is
# found, directions are as good as one mean from the last on.
_MOST_CELLS, _LEAST_TOLD, _LEAST_COUNTED, _LEAST_KNOWN = 5, 6.0, 3.0, 4.5
# Random directions; the grid reaches this many standard deviations along them. The mean has a larger share
# there, up to this, so that a coordinate of it is known to this many half widths.
_RANDOM, _RANDOM_REACH, _MOST_FOR_MEAN, _KNOWN = 3, 2.0, Fraction(1, 4), 0.15
# Two cells tell one direction.
_FEWEST_CELLS = 2
# Bells for every group, where rounds of more centres than groups follow.
_OVER = 3
# Cells lie around the mean, this part of a radius away: how far makes no difference to who is nearest.
_AWAY = 0.05
# The grid reaches this many standard deviations of a direction that has the second over sqrt(d) of all
# variance. Finer grids take longer and tell no more.
_REACH, _STEEP, _MOST_BOXES = 0.8, 2.5, 4096


@dataclass(frozen=True, eq=False)
class Along:
    """What was found along a few directions.

    Parameters
    ----------
    result : RoundResult
        Centres in all columns.
    shown : Shown
        Where rows are: evenly in what the directions do not tell.
    curve : CostCurve, optional
        What each number of groups costs, where none was asked for.
    n_directions : int
        How many directions.
    """

    result: RoundResult
    shown: Shown
    curve: CostCurve | None
    n_directions: int


def affordable_cells(
    curator: Curator, n_clusters: int, rows: RowCount, rest: Fraction, known: bool = False
) -> int:
    """Return how many cells there may be, so that the noise of their means leaves what sets them apart.

    None where one mean is as good. One cell tells no direction: there they are random.

    Parameters
    ----------
    curator : Curator
        Knows the columns and the budget.
    n_clusters : int
        How many groups are looked for: more cells would tell no more.
    rows : RowCount
        How many there are.
    rest : Fraction
        Share of the budget.
    known : bool
        Whether the mean of all rows, and how far they lie from it, is known.
    """
    noise = max(math.sqrt(curator.domain.n_columns) * unit_noise(curator, rest * _FOR_CELLS), 1e-9)
    told, surely = rows.estimate / noise, rows.at_least / noise
    if n_clusters < _FEWEST_CELLS or (told < _LEAST_KNOWN if known else surely < _LEAST_COUNTED):
        return 0
    return 1 if told < _LEAST_TOLD and not known else min(int(told), _MOST_CELLS, n_clusters)


def round_noise(curator: Curator, n_clusters: int, rows: RowCount, rest: Fraction) -> float:
    """Return the noise of a centre in radii, by the law that is drawn: Gaussian noise grows less."""
    d = curator.domain.n_columns
    return n_clusters * math.sqrt(d / 3) * unit_noise(curator, rest) / rows.at_least


def unit_noise(curator: Curator, share: Fraction) -> float:
    """Return the noise of a coordinate of a sum of offsets that are cut to the unit ball."""
    one = np.ones((1, curator.domain.n_columns))
    return curator.noise_sd(of=Relative(0 * one, one, "ball"), share=share)[0]


def find_along(
    curator: Curator,
    n_clusters: int | None,
    n_cells: int,
    rows: RowCount,
    rest: Fraction,
    max_clusters: int,
    about: Middle | None = None,
) -> Along:
    """Find directions, look along them, and move centres to their rows.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    n_clusters : int, optional
        How many centres; as many as the grid shows, if not given.
    n_cells : int
        How many means tell the directions; they are random if it is one.
    rows : RowCount
        How many rows there are.
    rest : Fraction
        Share of the budget.
    max_clusters : int
        The most that are chosen, where no number is given.
    about : Middle, optional
        The mean of all rows, and how far they lie from it, where that is known.
    """
    rng = curator.public_rng("directions and starts")
    seen = _look_along(curator, n_cells, rows, rest, rng, about)
    known = believed(seen.cells, n_clusters or max_clusters, rng, at_least=n_clusters or 1)
    curve = None if n_clusters else known.choose_k(len(seen.cells.levels), max_clusters, rng)
    k = n_clusters or (1 if curve is None else curve.chosen)
    places = known.kmeans(k, rng).centres
    image = seen.image
    spreads, counted = np.tile(seen.sd, (k, 1)), known.sizes(places)
    result = round_along(
        curator, image.lifted(places), spreads, rows.estimate, seen.left, counted, image.nearest(places)
    )
    # Which groups there are was told by the grid, where noise is small; not by means in all columns.
    result = replace(result, centre_variance=np.zeros_like(result.centre_variance))
    return Along(result, _shown(known, seen, rows.estimate), curve, len(image.axes))


def boxes_along(curator: Curator, n_clusters: int, rows: RowCount, rest: Fraction) -> tuple[Boxes, Fraction]:
    """Find directions and look along them; return boxes that rounds may begin with, and what is left.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    n_clusters : int
        How many groups there are.
    rows : RowCount
        How many rows there are.
    rest : Fraction
        Share of the budget.
    """
    rng = curator.public_rng("directions")
    n_cells = max(affordable_cells(curator, n_clusters, rows, rest), _FEWEST_CELLS)
    seen = _look_along(curator, n_cells, rows, rest, rng)
    known = believed(seen.cells, _OVER * n_clusters, rng, at_least=n_clusters)
    shown = _shown(known, seen, rows.estimate)
    sd, n = math.sqrt(float(np.median(seen.cells.boxes.variances))), len(seen.cells.levels)
    scale, total = curator.domain.column_scale, float(shown.weights.sum())
    boxes = Boxes(shown.places, shown.variances, shown.weights, sd, scale, total, sd * math.sqrt(n))
    return boxes, seen.left


@dataclass(frozen=True, eq=False)
class _Seen:
    """Cells along directions: `sd` is of all rows, by column, `radius` a ball that has most of them."""

    image: _Image
    cells: Cells
    sd: Array
    radius: float
    left: Fraction


def _look_along(
    curator: Curator,
    n_cells: int,
    rows: RowCount,
    rest: Fraction,
    rng: np.random.Generator,
    about: Middle | None = None,
) -> _Seen:
    """Find directions, or take random ones, and count rows along them."""
    scale, d = scale_of(curator), curator.domain.n_columns
    if about is None:
        for_mean = _FOR_MEAN if n_cells > 1 else mean_share(curator, rows, rest)
        aim = for_mean + _FOR_SPREAD
        about, rest = find_middle(curator, rows, rest * aim, for_mean / aim), rest * (1 - aim)
    radius = BALL * math.sqrt(d) * float((about.sd * scale).mean())
    if n_cells > 1:
        mean, axes = _steepest(curator, about, radius, n_cells, rows, rest * _FOR_CELLS, rng)
        reach, left = _REACH * math.sqrt(min(1.0, _STEEP / math.sqrt(d))), 1 - _FOR_CELLS - _FOR_GRID
    else:
        mean, axes = about.mean, orthogonal(min(_RANDOM, d), d, rng)
        reach, left = _RANDOM_REACH / math.sqrt(d), 1 - _FOR_GRID
    image = _Image(axes, mean, scale)
    cells = _grid(curator, image, reach * radius / BALL, rows, rest * _FOR_GRID)
    return _Seen(image, cells, about.sd, radius, rest * left)


def mean_share(curator: Curator, rows: RowCount, rest: Fraction) -> Fraction:
    """Return the share by which the mean is known, where nothing else will tell it before the last round."""
    wanted = Fraction(mean_noise(curator, rows, rest) / _KNOWN).limit_denominator(100)
    return min(max(_FOR_MEAN, wanted), _MOST_FOR_MEAN)


def _steepest(
    curator: Curator,
    about: Middle,
    radius: float,
    n_cells: int,
    rows: RowCount,
    share: Fraction,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Return the mean of all rows, known better now, and directions at right angles that rows vary along."""
    scale = scale_of(curator)
    random = orthogonal(1 if n_cells == 2 else n_cells, len(scale), rng)
    start = np.vstack([random, -random]) if n_cells == 2 else random
    anchors = np.tile(about.mean, (n_cells, 1))
    around = Voronoi(np.clip(anchors + _AWAY * radius * start / scale, -1.0, 1.0))
    of = Relative(anchors, np.tile(radius / scale, (n_cells, 1)), "ball")
    answer = curator.sums(around, of=of, share=share)
    mean = np.clip(about.mean + common_step(answer, of.radii, rows.estimate)[0], -1.0, 1.0)
    counts = np.maximum(answer.counts, smallest_count(answer.count_sd))[:, np.newaxis]
    # In the units of distance: no radius is wider than the domain.
    apart = answer.sums / counts * of.radii * scale
    apart = apart - (counts * apart).sum(axis=0) / counts.sum()
    # The surest first; the last follows from the others.
    order = np.argsort(-(counts * apart**2).sum(axis=1), kind="stable")
    found = orthonormal(apart[order[: n_cells - 1]])
    return mean, found if len(found) else random[: n_cells - 1]


def scale_of(curator: Curator) -> Array:
    """Return what columns are multiplied by before distances are taken; one where a column has no width."""
    scale = curator.domain.column_scale
    return np.where(scale > 0, scale, 1.0)


@dataclass(frozen=True, eq=False)
class _Image:
    """A plane through the mean of all rows: points of it are in the units of distance, from the mean."""

    axes: Array
    mean: Array
    scale: Array

    def nearest(self, places: Array) -> Projected:
        """Return cells of rows by the nearest of these points, as seen along the axes."""
        matrix = self.axes * self.scale
        unit = max(float(np.abs(matrix).sum(axis=1).max()), 1e-9)
        origin = (matrix * self.mean).sum(axis=1)
        return Projected(Projection(matrix / unit), Voronoi(np.clip((places + origin) / unit, -1.0, 1.0)))

    def lifted(self, places: Array) -> Array:
        """Return points in all columns, in the scaled units; elementwise, so the same on every machine."""
        away = (places[:, :, np.newaxis] * self.axes).sum(axis=1)
        return np.asarray(np.clip(self.mean + away / self.scale, -1.0, 1.0))


def _grid(curator: Curator, image: _Image, half: float, rows: RowCount, share: Fraction) -> Cells:
    """Count rows on a grid that reaches so far from their mean: cells in the units of distance."""
    q = len(image.axes)
    n_boxes = max(rows.estimate * curator.effective_epsilon(share=share) / GRAIN, 1.0) ** (2 * q / (2 + q))
    side = max(2, min(round(n_boxes ** (1 / q)), math.floor(_MOST_BOXES ** (1 / q))))
    ticks = half * ((np.arange(side) + 0.5) * 2 / side - 1)
    middles = np.stack(np.meshgrid(*[ticks] * q, indexing="ij"), axis=-1).reshape(-1, q)
    # Boxes are what is nearest to their middles: rows beyond the grid count in the boxes at its edge.
    counts = curator.histogram(image.nearest(middles), share=share)
    wide = half / side
    boxes = NoisyBoxes(middles - wide, middles + wide, counts.counts, np.full(len(middles), counts.sd**2))
    return Cells(boxes, np.zeros(len(middles), dtype=np.int64), max(rows.estimate, 1.0), rows.sd)


def _shown(known: Believed, seen: _Seen, rows: float) -> Shown:
    """Return where rows are, in the scaled units of the domain."""
    image, spread = seen.image, (seen.radius / BALL) ** 2
    weights = known.weights / max(float(known.weights.sum()), 1e-9)
    away = known.places - (weights[:, np.newaxis] * known.places).sum(axis=0)
    told = float((weights[:, np.newaxis] * away**2).sum())
    # What the directions do not tell is taken to be the same in all columns.
    rest = max(spread - told, 0.1 * spread) / len(image.scale)
    places = image.lifted(known.places)
    return Shown(places, known.weights, np.full(places.shape, rest) / image.scale**2, rows)
