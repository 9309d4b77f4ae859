"""One paid look at the table, and every level tried on rows made up from it: free to explore from then on.

What noise does hangs on epsilon times the number of rows. So a large table is stood for by fewer made-up
rows with as much more epsilon, and sizes are told for as many rows as the look has counted.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans as PlainKMeans

from shoal._typing import Array
from shoal.accounting import epsilon_of, rho_of
from shoal.errors import ShoalError
from shoal.estimators import KMeans, PrivateCoreset, PrivTreeSynopsis
from shoal.release.release import Release
from shoal.release.synopsis import SynopsisRelease
from shoal.studio.workshop.levels import Level
from shoal.studio.workshop.locks import locked
from shoal.studio.workshop.models import synopsis_model
from shoal.studio.workshop.tasks import Task
from shoal.studio.workshop.values import MOST_POINTS, LevelView, Points

# Made-up rows that stand for a table at most: a fit on them takes about half a second, and a group of one in
# a hundred still has 300.
_MADE_UP = 30_000
# Fits per level: the middle one is shown, and how far others are from it says how sure it is.
_RUNS = 5
# An epsilon above which noise can no longer be told from none.
_NO_NOISE = 1000.0
# Standard deviations that 19 of 20 fits lie within, were they normal.
_NINETEEN_OF_TWENTY = 1.96
# Cells per column that points are joined in, from the finest.
_JOINED = (256, 220, 190, 160, 140, 120, 100, 88, 76, 64, 56, 48, 40, 32, 24, 16, 12, 8, 6, 4, 3, 2)
# Boxes of the look per group, below which it cannot have told groups apart.
_BOXES_A_GROUP = 5
_LOOK_SHARE = 0.15  # of the progress bar

ERRORS_ARE = (
    "how far another fit at this level puts a centre or a size (19 of 20), tried on made-up rows: noise and "
    "grouping both counted"
)


def prepare(task: Task) -> dict[str, Any]:
    """Pay for the look, once, and try every level on rows made up from it.

    Parameters
    ----------
    task : Task
        The job.
    """
    look = _look(task)
    levels = [Level(**plain) for plain in task.request["levels"]]
    trial = Trial(look, task.draft.k, int(task.request["seed"]), delta=task.draft.delta)
    path = task.home / "views" / f"{task.request['views']}.json"
    views = {view["level"]["epsilon"]: view for view in _read(path)}
    # From the middle outwards, so that the slider has something to show soon.
    for i, level in enumerate(sorted(levels, key=lambda level: abs(math.log(level.epsilon)))):
        if level.epsilon not in views:
            share = _LOOK_SHARE + (1 - _LOOK_SHARE) * i / len(levels)
            task.tell(share, f"trying level {level.name!r} on made-up rows ({i + 1} of {len(levels)})")
            views[level.epsilon] = trial.view(level).to_dict()
            _write(path, [views[epsilon] for epsilon in sorted(views)])
    return {"views": len(views)}


def _look(task: Task) -> SynopsisRelease:
    """Return the released synopsis: paid for under a name that follows from the declarations, so once."""
    folder = task.home / "looks" / task.request["look"]
    with locked(task.home / "locks" / f"look-{task.request['look']}"):
        if not folder.is_dir():
            own = json.dumps([task.memory.setting("id"), task.request["look"]])
            fit = hashlib.sha256(own.encode()).hexdigest()[:32]
            model = synopsis_model(task.draft, task.budget(fit))
            task.watch(model, 0.0, _LOOK_SHARE, "one look, paid for")
            model.fit(task.table())
            model.release_.save(folder)
    return SynopsisRelease.load(folder)


class Trial:
    """Levels tried on rows that are made up from a released synopsis: nobody's, so fits on them are free.

    Parameters
    ----------
    look : SynopsisRelease
        What was paid for.
    k : int or "auto"
        How many groups.
    seed : int
        Public.
    rows : int, optional
        How many rows the table has, where that is known; as the look counted, if not given.
    delta : float
        Of a release.
    """

    def __init__(
        self, look: SynopsisRelease, k: Any, seed: int, rows: float | None = None, *, delta: float = 0.0
    ) -> None:
        self.names, self.k, self.seed, self.delta = look.names, k, seed, delta
        self.true_rows = max(float(look.synopsis.rows) if rows is None else rows, 1.0)
        n = int(min(max(self.true_rows, 1), _MADE_UP))
        self.X: Array = np.asarray(look.sample(n, rng=seed, like="numpy"))
        self.scale = self.true_rows / n  # each stands for so many
        bounds = look.domain.bounds
        self.bounds = (np.array(bounds.lower), np.array(bounds.upper))
        self._half = np.where(bounds.half_width > 0, bounds.half_width, 1.0)
        self._boxes = int((look.synopsis.weights > 0).sum())
        self._best: dict[int, float] = {}

    def view(self, level: Level) -> LevelView:
        """Try one level.

        Parameters
        ----------
        level : Level
            Which.
        """
        epsilon, runs = self._epsilon(level), self.runs(level)
        excess = [self.excess(run) for run in runs]
        middle = int(np.argsort(excess, kind="stable")[len(excess) // 2])
        shown = runs[middle]
        centre_errors, size_errors = self._errors(shown, [r for i, r in enumerate(runs) if i != middle])
        points = self._points(epsilon)
        return LevelView(
            level=level,
            names=tuple(self.names),
            centres=_tuples(shown.centres),
            sizes=tuple(float(s) for s in np.maximum(shown.sizes, 0.0) * self.scale),
            centre_errors=_tuples(centre_errors),
            size_errors=tuple(float(e) for e in size_errors * self.scale),
            errors_are=ERRORS_ARE,
            points=self._joined(*points),
            coreset=self._coreset(epsilon, len(shown.sizes)),
            excess=float(excess[middle]),
            worst_excess=float(max(excess)),
            predicted=_words(excess[middle], max(excess)),
            rows=len(self.X),
            doubt=self._doubt(len(shown.sizes)),
        )

    def _doubt(self, k: int) -> str:
        """Say where the look has told too little apart for made-up rows to be like the table."""
        if self._boxes >= _BOXES_A_GROUP * k:
            return ""
        return (
            f"the look saw only {self._boxes} boxes with rows, too few to tell {k} groups apart: made-up "
            "rows say little of this table, and so does what is predicted. A dearer look sees more"
        )

    def runs(self, level: Level) -> list[Release]:
        """Return what fits at a level release of the made-up rows."""
        epsilon = self._epsilon(level)
        return [KMeans(self.k, **self._given(epsilon, i)).fit(self.X).release_ for i in range(_RUNS)]

    def excess(self, release: Release) -> float:
        """Return the cost beyond that of k-means without privacy on the same made-up rows, as a share."""
        return self._cost(release.centres) / self._least(len(release.centres)) - 1

    def _epsilon(self, level: Level) -> float:
        if not self.delta:
            return min(level.epsilon * self.scale, _NO_NOISE)
        # With delta noise is by rho, which grows with the square of the rows that each stands for.
        rho = rho_of(level.epsilon, self.delta) * self.scale**2
        return min(epsilon_of(rho, self.delta), _NO_NOISE)

    def _given(self, epsilon: float, run: int) -> dict[str, Any]:
        # Seeds are public, and rows nobody's: there is nothing to protect, and the same views come again.
        given = {"epsilon": epsilon, "bounds": self.bounds, "random_state": 1000 * self.seed + run}
        return {**given, "delta": self.delta} if self.delta else given

    def _cost(self, centres: Array) -> float:
        """Return the mean squared distance to the nearest centre, with columns scaled to their bounds."""
        total = 0.0
        for start in range(0, len(self.X), 4096):
            gap = (self.X[start : start + 4096, np.newaxis] - centres) / self._half
            total += float((gap**2).sum(axis=2).min(axis=1).sum())
        return max(total / max(len(self.X), 1), 1e-12)

    def _least(self, k: int) -> float:
        """Return the cost of k-means without privacy on the same made-up rows."""
        if k not in self._best:
            k_there = min(k, len(np.unique(self.X, axis=0)))
            plain = PlainKMeans(k_there, n_init=4, random_state=self.seed).fit(self.X / self._half)
            self._best[k] = self._cost(plain.cluster_centers_ * self._half)
        return self._best[k]

    def _errors(self, shown: Release, others: list[Release]) -> tuple[Array, Array]:
        """Return how far other fits put each centre and its size."""
        k = len(shown.sizes)
        squares, sizes = np.zeros_like(shown.centres), np.zeros(k)
        for other in others:
            gap = (shown.centres[:, np.newaxis] - other.centres) / self._half
            near = (gap**2).sum(axis=2)
            # Where the data says another number of groups, some have one in common.
            match = linear_sum_assignment(near)[1] if len(other.sizes) >= k else near.argmin(axis=1)
            squares += (shown.centres - other.centres[match]) ** 2
            sizes += (shown.sizes - other.sizes[match]) ** 2
        n = max(len(others), 1)
        # Two fits differ by the errors of both.
        factor = _NINETEEN_OF_TWENTY / math.sqrt(2)
        return factor * np.sqrt(squares / n), factor * np.sqrt(sizes / n)

    def _points(self, epsilon: float) -> tuple[Array, Array]:
        held = PrivTreeSynopsis(**self._given(epsilon, 0)).fit(self.X).release_.synopsis
        stand_out = held.weights > 0
        return held.domain.decode(held.places()[stand_out]), held.weights[stand_out] * self.scale

    def _coreset(self, epsilon: float, k: int) -> Points:
        try:
            made = PrivateCoreset(k, **self._given(epsilon, 0)).fit(self.X).release_
        except ShoalError:  # too many columns, or too little budget: there is none to show
            return Points()
        return self._joined(made.points, made.weights * self.scale)

    def _joined(self, at: Array, weights: Array) -> Points:
        """Join points for the screen: neighbours become one, where all of them are."""
        n = len(weights)
        for cells in _JOINED if n > MOST_POINTS else ():
            lower, upper = self.bounds
            width = np.where(upper > lower, upper - lower, 1.0)
            where = np.clip(((at - lower) / width * cells).astype(np.int64), 0, cells - 1)
            _, group = np.unique(where, axis=0, return_inverse=True)
            group = group.reshape(-1)
            if group.max(initial=0) + 1 <= MOST_POINTS:
                total = np.bincount(group, weights=weights).astype(np.float64)
                columns = [np.bincount(group, weights=weights * column) / total for column in at.T]
                at, weights = np.column_stack(columns), total
                break
        heaviest = np.argsort(-weights, kind="stable")[:MOST_POINTS]
        return Points(_tuples(at[heaviest]), tuple(float(w) for w in weights[heaviest]), n)


def _words(excess: float, worst: float) -> str:
    def share(value: float) -> str:
        return f"{100 * max(value, 0.0):.{1 if value < 0.0995 else 0}f} %"

    if excess < 0.0005:
        return f"about as good as without privacy, tried {_RUNS} times on made-up rows"
    return (
        f"about {share(excess)} more than without privacy ({share(worst)} in the worst of {_RUNS} tries), on "
        "made-up rows: the real table may differ"
    )


def _tuples(values: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(v) for v in row) for row in values)


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _write(path: Path, views: list[dict[str, Any]]) -> None:
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps(views), encoding="utf-8")
    partial.rename(path)
