"""Ours: what a user gets without choosing. It looks where rows are, and decides by what it saw.

In few columns a look that adapts finds the groups, and what is left follows their rows. In more columns boxes
say less about distance: which start is good is read off public facts and a paid-for number of rows. What was
decided, and why, is on the certificate. Proof: docs/proofs/kmeans.md; pictures: docs/explanation/kmeans.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from shoal.accounting import Pure
from shoal.algorithms.kmeans.around import moved_around, spread_around
from shoal.algorithms.kmeans.boxes import Boxes, tree_points
from shoal.algorithms.kmeans.directions import (
    affordable_cells,
    boxes_along,
    find_along,
    mean_share,
    round_noise,
)
from shoal.algorithms.kmeans.few_columns import find
from shoal.algorithms.kmeans.look import look
from shoal.algorithms.kmeans.middle import Middle, find_middle, mean_noise, middle_share, shrunken_mean
from shoal.algorithms.kmeans.tree import FOR_TREE, predicted_noise, refine, to_clustering
from shoal.algorithms.kmeans.tree_record import CountNoise
from shoal.algorithms.shared.clustering import Clustering, RowCount, count_rows
from shoal.domain import Domain
from shoal.errors import InvalidInput
from shoal.postprocess import centre_sd
from shoal.postprocess.choose_k import CostCurve
from shoal.queries import Curator, Voronoi

Route: TypeAlias = Literal["one mean", "around", "look", "directions", "tree", "rounds along"]

# Up to this many columns a look finds groups better than anything else: in more, most boxes are empty.
_LOOK_COLUMNS = 6
# In more than this many, noise of budgets with delta is smaller; and boxes are too few to count groups by.
CUT_COLUMNS = 15
# Noise of the mean of all rows, in half widths of the domain: above the first nothing else is as good, in
# more columns; below the second it is worth finding before a tree.
_ONE_MEAN, _AIMED = 0.08, 0.035
# Noise of a centre in a round that has the first of the budget, in radii: above the second, centres spread
# around the mean cost less than groups that boxes show, above the third than groups along directions. Above
# the fourth they had better stay where they are, and where their mean has noise of more half widths than the
# last.
_LAST, _AROUND, _AROUND_MORE, _STAY, _LOST = Fraction(3, 5), 0.22, 0.37, 0.67, 0.32
# Noise of a centre, in radii, above which boxes that are cut in a few columns each tell less than directions
# that are found. Four directions tell about the second apart; with more groups boxes tell more up to that
# noise times the root of how many times as many there are.
_BLURRED, _ALONG = 0.05, 10
# A tree is grown in up to this many columns: in more it would never halve most of them, and some in vain.
# There rounds pay after directions, below this noise of a centre.
_TREE_COLUMNS, _ROUNDS_PAY = 100, 0.03
# Below this many rows x epsilon of an even group (see look.py) a tree hardly parts groups: each halving costs
# it 17 of them. In up to 12 columns, which it can halve once each, a look does, for this share.
_UNPARTED, _HALVED_COLUMNS, _FOR_LOOK = 200.0, 12, Fraction(2, 5)
# Up to that many columns the mean is asked for at this price where it is noisier than _AIMED: whether rows
# lie low in most columns is known better than any one of its coordinates.
_FOR_AIM, _MOSTLY = Fraction(1, 6), Fraction(4, 5)
# Rounds on the way along directions: of the mean, of cells, of groups.
_ROUNDS_ALONG = 3
# What is decided before the groups are counted is decided for this many.
USUAL_GROUPS = 4


@dataclass(frozen=True)
class KMeans:
    """Look where rows are, then follow them.

    Parameters
    ----------
    n_clusters : int or "auto"
        How many centres, or to choose that from the released boxes.
    n_starts : int
        Starts of k-means on released boxes.
    max_clusters : int
        The most that "auto" may choose.
    counted : bool
        Whether to go the way of "auto" though a number is given: for rehearsals.
    delta : float
        The delta that was allowed. Where the budget is pure it is not used, and the notes say so.
    """

    stored_as: ClassVar[str] = "Best"  # what it was called when formats were fixed

    n_clusters: int | Literal["auto"]
    n_starts: int = 20
    max_clusters: int = 20
    counted: bool = False
    delta: float = 0.0

    def check(self, domain: Domain) -> None:
        """Refuse what cannot work, from public values, before anything is spent."""
        if self.n_clusters == "auto" and domain.n_columns > CUT_COLUMNS:
            raise InvalidInput(
                f'n_clusters="auto" counts groups on boxes, which say little in {domain.n_columns} columns: '
                f"give a number, or at most {CUT_COLUMNS} columns"
            )

    def run(self, curator: Curator) -> Clustering:
        """Pay for the number of rows, choose, and go."""
        self.check(curator.domain)
        rows, rest = count_rows(curator, adaptive=True)
        route, why = self.route(curator, rows, rest)
        curator.note(f"{route}: {why}")
        if self.delta and isinstance(curator.budget, Pure):
            unused = f"delta = {self.delta:g} was allowed and is not used"
            curator.note(f"{unused}: in few columns the noise of pure epsilon is smaller")
        # No number is chosen where nothing can be told apart; in many columns "auto" was refused.
        k = 1 if self.n_clusters == "auto" else self.n_clusters
        match route:
            case "one mean":
                return one_mean(curator, k, rows, rest)
            case "around":
                return self._around(curator, k, rows, rest)
            case "look":
                return self._by_look(curator, rows, rest)
            case "directions":
                return self._along_directions(curator, rows, rest)
            case "rounds along":
                points, rest = boxes_along(curator, k, rows, rest)
                return refine(curator, points, k, rows, rest, self.n_starts)
            case "tree":
                return self._by_tree(curator, rows, rest)

    def route(self, curator: Curator, rows: RowCount, rest: Fraction) -> tuple[Route, str]:
        """Choose from public and released values, and say why.

        Parameters
        ----------
        curator : Curator
            Knows the columns and the budget.
        rows : RowCount
            How many there are.
        rest : Fraction
            What is left of the budget.
        """
        d, auto = curator.domain.n_columns, self.counted or self.n_clusters == "auto"
        k = USUAL_GROUPS if self.n_clusters == "auto" else self.n_clusters
        noise, blur = predicted_noise(curator, k, rows, rest), round_noise(curator, k, rows, rest)
        groups = f"{'as for ' if auto else ''}{k} groups"
        about = f"{d} columns, {groups}, noise of a centre about {noise:.2g} of its radius"
        nothing, hardly = (
            f"{about}: {word} be told from noise" for word in ("no groups could", "groups can hardly")
        )
        too_many = "a grid would have too many cells"
        if d <= _LOOK_COLUMNS:
            return "look", about
        few = mean_noise(curator, rows, rest) > _ONE_MEAN and d <= _HALVED_COLUMNS
        lost = round_noise(curator, k, rows, rest * _LAST)
        if self._may_spread and (few or lost > (_AROUND if d <= _HALVED_COLUMNS else _AROUND_MORE)):
            return "around", hardly
        if d <= _HALVED_COLUMNS:
            return ("one mean", nothing) if few else ("tree", f"{about}: {too_many}")
        blurred = _BLURRED * math.sqrt(max(k / _ALONG, 1.0))
        if blur > (blurred if d <= _TREE_COLUMNS else _ROUNDS_PAY):
            if not affordable_cells(curator, k, rows, rest):
                return ("around", hardly) if self._may_spread else ("one mean", nothing)
            return "directions", f"{about}: too few rows for boxes in that many columns"
        if d <= _TREE_COLUMNS:
            return "tree", f"{about}: {too_many}"
        return "rounds along", f"{about}: boxes are found along directions, then rounds follow the rows"

    @property
    def _may_spread(self) -> bool:
        """Whether there is more than one centre; where they are to be counted, there may be one only."""
        return not self.counted and self.n_clusters != "auto" and self.n_clusters > 1

    def _around(self, curator: Curator, n_clusters: int, rows: RowCount, rest: Fraction) -> Clustering:
        """Spread centres around the mean, and move them to their rows where that can be told."""
        where = "centres are spread around the mean of all rows, in random directions"
        lost = mean_noise(curator, rows, rest * mean_share(curator, rows, rest)) > _LOST
        if lost or round_noise(curator, n_clusters, rows, rest * _LAST) > _STAY:
            curator.note(f"no groups could be told from noise: {where}")
            return spread_around(curator, n_clusters, rows, rest)
        curator.note(f"{where}, and moved to the rows that are nearest to them, as far as noise lets tell")
        return moved_around(curator, n_clusters, rows, rest)

    def _by_look(self, curator: Curator, rows: RowCount, rest: Fraction) -> Clustering:
        """Find groups by a look that adapts."""
        asked = None if self.counted or self.n_clusters == "auto" else self.n_clusters
        found = find(curator, asked, rows, rest, self.max_clusters)
        if found.curve is not None:
            curator.note(found.curve.why)
        curator.note(found.why)
        rows = rows.capped_by(curator, found.seen.total, found.seen.total_sd)
        clustering = to_clustering(curator, found.result, rows, n_iter=found.n_iter)
        where = curator.domain.column_scale, rows.estimate
        return replace(clustering, curve=found.curve, shown=found.shown(*where), uneven=found.uneven(*where))

    def _by_tree(self, curator: Curator, rows: RowCount, rest: Fraction) -> Clustering:
        """Find groups by boxes, aimed by the mean of all rows where that can be told."""
        halved = curator.domain.n_columns <= _HALVED_COLUMNS
        middle, rest = self._middle(curator, rows, rest)
        if halved and middle is not None and middle.narrow:
            curator.note("rows lie in a speck of the domain: a look, in place of a tree that would be lost")
            return self._by_look(curator, rows, rest)
        k = USUAL_GROUPS if self.n_clusters == "auto" else self.n_clusters
        if halved and middle is not None and middle.aside and round_noise(curator, k, rows, rest) > _BLURRED:
            curator.note(
                "rows lie away from the middle of the domain, and are too few to find out where by boxes"
            )
            if affordable_cells(curator, k, rows, rest, known=True):
                return self._along_directions(curator, rows, rest, middle)
            if mean_noise(curator, rows, rest) > _AIMED:
                spread = self._around if self._may_spread else one_mean
                return spread(curator, k, rows, rest)
        points, rest = self._grown(curator, middle, rows, rest)
        k, curve = self._groups(curator, points)
        return replace(refine(curator, points, k, rows, rest, self.n_starts), curve=curve)

    def _groups(self, curator: Curator, points: Boxes) -> tuple[int, CostCurve | None]:
        """Return how many groups were asked for, or as many as released boxes show."""
        if self.n_clusters != "auto":
            return self.n_clusters, None
        curve = points.choose_k(self.max_clusters, curator.public_rng("how many groups"), self.n_starts)
        curator.note(curve.why)
        return curve.chosen, curve

    def _middle(self, curator: Curator, rows: RowCount, rest: Fraction) -> tuple[Middle | None, Fraction]:
        """Find the mean of all rows, where it can be told; return what is left as well."""
        noise = mean_noise(curator, rows, rest)
        if noise >= _AIMED and curator.domain.n_columns <= _HALVED_COLUMNS:
            return find_middle(curator, rows, rest * _FOR_AIM, _MOSTLY), rest * (1 - _FOR_AIM)
        if noise >= _AIMED:
            return None, rest
        share = middle_share(noise, rows.estimate * curator.effective_epsilon(share=rest))
        return find_middle(curator, rows, rest * share), rest * (1 - share)

    def _grown(
        self, curator: Curator, middle: Middle | None, rows: RowCount, rest: Fraction
    ) -> tuple[Boxes, Fraction]:
        """Find boxes; return what is left as well."""
        off = middle is not None and middle.off
        if not off and self.n_clusters != "auto" and _unparted(curator, self.n_clusters, rows, rest):
            seen = look(curator, rows, self.n_clusters, rest * _FOR_LOOK)
            return Boxes.seen(seen, curator.domain.column_scale), rest * (1 - _FOR_LOOK)
        points = tree_points(curator, rest * FOR_TREE)
        if middle is not None and off:
            points = points.around(middle.mean, middle.sd)
        return points, rest * (1 - FOR_TREE)

    def _along_directions(
        self, curator: Curator, rows: RowCount, rest: Fraction, about: Middle | None = None
    ) -> Clustering:
        """Find directions that groups differ in, and look along them."""
        asked = None if self.counted or self.n_clusters == "auto" else self.n_clusters
        n_cells = affordable_cells(curator, asked or USUAL_GROUPS, rows, rest, known=about is not None)
        found = find_along(curator, asked, n_cells, rows, rest, self.max_clusters, about)
        if found.curve is not None:
            curator.note(found.curve.why)
        which = "directions that were found" if n_cells > 1 else "random directions"
        curator.note(f"groups were looked for along {found.n_directions} {which}")
        clustering = to_clustering(curator, found.result, rows, n_iter=_ROUNDS_ALONG)
        return replace(clustering, curve=found.curve, shown=found.shown)


def _unparted(curator: Curator, n_clusters: int, rows: RowCount, rest: Fraction) -> bool:
    """Return whether a tree would hardly part groups, in columns that a look can halve."""
    rate = float(CountNoise.of(curator).rate(np.array(float(rest))))
    per_group = rows.estimate * rate / n_clusters
    few = per_group < _UNPARTED and curator.domain.n_columns <= _HALVED_COLUMNS
    if few:
        curator.note(f"about {per_group:.0f} rows x epsilon per group: a look in place of a tree")
    return few


def one_mean(curator: Curator, n_clusters: int, rows: RowCount, rest: Fraction) -> Clustering:
    """Give all centres the noisy mean of all rows: where nothing can be told apart, nothing else is as good.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    n_clusters : int
        How many centres come out; all are one.
    rows : RowCount
        How many there are.
    rest : Fraction
        What is left of the budget.
    """
    answer, mean = shrunken_mean(curator, rows, rest)
    spread = centre_sd(mean, answer.counts, answer.sum_sd, answer.count_sd)
    sizes = np.zeros(n_clusters)
    sizes[0] = answer.counts[0]
    return Clustering(
        centres=np.repeat(Voronoi(mean).centres, n_clusters, axis=0),
        sizes=sizes,
        centre_sd=np.repeat(spread, n_clusters, axis=0),
        size_sd=answer.count_sd,
        n_iter=1,
        predicted_sd=n_clusters * answer.sum_sd / rows.at_least,
        domain=curator.domain,
        merged_into=np.zeros(n_clusters, dtype=np.int64),
    )
