"""Sample and aggregate as an estimator."""

from __future__ import annotations

from typing import Literal, Unpack

from shoal.accounting import Approx, Pure
from shoal.algorithms import Algorithm
from shoal.algorithms.sample_aggregate import Align, BlockRule, Range, SampleAggregate
from shoal.errors import InvalidInput
from shoal.estimators.base import PrivateKMeans
from shoal.estimators.parameters import Common, check_choice, check_count, check_noise, is_whole
from shoal.queries import Noise


class SampleAggregateKMeans(PrivateKMeans):
    """k-means in many random blocks of rows, averaged and noised (GkM and GkM-3K of Su et al.).

    A baseline: far behind the others unless groups are few and far apart. It holds all rows in memory.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private.
    blocks : "3k", "n^0.4" or int
        How many blocks: N/(3k) (GkM-3K), N^0.4 (GkM), or given.
    ranges : {"loose", "helper", "tight"}
        What centres are clamped to: the bounds; private quantiles, for half the budget; or `within`.
    within : sequence of (float, float), optional
        With "tight": a public range of each column, in units of the half width around the middle of its
        bounds, such as (-0.5, 0.5).
    align : {"matched", "sorted"}
        How centres of different blocks are brought into one order: matched to public points, which is ours;
        or sorted by their first column, as GUPT does.
    noise : {"auto", NOISES}
        Law of the noise; "laplace" is as published.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import SampleAggregateKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (5000, 1)), rng.normal(8, 0.5, (5000, 1))])
    >>> model = SampleAggregateKMeans(n_clusters=2, epsilon=2.0, bounds=(0, 10)).fit(X)
    >>> np.sort(model.cluster_centers_[:, 0]).round(0)
    array([2., 8.])
    """

    _registered = "sample-aggregate"

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float,
        blocks: BlockRule = "3k",
        ranges: Range = "loose",
        within: tuple[tuple[float, float], ...] = (),
        align: Align = "matched",
        noise: Literal["auto"] | Noise = "auto",
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.blocks = blocks
        self.ranges = ranges
        self.within = within
        self.align = align
        self.noise = noise

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:
        blocks = self.blocks
        if not is_whole(blocks):
            check_choice(blocks, "blocks", ("3k", "n^0.4"))
        within = tuple((float(low), float(high)) for low, high in self.within)
        if (check_choice(self.ranges, "ranges", ("loose", "helper", "tight")) == "tight") != bool(within):
            raise InvalidInput("ranges='tight' and `within` go together: give both, or neither")
        if any(not -1 <= low < high <= 1 for low, high in within):
            raise InvalidInput(f"within is {within}; pairs with -1 <= low < high <= 1 are wanted")
        return SampleAggregate(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            blocks=blocks if isinstance(blocks, str) else check_count(blocks, "blocks"),
            ranges=self.ranges,
            within=within,
            align=check_choice(self.align, "align", ("matched", "sorted")),
            noise=check_noise(self.noise, budget),
        )
