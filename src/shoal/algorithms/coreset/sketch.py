"""Feldman, Xiang, Zhu, Rus 2017, algorithm 1: how a coreset is made, and from which epsilon on it can be.

Find a small box that holds a 3/(8k) share of the rows, release its noisy mean with that weight, take away the
rows nearest to it, and go on with the rest. Proof and repairs: docs/proofs/coreset.md.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from shoal._typing import Array
from shoal.accounting import Approx, Budget, epsilon_of
from shoal.algorithms.coreset.small_ball import SHARE_FOR_MEAN, Search, SmallBall
from shoal.algorithms.shared.clustering import count_rows
from shoal.algorithms.synopses.coreset import Coreset
from shoal.domain import Bounds, Domain, Unit
from shoal.errors import InvalidInput, MostlyNoise
from shoal.postprocess import recentre
from shoal.queries import Box, Curator, Offset, RehearsalCurator, Voronoi

Shares: TypeAlias = Literal["fitted", "published"]

# A round finds a real place if its epsilon times the rows of its ball is about this. The paper's Table 2
# shows 24 to 71; calibrated in docs/proofs/coreset.md.
STRENGTH = 15.0
# Rounds go on until this share of the rows is represented, at least and at most.
LEAST_COVER, MOST_COVER = 0.5, 0.98
# Rounds that are planned per cluster, and that are run in all: it bounds the work. Not tuned.
MOST_ROUNDS = 400
# Standard deviation of a coordinate that is anywhere in [-1, 1].
RANDOM_SD = 1 / math.sqrt(3)
# What the last question is paid with: the mean of the rows around every point; or, without it, how many of
# the rows that are left lie there.
SHARE_FOR_MEANS, SHARE_FOR_LEFT = Fraction(1, 5), Fraction(1, 20)


def schedule(n_rows: float, n_clusters: int) -> list[int]:
    """Return how many rows each round stands for and takes away, until none is left.

    Feldman et al., Algorithm 1: w = 3 n / (8 k) of the n rows that are left; at least one, or it would never
    end.

    Examples
    --------
    >>> weights = schedule(100_000, 5)
    >>> weights[:3], sum(weights), len(schedule(1, 5))
    ([7500, 6937, 6417], 100000, 1)
    """
    weights: list[int] = []
    left = max(1, math.floor(n_rows))
    while left and len(weights) < MOST_ROUNDS * n_clusters:
        weights.append(max(1, 3 * left // (8 * n_clusters)))
        left -= weights[-1]
    return weights


@dataclass(frozen=True)
class CoresetSketch:
    """How to make a coreset.

    Parameters
    ----------
    n_clusters : int
        How many clusters it should serve: rounds look for balls of 3 n / (8 k) rows.
    search : {"windows", "published"}
        How a small ball is found: by the fullest of public windows, or by the published GoodRadius, which is
        for one or two columns.
    strength : float
        What the epsilon of a round times the rows of its ball must be at least.
    refine : bool
        Whether every point moves, in the end, to the noisy mean of all rows nearest to it, and gets their
        number for its weight. The paper does not do that.
    shares : {"fitted", "published"}
        What a round costs: all of the budget is shared out over the rounds that are run; or, as published,
        each has 3 / (8 k ln n) of it, whether or not so many are run, and rows that are left are ignored.
    """

    n_clusters: int
    search: Search = "windows"
    strength: float = STRENGTH
    refine: bool = True
    shares: Shares = "fitted"

    @property
    def share_for_last(self) -> Fraction:
        """What the last question is paid with; as published there is none."""
        if self.shares == "published":
            return Fraction(0)
        return SHARE_FOR_MEANS if self.refine else SHARE_FOR_LEFT

    def share_for(self, rounds: int, n_rows: float) -> Fraction:
        """Return what each of some rounds costs, of all that goes to rounds."""
        if self.shares == "fitted":
            return Fraction(1, rounds)
        # Feldman et al., algorithm 1, line 1: epsilon' = 3 epsilon / (8 k log n).
        published = Fraction(3 / (8 * self.n_clusters * math.log(max(n_rows, 3.0))))
        return min(published.limit_denominator(10**6), Fraction(1))

    def most_rounds(self, n_rows: float) -> int:
        """Return how many rounds the budget pays for."""
        return MOST_ROUNDS if self.shares == "fitted" else int(1 / self.share_for(1, n_rows))

    def __post_init__(self) -> None:
        if self.search not in ("windows", "published"):
            raise InvalidInput(f"search is {self.search!r}; it must be 'windows' or 'published'")
        if not 0 < self.strength < math.inf:
            raise InvalidInput(f"strength is {self.strength!r}; it must be a number above 0")
        if self.shares not in ("fitted", "published"):
            raise InvalidInput(f"shares is {self.shares!r}; it must be 'fitted' or 'published'")
        if self.shares == "published" and self.refine:
            raise InvalidInput(
                "shares='published' leaves nothing for the means that refine=True asks for in the end: say "
                "refine=False, or shares='fitted'"
            )

    def check(self, domain: Domain) -> None:
        """Refuse what cannot work, from public values, before anything is spent."""
        if self.search == "published" and domain.n_columns > 2:
            raise InvalidInput(
                f"search='published' is for one or two columns, and the table has {domain.n_columns}: "
                "use search='windows'"
            )

    def rounds(self, curator: Curator, weights: Sequence[float], share: Fraction) -> tuple[int, bool]:
        """Return how many rounds to run, and whether that many are strong enough.

        The more rounds, the smaller are their balls, and their shares of the budget unless these are as
        published: as many as leave the last one strong, but enough to represent half of the rows.
        """
        low, high = self.cover(weights, LEAST_COVER), self.cover(weights, MOST_COVER)
        if not self.strong(curator, weights, low, share):
            return low, False
        while low < high:  # a round more is weaker, always
            middle = (low + high + 1) // 2
            strong = self.strong(curator, weights, middle, share)
            low, high = (middle, high) if strong else (low, middle - 1)
        return low, True

    def strong(self, curator: Curator, weights: Sequence[float], rounds: int, share: Fraction) -> bool:
        """Say whether the last of `rounds` rounds stands out of its noise."""
        own = share * self.share_for(rounds, sum(weights))
        return curator.effective_epsilon(share=own) * weights[rounds - 1] >= self.strength

    def cover(self, weights: Sequence[float], share: float) -> int:
        """Return how many rounds represent a share of the rows, or as many as are paid for."""
        done = np.cumsum(weights)
        wanted = int(np.searchsorted(done, share * done[-1])) + 1
        return min(wanted, len(weights), MOST_ROUNDS, self.most_rounds(float(done[-1])))

    def ask(self, curator: Curator) -> Coreset:
        """Count rows if they are not public, find small balls one after another, and count what is left."""
        domain = curator.domain
        rows, rest = count_rows(curator)
        n_rows = rows.estimate
        # With weights, rows are kept by coins and stand for the largest weight each.
        largest = 1.0 if domain.max_weight is None else domain.max_weight
        weights = schedule(n_rows / largest, self.n_clusters)
        surely = rows.at_least / max(n_rows, 1.0)
        for_last = self.share_for_last * rest
        rounds, feasible = self.rounds(curator, [w * surely * largest for w in weights], rest - for_last)
        if not feasible:
            least = smallest_epsilon(n_rows / largest, self, curator.budget, domain.unit)
            _warn(n_rows / largest, least)
        share = (rest - for_last) * self.share_for(rounds, sum(weights) * surely * largest)
        weights = weights[:rounds]
        ball = SmallBall(self.search, domain.n_columns, n_rows / largest)
        rng = curator.public_rng("columns to cut")
        held = curator.hold(ball.grid)
        points = np.empty((rounds, domain.n_columns))
        for i, weight in enumerate(weights):
            points[i] = ball.find(held, weight, share, rng)
            held = held.without_nearest(points[i], weight)
        points, counts, count_sd = self._last(held, points, weights, for_last)
        return Coreset(
            points=Voronoi(points).centres,
            weights=counts * largest,
            domain=domain,
            rows=n_rows,
            sd=count_sd * largest,
            # A place chosen at random is as far off as any.
            point_sd=max(
                self.point_sd(curator, weights[-1] * surely, share) / largest, 0.0 if feasible else RANDOM_SD
            ),
        )

    def _last(
        self, held: Curator, points: Array, weights: Sequence[int], share: Fraction
    ) -> tuple[Array, Array, float]:
        """Ask what is asked in the end, if anything is."""
        if self.shares == "published":
            return points, np.array(weights, dtype=np.float64), 0.0
        if self.refine:
            return self._moved(held, points, share)
        return self._completed(held, points, weights, share)

    def _completed(
        self, held: Curator, points: Array, weights: Sequence[int], share: Fraction
    ) -> tuple[Array, Array, float]:
        """Add the rows that are left to the points they are nearest to."""
        left = held.histogram(Voronoi(points), share=share)
        return points, np.array(weights) + np.maximum(left.counts, 0.0), left.sd

    def _moved(self, held: Curator, points: Array, share: Fraction) -> tuple[Array, Array, float]:
        """Move every point to the mean of all rows nearest to it; one with hardly any rows stays."""
        # As far as the cells of that many points reach in an evenly filled domain.
        reach = min(1.0, 2 * math.pow(len(points), -1 / points.shape[1]))
        answer = held.restored().sums(Voronoi(points), of=Offset(points, Box(reach)), share=share)
        shift = recentre(answer.sums, answer.counts, answer.count_sd, fallback=np.zeros_like(points))
        # One row is the least a point can stand for.
        return np.clip(points + shift, -1.0, 1.0), np.maximum(answer.counts, 1.0), answer.count_sd

    def point_sd(self, curator: Curator, rows: float, share: Fraction) -> float:
        """Predict the noise of a coordinate of a point, for a window that holds its share of the domain."""
        d = curator.domain.n_columns
        reach = math.pow(min(1.0, 3 / (8 * self.n_clusters)), 1 / d)
        stat = Offset(np.zeros((2, d)), Box(max(reach, 1e-3)))
        sum_sd, _ = curator.noise_sd(of=stat, share=share * SHARE_FOR_MEAN)
        return sum_sd / rows


def smallest_epsilon(n_rows: float, sketch: CoresetSketch, budget: Budget, unit: Unit) -> float:
    """Return the least epsilon at which a coreset of this many rows stands out of its noise, by formula.

    Parameters
    ----------
    n_rows : float
        Public or noisy.
    sketch : CoresetSketch
        Its number of clusters and its strength.
    budget : Budget
        Whose delta to keep.
    unit : Unit
        Whom to protect.

    Examples
    --------
    >>> from shoal.accounting import budget_of
    >>> round(smallest_epsilon(100_000, CoresetSketch(5), budget_of(1.0), Unit()), 3)
    0.042
    """
    weights = schedule(n_rows, sketch.n_clusters)
    rounds = sketch.cover(weights, LEAST_COVER)
    curator = RehearsalCurator(Domain(Bounds.parse((-1, 1), 2), unit=unit), budget, n_rows)
    share = (1 - sketch.share_for_last) * sketch.share_for(rounds, sum(weights))
    now = curator.effective_epsilon(share=share) * weights[rounds - 1]
    # Strength grows with epsilon, and with the square root of rho.
    if isinstance(budget, Approx):
        return epsilon_of(float(budget.amount) * (sketch.strength / now) ** 2, float(budget.delta))
    return float(budget.amount) * sketch.strength / now


def _warn(n_rows: float, epsilon: float) -> None:
    warnings.warn(
        f"a coreset of about {n_rows:,.0f} rows needs an epsilon of at least {epsilon:.3g}, so the answer "
        "is mostly noise: raise epsilon, or use fewer clusters",
        MostlyNoise,
        stacklevel=2,
    )
