"""Balcan, Dick, Liang, Mou, Zhang 2017, algorithm 3: private local search by swaps (after Gupta et al. 2010).

Replace one centre by one candidate, chosen with noise among all such swaps, a fixed number of times; then
choose one of the sets that were visited. Proof: docs/proofs/projected.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shoal._typing import Array
from shoal.queries import ClusterCost, Curator, ProjectedLoss, Projection, SwapCost


def local_swap(
    curator: Curator,
    projection: Projection | None,
    candidates: Array,
    start: Array,
    n_swaps: int,
    share: Fraction,
    *,
    squared: bool = True,
) -> Array:
    """Return centres among public candidates, improved by swaps.

    Parameters
    ----------
    curator : Curator
        Chooses with noise.
    projection : Projection, optional
        To the columns of the candidates, if these are not the table's own.
    candidates : ndarray of shape (n, n_directions)
        Public points that may become centres.
    start : ndarray of shape (n_clusters, n_directions)
        Public points to begin with.
    n_swaps : int
        How many swaps; each costs as much as the last choice.
    share : Fraction
        Share of the budget, of all choices together.
    squared : bool
        Whether distances are squared, as for k-means, or not, as for k-medians.
    """

    def choose(loss: SwapCost | ClusterCost) -> int:
        seen = loss if projection is None else ProjectedLoss(projection, loss)
        return int(curator.select(seen, share=each)[0])

    each = share / (n_swaps + 1)
    visited = [start]
    for _ in range(n_swaps):
        swaps = SwapCost(visited[-1], candidates, squared)
        visited.append(swaps.after(choose(swaps)))
    return visited[choose(ClusterCost(np.stack(visited), squared))]
