"""What the gate refuses, it refuses before it charges, and without a word about rows."""

from fractions import Fraction

import numpy as np
import pytest

from shoal.domain import STEPS
from shoal.errors import InvalidInput
from shoal.mechanisms import SeededEntropy, permute_and_flip
from shoal.queries import (
    Ball,
    Direction,
    Offset,
    Outer,
    ProjectedLoss,
    Projection,
    Region,
    Relative,
    Voronoi,
    WithCost,
    kernels,
)
from shoal.queries.kernels import relative as relative_kernels
from shoal.queries.losses.windows import BoxCount, Windows, WindowSize

CELLS = Voronoi(np.array([[-0.5, -0.5], [0.5, 0.5], [0.0, 0.0]]))


@pytest.mark.parametrize("shape", [(2, 2), (4, 2), (3, 1), (3, 3)])
@pytest.mark.parametrize(
    "statistic",
    [
        lambda anchors: Offset(anchors, Ball(0.5)),
        lambda anchors: WithCost(Offset(anchors, Ball(0.5))),
        lambda anchors: Outer(Offset(anchors, Ball(0.5))),
        lambda anchors: Direction(anchors, 0.1),
        lambda anchors: Relative(anchors, np.full(anchors.shape, 0.5)),
        lambda anchors: Relative(anchors, np.full(anchors.shape, 0.5), "ball", np.ones(len(anchors))),
    ],
)
def test_anchors_of_every_statistic_must_fit_the_cells(behind_gate, blobs, statistic, shape):
    curator = behind_gate(blobs)
    with pytest.raises(InvalidInput, match="anchors have shape"):
        curator.sums(CELLS, of=statistic(np.zeros(shape)), cost=Fraction(1, 2))
    assert curator._allowance.spent == 0


def test_no_text_tells_how_many_rows_there_are_or_what_they_add_up_to():
    rows = np.zeros((2, 4321), dtype=np.float32)
    steps = np.zeros((1, 2), dtype=np.int64)
    outside = np.ones(4321, dtype=np.int32)
    said = []
    for refused in (
        lambda: kernels.accumulate(rows.astype(np.int32), outside, 1),
        lambda: relative_kernels.relative(rows, outside, steps, steps + STEPS, False),
        lambda: permute_and_flip(SeededEntropy(0), np.array([4321, -4321]), Fraction(1)),
    ):
        with pytest.raises(InvalidInput) as caught:
            refused()
        said.append(str(caught.value))
    assert not any("4321" in text for text in said), said


@pytest.mark.parametrize("loss", [BoxCount, lambda windows: WindowSize((windows,), 10)])
def test_a_loss_of_held_rows_cannot_hide_in_a_projection(loss):
    # It would pass for one that adds up over rows, and be charged as such.
    with pytest.raises(InvalidInput, match="held"):
        ProjectedLoss(Projection(np.eye(2)), loss(Windows(Region.whole(2), (0, 1), 4)))
