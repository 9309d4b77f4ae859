"""Intervals hold their true values as often as they say, for every law of noise."""

from fractions import Fraction

import numpy as np
import pytest

from shoal.algorithms import Clustering, Lloyd
from shoal.domain import STEPS, Unit
from shoal.mechanisms import SeededEntropy
from shoal.queries import Ball, Box, Offset, Voronoi, WithCost
from shoal.queries.laws.cylinder import Cylinder
from shoal.queries.laws.gaussian import Gaussian
from shoal.queries.laws.laplace import Laplace
from shoal.queries.laws.linf import Linf
from shoal.queries.laws.noise import design
from shoal.queries.questions import Sums
from shoal.queries.statistics.aggregates import RowChange
from shoal.release.trust import intervals_of, ratio_interval, reach

ONE = Fraction(1)
LAWS = [("linf", 0.0), ("laplace", 0.0), ("split", 0.0), ("gaussian", 1e-6)]


@pytest.mark.parametrize("dimension", [2, 3, 9, 200])
@pytest.mark.parametrize("ratio", [0.0, 1e-3, 0.4, 1.0, 2.5])
def test_the_tail_of_the_linf_law(dimension, ratio):
    rng = np.random.default_rng(5)
    radius = rng.gamma(dimension + 1, size=100_000)
    both = radius * rng.uniform(-1, 1, (2, radius.size))
    sd = np.sqrt((dimension + 1) * (dimension + 2) / 3)
    for level in (0.5, 0.95):
        far = reach(Linf(ONE, dimension), sd, ratio * sd, level)
        inside = np.mean(np.abs(both[0] + ratio * both[1]) <= far)
        assert inside == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / radius.size))


@pytest.mark.parametrize(("dimension", "extras"), [(3, 1), (9, 2), (200, 1)])
@pytest.mark.parametrize("ratio", [0.0, 0.4, 2.5])
def test_the_tail_of_the_cylinder(dimension, extras, ratio):
    rng, d, n = np.random.default_rng(5), dimension - extras, 100_000
    radius = rng.gamma(dimension + 1, size=n)
    # A coordinate of the ball: its place between the poles has a beta law.
    value = radius * (2 * rng.beta((d + 1) / 2, (d + 1) / 2, n) - 1)
    beside = radius * rng.uniform(-1, 1, n)
    spread = np.sqrt((dimension + 1) * (dimension + 2))
    for level in (0.5, 0.95):
        sds = (spread / np.sqrt(d + 2), ratio * spread / np.sqrt(3))
        far = reach(Cylinder(ONE, dimension, extras), *sds, level)
        inside = np.mean(np.abs(value + ratio * beside) <= far)
        assert inside == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / n))


@pytest.mark.parametrize("ratio", [0.0, 1e-3, 0.4, 1.0 - 1e-7, 1.0, 2.5])
@pytest.mark.parametrize("law", [Laplace, Gaussian])
def test_the_tail_of_independent_laws(law, ratio):
    rng = np.random.default_rng(6)
    draw = rng.laplace if law is Laplace else rng.normal
    both = draw(size=(2, 100_000))
    sd = np.sqrt(2) if law is Laplace else 1.0
    for level in (0.5, 0.95):
        far = reach(law(ONE, 2), sd, ratio * sd, level)
        inside = np.mean(np.abs(both[0] + ratio * both[1]) <= far)
        assert inside == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / both.shape[1]))


def test_the_tail_is_smooth_where_formulas_meet():
    for law in (Linf(ONE, 3), Laplace(ONE, 3)):
        for ratio in (1e-6, 1.0 - 1e-5, 1.0):
            other = ratio * np.array([1 - 1e-9, 1.0, 1 + 1e-9])
            near = law.tail(np.full(3, 2.0), np.ones(3), other)
            assert np.ptp(near) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "delta"), [*LAWS, ("cylinder", 0.0)])
@pytest.mark.parametrize("d", [1, 4])
@pytest.mark.parametrize("signal", [5, 50])
def test_cells_are_covered_for_exactly_the_noise_that_is_drawn(noise, delta, d, signal):
    """10,000 cells with the gate's own integer noise; the true count is `signal` standard deviations."""
    currency = "rho" if delta else "epsilon"
    change = RowChange(STEPS, d, ball=noise == "cylinder")
    law = design(change, Fraction(1, 10), currency, Unit(), noise)
    sd = law.sd / STEPS
    cells, rng = 10_000, np.random.default_rng(d)
    drawn = law.draw(SeededEntropy(signal), cells) / STEPS
    n = signal * sd[d]
    mean = rng.uniform(-1, 1, (cells, d))
    sums, counts = mean * n + drawn[:, :d], n + drawn[:, d]
    block = law.blocks[0].standard
    low, high = ratio_interval(sums, counts, sd[0], sd[d], block)
    assert np.mean((low <= mean) & (mean <= high)) == pytest.approx(0.95, abs=0.009)
    far = reach(block, 0.0, sd[d])
    assert np.mean(np.abs(counts - n) <= far) == pytest.approx(0.95, abs=0.009)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "delta"), LAWS)
