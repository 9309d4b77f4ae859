"""What a look shows once noise is taken for what it is: groups, and where their rows lie. All of it is free.

Boxes that stand out, alone or together, say where groups may be; a mixture of bells is fitted to all counts
from there, bells that do not pay for themselves go, and what the bells leave unexplained gets new ones. What
is still unexplained near rows is weighed by how many rows it is expected to be (`unexplained.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from shoal._typing import Array, Booleans
from shoal.algorithms.kmeans.chances import FALSE_ALARMS, chance_of_rows, nats_of_a_group
from shoal.algorithms.kmeans.tree_record import FEW_COLUMNS, Cells
from shoal.postprocess.bells import WIDTHS, laplace_sum_limit
from shoal.postprocess.choose_k import CostCurve, cost_curve
from shoal.postprocess.mixture import Bells, Denoised, NoisyBoxes, fit_bells
from shoal.postprocess.nearest import group_sums, nearest_centre
from shoal.postprocess.unexplained import chance_of_the_middle, unexplained_rows
from shoal.postprocess.weighted_kmeans import WeightedClustering, weighted_kmeans

# Boxes of noise taken for rows, expected over a whole look, where they would be far from all rows; those that
# are believed whatever bells say; and by how much a bell must be likelier than noise to be tried.
_FAR_ALARMS, _SURE_ALARMS, _LIKELIER = 0.01, 0.001, 5.0
# Near rows, within this many of their standard deviations, multiples of the universal threshold will do: the
# largest with which boxes have this part of all rows. Where less than the last is sure, all boxes are near.
_NEAR, _THRESHOLDS, _MASS, _ENOUGH = 1.0, (1.5, 1.0, 0.5, 0.25), 0.7, 0.2
# Standard deviations of noise by which all far boxes together stand out.
_TOGETHER = 4.0
# A bell has to raise the likelihood by this part of the logarithm of the places that it could be at.
_PAYS = 0.75
# Steps and turns of the fit, and the least spread of a bell, in sides of the smallest believed box.
_STEPS, _TURNS, _NARROWEST = 25, 3, 0.1
# Rows of a box whose count is negative, where all boxes may be noise: k-means needs some weight.
_SOME = 1e-6
# The most bells that are added in a turn, or as many as there are groups.
_ADDED = 16
# Spreads of a group count as much as all groups' where it has this part of an even group's rows.
_PRIOR = 0.02
# Rows at the near side of a box are taken to be this part of a side inside it.
_EDGE = 0.1


@dataclass(frozen=True, eq=False)
class Believed:
    """Places with weights that are no longer noisy one by one, in the units of distance.

    Parameters
    ----------
    places : ndarray of shape (n, d)
        Where rows are, in the mean of each box.
    weights : ndarray of shape (n,)
        How many; none is negative.
    variances : ndarray of shape (n, d)
        Of rows around their place.
    noise : ndarray of shape (n,)
        Variance of the noise that is left in each weight.
    counted : ndarray of shape (n,)
        Variance of the noise of each box's own count: for errors that are stated.
    bells : Bells, optional
        What they are drawn from, where bells were fitted.
    """

    places: Array
    weights: Array
    variances: Array
    noise: Array
    counted: Array
    bells: Bells | None = None

    def kmeans(self, n_clusters: int, rng: np.random.Generator) -> WeightedClustering:
        """Find centres."""
        return zoomed_kmeans(self.places, self.weights, n_clusters, rng)

    def choose_k(self, n_boxes: int, max_clusters: int, rng: np.random.Generator) -> CostCurve:
        """Choose the number of groups, at most `max_clusters`."""
        return cost_curve(
            self.places,
            self.variances,
            self.weights,
            math.sqrt(float(np.median(self.noise))),
            n_boxes,
            max_clusters,
            rng,
            column_scale=np.ones(self.places.shape[1]),
        )

    def spreads(self, centres: Array) -> Array:
        """Return the standard deviation of rows around each centre, by column.

        A group of few rows leans on what all have in common.
        """
        groups = nearest_centre(self.places, centres)
        squares = (self.places - centres[groups]) ** 2 + self.variances
        mass = np.bincount(groups, self.weights, len(centres))[:, np.newaxis]
        sums = group_sums(groups, self.weights[:, np.newaxis] * squares, len(centres))
        prior = _PRIOR * max(float(mass.sum()), 1.0) / len(centres)
        common = sums.sum(axis=0) / max(float(mass.sum()), 1.0)
        return np.asarray(np.sqrt((sums + prior * common) / (mass + prior)))

    def unsure(self, centres: Array) -> Array:
        """Return the variance of where the middle of each centre's rows may be: anywhere in their boxes."""
        groups = nearest_centre(self.places, centres)
        mass = np.maximum(np.bincount(groups, self.weights, len(centres)), 1e-9)[:, np.newaxis]
        squares = self.weights[:, np.newaxis] ** 2 * self.variances
        return np.asarray(group_sums(groups, squares, len(centres)) / mass**2)

    def sizes(self, centres: Array) -> tuple[Array, Array]:
        """Return how many rows each centre has, and the variance of the noise of that."""
        groups = nearest_centre(self.places, centres)
        sizes: Array = np.bincount(groups, self.weights, len(centres)).astype(np.float64)
        return sizes, np.maximum(np.bincount(groups, self.noise, len(centres)), 1e-9)


