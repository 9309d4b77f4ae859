"""What a synopsis says of itself is what was asked, paid for and answered."""

import math
from fractions import Fraction

import numpy as np
import pytest

from shoal.algorithms.coreset.coreset import PrivateCoreset
from shoal.algorithms.coreset.sketch import CoresetSketch
from shoal.algorithms.grid import GridSketch, GridSynopsis
from shoal.algorithms.lsh_tree.lsh_tree import grow_tree
from shoal.algorithms.synopses.masked_grid import MaskedGridSynopsis
from shoal.algorithms.synopses.privtree import PrivTreeSynopsis

MAKERS = {
    "grid": GridSynopsis(2).run,
    "grid of a given resolution": GridSynopsis(2, GridSketch(5)).run,
    "masked grid": MaskedGridSynopsis().run,
    "tree": PrivTreeSynopsis().run,
    "leaves": lambda curator: grow_tree(curator, 8, Fraction(1)),
    "coreset": PrivateCoreset(CoresetSketch(8)).run,
}


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("maker", MAKERS)
def test_a_synopsis_is_charged_its_whole_budget_and_no_more(behind_gate, maker, delta):
    # Less would be noise for nothing, and nobody is told.
    curator = behind_gate(np.random.default_rng(0).uniform(-1, 1, (20_000, 2)), epsilon=2.0, delta=delta)
    MAKERS[maker](curator)
    charges = curator.transcript.charges
    assert float(sum(c.amount for c in charges) / curator.budget.amount) == pytest.approx(1.0, rel=1e-4)


def test_boxes_of_a_tree_and_their_counts_share_its_budget_3_to_2(behind_gate):
    curator = behind_gate(np.zeros((100, 2)), epsilon=2.0)
    found = PrivTreeSynopsis().run(curator)
    assert [float(c.amount) for c in curator.transcript.charges] == pytest.approx([1.2, 0.8], rel=1e-4)
    # Discrete Laplace noise at 0.8: it is what is drawn, not only what is charged.
    assert found.sd == pytest.approx(math.sqrt(2 * math.exp(-0.8)) / (1 - math.exp(-0.8)), rel=1e-3)


def test_the_total_of_a_masked_grid_is_that_of_all_cells_which_is_what_its_spread_is_of(behind_gate):
    # Rows everywhere, few in any cell: they do not stand out, and are counted all the same.
    rows = np.random.default_rng(0).uniform(-1, 1, (5_000, 2))
    curator = behind_gate(rows, epsilon=0.5)
    found = MaskedGridSynopsis(40).run(curator)
    released = curator.transcript.entries[-1].answer
    assert found.total == released.counts.sum()
    assert found.total_sd == released.sd * math.sqrt(len(released.counts))
    assert abs(found.total - len(rows)) < 4 * found.total_sd < abs(found.kept - len(rows))
