"""One type: whatever made a synopsis, it knows the rows, what centres cost them, and where groups are."""

from fractions import Fraction

import numpy as np
import pytest

from shoal.algorithms.coreset.coreset import PrivateCoreset
from shoal.algorithms.coreset.sketch import CoresetSketch
from shoal.algorithms.grid import GridSketch, GridSynopsis
from shoal.algorithms.kmeans.boxes import Boxes, tree_points
from shoal.algorithms.lsh_tree.lsh_tree import grow_tree
from shoal.algorithms.synopses.masked_grid import MaskedGridSynopsis
from shoal.algorithms.synopses.privtree import PrivTreeSynopsis

MAKERS = {
    "grid": GridSynopsis(2).run,
    "masked grid": MaskedGridSynopsis().run,
    "tree": PrivTreeSynopsis().run,
    "leaves": lambda curator: grow_tree(curator, 8, Fraction(1)),
    "coreset": PrivateCoreset(CoresetSketch(8)).run,
}
GROUPS = np.array([[-0.5, -0.5], [0.5, 0.25]])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(group, 0.1, (5000, 2)) for group in GROUPS])


@pytest.fixture(params=MAKERS)
def synopsis(request, behind_gate, rows):
    return MAKERS[request.param](behind_gate(rows, epsilon=2.0))


def test_a_place_has_a_weight_and_lies_in_the_domain(synopsis):
    places = synopsis.places()
    assert places.shape == synopsis.variances().shape == (synopsis.n_held, 2)
    assert np.abs(places).max() <= 1
    assert (synopsis.variances() >= 0).all()


def test_weights_add_up_to_the_rows(synopsis, rows):
    assert abs(synopsis.total - len(rows)) < 5 * synopsis.total_sd + 1
    assert abs(synopsis.rows - len(rows)) < 5 * max(synopsis.rows_sd, 40.0)


def test_groups_are_where_they_are(synopsis):
    found = synopsis.kmeans(2, np.random.default_rng(0), 4)
    assert found.centres[found.centres[:, 0].argsort()] == pytest.approx(GROUPS, abs=0.05)


@pytest.mark.parametrize(
    "centres", [GROUPS, np.zeros((1, 2)), np.array([[3.0, 3.0]])], ids=["two", "one", "far"]
)
def test_centres_cost_about_what_they_cost_the_rows(synopsis, rows, centres):
    true = ((rows[:, np.newaxis, :] - centres) ** 2).sum(axis=2).min(axis=1).sum()
    # Points that stand for all rows around them know nothing of their spread; 10,000 rows of 0.02.
    unknown = 0.0 if synopsis.variances().any() else 200.0
    assert abs(synopsis.cost(centres) - true) < 0.2 * true + unknown


def test_rows_of_a_box_lie_anywhere_in_it(behind_gate, rows):
    whole = GridSynopsis(1, GridSketch(1)).run(behind_gate(rows))
    assert whole.cost(np.zeros((1, 2))) == pytest.approx(whole.weights[0] * 2 / 3)


def test_what_kmeans_starts_from_is_what_can_be_released(behind_gate, rows):
    released = PrivTreeSynopsis().run(behind_gate(rows, seed=1))
    assert same(tree_points(behind_gate(rows, seed=1), Fraction(1)), Boxes.of(released))


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in vars(one))
