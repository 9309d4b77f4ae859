"""What may leave the building: centres, noisy sizes and the certificate that travels with them."""

from shoal.release.certificate import Certificate
from shoal.release.comparing import Change, Comparison, compare
from shoal.release.coreset import CoresetRelease
from shoal.release.folder import check_free
from shoal.release.intervals import Intervals, TotalIntervals
from shoal.release.loading import AnyRelease, load
from shoal.release.release import Release
from shoal.release.signing import sign
from shoal.release.step import StepRelease
from shoal.release.stream import CoresetStream
from shoal.release.synopsis import SynopsisRelease
from shoal.release.verifying import Check, Verification, verify
from shoal.release.zoned import ZonedRelease

__all__ = [
    "AnyRelease",
    "Certificate",
    "Change",
    "Check",
    "Comparison",
    "CoresetRelease",
    "CoresetStream",
    "Intervals",
    "Release",
    "StepRelease",
    "SynopsisRelease",
    "TotalIntervals",
    "Verification",
    "ZonedRelease",
    "check_free",
    "compare",
    "load",
    "sign",
    "verify",
]
