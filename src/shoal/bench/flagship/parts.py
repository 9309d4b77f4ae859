"""The parts of the flagship's run: what each still has to fit, given what was found.

A part is asked again after what it asked for was done, so that it can go by what it has seen: who the best
other algorithm is, is found on seeds of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from shoal.algorithms.kmeans.kmeans import CUT_COLUMNS
from shoal.bench.flagship.cells import (
    DEVELOPMENT_SEEDS,
    FINAL_SEEDS,
    OTHERS,
    PICKING_SEEDS,
    Cell,
    boxes_of,
)
from shoal.bench.flagship.found import Found
from shoal.bench.flagship.tables import TABLES, rows_of

Job: TypeAlias = tuple[Cell, int]

REGRET_EPSILONS = (0.1, 0.25, 1.0)
PEER_EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
MEAN_EPSILONS = (0.05, *PEER_EPSILONS)
PEER_DELTA = 1e-6
# An other algorithm that is this far from the best of them after a few runs gets no more.
OUT_OF_REACH = 1.5
# Where the number of groups is known, and where there are no clear ones.
CLEAR = (
    "s1",
    "s2",
    "a1",
    "d31",
    *(f"gauss{d}_{k}" for d in (2, 5) for k in (2, 5, 10)),
    "gauss3_4",
    "gauss8_5",
)
UNCLEAR = ("pickups", "adult", "image", "walking", "city2", "lifesci")


@dataclass(frozen=True)
class Scope:
    """Which tables and seeds a run may look at.

    Parameters
    ----------
    tables : tuple of str
        Their names.
    seeds, picking : int
        The first seed of what is compared, and of what the best other algorithm is picked on.
    runs, picks, screen : int
        Runs of what is compared; of the other algorithms that are within reach; of all others.
    """

    tables: tuple[str, ...]
    seeds: int = FINAL_SEEDS
    picking: int = PICKING_SEEDS
    runs: int = 20
    picks: int = 10
    screen: int = 3

    @classmethod
    def of(
        cls,
        *,
        tuning: bool = False,
        held_out: bool = False,
        only: tuple[str, ...] = (),
        quick: bool = False,
        runs: int | None = None,
    ) -> Scope:
        """Return the scope of a run: tables for tuning with development's seeds, or those held out, or all.

        What is compared has no more than `runs` runs, if given.

        Examples
        --------
        >>> Scope.of(tuning=True).seeds == Scope.of().seeds, "digits" in Scope.of(tuning=True).tables
        (False, False)
        """
        names = tuple(
            name
            for name, table in TABLES.items()
            if (not only or name in only)
            and not (tuning and table.held_out)
            and not (held_out and not table.held_out)
        )
        seeds = (DEVELOPMENT_SEEDS, DEVELOPMENT_SEEDS + 5_000) if tuning else (FINAL_SEEDS, PICKING_SEEDS)
        most, picks, screen = (5, 3, 2) if quick else (20, 10, 3)
        return cls(names, *seeds, min(most, runs or most), picks, screen)


def regret(scope: Scope, found: Found) -> list[Job]:
    """Fit KMeans; screen every other algorithm, run those within reach again, and compare with the best."""
    jobs = [job for name in scope.tables for e in REGRET_EPSILONS for job in _compared(Cell(name, e), scope)]
    for name in scope.tables:
        for epsilon in REGRET_EPSILONS:
            others = [Cell(name, epsilon, algorithm=other) for other in OTHERS]
            jobs += [job for cell in others for job in _runs(cell, scope.picking, scope.screen)]
            jobs += [
                job
                for cell in within_reach(others, scope, found)
                for job in _runs(cell, scope.picking, scope.picks)
            ]
            if (best := best_other(name, epsilon, scope, found)) is not None:
                jobs += _compared(best, scope)
    return _missing(jobs, found)


def within_reach(others: list[Cell], scope: Scope, found: Found) -> list[Cell]:
    """Return the other algorithms that are not far behind after the first runs."""
    seen = [(cell, s.mean) for cell in others if (s := found.summary(cell, scope.picking, scope.screen))]
    if not seen or not all(found.done(cell, scope.picking + scope.screen - 1) for cell in others):
        return []
    least = min(mean for _, mean in seen)
    return [cell for cell, mean in seen if mean <= OUT_OF_REACH * least]


def best_other(name: str, epsilon: float, scope: Scope, found: Found) -> Cell | None:
    """Return the other algorithm that is the best on the seeds of its own; None until it is known."""
    others = [Cell(name, epsilon, algorithm=other) for other in OTHERS]
    near = within_reach(others, scope, found)
    if not near or not all(found.done(cell, scope.picking + scope.picks - 1) for cell in near):
        return None
    means = {cell: s.mean for cell in near if (s := found.summary(cell, scope.picking, scope.picks))}
    return min(means, key=lambda cell: means[cell])


def loose(scope: Scope, found: Found) -> list[Job]:
    """Fit every table of up to six columns in boxes that are too wide, on the globe and without bounds."""
    cells = (Cell(n, e, box) for n in scope.tables for box in boxes_of(n) for e in REGRET_EPSILONS)
    return _missing((job for cell in cells for job in _compared(cell, scope)), found)


def peers(scope: Scope, found: Found) -> list[Job]:
    """Fit the tables with stored figures of peers, pure and, where these had it, with delta."""
    names = [name for name in scope.tables if TABLES[name].peer]
    cells = [cell for n in names for e in PEER_EPSILONS for cell in (Cell(n, e), with_delta(n, e))]
    return _missing((job for cell in cells for job in _compared(cell, scope)), found)


def with_delta(name: str, epsilon: float) -> Cell:
    """Return what is fitted where a delta is allowed: KMeans uses none in few columns, so it is the pure fit.

    Examples
    --------
    >>> with_delta("iris", 1.0).delta, with_delta("digits", 1.0).delta
    (0.0, 1e-06)
    """
    many = rows_of(name)[0].shape[1] > CUT_COLUMNS
    return Cell(name, epsilon, delta=PEER_DELTA if many else 0.0)


def one_mean(scope: Scope, found: Found) -> list[Job]:
    """Fit every table at every epsilon, to be held against one noisy mean with the whole budget."""
    cells = [Cell(name, epsilon) for name in scope.tables for epsilon in MEAN_EPSILONS]
    return _missing((job for cell in cells for job in _compared(cell, scope)), found)


def choose_k(scope: Scope, found: Found) -> list[Job]:
    """Let KMeans choose the number of groups, where it is known and where there are no clear ones."""
    names = [name for name in (*CLEAR, *UNCLEAR) if name in scope.tables]
    cells = [Cell(name, 1.0, n_clusters="auto") for name in names]
    return _missing((job for cell in cells for job in _compared(cell, scope)), found)


Part: TypeAlias = Callable[[Scope, Found], list[Job]]
PARTS: dict[str, Part] = {
    "regret": regret,
    "loose": loose,
    "peers": peers,
    "one-mean": one_mean,
    "choose-k": choose_k,
}


def _runs(cell: Cell, first: int, n: int) -> Iterator[Job]:
    return ((cell, first + i) for i in range(n))


def _compared(cell: Cell, scope: Scope) -> Iterator[Job]:
    return _runs(cell, scope.seeds, scope.runs)


def _missing(jobs: Iterator[Job] | list[Job], found: Found) -> list[Job]:
    # Table by table: a worker keeps the last few.
    wanted = dict.fromkeys((cell, seed) for cell, seed in jobs if not found.done(cell, seed))
    order = {name: i for i, name in enumerate(TABLES)}
    return sorted(wanted, key=lambda job: (order[job[0].table], job[1]))