def believed(seen: Cells, n_clusters: int, rng: np.random.Generator, at_least: int) -> Believed:
    """Tell rows from noise.

    Parameters
    ----------
    seen : Cells
        Released cells.
    n_clusters : int
        How many groups there are to be.
    rng : numpy Generator
        Public randomness.
    at_least : int
        Bells that are kept though they do not pay: as many groups as were asked for.
    """
    boxes = seen.boxes
    kept, sure = standing_out(seen)
    middles = _drawn_near(seen, kept)
    weights = np.maximum(boxes.counts, 0.0)
    n_bells = min(n_clusters, int(kept.sum()))
    start = zoomed_kmeans(middles[kept], weights[kept], n_bells, rng)
    narrowest = _NARROWEST * float(boxes.widths[kept].min())
    bells = _bells_at(start.centres, middles[kept], boxes.widths[kept], weights[kept], narrowest)
    nats = math.log(len(boxes.counts) * len(_widths(seen)) / FALSE_ALARMS)
    # A group that is missed costs more than a bell that turns out to have no rows: its weight is its chance.
    # Where groups are to be counted, none is expected.
    told = nats_of_a_group(nats, n_clusters) if at_least >= n_clusters else nats
    told += math.log(_LIKELIER)
    for turn in range(_TURNS):
        bells, denoised = fit_bells(boxes, bells, _STEPS, narrowest, sure)
        pays = denoised.gains > _PAYS * nats
        pays[np.argsort(-denoised.gains, kind="stable")[:at_least]] = True
        bells = bells.chosen(pays & (bells.rows > 0))
        if turn < _TURNS - 1:
            bells = _with_unexplained(seen, bells, denoised, told, max(n_clusters, _ADDED), narrowest)
    bells, denoised = fit_bells(boxes, bells, _STEPS, narrowest, sure)
    real = chance_of_rows(bells, denoised.gains, nats, n_clusters)
    _, surely = fit_bells(boxes, replace(bells, rows=bells.rows * real), 0, narrowest, sure)
    trusted = np.where(sure, 1.0, surely.expected / np.maximum(denoised.expected, 1e-12))
    explained = denoised.counts * np.clip(trusted, 0.0, 1.0)
    away = _away(boxes.middles, explained, explained > 0)
    near = away <= _NEAR
    more = _unexplained(seen, explained, denoised.trust, away)
    weights = explained + more
    held = weights > 0
    if not held.any():
        return _as_counted(seen, kept, middles)
    inside = boxes.widths**2 / 12
    if len(bells.rows):
        inside = np.minimum(inside, (bells.spreads**2).max(axis=0))
    loose = (more / np.maximum(weights, 1e-12))[:, np.newaxis]
    trust = np.maximum(denoised.trust, more / np.maximum(boxes.counts, np.sqrt(boxes.variances)))
    besides = _besides(boxes, denoised.places, explained, near)
    found = Believed(
        places=(denoised.places + loose * (besides - denoised.places))[held],
        weights=weights[held],
        variances=inside[held],
        noise=(boxes.variances * trust**2)[held],
        counted=boxes.variances[held],
        bells=bells,
    )
    return _or_in_the_middle(seen, found)


def _or_in_the_middle(seen: Cells, found: Believed) -> Believed:
    """Add the middle of the domain as a place of rows, as far as these may all lie around it."""
    boxes = seen.boxes
    touching = np.asarray(((boxes.lower <= 0) & (boxes.upper >= 0)).all(axis=1))
    volumes, total = boxes.widths.prod(axis=1), max(seen.total, 1.0)
    chance = chance_of_the_middle(boxes.counts, boxes.variances, volumes, touching, total, seen.total_sd)
    if chance < FALSE_ALARMS:
        return found
    # If all rows lie there, these boxes alone say how many, and the others' noise has no say.
    rows, noise = max(float(boxes.counts[touching].sum()), 1.0), boxes.variances[touching].sum()
    return replace(
        found,
        places=np.vstack([found.places, np.zeros((1, boxes.lower.shape[1]))]),
        weights=np.append((1 - chance) * found.weights, chance * rows),
        variances=np.vstack([found.variances, (boxes.widths[touching] ** 2 / 12).mean(axis=0)]),
        noise=np.append((1 - chance) ** 2 * found.noise, chance**2 * noise),
        counted=np.append(found.counted, noise),
    )


