"""A release: the groups in the table's own units, with their certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.algorithms import Clustering
from shoal.domain import Domain
from shoal.queries import Transcript
from shoal.release.certificate import Certificate


@dataclass(frozen=True, eq=False)
class Release:
    """What may be published.

    Parameters
    ----------
    names : tuple of str
        Column names.
    centres : ndarray of shape (n_clusters, n_columns)
        In the table's own units.
    sizes : ndarray of shape (n_clusters,)
        Noisy sizes.
    centre_sd : ndarray of shape (n_clusters, n_columns)
        Standard errors of the centres from the noise, given the assignment.
    size_sd : float
        Standard error of a size.
    certificate : Certificate
        What is guaranteed.
    transcript : Transcript
        Every question and noisy answer.
    domain : Domain
        Bounds, scaling and unit that the centres belong to.
    """

    names: tuple[str, ...]
    centres: npt.NDArray[np.float64]
    sizes: npt.NDArray[np.float64]
    centre_sd: npt.NDArray[np.float64]
    size_sd: float
    certificate: Certificate
    transcript: Transcript
    domain: Domain

    @classmethod
    def of(cls, clustering: Clustering, certificate: Certificate, transcript: Transcript) -> Release:
        """Put a clustering into the table's own units."""
        domain = clustering.domain  # as the bounds turned out, where they were estimated
        return cls(
            names=domain.names or tuple(f"x{i}" for i in range(domain.n_columns)),
            centres=domain.decode(clustering.centres),
            sizes=clustering.sizes,
            centre_sd=clustering.centre_sd * domain.bounds.half_width,
            size_sd=clustering.size_sd,
            certificate=certificate,
            transcript=transcript,
            domain=domain,
        )
