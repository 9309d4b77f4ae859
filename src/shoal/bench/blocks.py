"""Divide and conquer of Feldman et al., section 4.5, to compare with: a coreset of every block of rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from shoal.estimators import PrivateCoreset
from shoal.release import CoresetRelease


class BlockCoresets:
    """Cut a table at random into blocks of about equal size, and join the coresets of the blocks.

    Every row draws its block by itself, and a block pays for its own number of rows. So a row more or less
    changes one block, and the blocks compose in parallel. The number of blocks is from the public size of
    the benchmark's table.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Of every block, and of the whole.
    block_rows : int
        Rows a block; 10,000 in the paper.
    **common
        As for :class:`shoal.PrivateCoreset`.
    """

    def __init__(self, n_clusters: int, *, epsilon: float, block_rows: int = 10_000, **common: Any) -> None:
        self.n_clusters, self.epsilon, self.block_rows, self.common = n_clusters, epsilon, block_rows, common

    def get_params(self) -> dict[str, Any]:
        """Return the parameters by name."""
        own = {"n_clusters": self.n_clusters, "epsilon": self.epsilon, "block_rows": self.block_rows}
        return {**PrivateCoreset(1, epsilon=1.0).get_params(), **own}

    def fit(self, X: Any) -> Self:
        """Fit every block by itself, join the points, and find groups on them."""
        rows = np.asarray(X)
        n_blocks = max(1, round(len(rows) / self.block_rows))
        rng = np.random.default_rng(self.common.get("random_state"))
        block = rng.integers(0, n_blocks, len(rows))
        make = {**self.common, "epsilon": self.epsilon}
        seed = make.pop("random_state", None)
        parts = [
            PrivateCoreset(self.n_clusters, random_state=None if seed is None else seed + b, **make)
            .fit(rows[block == b])
            .release_
            for b in range(n_blocks)
        ]
        self.coreset_ = CoresetRelease.merge(parts)
        self.cluster_centers_ = self.coreset_.kmeans(self.n_clusters).centres
        return self
