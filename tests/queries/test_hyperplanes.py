"""The tree of cuts as a value: refused when it makes no sense, and back from a file as it was."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InvalidInput
from shoal.queries import Hyperplanes, Partition
from shoal.queries.gate.codec import digest, from_plain, plain
from shoal.queries.partitions.hyperplanes import NO_CUT


@pytest.mark.parametrize(
    ("directions", "cuts", "says"),
    [
        ([[1, 2]], (), "0 levels"),
        ([1, 2], ([[0]],), "one per level"),
        ([[]], ([[0]],), "1 column"),
        ([[2**31, -(2**31) - 1]], ([[0]],), "add up"),
        ([[2**62, 2**62]], ([[0]],), "add up"),
        ([[1]], ([[0], [1]],), "1 cells"),
        ([[1]], ([[3, 2]],), "does not fall"),
        ([[1], [1]], ([[0]], [[1]]), "2 cells"),
    ],
)
def test_nonsense_is_refused(directions, cuts, says):
    with pytest.raises(InvalidInput, match=says):
        Hyperplanes(np.array(directions, dtype=np.int64), tuple(np.array(c, dtype=np.int64) for c in cuts))


def test_a_table_of_other_columns_is_refused():
    with pytest.raises(InvalidInput, match="columns"):
        Hyperplanes(np.array([[1, 1]]), (np.array([[0]]),)).assign(np.zeros((3, 1), dtype=np.float32), None)


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 4))
def test_it_comes_back_from_a_file_as_it_was(seed, columns, levels):
    rng = np.random.default_rng(seed)
    tree = Hyperplanes(np.empty((0, columns), dtype=np.int64), ())
    for _ in range(levels):
        cuts = np.sort(rng.choice([-(2**20), 0, 5, NO_CUT], (tree.n_cells, 3)), axis=1)
        tree = tree.below(rng.integers(-9, 9, columns), cuts)
    store = {}
    back = from_plain(Partition, plain(tree, store), store)
    assert digest(back) == digest(tree)
    assert back.n_cells == tree.n_cells
    rows = (rng.integers(-(2**20), 2**20 + 1, (columns, 50)) / 2**20).astype(np.float32)
    assert np.array_equal(back.assign(rows, None), tree.assign(rows, None))
