"""Folds of a search: a row's own affair."""

import numpy as np

from shoal.sources.columns import Piece, Words
from shoal.sources.folds import Fold


def piece(values, people=None):
    words = None
    if people is not None:
        names, codes = np.unique(people, return_inverse=True)
        words = Words(np.where(names[codes] == "", -1, codes), list(names))
    return Piece(0, [np.asarray(values, dtype=float)], words)


def test_a_row_is_in_one_fold_by_itself_and_a_person_with_all_their_rows():
    rng = np.random.default_rng(0)
    values, people = rng.random(300), rng.choice(np.array(["ada", "bob", "cyd", "dan", ""]), 300)
    for given in (None, people):
        folds = [Fold(None, 3, 4, number).rows(piece(values, given)) for number in range(4)]
        assert (np.sum(folds, axis=0) == 1).all()
        # Alone, or in another order: the same.
        for place in (0, 17, 299):
            one = None if given is None else given[[place]]
            alone = [bool(Fold(None, 3, 4, n).rows(piece(values[[place]], one))[0]) for n in range(4)]
            assert alone == [bool(fold[place]) for fold in folds]
    for name in ("ada", "bob", "cyd", "dan"):
        assert sum(bool(fold[people == name].any()) for fold in folds) == 1
    # Rows of nobody are people of their own, and lie in all folds; another key cuts otherwise.
    assert all(fold[people == ""].any() for fold in folds)
    assert (Fold(None, 4, 4, 0).rows(piece(values)) != Fold(None, 3, 4, 0).rows(piece(values))).any()
