"""Ours: what a user gets without choosing. It looks where rows are, and decides by what it saw.

In few columns a look that adapts finds the groups, and what is left follows their rows. In more columns boxes
say less about distance: which start is good is read off public facts and a paid-for number of rows. What was
decided, and why, is on the certificate. Proof: docs/proofs/kmeans.md; pictures: docs/explanation/kmeans.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from shoal.accounting import Pure
from shoal.algorithms.kmeans.boxes import Boxes, masked_points, tree_points
from shoal.algorithms.kmeans.few_columns import find
from shoal.algorithms.kmeans.tree import FOR_TREE, predicted_noise, refine, to_clustering
from shoal.algorithms.lsh_tree.lsh_tree import lsh_start
from shoal.algorithms.shared.clustering import Clustering, RowCount, count_rows
from shoal.algorithms.swap import SwapLloyd
from shoal.domain import Domain
from shoal.errors import InvalidInput
from shoal.postprocess import centre_sd, recentre
from shoal.postprocess.choose_k import CostCurve
from shoal.queries import Curator, Voronoi

Route: TypeAlias = Literal["one mean", "look", "halves", "tree", "cuts", "swaps"]

# Up to this many columns a look finds groups better than anything else: in more, most boxes are empty.
_LOOK_COLUMNS = 6
# From this many columns on boxes say little about distance, and random cuts say more.
CUT_COLUMNS = 15
# Noise of a centre, in radii, were all groups alike, above which groups cannot be told apart: in as many
# columns as a look is for, in more, and where not even a tree can be grown.
_ONE_MEAN_LOOK, _ONE_MEAN, _ONE_MEAN_MANY = 2.0, 0.25, 0.05
# Below these cuts fit rows better than a tree: for any groups, for few.
_CUTS, _CUTS_FEW, _FEW_GROUPS = 0.0035, 0.01, 4
# Halves of every column still tell more than a tree above this, and have this share.
_HALVES, _HALVES_SHARE = 0.05, Fraction(1, 5)
# In many columns: cuts below the first; a tree up to this many columns, unless its boxes save less of the
# cost of one mean than the last: then cuts below the second noise, or one mean.
_CUTS_MANY, _CUTS_LEFT, _TREE_COLUMNS, _BOXES_SAVE = 0.006, 0.1, 100, 0.065
# Random cuts find the mean of every leaf as well, so they may cost more than a tree.
_FOR_CUTS = Fraction(2, 5)
_LEAF_SPREAD = 0.01
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
            case "look":
                return self._by_look(curator, rows, rest)
            case "cuts":
                return self._from_cuts(curator, k, rows, rest)
            case "swaps":
                return SwapLloyd(k, start="lsh-tree").run(curator, rest)
            case "tree":
                share = rest * FOR_TREE
                points = tree_points(curator, share)
                if not self._boxes_tell(curator, points, k):
                    return self._without_boxes(curator, k, rows, rest - share)
            case "halves":
                share = rest * _HALVES_SHARE
                points = masked_points(curator, rows.estimate, share)
        k, curve = self._groups(curator, points)
        return replace(refine(curator, points, k, rows, rest - share, self.n_starts), curve=curve)

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
        noise = predicted_noise(curator, k, rows, rest)
        groups = f"{'as for ' if auto else ''}{k} groups"
        about = f"{d} columns, {groups}, noise of a centre about {noise:.2g} of its radius"
        pure = curator.budget.currency == "epsilon"
        if noise > most_noise(d, pure):
            return "one mean", f"{about}: no groups could be told from noise"
        if d <= _LOOK_COLUMNS:
            return "look", about
        if d > CUT_COLUMNS and not pure:
            return "swaps", f"{about}: Gaussian noise makes many rounds cheap"
        if d > CUT_COLUMNS and (noise < _CUTS_MANY or d > _TREE_COLUMNS):
            return "cuts", f"{about}: boxes say little about distance in that many columns"
        if d > CUT_COLUMNS:
            return "tree", f"{about}: too little to tell where to cut"
        most = _CUTS_FEW if k <= _FEW_GROUPS else _CUTS
        if noise < most and not auto:  # groups are counted on boxes
            return "cuts", f"{about}: enough to tell where to cut"
        if noise > _HALVES:
            return "halves", f"{about}: too little for a tree, enough for halves of columns"
        return "tree", f"{about}: a grid would have too many cells"

    def _by_look(self, curator: Curator, rows: RowCount, rest: Fraction) -> Clustering:
        """Find groups by a look that adapts."""
        asked = None if self.counted or self.n_clusters == "auto" else self.n_clusters
        found = find(curator, asked, rows, rest, self.max_clusters)
        if found.curve is not None:
            curator.note(found.curve.why)
        curator.note(found.why)
        rows = rows.capped_by(curator, found.seen.total, found.seen.total_sd)
        return replace(to_clustering(curator, found.result, rows, n_iter=found.n_iter), curve=found.curve)

    def _groups(self, curator: Curator, points: Boxes) -> tuple[int, CostCurve | None]:
        """Return how many groups were asked for, or as many as released boxes show."""
        if self.n_clusters != "auto":
            return self.n_clusters, None
        curve = points.choose_k(self.max_clusters, curator.public_rng("how many groups"), self.n_starts)
        curator.note(curve.why)
        return curve.chosen, curve

    def _boxes_tell(self, curator: Curator, points: Boxes, k: int) -> bool:
        """Return whether boxes know of groups; in many columns they may know of none."""
        if curator.domain.n_columns <= CUT_COLUMNS:
            return True
        saved = points.saved_share(k, curator.public_rng("what boxes tell"), max(1, self.n_starts // 4))
        if saved < _BOXES_SAVE:
            curator.note(f"boxes save {saved:.0%} of the cost of one mean: they do not tell groups apart")
        return saved >= _BOXES_SAVE

    def _without_boxes(self, curator: Curator, k: int, rows: RowCount, rest: Fraction) -> Clustering:
        if predicted_noise(curator, k, rows, rest) < _CUTS_LEFT:
            return self._from_cuts(curator, k, rows, rest)
        return one_mean(curator, k, rows, rest)

    def _from_cuts(self, curator: Curator, k: int, rows: RowCount, rest: Fraction) -> Clustering:
        leaves = lsh_start(curator, k, rest * _FOR_CUTS, n_starts=self.n_starts).leaves
        # Leaves come with their means; how far rows lie from them is left to the first round to find.
        points = replace(Boxes.of(leaves), variances=np.full(leaves.means.shape, _LEAF_SPREAD**2))
        return refine(curator, points, k, rows, rest * (1 - _FOR_CUTS), self.n_starts)


def most_noise(n_columns: int, pure: bool) -> float:
    """Return the noise of a centre, in radii, above which one mean is as good as any.

    Examples
    --------
    >>> most_noise(2, True), most_noise(5, True), most_noise(784, True), most_noise(784, False)
    (2.0, 2.0, 0.05, 0.25)
    """
    if n_columns <= _LOOK_COLUMNS:
        return _ONE_MEAN_LOOK
    return _ONE_MEAN_MANY if pure and n_columns > _TREE_COLUMNS else _ONE_MEAN


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
    middle = np.zeros((1, curator.domain.n_columns))
    answer = curator.sums(Voronoi(middle), share=rest)
    mean = recentre(answer.sums, answer.counts, answer.count_sd, fallback=middle)
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
