"""Divide and conquer of Feldman et al., section 4.5, to compare with: a coreset of every block of rows."""

from __future__ import annotations

from typing import Any, Self

from shoal.estimators import PrivateCoreset


class BlockCoresets:
    """Groups found on a :class:`shoal.PrivateCoreset` of blocks, as many as the table has rows for.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Of the whole.
    block_rows : int
        Rows a block; 10,000 in the paper. The number of blocks is from the public size of the benchmark's
        table.
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
        """Make the coreset, and find groups on it."""
        n_blocks = max(1, round(len(X) / self.block_rows))
        model = PrivateCoreset(self.n_clusters, epsilon=self.epsilon, n_blocks=n_blocks, **self.common)
        self.coreset_ = model.fit(X).release_
        self.cluster_centers_ = self.coreset_.kmeans(self.n_clusters).centres
        return self
