"""What may leave the building: centres, noisy sizes and the certificate that travels with them."""

from shoal.release.certificate import Certificate
from shoal.release.release import Release

__all__ = ["Certificate", "Release"]
