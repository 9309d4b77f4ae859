"""The tables of the flagship's run: those held out stay held out, and are what the peers were measured on."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from shoal import datasets
from shoal.bench.flagship.tables import HELD_OUT, TABLES, loose_box, rows_of

AT_HAND = [name for name, table in TABLES.items() if table.data not in datasets.names("file")]


def test_the_committed_list_of_held_out_tables_is_what_the_hash_says():
    assert {table.name for table in TABLES.values() if table.held_out} == HELD_OUT


def test_no_two_made_up_tables_share_a_seed():
    seeds = [dict(table.parameters)["seed"] for table in TABLES.values() if table.parameters]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize("name", [name for name in AT_HAND if TABLES[name].parameters])
def test_made_up_tables_fill_their_box_and_no_more(name):
    X, k = rows_of(name)
    parameters = dict(TABLES[name].parameters)
    assert X.shape == (parameters["n"], parameters["d"])
    assert k == parameters["k"]
    assert np.abs(X).max() <= 1


@pytest.mark.parametrize(
    ("name", "stored"),
    # From the stored figures of peers: their denominators say whether these are their tables.
    [
        ("iris", 0.13598571411891086),
        ("wine", 0.8535732682091475),
        ("breast", 0.8095895331816594),
        ("gauss2_2", 0.028307467009877643),
        ("gauss10_2", 0.14361960968098897),
        ("gauss5_5", 0.07154658754889558),
    ],
)
def test_tables_of_peers_are_theirs(name, stored):
    X, k = rows_of(name)
    assert KMeans(k, n_init=10, random_state=0).fit(X).inertia_ / len(X) == pytest.approx(stored, rel=1e-6)


@pytest.mark.parametrize("factor", [10, 100])
def test_loose_boxes_hold_the_tight_one_away_from_their_middle(factor):
    lower, upper = loose_box("s1", factor, 2)
    assert ((lower <= -1) & (upper >= 1)).all()
    assert np.allclose(upper - lower, 2 * factor)
    assert np.abs(lower + upper).max() > factor / 5