def _unexplained(seen: Cells, explained: Array, trust: Array, away: Array) -> Array:
    """Return the rows that boxes should have besides explained ones: near these, and far ones all together.

    A far box must stand out alone to have any, as noise costs most there; or all of them must, together.
    Then rows are as dense everywhere, or ever less so with the distance, whichever the counts bear out: a few
    that lie just beyond the others would else be looked for in the largest and farthest boxes.
    """
    boxes, total, near = seen.boxes, max(seen.total, 1.0), away <= _NEAR
    rest, volumes = boxes.counts - explained, boxes.widths.prod(axis=1)
    rows = np.zeros(len(explained))
    if near.sum() > 1:
        missing = total - float(explained.sum())
        sd = math.sqrt(seen.total_sd**2 + float((boxes.variances * trust**2).sum()) + 1.0)
        rows[near], _ = unexplained_rows(rest[near], boxes.variances[near], volumes[near], missing, sd, total)
    far = ~near
    missing, sd = float(rest[far].sum()), math.sqrt(float(boxes.variances[far].sum()))
    if far.sum() > 1 and missing > _TOGETHER * sd:
        most = 2 * missing
        # But for a factor, which would be too small for numbers where rows have hardly any spread.
        falling = volumes[far] * (away[far] / away[far].min()) ** -float(boxes.lower.shape[1] + 2)
        given = rest[far], boxes.variances[far]
        found = [unexplained_rows(*given, law, missing, sd, most) for law in (falling, volumes[far])]
        rows[far], _ = max(found, key=lambda one: one[1])
    return rows


def _away(middles: Array, weights: Array, some: Booleans) -> Array:
    """Return how far boxes are from those that hold rows, in standard deviations of these; 0 if none does."""
    if not some.any():
        return np.zeros(len(middles))
    distance = cKDTree(middles[some]).query(middles)[0]
    return np.asarray(distance / max(_spread(middles[some], weights[some]), 1e-200))


def _besides(boxes: NoisyBoxes, places: Array, weights: Array, near: Booleans) -> Array:
    """Return where rows lie that nothing explains: in the middle of a box; beside a group, at its near side.

    What a wide box holds beside a group is most likely its edge. In its middle one row would cost as much as
    two groups that have to share a centre.
    """
    found, some = boxes.middles, weights > 0
    if some.any():
        distance, which = cKDTree(places[some]).query(found)
        wide = near & (distance > _NEAR * _spread(places[some], weights[some]))
        found[wide] = _towards(places[some][which[wide]], found[wide], boxes.widths[wide])
    return found


def _towards(places: Array, middles: Array, widths: Array) -> Array:
    """Return the places in boxes, a little inside them, that are nearest to others."""
    reach = widths * (0.5 - _EDGE)
    return np.clip(places, middles - reach, middles + reach)


def _spread(places: Array, weights: Array) -> float:
    """Return the standard deviation of rows."""
    mean = (weights[:, np.newaxis] * places).sum(axis=0) / weights.sum()
    return math.sqrt((weights * ((places - mean) ** 2).sum(axis=1)).sum() / weights.sum())


def as_counted(seen: Cells) -> Believed:
    """Take wide cells as they were counted, and their middles for places of rows, or the domain's.

    Noise that is left in all of them says that rows may be anywhere, and so draws centres to the middle of
    what they hold; leaving cells out that may be noise would put centres on the few that are not.
    """
    return _or_in_the_middle(seen, _as_counted(seen, np.ones(len(seen.levels), bool), seen.boxes.middles))


def _as_counted(seen: Cells, kept: Booleans, middles: Array) -> Believed:
    """Return the boxes that stand out as they were counted: no bell could tell them from noise."""
    boxes = seen.boxes
    return Believed(
        places=middles[kept],
        weights=np.maximum(boxes.counts[kept], 0.0) + _SOME,
        variances=boxes.widths[kept] ** 2 / 12,
        noise=boxes.variances[kept],
        counted=boxes.variances[kept],
    )


def zoomed_kmeans(
    places: Array, weights: Array, n_clusters: int, rng: np.random.Generator
) -> WeightedClustering:
    """Find centres of places that may lie in a small part of the domain: they are stretched to fill it."""
    middle = (places.max(axis=0) + places.min(axis=0)) / 2
    reach = max(float(np.abs(places - middle).max()), 1e-9)
    found = weighted_kmeans((places - middle) / reach, weights, n_clusters, rng)
    return replace(found, centres=middle + reach * found.centres, cost=found.cost * reach**2)


