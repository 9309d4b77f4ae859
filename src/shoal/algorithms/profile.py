"""What released groups are like in columns that did not decide them: noisy means (Dwork et al. 2006).

The groups are the rows nearest to released centres, so they are public cells; one question asks for sums of
the further columns and for counts. Proof: docs/proofs/profile.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal._typing import Array
from shoal.domain import Domain
from shoal.errors import InvalidInput
from shoal.postprocess.evidence import centre_sd
from shoal.queries import Curator, Picked, Voronoi


@dataclass(frozen=True, eq=False)
class Profile:
    """Means of columns over groups.

    Parameters
    ----------
    means, means_sd : ndarray of shape (n_groups, n_profiled)
        Points of [-1, 1], with standard deviations of their noise; infinite where a group may be empty.
    sizes : ndarray of shape (n_groups,)
        Noisy sizes of the groups in this table.
    profiled : tuple of int
        Which columns of the domain they are of.
    domain : Domain
        What they are scaled to.
    """

    means: Array
    means_sd: Array
    sizes: Array
    profiled: tuple[int, ...]
    domain: Domain
    mean_sd: None = None

    @property
    def values(self) -> dict[str, Array]:
        """Means with their noise, in the table's own units, and sizes."""
        columns = list(self.profiled)
        half, middle = self.domain.bounds.half_width[columns], self.domain.bounds.middle[columns]
        # A group that may be empty could be anywhere: its mean is the middle, and its noise the whole range.
        known = np.isfinite(self.means_sd)
        return {
            "mean": middle + np.where(known, self.means, 0.0) * half,
            "mean_noise_sd": np.where(known, self.means_sd, 1.0) * half,
            "size": self.sizes,
        }

    def describe(self) -> str:
        """Say what it is."""
        names = self.domain.names or ()
        told = ", ".join(names[j] for j in self.profiled[:4]) + (", ..." if len(self.profiled) > 4 else "")
        return f"means of {told} over {len(self.sizes)} groups"


@dataclass(frozen=True)
class GroupMeans:
    """Noisy means of columns over the rows nearest to public centres.

    Parameters
    ----------
    centres : tuple of tuple of float
        Released centres, in scaled units of the columns that decide.
    clustered, profiled : tuple of int
        Which columns of the domain decide which group a row is in, and which are averaged.
    """

    centres: tuple[tuple[float, ...], ...]
    clustered: tuple[int, ...]
    profiled: tuple[int, ...]

    def check(self, domain: Domain) -> None:
        """Refuse columns that would both decide and be averaged, or that count in the distance."""
        if sorted((*self.clustered, *self.profiled)) != list(range(domain.n_columns)):
            raise InvalidInput("each column either decides which group a row is in, or is averaged")
        if (domain.column_scale[list(self.profiled)] != 0).any():
            raise InvalidInput("columns that are averaged must not count in the distance")

    def run(self, curator: Curator) -> Profile:
        """Ask once."""
        domain = curator.domain
        self.check(domain)
        places = np.zeros((len(self.centres), domain.n_columns))
        places[:, list(self.clustered)] = self.centres
        picked = Picked(np.tile(np.array(self.profiled), (len(places), 1)))
        answer = curator.sums(Voronoi(places), of=picked, share=Fraction(1))
        means = np.clip(answer.sums / np.maximum(answer.counts, 1.0)[:, np.newaxis], -1.0, 1.0)
        spread = centre_sd(means, answer.counts, answer.sum_sd, answer.count_sd)
        return Profile(means, spread, answer.counts, self.profiled, domain)
