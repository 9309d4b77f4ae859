"""Zhang, Xiao, Yang, Zhang, Winslett 2013 (PrivGene), as PGkM in Su, Cao, Li, Bertino, Jin 2016.

Breed sets of centres and let the rows choose, privately, which live on. Proof: docs/proofs/genetic.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal._typing import Array
from shoal.algorithms.shared.clustering import Clustering, count_rows
from shoal.errors import InvalidInput
from shoal.queries import ClusterCost, Curator, Voronoi

# Su et al., PGkM: generations R = max(8, x N epsilon / survivors) with x = 1.25e-3.
GENERATIONS_PER_CHOICE = 1.25e-3
FEWEST_GENERATIONS = 8
# PrivGene: a mutation has this standard deviation, in half widths, and shrinks with every generation.
MUTATION, DECAY = 0.1, 0.95
# Not in the paper, which releases no sizes: what the sizes of the chosen groups are paid with.
SHARE_FOR_SIZES = Fraction(1, 20)


@dataclass(frozen=True)
class Genetic:
    """Genetic search: each generation's fittest are chosen with noise, crossed and mutated.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    population : int
        Sets of centres in a generation; 200 in the paper.
    survivors : int
        How many of them are chosen to breed; 10 in the paper.
    max_generations : int
        The most generations, because each reads all rows once for every set. The paper has no limit.
    """

    n_clusters: int
    population: int = 200
    survivors: int = 10
    max_generations: int = 100

    def __post_init__(self) -> None:
        if not 1 <= self.survivors <= self.population:
            raise InvalidInput(
                f"survivors is {self.survivors}; it must be from 1 to the population, {self.population}"
            )

    def run(self, curator: Curator) -> Clustering:
        """Choose and breed for a fixed number of generations, then choose one set and count its groups."""
        rows, rest = count_rows(curator)
        for_sizes = SHARE_FOR_SIZES * rest
        search = rest - for_sizes
        epsilon = curator.effective_epsilon(share=search)
        generations = self.generations(rows.estimate, epsilon)
        rng = curator.public_rng("genetic search")
        sets = rng.uniform(-1.0, 1.0, (self.population, self.n_clusters, curator.domain.n_columns))
        share = search / generations
        for generation in range(generations - 1):
            fittest = curator.select(ClusterCost(sets), share=share, n=self.survivors)
            sets = breed(sets[fittest], self.population, MUTATION * DECAY**generation, rng)
        best = curator.select(ClusterCost(sets), share=share)[0]
        cells = Voronoi(sets[best])
        answer = curator.histogram(cells, share=for_sizes)
        return Clustering(
            centres=cells.centres,
            sizes=answer.counts,
            # The noise is in which set was chosen: there is no error to be had for a coordinate.
            centre_sd=np.full(cells.centres.shape, np.inf),
            size_sd=answer.sd,
            n_iter=generations,
            predicted_sd=self.predicted_sd(rows.at_least, epsilon, generations),
            domain=curator.domain,
        )

    def generations(self, n_rows: float, epsilon: float) -> int:
        """Return the published number of generations, at most `max_generations`.

        Examples
        --------
        >>> Genetic(5).generations(1e5, 1.0), Genetic(5).generations(1e4, 1.0), Genetic(5).generations(1e9, 1)
        (12, 8, 100)
        """
        wanted = min(GENERATIONS_PER_CHOICE * n_rows * epsilon / self.survivors, float(self.max_generations))
        return min(self.max_generations, max(FEWEST_GENERATIONS, math.floor(wanted)))

    def predicted_sd(self, n_rows: float, epsilon: float, generations: int) -> float:
        """Return how far centres may be off, a coordinate, without a choice among survivors noticing.

        At e = epsilon / (R survivors) a choice is off by about ln(m) D / e in cost with D <= 4 d, and centres
        that are all off by s a coordinate cost N d s^2 more.
        """
        choices = generations * self.survivors
        # At least two candidates, so that a population of one is not said to be without noise.
        return 2 * math.sqrt(math.log(max(self.population, 2)) * choices / (epsilon * max(n_rows, 1.0)))


def breed(parents: Array, n: int, mutation: float, rng: np.random.Generator) -> Array:
    """Return n children: pairs of parents swap their tails, then each child moves in one coordinate.

    Parameters
    ----------
    parents : ndarray of shape (n_parents, n_clusters, n_columns)
        Sets of points of [-1, 1]^d.
    n : int
        How many children.
    mutation : float
        Standard deviation of the move.
    rng : numpy Generator
        Public randomness.
    """
    flat = parents.reshape(len(parents), -1)
    genes, pairs = flat.shape[1], -(-n // 2)
    # One-point crossover: the cut leaves each side at least one gene, where there are two.
    cut = rng.integers(1, max(genes, 2), (pairs, 1))
    one, other = flat[rng.integers(len(flat), size=(2, pairs))]
    head = np.arange(genes) < cut
    children = np.concatenate([np.where(head, one, other), np.where(head, other, one)])[:n]
    where = rng.integers(genes, size=n)
    children[np.arange(n), where] += rng.normal(0.0, mutation, n)
    return np.asarray(np.clip(children, -1.0, 1.0)).reshape(n, *parents.shape[1:])
