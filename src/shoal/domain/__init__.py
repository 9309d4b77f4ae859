"""What is public about a table: bounds, lattice, missing-value policy and whom the guarantee protects."""

from shoal.domain.bounds import Bounds, BoundsLike
from shoal.domain.chunk import Chunk
from shoal.domain.domain import Domain
from shoal.domain.lattice import STEPS, decode, encode, to_steps
from shoal.domain.schema import Field, Schema
from shoal.domain.unit import Unit

__all__ = [
    "STEPS",
    "Bounds",
    "BoundsLike",
    "Chunk",
    "Domain",
    "Field",
    "Schema",
    "Unit",
    "decode",
    "encode",
    "to_steps",
]
