"""The gate: the only place where rows, noise and budget meet.

Algorithms get a :class:`Curator` and ask it typed questions about public objects. Every question is
charged before it is answered, and the answer is already noisy.
"""

from shoal.queries.gate.answering import LiveCurator, RehearsalCurator, ReplayCurator, Transcript
from shoal.queries.gate.curator import Curator
from shoal.queries.gate.made_up import MadeUpCurator, MadeUpTable
from shoal.queries.gate.not_for_release import NotForRelease
from shoal.queries.laws.noise import Noise
from shoal.queries.losses.cell_losses import CellLoss, OffsetCost
from shoal.queries.losses.cluster_cost import ClusterCost, Loss
from shoal.queries.losses.coordinate_mass import CoordinateMass
from shoal.queries.losses.good_radius import GoodRadius
from shoal.queries.losses.projected import ProjectedLoss
from shoal.queries.losses.swaps import SwapCost
from shoal.queries.losses.windows import BoxCount, HeldLoss, Windows, WindowSize
from shoal.queries.partitions.cells import Grid, Keyed, Marginal, Partition, Voronoi
from shoal.queries.partitions.cubes import Cubes
from shoal.queries.partitions.hyperplanes import Hyperplanes
from shoal.queries.partitions.projections import Projected, Projection
from shoal.queries.partitions.region import Inside, Region
from shoal.queries.partitions.sides import Sides
from shoal.queries.partitions.subcells import SubCells
from shoal.queries.partitions.trees import BEYOND, Nodes, Tree
from shoal.queries.questions.answers import (
    Chosen,
    NoisyCounts,
    NoisyMeans,
    NoisySums,
    NotPrivate,
    PartCounts,
    SparseCounts,
)
from shoal.queries.questions.base import Source
from shoal.queries.questions.published import AsPublished
from shoal.queries.questions.seeds_published import SeedsAsPublished
from shoal.queries.statistics.aggregates import Ball, Box, Offset, RowStat, Value, WithCost
from shoal.queries.statistics.direction import Direction
from shoal.queries.statistics.picked import Picked
from shoal.queries.statistics.relative import Relative, Shells
from shoal.queries.statistics.second_moments import Outer, Squares

__all__ = [
    "BEYOND",
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
    "MadeUpCurator",
    "MadeUpTable",
    "Marginal",
    "Nodes",
    "Noise",
    "NoisyCounts",
    "NoisyMeans",
    "NoisySums",
    "NotForRelease",
    "NotPrivate",
    "Offset",
    "OffsetCost",
    "Outer",
    "PartCounts",
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
    "SeedsAsPublished",
    "Shells",
    "Sides",
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
