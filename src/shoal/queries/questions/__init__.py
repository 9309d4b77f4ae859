"""The questions an algorithm can ask, as frozen public values: what the transcript records and replays.

Each is one file: its law and price, how it is computed, its answer, and how that is rehearsed and verified.
"""

from shoal.queries.questions.base import AnyQuestion, Question, Terms
from shoal.queries.questions.blocks import BlockMeans
from shoal.queries.questions.grow import Grow
from shoal.queries.questions.histogram import Histogram
from shoal.queries.questions.parts import Parts
from shoal.queries.questions.published import AsPublished
from shoal.queries.questions.seeds_published import SeedsAsPublished
from shoal.queries.questions.select import Select
from shoal.queries.questions.select_each import SelectEach
from shoal.queries.questions.sparse import SparseHistogram
from shoal.queries.questions.steps import Hold, Note, PublicSeed, Restore, Step, WithoutNearest
from shoal.queries.questions.sums import Sums

__all__ = [
    "AnyQuestion",
    "AsPublished",
    "BlockMeans",
    "Grow",
    "Histogram",
    "Hold",
    "Note",
    "Parts",
    "PublicSeed",
    "Question",
    "Restore",
    "SeedsAsPublished",
    "Select",
    "SelectEach",
    "SparseHistogram",
    "Step",
    "Sums",
    "Terms",
    "WithoutNearest",
]
