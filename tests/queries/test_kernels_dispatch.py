"""The way in to the kernels: what it accepts, what it refuses, and what runs without a compiler."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from shoal.errors import InvalidInput
from shoal.queries import kernels

ONE = 2**20


def case(d, k, n):
    rng = np.random.default_rng(d)
    return rng.integers(-2, 3, (d, n)) * (ONE // 2), rng.integers(-ONE, ONE + 1, (k, d))


def same(a, b):
    np.testing.assert_array_equal(a, b, strict=True)


def test_read_only_and_strided_arrays_are_accepted():
    steps, centres = case(4, 3, 100)
    columns = np.asarray(steps / ONE, dtype=np.float32)
    expected = kernels.assign(columns, centres)
    for array in (columns, centres, expected):
        array.setflags(write=False)
    same(kernels.assign(columns, centres), expected)
    same(kernels.assign(columns[:, ::2], centres), expected[::2])
    assert kernels.count(expected, 3).sum() == 100


def test_without_the_compiler(monkeypatch):
    steps, centres = case(3, 4, 50)
    columns, metric = np.asarray(steps / ONE, dtype=np.float32), np.array([0.1, 1.0, 3.0])
    labels = kernels.assign(columns, centres)

    def everything():
        return (
            kernels.assign(columns, centres),
            kernels.assign(columns, centres, metric),
            *kernels.assign_sums(columns, centres, metric),
            kernels.accumulate(steps.astype(np.int32), labels, 4),
            kernels.count(labels, 4),
            kernels.offsets(columns, labels, centres, ONE, 1000, True),
            kernels.offset_cost(columns, labels, centres, ONE, 1000, True),
        )

    compiled = everything()
    monkeypatch.setattr(kernels.dispatch, "compiles", lambda: False)
    for a, b in zip(compiled, everything(), strict=True):
        same(a, b)


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "expected"), [("1", False), ("0", True)])
def test_the_compiler_is_neither_imported_early_nor_forced(setting, expected):
    code = (
        f"import os, sys; os.environ['SHOAL_NO_NUMBA'] = '{setting}'\n"
        "from shoal.queries import kernels\n"
        f"assert 'numba' not in sys.modules and kernels.compiles() is {expected}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_compiling_is_told_once_and_finished_loops_are_not():
    import numba

    told = []
    with kernels.telling_of_compiling(lambda: told.append("compiles")):
        assert not told
        loops = [numba.njit("int64(int64)")(function) for function in (lambda x: x + 1, lambda x: x + 2)]
        assert told == ["compiles"]
    with kernels.telling_of_compiling(lambda: told.append("again")):
        assert [loop(1) for loop in loops] == [2, 3]
    assert told == ["compiles"]


def test_errors_name_what_is_wanted():
    columns, centres, labels = np.zeros((2, 3), np.float32), np.zeros((1, 2), np.int64), np.zeros(3, np.int32)
    with pytest.raises(InvalidInput, match=r"\(at least 1, 2\) is wanted"):
        kernels.assign(columns, np.zeros((1, 3), np.int64))
    with pytest.raises(InvalidInput, match="clip them"):
        kernels.assign(columns, centres + 2**21)
    with pytest.raises(InvalidInput, match=r"\(2,\) is wanted"):
        kernels.assign(columns, centres, np.ones(3))
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        kernels.count(labels - 1, 2)
    with pytest.raises(InvalidInput, match="width <= radius"):
        kernels.offsets(columns, labels, centres, 5, 6, ball=False)
    with pytest.raises(InvalidInput, match="from 1 to"):
        kernels.offset_cost(columns, labels, centres, 0, 6, ball=False)
