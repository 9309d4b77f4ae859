"""Columns by name, times, rounds, weights of columns, true distance and missing cells, from fit to verify."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal import Accountant, DPLloyd, KMeans
from shoal.cli import main
from shoal.domain import Bounds, Domain, Schema
from shoal.errors import InvalidBounds, InvalidInput, InvalidTable
from shoal.estimators import PrivateScaler

N = 3000
RNG = np.random.default_rng(1)
NIGHT = RNG.random(N) < 0.5
FRAME = pl.DataFrame(
    {
        "id": [f"p{i}" for i in range(N)],
        "age": np.where(NIGHT, RNG.normal(30, 3, N), RNG.normal(60, 3, N)),
        "hour": np.where(NIGHT, RNG.normal(24, 0.7, N) % 24, RNG.normal(12, 0.7, N)),
        "day": pl.Series(np.full(N, np.datetime64("2024-03-01", "us")) + NIGHT * np.timedelta64(90, "D")),
        "note": ["x"] * N,
    }
)
BOUNDS = {"age": (0, 100)}


def refused(error, says, X=FRAME, **how):
    budget = Accountant(epsilon=10)
    with pytest.raises(error, match=says) as caught:
        DPLloyd(2, **{"epsilon": 1.0, "bounds": BOUNDS, "budget": budget, **how}).fit(X)
    assert (budget.charges, budget.left) == ((), 10)
    return str(caught.value)


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("t") / "people.csv"
    FRAME.write_csv(path, datetime_format="%Y-%m-%d %H:%M:%S")
    return path


def fit(X=FRAME, **how):
    return DPLloyd(2, **{"epsilon": 20.0, "bounds": BOUNDS, "random_state": 0, **how}).fit(X)


def test_the_columns_that_bounds_name_are_clustered(csv, tmp_path):
    FRAME.write_parquet(tmp_path / "t.parquet")
    want = fit(FRAME.select("age"))
    for X in (FRAME, FRAME.to_pandas(), csv, str(tmp_path / "t.parquet")):
        model = fit(X)
        assert model.certificate_.transcript == want.certificate_.transcript
        assert list(model.feature_names_in_) == ["age"]
        assert np.array_equal(model.predict(X), want.predict(FRAME.select("age")))


def test_a_misspelt_column_is_guessed_and_nothing_is_spent(csv):
    for X in (FRAME, FRAME.to_pandas()):
        refused(InvalidTable, "did you mean 'age'", X, bounds={"agee": (0, 100)})
        refused(InvalidTable, "did you mean 'hour'", X, cyclic={"hours": 24})
        refused(InvalidTable, "did you mean 'age'", X, column_weights={"agee": 2})
        refused(InvalidTable, "did you mean 'age'", X, missing={"agee": "indicator"})
    refused(InvalidTable, "did you mean 'age'", csv, bounds={"agee": (0, 100), "id": (0, 1)})


def test_a_level_that_no_row_has_is_no_error_and_no_cell_is_named():
    # "Did you mean" knows declared words only: a guess from cells would show them.
    model = fit(levels={"note": ["y", "z"]})
    assert model.release_.names == ("age", "note=y", "note=z")


@pytest.mark.parametrize(
    ("error", "says", "how"),
    [
        (InvalidTable, "holds times", {"bounds": (0, 1), "X": FRAME.select("age", "day")}),
        (InvalidBounds, "give two dates", {"bounds": {"day": (0, 1)}}),
        (InvalidBounds, "not a pair", {"bounds": {"day": "2024-01-01"}}),
        (InvalidBounds, "reversed", {"bounds": {"day": ("2025-01-01", "2024-01-01")}}),
        (InvalidBounds, "not a number", {"bounds": {"age": ("2025-01-01", "2026-01-01")}}),
        (InvalidTable, "are for times, lengths for numbers", {"cyclic": {"hour": "day"}}),
        (InvalidTable, "are for times, lengths for numbers", {"cyclic": {"day": 24}}),
        (InvalidTable, "cyclic of column 'hour'", {"cyclic": {"hour": 0}}),
        (InvalidTable, "cyclic of column 'day'", {"cyclic": {"day": ["day", "day"]}}),
        (InvalidTable, "cyclic of column 'day'", {"cyclic": {"day": "month"}}),
        (InvalidTable, "cyclic is", {"cyclic": ["hour"]}),
        (InvalidBounds, "unknown", {"cyclic": {"age": 24}}),
        (InvalidTable, "column_weights of 'age' is 0", {"column_weights": {"age": 0}}),
        (InvalidTable, "column_weights is", {"column_weights": 2}),
        (InvalidInput, "missing is", {"missing": "middle"}),
        (InvalidInput, "dropped by missing='drop'", {"missing": {"age": "drop"}}),
        (InvalidInput, "longitude and latitude", {"scaling": "earth"}),
        (InvalidInput, "scaling is", {"scaling": "map"}),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_is_wrong_is_said_before_anything_is_spent(error, says, how):
    refused(error, says, how.pop("X", FRAME) if isinstance(how, dict) else FRAME, **how)


def test_midnight_is_not_torn_apart():
    model = fit(bounds={"age": (0, 100)}, cyclic={"hour": 24})
    by_night = model.predict(FRAME)
    assert max(np.mean(by_night == NIGHT), np.mean(by_night != NIGHT)) > 0.99
    across = model.release_.centres[:, 1]
    assert across.min() < -0.8
    assert across.max() > 0.8


def test_times_with_bounds(csv):
    bounds = {"day": ("2024-01-01", pd.Timestamp("2024-12-31"))}
    model = fit(bounds=bounds)
    found = KMeans(2, epsilon=5.0, bounds=bounds).fit(FRAME).cluster_centers_
    found = np.sort(found[:, 0].astype("datetime64[s]")).astype("datetime64[D]")
    assert (
        abs(found - np.array(["2024-03-01", "2024-05-30"], dtype="M8[D]")) <= np.timedelta64(2, "D")
    ).all()
    assert fit(csv, bounds=bounds).certificate_.transcript == model.certificate_.transcript
    assert "day is a time from 2024-01-01 to 2024-12-31" in str(model.certificate_)


def test_a_weight_of_a_column_is_in_the_distance_and_on_the_certificate():
    domain = Domain(Bounds.parse((0, 10), 2), column_weights=(2.0, 1.0))
    assert domain.column_scale.tolist() == [1.0, 0.5]
    assert domain.metric.tolist() == [1.0, 0.25]
    assert domain.length_unit == 2.0
    own = Domain(Bounds((0, 0), (10, 100)), scaling="none", column_weights=(2.0, 1.0))
    assert own.column_scale.tolist() == [0.2, 1.0]
    model = fit(bounds={"age": (0, 100), "hour": (0, 24)}, column_weights={"age": 3})
    assert "a difference in age counts 3 times" in model.certificate_.measured
    here, there = (np.array([[place, 12.0]]) for place in (40.0, 50.0))
    distance = abs(
        model.transform(pd.DataFrame(here, columns=["age", "hour"]))
        - model.transform(pd.DataFrame(there, columns=["age", "hour"]))
    )
    assert distance.max() == pytest.approx(3 * 10 / 50, rel=0.1)


def test_weights_decide_which_groups_are_found():
    wide = pd.DataFrame({"a": np.tile([0.0, 10.0], 2000), "b": np.repeat([0.0, 10.0], 2000)})
    rows = {"bounds": {"a": (0, 10), "b": (0, 10)}, "n_rows": 4000, "random_state": 1, "epsilon": 50.0}
    for heavy in "ab":
        found = KMeans(2, column_weights={heavy: 5}, **rows).fit(wide).cluster_centers_
        spread = dict(zip("ab", np.ptp(found, axis=0), strict=True))
        assert spread[heavy] > 9
        assert spread["b" if heavy == "a" else "a"] < 1


def test_true_distance():
    names, oslo = ("lon", "lat"), Bounds((10.0, 59.5), (11.0, 60.5))
    domain = Domain(oslo, scaling="earth", names=names)
    assert domain.column_scale[0] / domain.column_scale[1] == pytest.approx(0.5)  # cos 60
    assert domain.length_unit == pytest.approx(111.195 / 2)
    beside = Domain(
        Bounds((10.0, 59.5, 0), (11.0, 60.5, 50)), scaling="earth", names=("from_lon", "from_lat", "fare")
    )
    assert beside.column_scale.tolist() == pytest.approx([0.5, 1.0, 1.0])
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"lon": rng.uniform(10, 11, 2000), "lat": rng.uniform(59.5, 60.5, 2000)})
    model = DPLloyd(1, epsilon=5.0, bounds={"lon": (10, 11), "lat": (59.5, 60.5)}, scaling="earth").fit(X)
    lon, lat = model.cluster_centers_[0]
    east = pd.DataFrame({"lon": [min(lon + 0.1, 11)], "lat": [lat]})
    assert model.transform(east)[0, 0] == pytest.approx(5.56, rel=0.01)  # kilometres
    assert "latitude 60" in " ".join(model.certificate_.measured)


def test_missing_cells_are_a_choice_that_the_certificate_names():
    holes = FRAME.select(pl.when(pl.col("age") > 50).then(None).otherwise(pl.col("age")).alias("age"))
    said = {
        "centre": "missing cells go to the middle of their bounds",
        "drop": "rows with a missing cell are left out",
        "indicator": "missing cells go to the middle of their bounds, and another column says so for age",
    }
    for choice, words in said.items():
        model = fit(holes, missing=choice)
        assert model.certificate_.measured[0] == words
    assert model.release_.names == ("age", "age=missing")
    assert np.sort(model.cluster_centers_[:, 1]) == pytest.approx([0, 1], abs=0.05)
    assert model.predict(holes).shape == (N,)


@pytest.mark.parametrize(
    "how",
    [
        {"cyclic": {"hour": 24, "day": ["week", "year"]}, "column_weights": {"hour": 2.5}},
        {"bounds": {"day": ("2024-01-01", "2025-01-01"), "age": (0, 100)}, "missing": "indicator"},
        {"bounds": {"lon": (0, 100), "lat": (0, 24)}, "scaling": "earth", "delta": 1e-6},
    ],
    ids=str,
)
def test_a_release_says_it_all_again_and_verifies(how, tmp_path):
    release = fit(FRAME.rename({"age": "lon", "hour": "lat"}) if "scaling" in how else FRAME, **how).release_
    release.save(tmp_path / "r")
    assert shoal.verify(tmp_path / "r").ok
    again = shoal.load(tmp_path / "r")
    assert again.domain == release.domain
    assert isinstance(again.domain.schema, Schema)
    assert again.certificate.measured == release.certificate.measured


def test_a_plan_of_named_columns_knows_rounds_and_weights():
    model = DPLloyd(2, epsilon=1.0, bounds=(0, 10), cyclic={"when": "day"}, column_weights={"x": 2})
    plan = shoal.explain(model, ["x", "when"], rows=1e5)
    assert list(plan.centre_error) == ["x", "when day cos", "when day sin"]


def test_steps_take_the_columns_that_bounds_name():
    scaler = PrivateScaler(epsilon=1.0, bounds=BOUNDS).fit(FRAME)
    assert scaler.transform(FRAME.select("age")).shape == (N, 1)


def test_on_the_command_line(csv, tmp_path):
    args = ["fit", str(csv), "--k", "2", "--epsilon", "20", "--algorithm", "lloyd", "--bounds", "age=0:100"]
    args += ["--bounds", "day=2024-01-01..2025-01-01", "--cyclic", "hour=24", "--column-weights", "age=2"]
    args += ["--missing", "age=indicator", "--out", str(tmp_path / "r"), "--json"]
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 0, result.output
    names = shoal.load(tmp_path / "r").names
    assert names == ("age", "age=missing", "day", "hour 24 cos", "hour 24 sin")
