"""What is public about a table: bounds, lattice, missing-value policy and whom the guarantee protects."""

from shoal.domain.bounds import Bounds, BoundsLike
from shoal.domain.domain import Domain, Unit
from shoal.domain.lattice import STEPS, Chunk, decode, encode, to_steps
from shoal.domain.part import Part
from shoal.domain.schema import Field, Schema

__all__ = [
    "STEPS",
    "Bounds",
    "BoundsLike",
    "Chunk",
    "Domain",
    "Field",
    "Part",
    "Schema",
    "Unit",
    "decode",
    "encode",
    "to_steps",
]
