"""The way of one fit is straight: down to the rows and back, through no more files than a test allows."""

from itertools import groupby

import pytest

from walk import walk_of

# The largest walk of the plainest estimator. Who adds a file to every fit says why, and raises it.
# 48: whether to compile (`_compiling.py`), and scikit-learn where it is used (`estimators/face.py`).
MOST_FILES = 48


def test_a_plain_fit_crosses_few_files():
    assert len(walk_of("DPLloyd").files) <= MOST_FILES


@pytest.mark.parametrize("name", ["DPLloyd", "KMeans"])
def test_the_way_down_leaves_no_file_to_come_back_to_it(name):
    down = [file for file, _ in groupby(file for file, _ in walk_of(name).down)]
    assert (down[0], down[-1].split("/")[1]) == ("estimators/fitting.py", "kernels")
    # A source calls back the question that it reads rows for: that is the one way to rows.
    again = {file for file in down if down.count(file) > 1}
    assert again == {"queries/questions/base.py"}
    assert len(down) <= 13
