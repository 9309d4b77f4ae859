"""Public arithmetic on released values. Nothing here has ever seen a row."""

from shoal.postprocess.packing import pack
from shoal.postprocess.recentre import centre_sd, recentre

__all__ = ["centre_sd", "pack", "recentre"]
