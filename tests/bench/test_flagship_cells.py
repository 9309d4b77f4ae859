"""A fit of the flagship's run: boxes are what they say, and the one noisy mean is one."""

import numpy as np
import pytest

from shoal.bench.flagship import cells
from shoal.bench.flagship.cells import Cell, boxed, measure, one_mean_ratio
from shoal.errors import InvalidInput


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cells._known.cache_clear()
    yield
    cells._known.cache_clear()


def test_a_cell_is_measured_alike_in_every_box_when_nothing_is_noisy():
    near = [measure(Cell("gauss2_2", 50.0, box), 10_000) for box in ("tight", "x10", "none")]
    assert [record.get("error") for record in near] == [None] * 3
    assert [record["ratio"] for record in near] == pytest.approx([1.0] * 3, abs=0.02)


def test_denominators_are_computed_once(tmp_path, monkeypatch):
    first = cells.denominator("iris")
    cells._known.cache_clear()
    monkeypatch.setattr("sklearn.cluster.KMeans.fit", None)
    assert cells.denominator("iris") == first


def test_an_error_is_a_result():
    record = measure(Cell("iris", 1.0, "latlon"), 10_000)
    assert "longitude" in record["error"]
    assert "ratio" not in record


def test_a_box_that_is_not_known_is_refused():
    with pytest.raises(InvalidInput, match="there is no box 'x7'"):
        boxed("iris", "x7")


def test_one_mean_with_much_budget_costs_the_spread_and_with_none_the_middle_of_the_box():
    rows, _ = boxed("iris", "tight")
    base = cells.denominator("iris")
    spread = ((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean()
    assert one_mean_ratio("iris", 1000.0) == pytest.approx(spread / base, rel=1e-3)
    around_zero = (rows**2).sum(axis=1).mean()
    assert spread / base < one_mean_ratio("iris", 0.05) < 3 * around_zero / base
    assert np.isfinite(one_mean_ratio("iris", 1e-4))
