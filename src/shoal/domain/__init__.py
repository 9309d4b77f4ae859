"""What is public about a table: bounds, lattice, missing-value policy and whom the guarantee protects."""

from shoal.domain.bounds import Bounds, BoundsLike
from shoal.domain.domain import Domain, Unit
from shoal.domain.lattice import STEPS, Chunk, decode, encode, to_steps
from shoal.domain.part import Part
from shoal.domain.schema import Field, Schema
from shoal.domain.zones import InZone, Zone, Zones

__all__ = [
    "STEPS",
    "Bounds",
    "BoundsLike",
    "Chunk",
    "Domain",
    "Field",
    "InZone",
    "Part",
    "Schema",
    "Unit",
    "Zone",
    "Zones",
    "decode",
    "encode",
    "to_steps",
]
