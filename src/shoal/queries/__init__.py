"""The gate: the only place where rows, noise and budget meet.

Algorithms get a :class:`Curator` and ask it typed questions about public objects. Every question is
charged before it is answered, and the answer is already noisy.
"""

from shoal.queries.aggregates import Ball, Box, Offset, RowStat, Value, WithCost
from shoal.queries.answers import Chosen, NoisyCounts, NoisyMeans, NoisySums, NotPrivate, SparseCounts
from shoal.queries.cell_losses import CellLoss, OffsetCost
from shoal.queries.coordinates import CoordinateMass, Picked
from shoal.queries.cubes import Cubes
from shoal.queries.curator import Curator
from shoal.queries.directions import Direction
from shoal.queries.hyperplanes import Hyperplanes
from shoal.queries.live import LiveCurator
from shoal.queries.losses import ClusterCost, Loss
from shoal.queries.moments import Outer, Squares
from shoal.queries.noise import Noise
from shoal.queries.partitions import Grid, Keyed, Marginal, Partition, Voronoi
from shoal.queries.projections import Projected, ProjectedLoss, Projection
from shoal.queries.published import AsPublished
from shoal.queries.radius import GoodRadius
from shoal.queries.regions import Inside, Region
from shoal.queries.rehearsal import RehearsalCurator
from shoal.queries.relative import Relative, Shells
from shoal.queries.replay import ReplayCurator
from shoal.queries.source import Source
from shoal.queries.subcells import SubCells
from shoal.queries.swaps import SwapCost
from shoal.queries.transcript import Transcript
from shoal.queries.trees import Tree
from shoal.queries.windows import BoxCount, HeldLoss, Windows, WindowSize

__all__ = [
    "AsPublished",
    "Ball",
    "Box",
    "BoxCount",
    "CellLoss",
    "Chosen",
    "ClusterCost",
    "CoordinateMass",
    "Cubes",
    "Curator",
    "Direction",
    "GoodRadius",
    "Grid",
    "HeldLoss",
    "Hyperplanes",
    "Inside",
    "Keyed",
    "LiveCurator",
    "Loss",
    "Marginal",
    "Noise",
    "NoisyCounts",
    "NoisyMeans",
    "NoisySums",
    "NotPrivate",
    "Offset",
    "OffsetCost",
    "Outer",
    "Partition",
    "Picked",
    "Projected",
    "ProjectedLoss",
    "Projection",
    "Region",
    "RehearsalCurator",
    "Relative",
    "ReplayCurator",
    "RowStat",
    "Shells",
    "Source",
    "SparseCounts",
    "Squares",
    "SubCells",
    "SwapCost",
    "Transcript",
    "Tree",
    "Value",
    "Voronoi",
    "WindowSize",
    "Windows",
    "WithCost",
]
