"""An algorithm sees only the curator's answers: without rows, the same answers give the same result."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import zoo
from shoal.algorithms import Algorithm, Clustering, Lloyd, run_prepared
from shoal.audit import replays
from shoal.domain import Bounds
from shoal.errors import ReplayMismatch
from shoal.queries import ReplayCurator, Voronoi

# Each under both kinds of budget, but for noise that is of one kind.
RUNS = [
    (member, delta)
    for member in (*zoo.MODELS, *zoo.SYNOPSES)
    for delta in (0.0, 1e-6)
    if not member.given.get("published") and (delta > 0 or member.given.get("noise") != "gaussian")
]


@dataclass(frozen=True)
class Prepared:
    """As a fit runs it: bounds first, where they are not known, and clipped cells, if they are asked for."""

    algorithm: Algorithm
    count_clipped: bool

    def run(self, curator):
        return run_prepared(self.algorithm, curator, count_clipped=self.count_clipped)


@pytest.mark.parametrize(("member", "delta"), RUNS, ids=str)
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_replay_is_bit_identical(member, delta, behind_gate):
    model, rows = member.model.set_params(delta=delta), zoo.table(member.columns)
    bounds = Bounds.not_known(member.columns) if model.bounds is None else model.bounds
    how = {"epsilon": model.epsilon, "delta": delta, "bounds": bounds, "n_rows": model.n_rows}
    public = {"scaling": model.scaling, "missing": model.missing, "unit": model._unit()}
    algorithm = Prepared(model._rehearsed(model._choose(weighted=False)[1]), model.count_clipped)
    replays(algorithm, behind_gate(rows, **how, **public), rows)


class StartsFromARow(Lloyd):
    """Cheats: begins at rows it was handed behind the curator's back."""

    rows: np.ndarray

    def run(self, curator):
        centres = self.rows[: self.n_clusters].copy()
        answer = curator.sums(Voronoi(centres), share=Fraction(1))
        return Clustering(centres + 0 * answer.sums, answer.counts, answer.sums, 0.0, 1, 0.0, curator.domain)


class AsksMoreWhenFull(Lloyd):
    """Cheats: the number of questions depends on the exact number of rows."""

    def run(self, curator):
        n = getattr(curator, "_source", None)
        if n is not None and n.reduce(lambda chunk: chunk.n_rows, lambda a, b: a + b) > 1000:
            curator.sums(Voronoi(np.zeros((1, 2))), share=Fraction(1, 8))
        answer = curator.sums(Voronoi(np.zeros((1, 2))), share=Fraction(1, 2))
        return Clustering(answer.sums, answer.counts, answer.sums, 0.0, 1, 0.0, curator.domain)


def test_a_cheat_that_keeps_rows_is_caught(behind_gate, blobs):
    cheat = StartsFromARow(4)
    object.__setattr__(cheat, "rows", blobs)
    with pytest.raises(ReplayMismatch, match="depends on more"):
        replays(cheat, behind_gate(blobs), blobs)


def test_a_cheat_that_reaches_behind_the_curator_is_caught(behind_gate, blobs):
    with pytest.raises(ReplayMismatch):
        replays(AsksMoreWhenFull(1), behind_gate(blobs), blobs)


def test_asking_fewer_questions_is_caught(behind_gate, blobs):
    curator = behind_gate(blobs)
    Lloyd(2, max_iter=3).run(curator)
    replay = ReplayCurator(curator.transcript)
    with pytest.raises(ReplayMismatch):
        Lloyd(2, max_iter=2).run(replay)
    fresh = ReplayCurator(curator.transcript)
    fresh.public_rng("starting centres")
    with pytest.raises(ReplayMismatch, match="fewer"):
        fresh.finish()