def test_released_intervals_hold_in_600_runs(behind_gate, noise, delta):
    rng = np.random.default_rng(8)
    X = np.concatenate([rng.normal(m, 0.1, (150, 2)) for m in (-0.5, 0.1, 0.6)])
    held_centres, held_sizes = [], []
    for seed in range(600):
        curator = behind_gate(X, seed=seed, delta=delta, epsilon=2.0 if delta else 0.5)
        clustering = Lloyd(3, max_iter=1, noise=noise).run(curator)
        found = intervals_of(clustering, curator.transcript)
        # Given the assignment: the cells of the last question.
        question = next(
            e.question for e in reversed(curator.transcript.entries) if isinstance(e.question, Sums)
        )
        columns = clustering.domain.encode(list(X.T)).columns
        labels = question.partition.assign(columns, None)
        size = np.bincount(labels, minlength=3)
        held_sizes.append((found.size_low <= size) & (size <= found.size_high))
        known = np.isfinite(clustering.centre_sd[:, 0]) & (size > 0)
        for j, column in enumerate(columns.astype(float)):
            mean = np.bincount(labels, weights=column, minlength=3)[known] / size[known]
            held_centres.append((found.centre_low[known, j] <= mean) & (mean <= found.centre_high[known, j]))
    assert 0.93 < np.mean(np.concatenate(held_centres)) < 0.97
    assert 0.93 < np.mean(np.concatenate(held_sizes)) < 0.97


def test_standard_errors_agree_with_the_intervals_where_the_signal_is_strong(behind_gate, blobs):
    curator = behind_gate(blobs, epsilon=20.0)
    clustering = Lloyd(4, noise="laplace").run(curator)
    found = intervals_of(clustering, curator.transcript)
    half = (found.centre_high - found.centre_low) / 2
    assert half / clustering.centre_sd == pytest.approx(np.full((4, 2), 2.1), abs=0.1)  # 1.96 for a normal


def test_an_interval_holds_its_centre_at_the_edge_of_the_domain(behind_gate):
    X = np.full((60, 2), 1.0)
    for seed in range(50):
        curator = behind_gate(X, seed=seed)
        clustering = Lloyd(1, max_iter=1).run(curator)
        found = intervals_of(clustering, curator.transcript)
        assert (found.centre_low <= clustering.centres).all()
        assert (clustering.centres <= found.centre_high).all()
        assert (found.centre_high <= 1.0).all()


@pytest.mark.slow
@pytest.mark.parametrize("shape", [Box(0.5), Ball(0.5)])
def test_offsets_from_public_anchors_are_covered(behind_gate, shape):
    rng = np.random.default_rng(2)
    X = np.array([0.3, -0.4]) + rng.uniform(-0.2, 0.2, (200, 2))
    anchors = np.array([[0.25, -0.25]])
    held = []
    for seed in range(300):
        curator = behind_gate(X, seed=seed)
        stat = WithCost(Offset(anchors, shape))
        answer = curator.sums(Voronoi(anchors), of=stat, share=Fraction(1))
        centres = np.clip(stat.of.anchors + answer.sums / answer.counts[:, None], -1, 1)
        errors = np.full((1, 2), 0.01)
        clustering = Clustering(centres, answer.counts, errors, answer.count_sd, 1, 0.01, curator.domain)
        found = intervals_of(clustering, curator.transcript)
        mean = X.mean(axis=0)
        held.append((found.centre_low <= mean) & (mean <= found.centre_high))
    assert 0.92 < np.mean(held) < 0.98


def test_a_clustering_that_is_no_ratio_gets_normal_intervals(behind_gate, blobs):
    curator = behind_gate(blobs)
    clustering = Lloyd(4).run(curator)
    other = Clustering(
        clustering.centres,
        clustering.sizes + 1.0,
        np.full((4, 2), 0.01),
        2.0,
        1,
        0.01,
        clustering.domain,
    )
    found = intervals_of(other, curator.transcript)
    assert found.centre_high - clustering.centres == pytest.approx(np.full((4, 2), 0.0196), rel=1e-3)
    assert found.size_high - other.sizes == pytest.approx(np.full(4, 3.92), rel=1e-3)