def standing_out(seen: Cells) -> tuple[Booleans, Booleans]:
    """Return the boxes that stand out of the noise, far ones surely; and those that surely do alone."""
    boxes, n, total = seen.boxes, len(seen.boxes.counts), max(seen.total, 1.0)
    looks, everywhere = n * (1 + len(_widths(seen))), np.ones(n, bool)
    sure = _evident(seen, everywhere, lambda many: laplace_sum_limit(many, math.log(looks / _FAR_ALARMS)))
    limit = laplace_sum_limit(np.ones(n), math.log(looks / _SURE_ALARMS))
    alone = boxes.counts > limit * np.sqrt(boxes.variances)
    near = everywhere
    if boxes.counts[sure].sum() >= _ENOUGH * total:
        near = _away(boxes.middles, np.maximum(boxes.counts, 0.0), sure) <= _NEAR
    universal = math.log(max(int(near.sum()), 2))
    for multiple in _THRESHOLDS:
        laplace, normal = multiple * universal / math.sqrt(2), math.sqrt(2 * multiple * universal)
        kept = sure | _evident(seen, near, lambda many: np.where(many <= 1, laplace, normal))  # noqa: B023
        if boxes.counts[kept].sum() >= _MASS * total:
            return kept, alone
    return sure | near, alone


def _widths(seen: Cells) -> tuple[float, ...]:
    """Return how wide bells are: in more than three columns a wide one would sum nearly all boxes."""
    return WIDTHS if seen.boxes.lower.shape[1] <= FEW_COLUMNS else WIDTHS[:-1]


def _evident(seen: Cells, among: Booleans, limit: Callable[[Array], Array]) -> Booleans:
    """Return the boxes whose counts, or the sums of bells around them, pass a limit in standard deviations.

    From narrow to wide: a bell sums only what narrower ones have not explained, or full boxes would lend to
    empty ones.
    """
    boxes = seen.boxes
    found = among & (boxes.counts > limit(np.ones(len(among))) * np.sqrt(boxes.variances))
    for width in _widths(seen):
        rest = among & ~found
        sums = seen.sums(boxes.counts, width, rest)
        found = found | (rest & (sums.sds > 0) & (sums.values > limit(sums.boxes) * sums.sds))
    return np.asarray(found)


def _bells_at(centres: Array, middles: Array, widths: Array, weights: Array, narrowest: float) -> Bells:
    """Return a bell for each centre, as wide as its boxes lie."""
    groups = nearest_centre(middles, centres)
    squares = (middles - centres[groups]) ** 2 + widths**2 / 12
    mass = np.bincount(groups, weights, len(centres))
    sums = group_sums(groups, weights[:, np.newaxis] * squares, len(centres))
    spreads = np.sqrt(sums / np.maximum(mass, 1e-9)[:, np.newaxis])
    return Bells(centres, np.maximum(spreads, narrowest), np.maximum(mass, 1.0))


def _with_unexplained(
    seen: Cells, bells: Bells, denoised: Denoised, nats: float, most: int, narrowest: float
) -> Bells:
    """Add bells where counts stand out of what the others explain."""
    middles, widths = seen.boxes.middles, seen.boxes.widths
    rest = seen.boxes.counts - denoised.expected
    all_sums = [seen.sums(rest, width) for width in _widths(seen)]
    above = np.array(
        [t.values / np.maximum(t.sds, 1e-12) - laplace_sum_limit(t.boxes, nats) for t in all_sums]
    )
    places: list[Array] = []
    spreads: list[Array] = []
    rows: list[float] = []
    while len(places) < most and above.max() > 0:
        w, i = np.unravel_index(int(np.argmax(above)), above.shape)
        places.append(middles[i])
        spreads.append(np.maximum(WIDTHS[w] * widths[i], narrowest))
        rows.append(max(float(all_sums[w].values[i]), 1.0))
        above[:, (np.abs(middles - middles[i]) <= 4 * WIDTHS[w] * widths[i]).all(axis=1)] = -np.inf
    if not places:
        return bells
    return bells.joined(Bells(np.array(places), np.array(spreads), np.array(rows)))


def _drawn_near(seen: Cells, kept: Booleans) -> Array:
    """Return the middles of boxes; of a wide one beside finer ones, a place at its near side.

    Its rows are most likely the edge of the group that the finer ones show.
    """
    boxes = seen.boxes
    middles, widths = boxes.middles, boxes.widths
    d = middles.shape[1]
    for level in np.unique(seen.levels[kept]):
        wide = np.flatnonzero(kept & (seen.levels == level))
        fine = np.flatnonzero(kept & (seen.levels >= level + d + 1))
        if not len(fine):
            continue
        side = widths[wide[0]]
        distance, which = cKDTree(boxes.middles[fine] / side).query(boxes.middles[wide] / side)
        near = distance <= math.sqrt(d)
        moved, towards = wide[near], boxes.middles[fine[which[near]]]
        middles[moved] = _towards(towards, boxes.middles[moved], widths[moved])
    return middles
