"""A loss of rows' images under a public projection."""

from __future__ import annotations

from dataclasses import dataclass

from shoal._typing import Integers, Metric
from shoal.domain import Chunk
from shoal.errors import InvalidInput
from shoal.queries.losses.cluster_cost import Loss
from shoal.queries.losses.windows import HeldLoss
from shoal.queries.partitions.projections import Projection


@dataclass(frozen=True, eq=False)
class ProjectedLoss:
    """A loss of the image of a projection.

    Parameters
    ----------
    projection : Projection
        The map.
    loss : Loss
        Candidates in [-1, 1]^n_directions, and what an image has against each. It must add up over rows: a
        `HeldLoss` need not, and is charged by rules of its own, which nobody could tell from outside.
    """

    projection: Projection
    loss: Loss

    def __post_init__(self) -> None:
        if isinstance(self.loss, HeldLoss):
            raise InvalidInput(
                f"{self.loss.describe()}: a loss of held rows cannot be projected; ask it as it is"
            )
        if self.loss.n_columns != self.projection.n_directions:
            raise InvalidInput(
                f"candidates have {self.loss.n_columns} columns; the image has {self.projection.n_directions}"
            )

    @property
    def n_candidates(self) -> int:
        """How many there are to choose from."""
        return self.loss.n_candidates

    @property
    def n_columns(self) -> int:
        """The columns of the table it is for."""
        return self.projection.n_columns

    def exact_losses(self, chunk: Chunk, metric: Metric) -> Integers:  # noqa: ARG002 - as others
        """Return the loss of every candidate over the images of the rows of a chunk."""
        return self.loss.exact_losses(Chunk(self.projection.apply(chunk.columns), chunk.weights), None)

    def describe(self) -> str:
        """Say the loss in a few words."""
        return f"{self.loss.describe()}, {self.projection.describe()}"
