"""The private coreset of Feldman et al. as estimators."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Self, Unpack

from shoal.accounting import Approx, Pure
from shoal.algorithms import SHARE_FOR_BOUNDS, SHARE_FOR_CLIPPED, Algorithm
from shoal.algorithms.coreset.coreset import CoresetKMeans as KMeansAlgorithm
from shoal.algorithms.coreset.coreset import PrivateCoreset as CoresetAlgorithm
from shoal.algorithms.coreset.sketch import STRENGTH, CoresetSketch, Shares, smallest_epsilon
from shoal.algorithms.coreset.small_ball import Search
from shoal.algorithms.synopses.coreset import Coreset
from shoal.errors import InfeasibleEpsilon
from shoal.estimators.base import PrivateKMeans
from shoal.estimators.blocks import fit_blocks, one_block
from shoal.estimators.fitting import FitPlan, PrivateEstimator
from shoal.estimators.parameters import Common, check_choice, check_count, is_whole
from shoal.queries import Transcript
from shoal.release.coreset import CoresetRelease, Part


class PrivateCoreset(PrivateEstimator):
    """A few weighted points that stand for all rows (Feldman et al.), released as they are.

    The fitted `release_` gives the k-means cost of any centres, finds any number of groups, goes on a map
    and merges with the coresets of other tables, as often as you like and at no further cost. Its weights
    are positive. Tables of one or two columns are streamed; of more, the rows are held in memory.

    Parameters
    ----------
    n_clusters : int
        How many groups it should serve, or fewer. More groups need more rows or more budget.
    epsilon : float
        Privacy loss allowed; smaller is more private. With `n_rows`, one that is too small is an error before
        anything is spent; otherwise it is a warning.
    search : {"windows", "published"}
        How small balls are found: by the fullest of public windows, or by the published GoodRadius, which
        needs more budget and is for one or two columns.
    strength : float
        What the epsilon of a round times the rows of its ball must be at least: the higher, the fewer and the
        surer points.
    refine : bool
        Whether every point moves, in the end, to the noisy mean of the rows nearest to it. Not in the paper,
        and much better.
    shares : {"fitted", "published"}
        What a round costs: all of the budget is shared out over the rounds that are run; or, as published,
        each has 3 / (8 k ln n) of it, and rows that are left in the end are ignored (with `refine=False`).
    n_blocks : int
        A public number of blocks that rows are dealt out to at random, each by itself; the coresets of all
        blocks are joined. A row is in one block, so each has the whole epsilon (where a row is replaced, half
        of it). The paper takes a block for every 10,000 rows of more than two columns, for speed: a block
        must then be large enough by itself. Equal rows are in one block.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Attributes
    ----------
    release_ : CoresetRelease
        What may be published.
    certificate_ : Certificate
        What is guaranteed.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import PrivateCoreset
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (9000, 2)), rng.normal(8, 0.5, (9000, 2))])
    >>> release = PrivateCoreset(2, epsilon=1.0, bounds=(0, 10)).fit(X).release_
    >>> np.sort(release.kmeans(2).centres[:, 0]).round(0)
    array([2., 8.])
    >>> bool((release.weights > 0).all())
    True
    """

    _registered = "coreset"

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float,
        search: Search = "windows",
        strength: float = STRENGTH,
        refine: bool = True,
        shares: Shares = "fitted",
        n_blocks: int = 1,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.search = search
        self.strength = strength
        self.refine = refine
        self.shares = shares
        self.n_blocks = n_blocks

    def _has_parts(self) -> bool:
        return check_count(self.n_blocks, "n_blocks") > 1 or super()._has_parts()

    def _fit_parts(self, X: Any, sample_weight: Any) -> Self:
        if self.n_blocks == 1:  # but zones, which it does not know
            return super()._fit_parts(X, sample_weight)
        self.release_ = fit_blocks(self, X, sample_weight)
        self.certificate_ = self.release_.certificate
        return self

    def _one_of(self, plan: FitPlan, rows: float) -> tuple[FitPlan, float]:
        return (plan, rows) if self.n_blocks == 1 else one_block(self, plan, rows)

    def _keep(self, found: Coreset, transcript: Transcript) -> None:
        self.release_ = CoresetRelease((Part(found, self.certificate_, transcript),))

    def _algorithm(self, budget: Pure | Approx) -> CoresetAlgorithm:
        return CoresetAlgorithm(_sketch(self, budget))

    def _rehearsed(self, algorithm: CoresetAlgorithm) -> KMeansAlgorithm:
        sketch = algorithm.sketch
        return KMeansAlgorithm(
            sketch.n_clusters, sketch.search, sketch.strength, sketch.refine, shares=sketch.shares
        )


class CoresetKMeans(PrivateKMeans):
    """k-means on a private coreset (PRIVATE-K-MEAN of Feldman et al.).

    For large tables of few columns and few groups. Standard errors of centres are not known (infinite),
    because the noise is in where the points of the coreset lie.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private. With `n_rows`, one that is too small is an error before
        anything is spent; otherwise it is a warning.
    search : {"windows", "published"}
        How small balls are found; see :class:`PrivateCoreset`.
    strength : float
        What the epsilon of a round times the rows of its ball must be at least.
    refine : bool
        Whether the points move, in the end, to the noisy means of the rows nearest to them.
    n_starts : int
        Starts of k-means on the coreset, judged on its points alone.
    shares : {"fitted", "published"}
        What a round costs; see :class:`PrivateCoreset`.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import CoresetKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (9000, 2)), rng.normal(8, 0.5, (9000, 2))])
    >>> model = CoresetKMeans(2, epsilon=1.0, bounds=(0, 10)).fit(X)
    >>> np.sort(model.cluster_centers_[:, 0]).round(0)
    array([2., 8.])
    >>> CoresetKMeans(2, epsilon=0.01, bounds=(0, 10), n_rows=18_000).fit(X)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    shoal.errors.InfeasibleEpsilon: a coreset of 18000 rows for 2 clusters needs an epsilon of at least ...
    """

    _registered = "coreset"

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float,
        search: Search = "windows",
        strength: float = STRENGTH,
        refine: bool = True,
        n_starts: int = 30,
        shares: Shares = "fitted",
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.search = search
        self.strength = strength
        self.refine = refine
        self.n_starts = n_starts
        self.shares = shares

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:
        sketch = _sketch(self, budget)
        starts = check_count(self.n_starts, "n_starts")
        return KMeansAlgorithm(
            sketch.n_clusters, sketch.search, sketch.strength, sketch.refine, starts, sketch.shares
        )


def _sketch(estimator: Any, budget: Pure | Approx) -> CoresetSketch:
    """Check the parameters of a coreset, and that the budget is enough where the number of rows is public."""
    sketch = CoresetSketch(
        n_clusters=check_count(estimator.n_clusters, "n_clusters"),
        search=check_choice(estimator.search, "search", ("windows", "published")),
        strength=estimator.strength,
        refine=bool(estimator.refine),
        shares=check_choice(estimator.shares, "shares", ("fitted", "published")),
    )
    rows = estimator.n_rows
    if is_whole(rows) and rows >= 0:
        share = 1 - SHARE_FOR_BOUNDS if estimator.bounds is None else Fraction(1)
        share *= 1 - SHARE_FOR_CLIPPED if estimator.count_clipped else 1
        least = smallest_epsilon(rows, sketch, budget, estimator._unit()) / float(share)
        if least > float(budget.epsilon):
            raise InfeasibleEpsilon(
                f"a coreset of {rows} rows for {sketch.n_clusters} clusters needs an epsilon of at least "
                f"{least:.3g}, and {float(budget.epsilon):g} was given: raise it, or use fewer clusters. "
                "Nothing was spent",
                least,
            )
    return sketch
