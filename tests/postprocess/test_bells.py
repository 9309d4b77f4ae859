"""Bell-shaped sums: noise alone seldom passes their limit, groups spread over many boxes do."""

import itertools

import numpy as np
import pytest

from shoal.postprocess import bells, sum_loops
from shoal.postprocess.bells import WIDTHS, bell_sums, laplace_sum_limit
from shoal.postprocess.mixture import NoisyBoxes

SIDE = 24


def noise_boxes(rng):
    edges = np.linspace(-1, 1, SIDE + 1)
    lower = np.stack(np.meshgrid(edges[:-1], edges[:-1], indexing="ij"), axis=-1).reshape(-1, 2)
    counts = rng.laplace(0, 10.0, SIDE**2)
    return NoisyBoxes(lower, lower + 2 / SIDE, counts, np.full(SIDE**2, 200.0))


def alarms(boxes, false_alarms):
    """Return the boxes that stand out, alone or with those around them."""
    nats = np.log(SIDE**2 * (1 + len(WIDTHS)) / false_alarms)
    levels = np.full(SIDE**2, 9)
    out = boxes.counts > laplace_sum_limit(np.ones(SIDE**2), nats) * np.sqrt(boxes.variances)
    for width in WIDTHS:
        sums = bell_sums(boxes, levels, width)
        out |= sums.values > laplace_sum_limit(sums.boxes, nats) * sums.sds
    return out


def test_noise_alone_stands_out_no_more_often_than_the_named_rate():
    rng = np.random.default_rng(0)
    runs = [alarms(noise_boxes(rng), 0.5).any() for _ in range(40)]
    # At most half an alarm a run; neighbours have the same noise, and stand out together.
    assert 0.05 < np.mean(runs) <= 0.5


def test_a_group_that_stands_out_of_no_box_stands_out_of_several():
    rng = np.random.default_rng(3)
    found, single = 0, 0
    for _ in range(10):
        boxes = noise_boxes(rng)
        away = ((boxes.middles - 0.3) ** 2).sum(axis=1)
        boxes.counts[:] += 40 * np.exp(-away / (2 * 0.15**2))
        out = alarms(boxes, 0.05)
        found += bool(out[np.argsort(away)[:9]].any())
        nats = np.log(SIDE**2 * 4 / 0.05)
        single += bool((boxes.counts > laplace_sum_limit(np.ones(1), nats) * 200**0.5).any())
        assert not out[away > 1.0].any()
    assert found == 10
    assert single <= 5


@pytest.mark.parametrize("n", [1, 4, 30])
def test_a_sum_of_noise_passes_the_limit_as_seldom_as_it_says(n):
    rng = np.random.default_rng(n)
    sums = rng.laplace(0, 1, (200_000, n)).sum(axis=1) / np.sqrt(2 * n)
    for nats in (2.0, 5.0):
        passing = np.mean(sums > laplace_sum_limit(np.array([float(n)]), nats))
        assert passing == pytest.approx(np.exp(-nats), rel=0.1)


def halved_boxes(rng, d, n=150):
    """Return boxes that are halves of halves of one box, of several levels, and these: many lie in runs."""
    levels = np.sort(rng.integers(2 * d, 2 * d + 6, n))
    halved = (levels[:, np.newaxis] + np.arange(d)[::-1]) // d  # the first column is halved first
    place = np.floor(rng.uniform(0, 1, (n, d)) * 2**halved)
    order = np.lexsort((*place.T[::-1], levels))
    sides = 2.6 * 0.5 ** halved[order]  # no power of two: quotients are not exact
    lower = place[order] * sides - 1.3
    return NoisyBoxes(lower, lower + sides, rng.normal(0, 5, n), rng.uniform(1, 9, n)), levels


def sums_of(loop, seed, d, monkeypatch):
    rng = np.random.default_rng(seed)
    boxes, levels = halved_boxes(rng, d)
    monkeypatch.setattr(bells, "weighed_sums", lambda: loop)
    found = bell_sums(boxes, levels, 0.6, rng.random(len(levels)) < 0.8)
    return found.values, found.sds, found.boxes


@pytest.mark.parametrize(("seed", "d"), [(0, 1), (1, 2), (2, 4)])
def test_the_compiled_sums_their_loop_and_their_numpy_twin_agree(seed, d, monkeypatch):
    compiled = sums_of(sum_loops.weighed_sums(), seed, d, monkeypatch)
    plain = sums_of(sum_loops._sums_loop, seed, d, monkeypatch)
    twin = sums_of(sum_loops._sums_numpy, seed, d, monkeypatch)
    for one, two, three in zip(compiled, twin, plain, strict=True):
        assert np.array_equal(one, two)  # which of them runs depends on how much there is to do
        assert three == pytest.approx(one, rel=1e-12)  # Python's own powers differ in last bits
    assert (plain[1] > 0).any()


def test_runs_are_of_one_level_and_close_together():
    boxes, levels = halved_boxes(np.random.default_rng(1), 2)
    runs = bells._runs(boxes.middles, boxes.widths, levels)
    lengths = np.diff(runs)
    assert runs[0] == 0
    assert runs[-1] == len(levels)
    assert lengths.min() >= 1
    assert 1 < lengths.max() <= sum_loops.RUN
    for begin, end in itertools.pairwise(runs):
        assert len(set(levels[begin:end])) == 1
        steps = np.abs(np.diff(boxes.middles[begin:end], axis=0)) / boxes.widths[begin]
        assert (steps <= 4).all()


@pytest.mark.parametrize("d", [1, 2, 4, 6])
@pytest.mark.parametrize("width", WIDTHS)
def test_sums_of_halved_boxes_are_those_within_three_widths(d, width):
    rng = np.random.default_rng(d)
    boxes, levels = halved_boxes(rng, d, n=300)
    found = bell_sums(boxes, levels, width)
    away = (boxes.middles[:, np.newaxis] - boxes.middles) / boxes.widths[:, np.newaxis]
    t2 = (away**2).sum(axis=2)
    weights = np.exp(-t2 / (2 * width**2)) * (t2 <= (3 * width) ** 2)
    weights *= np.abs(levels[:, np.newaxis] - levels) <= min(d - 1, 2)
    assert found.values == pytest.approx(weights @ boxes.counts)
    assert found.sds == pytest.approx(np.sqrt(weights**2 @ boxes.variances))


def test_sums_are_those_of_the_boxes_within_three_widths():
    boxes = noise_boxes(np.random.default_rng(5))
    among = np.random.default_rng(6).random(SIDE**2) < 0.7
    levels = np.random.default_rng(7).integers(8, 11, SIDE**2)
    found = bell_sums(boxes, levels, 1.2, among)
    for i in (0, 17, 300, SIDE**2 - 1):
        t2 = (((boxes.middles[i] - boxes.middles) / (2 / SIDE)) ** 2).sum(axis=1)
        weights = np.exp(-t2 / (2 * 1.2**2)) * (t2 <= 3.6**2 + 1e-9)
        weights = weights * among * (np.abs(levels - levels[i]) <= 1)
        assert found.values[i] == pytest.approx(weights @ boxes.counts)
        assert found.sds[i] == pytest.approx(np.sqrt(weights**2 @ boxes.variances))
