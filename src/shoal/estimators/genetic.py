"""Genetic search of PrivGene as an estimator."""

from __future__ import annotations

from typing import Unpack

from shoal.accounting import Approx, Pure
from shoal.algorithms import Algorithm
from shoal.algorithms.genetic import Genetic
from shoal.estimators.base import PrivateKMeans
from shoal.estimators.parameters import Common, check_count


class GeneticKMeans(PrivateKMeans):
    """Genetic search among sets of centres, the fittest chosen privately (PrivGene, PGkM of Su et al.).

    A baseline: it makes many choices, so it needs many rows or much budget. Standard errors of centres are
    not known (infinite), because the noise is in which set was chosen; sizes are paid for with 5 % of the
    budget, which the paper does not do.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private.
    population : int
        Sets of centres in a generation.
    survivors : int
        How many of them are chosen to breed.
    max_generations : int
        The most generations; as published they grow with the number of rows times epsilon, and each reads
        all rows once for every set.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import GeneticKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (9000, 2)), rng.normal(8, 0.5, (9000, 2))])
    >>> model = GeneticKMeans(n_clusters=2, epsilon=5.0, bounds=(0, 10)).fit(X)
    >>> model.cluster_centers_.shape
    (2, 2)
    """

    _registered = "genetic"

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float,
        population: int = 200,
        survivors: int = 10,
        max_generations: int = 100,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.population = population
        self.survivors = survivors
        self.max_generations = max_generations

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:  # noqa: ARG002
        return Genetic(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            population=check_count(self.population, "population"),
            survivors=check_count(self.survivors, "survivors"),
            max_generations=check_count(self.max_generations, "max_generations"),
        )
