"""KMeans in few columns: look, then spend the rest on what the look says is worth it.

Where groups are clear, a round that follows the rows moves their centres. Where they run into each other it
moves parts of them, of which groups are made anew; and where some are hardly found the same cells are counted
again, because a missed group costs more than an inexact one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from shoal._typing import Array
from shoal.algorithms.kmeans.believed import Believed, as_counted, believed
from shoal.algorithms.kmeans.centre_round import CAUTIOUS_RADIUS, RoundResult, centre_round
from shoal.algorithms.kmeans.look import look, look_again
from shoal.algorithms.kmeans.parts import joined, moved_to
from shoal.algorithms.kmeans.tree_record import FEW_COLUMNS, CountNoise, Look
from shoal.algorithms.shared.clustering import RowCount
from shoal.postprocess.choose_k import CostCurve
from shoal.postprocess.clear_groups import clearness
from shoal.postprocess.nearest import group_sums, nearest_centre
from shoal.postprocess.shown import Shown, without_noise
from shoal.queries import Curator

# Below this many rows x epsilon of an even group (see look.py) the look has the first share, or the second
# where rows fill their bounds.
_PLENTY = 1000.0
_LOOKS = (
    (60.0, Fraction(1), Fraction(1)),
    (_PLENTY, Fraction(3, 4), Fraction(3, 5)),
    (math.inf, Fraction(3, 5), Fraction(2, 5)),
)
# Then a round follows the rows. Where a centre saves less than the first many times what one more could,
# groups run into each other, and the round is for the second many centres a group: with plenty of rows for
# the third part of the rest, and a round for the groups follows.
_CLEAR, _OVER, _FIRST = 2.0, 2, Fraction(1, 3)
# In place of a round cells are counted again where a group is likely missed: the smallest eighth of them has
# fewer rows x epsilon of the look than the first; or a centre saves less than the second many times what one
# more could, and there are fewer rows x epsilon of an even group than the third, too few for more centres.
_FOUND, _MISSED, _ENOUGH = 15.0, 1.2, 400.0


@dataclass(frozen=True, eq=False)
class Found:
    """Centres, and the look that they were found by."""

    result: RoundResult
    seen: Look
    believed: Believed
    curve: CostCurve | None
    n_iter: int
    why: str

    def shown(self, column_scale: Array, rows: float) -> Shown:
        """Return where rows are believed to be, in the scaled units of the domain.

        What a table like theirs costs hangs on far boxes, where noise that is taken for rows costs most.
        """
        scale, known = np.where(column_scale > 0, column_scale, 1.0), self.believed
        return Shown(known.places / scale, known.weights, known.variances / scale**2, rows)

    def uneven(self, column_scale: Array, rows: float) -> Shown | None:
        """Return where rows are, boxes as they were counted and noise taken off; None in more columns.

        Bells are smoother than rows are, and a fit of a smooth table wavers less. In more than three columns
        boxes are too wide for that.
        """
        scale, boxes = np.where(column_scale > 0, column_scale, 1.0), self.seen.boxes
        if len(scale) > FEW_COLUMNS:
            return None
        weights = without_noise(boxes.counts, rows)
        return Shown(boxes.middles / scale, weights, boxes.widths**2 / 12 / scale**2, rows)


def find(
    curator: Curator, n_clusters: int | None, rows: RowCount, rest: Fraction, max_clusters: int = 20
) -> Found:
    """Look, decide, and move centres to their rows.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    n_clusters : int, optional
        How many centres; as many as the look shows, if not given.
    rows : RowCount
        How many rows there are.
    rest : Fraction
        Share of the budget.
    max_clusters : int
        The most that are chosen, where no number is given.
    """
    rng = curator.public_rng("starts on the look")
    groups = n_clusters or max_clusters
    rate = float(CountNoise.of(curator).rate(np.array(float(rest))))
    per_group = rows.estimate * rate / groups
    most, enough = next(shares for below, *shares in _LOOKS if per_group < below)
    seen = look(curator, rows, groups, rest * most, rest * enough)
    left = rest * (1 - most) + seen.unspent
    shown = _believed(seen, groups, rng, n_clusters or 1)
    curve = None if n_clusters else shown.choose_k(len(seen.levels), max_clusters, rng)
    k = n_clusters or (1 if curve is None else curve.chosen)
    centres = shown.kmeans(k, rng).centres
    about = f"about {per_group:.0f} rows x epsilon per group"
    scale = curator.domain.column_scale
    if not left:
        result = from_look(shown, centres, scale)
        return Found(result, seen, shown, curve, 1, f"{about}: all for the look")
    sizes, _ = shown.sizes(centres)
    smallest = float(np.sort(sizes)[: max(1, k // 8)].mean()) * rate * float(1 - left / rest)
    clear = math.inf if k == 1 else clearness(shown.places, shown.variances, shown.weights, centres)
    if smallest < _FOUND or (clear < _MISSED and per_group < _ENOUGH):
        seen = look_again(curator, seen, left, rows.estimate, groups)
        shown = _believed(seen, groups, rng, n_clusters or 1)
        result = from_look(shown, shown.kmeans(k, rng).centres, scale)
        why = f"{about}, {smallest:.0f} in the smallest: cells were counted twice"
        return Found(result, seen, shown, curve, 2, why)
    if clear >= _CLEAR or per_group < _ENOUGH:
        result = _round(curator, shown, centres, rows, left)
        why = f"{about}{', which are clear' if clear >= _CLEAR else ''}"
        return Found(result, seen, shown, curve, 2, f"{why}: then the rows of groups were followed")
    first = left * _FIRST if per_group >= _PLENTY else left
    parts = shown.kmeans(_OVER * k, rng).centres
    moved = _round(curator, shown, parts, rows, first)
    places = moved_to(shown, parts, moved, scale)
    centres = places.kmeans(k, rng).centres
    if left > first:
        result = _round(curator, places, centres, rows, left - first)
        why = f"{about}: then the rows of parts of them were followed, and those of groups"
        return Found(result, seen, places, curve, 3, why)
    result = joined(shown, parts, moved, places, centres, scale)
    return Found(result, seen, places, curve, 2, f"{about}: then the rows of parts of them were followed")


def _believed(seen: Look, n_clusters: int, rng: np.random.Generator, at_least: int) -> Believed:
    """Tell rows from noise; wide cells of a small table are taken as they were counted."""
    return as_counted(seen) if seen.coarse else believed(seen, n_clusters, rng, at_least)


def from_look(shown: Believed, centres: Array, column_scale: Array, least_sds: float = 1.0) -> RoundResult:
    """Return centres as the look alone gives them, with the errors that its noise gives them.

    Nothing is known of a centre without rows, and nothing is stated of one that has fewer than `least_sds`
    standard deviations of their noise.
    """
    scale = np.where(column_scale > 0, column_scale, 1.0)
    stated = replace(shown, noise=shown.counted)
    sizes, noise = stated.sizes(centres)
    # Of the group that a row is in: a median would be that of groups that hardly have any.
    size_sd = math.sqrt(float((sizes * noise).sum() / max(float(sizes.sum()), 1e-9)))
    held, told = (sizes > 0)[:, np.newaxis], (sizes > least_sds * np.sqrt(noise))[:, np.newaxis]
    variances = np.where(told, centre_noise(stated, centres) / scale**2, np.inf)
    left = np.where(held, centre_noise(shown, centres) / scale**2, np.inf)
    # Where a size is little but noise its centre may be anywhere.
    radius = max(CAUTIOUS_RADIUS, min(1.0, size_sd * len(centres) / max(float(sizes.sum()), 1.0)))
    return RoundResult(centres / scale, sizes, variances, left, size_sd, radius * size_sd)


def centre_noise(shown: Believed, centres: Array) -> Array:
    """Return the variance that the noise of counts gives every coordinate of a weighted mean."""
    groups = nearest_centre(shown.places, centres)
    sizes, noise = shown.sizes(centres)
    away = shown.noise[:, np.newaxis] * ((shown.places - centres[groups]) ** 2 + shown.variances)
    rows = np.maximum(sizes, np.sqrt(noise))[:, np.newaxis]
    return np.asarray(group_sums(groups, away, len(centres)) / rows**2)


def _round(curator: Curator, shown: Believed, centres: Array, rows: RowCount, share: Fraction) -> RoundResult:
    """Follow the rows of every centre; one that has too few to tell stays where the look put it."""
    scale = np.where(curator.domain.column_scale > 0, curator.domain.column_scale, 1.0)
    known = from_look(shown, centres, scale, least_sds=0.0)
    result = centre_round(
        curator,
        known.centres,
        shown.spreads(centres) / scale,
        rows.estimate,
        share,
        counted=shown.sizes(centres),
        unsure=shown.unsure(centres) / scale**2,
    )
    stays = ~np.isfinite(result.centre_variance)
    return replace(
        result,
        variances=np.where(stays, known.variances, result.variances),
        centre_variance=np.where(stays, known.variances, result.centre_variance),
    )
