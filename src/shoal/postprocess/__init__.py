"""Public arithmetic on released values. Nothing here has ever seen a row."""

from shoal.postprocess.evidence import centre_sd, divide, recentre
from shoal.postprocess.packing import pack

__all__ = ["centre_sd", "divide", "pack", "recentre"]
