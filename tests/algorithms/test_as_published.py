"""Options that run algorithms of the papers as they were published: each must do what its paper says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from shoal import Accountant, DPLloyd, GridKMeans, SampleAggregateKMeans
from shoal.algorithms.sample_aggregate import SampleAggregate
from shoal.domain import Chunk
from shoal.errors import InvalidInput
from shoal.postprocess import divide, pack
from shoal.postprocess.weighted_kmeans import weighted_kmeans
from shoal.queries import Voronoi
from shoal.queries.questions.block_task import Drawn, exact_block_totals
from shoal.queries.questions.blocks import BlockMeans

RNG = np.random.default_rng(5)
X = np.concatenate([RNG.normal(-0.6, 0.1, (400, 2)), RNG.normal(0.6, 0.1, (400, 2))]).clip(-1, 1)


def first_centres(model):
    questions = [entry.question for entry in model.release_.transcript.entries]
    return next(
        q.partition.centres for q in questions if hasattr(q, "partition") and isinstance(q.partition, Voronoi)
    )


def fitted(**how):
    return DPLloyd(3, epsilon=2.0, bounds=(-1, 1), random_state=1, **how).fit(X)


def test_given_starts_are_those_of_the_first_round_in_the_tables_units():
    model = DPLloyd(2, epsilon=2.0, bounds=(0, 10), init=[[1.0, 2.0], [9.0, 5.0]], random_state=1).fit(
        5 * X + 5
    )
    assert np.allclose(first_centres(model), [[-0.8, -0.6], [0.8, 0.0]], atol=1e-5)


def test_uniform_starts_are_not_packed():
    gaps = {init: [] for init in ("packing", "uniform")}
    for init, found in gaps.items():
        for seed in range(20):
            model = DPLloyd(6, epsilon=2.0, bounds=(-1, 1), max_iter=1, random_state=seed, init=init).fit(X)
            found.append(pdist(first_centres(model)).min())
    assert min(gaps["packing"]) > 0.4
    assert np.median(gaps["uniform"]) < 0.4


@pytest.mark.parametrize("d", [2, 25])
def test_packing_keeps_spheres_apart_and_off_the_walls_in_any_number_of_columns(d):
    points = pack(8, d, np.random.default_rng(0), always=True)
    radius = min(pdist(points).min() / 2, 1 - np.abs(points).max())
    assert radius > (0.25 if d == 2 else 0.6)


def test_plain_division_follows_a_count_of_noise_alone_and_the_guarded_one_stays():
    counts = np.array([-4.0, 0.0, 8.0])
    centres = divide(np.array([[2.0], [3.0], [-4.0]]), counts, fallback=np.full((3, 1), 0.25))
    assert centres.tolist() == [[-0.5], [0.25], [-0.5]]
    far = [[0.9, -0.9], [-0.9, 0.9], [0.0, 0.0]]  # no rows there
    stays, follows = (
        fitted(init=far, max_iter=1, division=how).cluster_centers_ for how in ("guarded", "plain")
    )
    assert np.allclose(stays[0], far[0], atol=1e-5)
    assert not np.allclose(follows[0], far[0], atol=0.05)


@pytest.mark.parametrize(
    "init", [[[0.0, 0.0]], [[0.0], [0.0], [0.0]], "packed", [[np.nan, 0], [0, 0], [0, 0]], [1.0], None]
)
def test_bad_starts_are_refused_before_anything_is_spent(init):
    budget = Accountant(epsilon=5)
    with pytest.raises(InvalidInput, match="init"):
        DPLloyd(3, epsilon=2.0, bounds=(-1, 1), init=init, budget=budget).fit(X)
    assert budget.spent == 0


def test_the_published_search_finds_no_more_than_packed_starts_lead_to():
    # Two far groups and a pair of near ones: starts drawn where weight is find the pair, packed ones do not.
    points = np.array([[-0.9, -0.9], [-0.9, -0.86], [0.9, 0.9]])
    weights = np.array([5.0, 5.0, 5.0])
    rng = np.random.default_rng
    ours = weighted_kmeans(points, weights, 3, rng(0), n_starts=4)
    published = weighted_kmeans(points, weights, 3, rng(0), n_starts=4, published=True)
    assert ours.cost < 1e-12 < published.cost
    models = [
        GridKMeans(8, epsilon=2.0, bounds=(-1, 1), random_state=1, n_starts=1, starts=s).fit(X)
        for s in ("mixed", "published")
    ]
    assert not np.array_equal(*(model.cluster_centers_ for model in models))


def test_blocks_are_rounded_as_in_table_1_of_su_et_al():
    published = {"n^0.4": {107_091: 103, 26_733: 59, 10_000: 40}, "3k": {16_281: 2_714}}
    for rule, sizes in published.items():
        for n, blocks in sizes.items():
            assert SampleAggregate(2, blocks=rule).n_blocks(n) == blocks


def test_sorted_blocks_have_the_lower_centre_first_and_matched_ones_the_nearer():
    high_first = np.array([[0.5, 0.5], [-0.5, -0.5]])
    one_block = Drawn(Chunk(np.ascontiguousarray(X.T, dtype=np.float32)), np.zeros(len(X), dtype=np.int64))
    found = {
        align: exact_block_totals(
            one_block, BlockMeans(1, high_first, (-1.0,) * 2, (1.0,) * 2, 1, None, align), seed=0
        )
        for align in ("matched", "sorted")
    }
    assert np.sign(found["matched"]).tolist() == [[1, 1], [-1, -1]]
    assert np.sign(found["sorted"]).tolist() == [[-1, -1], [1, 1]]
    model = SampleAggregateKMeans(2, epsilon=5.0, bounds=(-1, 1), align="sorted", n_rows=800, blocks=20).fit(
        X
    )
    assert (np.diff(model.cluster_centers_[:, 0]) > 0).all()
