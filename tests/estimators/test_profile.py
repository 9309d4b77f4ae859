"""A profile of released groups: means of columns that do not decide them."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import shoal
from shoal import Accountant, GroupProfile, KMeans
from shoal.cli import main
from shoal.domain import Domain
from shoal.errors import BudgetExceeded, InvalidBounds, InvalidInput, InvalidTable

N = 8000
RNG = np.random.default_rng(4)
NORTH = RNG.random(N) < 0.4
TABLE = pd.DataFrame(
    {
        "member": NORTH,
        "lat": np.where(NORTH, 8.0, 2.0) + RNG.normal(0, 0.5, N),
        "age": np.where(NORTH, 30.0, 60.0) + RNG.normal(0, 5, N),
        "lon": RNG.normal(5, 0.5, N),
        "who": [f"p{i % 4000}" for i in range(N)],
    }
)


@pytest.fixture(scope="module")
def release():
    return KMeans(2, epsilon=2.0, bounds={"lon": (0, 10), "lat": (0, 10)}).fit(TABLE).release_


def profile(release, X=TABLE, **how):
    given = {"epsilon": 1.0, "bounds": {"age": (0, 100), "member": (0, 1)}, **how}
    return GroupProfile(release, **given).fit(X)


def test_means_are_those_of_the_groups_that_the_release_labels(release):
    labels = release.predict(TABLE)
    found = profile(release)
    assert found.names_ == ("member", "age")
    exact = TABLE.groupby(labels)[["member", "age"]].mean().to_numpy()
    assert (abs(found.means_ - exact) < 6 * found.means_noise_sd_ + 1e-3).all()
    assert (found.means_noise_sd_[:, 1] < 1).all()
    assert found.sizes_ == pytest.approx(np.bincount(labels), abs=60)
    assert len(found.certificate_.charges) == 1
    assert "age is told of groups, and does not decide them" in found.certificate_.measured


def test_what_is_profiled_moves_nobody_to_another_group(release):
    other = TABLE.assign(age=RNG.uniform(0, 100, N), member=False)
    one, two = (profile(release, X, random_state=3) for X in (TABLE, other))
    assert np.array_equal(one.sizes_, two.sizes_)


def test_noise_is_as_stated(release):
    labels = release.predict(TABLE)
    exact = TABLE.groupby(labels)["age"].mean().to_numpy()
    runs = [profile(release, epsilon=0.2, bounds={"age": (0, 100)}) for _ in range(60)]
    off = np.array([(run.means_[:, 0] - exact) / run.means_noise_sd_[:, 0] for run in runs])
    assert 0.7 < off.std() < 1.4
    assert abs(off.mean()) < 0.5


def test_it_is_saved_and_verified(release, tmp_path):
    found = profile(release, unit="who", max_rows=2)
    found.release_.save(tmp_path / "p")
    assert shoal.verify(tmp_path / "p").ok
    again = shoal.load(tmp_path / "p")
    assert np.array_equal(again.values["mean"], found.means_)
    assert again.certificate.unit.startswith("one person")
    (tmp_path / "p" / "step.json").write_text("{}")
    assert not shoal.verify(tmp_path / "p").ok


def test_it_is_charged_to_the_same_budget(release):
    budget = Accountant(epsilon=1.0)
    profile(release, epsilon=0.7, budget=budget)
    assert float(budget.left) == pytest.approx(0.3)
    with pytest.raises(BudgetExceeded):
        profile(release, epsilon=0.7, budget=budget)


@pytest.mark.parametrize(
    ("error", "says", "how"),
    [
        (InvalidInput, "nothing to profile", {"bounds": None}),
        (InvalidInput, "nothing to profile", {"bounds": {"lat": (0, 10)}}),
        (InvalidTable, "did you mean 'age'", {"bounds": {"agee": (0, 100)}}),
        (InvalidBounds, "give a mapping", {"bounds": (0, 100)}),
        (InvalidTable, "lat", {"X": TABLE.drop(columns="lat")}),
    ],
)
def test_what_is_wrong_costs_nothing(release, error, says, how):
    budget = Accountant(epsilon=5)
    with pytest.raises(error, match=says):
        profile(release, budget=budget, **how)
    assert budget.charges == ()


def test_groups_need_names_and_averaged_columns_no_distance(release):
    unnamed = KMeans(2, epsilon=2.0, bounds=(0, 10)).fit(TABLE[["lat", "lon"]].to_numpy()).release_
    with pytest.raises(InvalidInput, match="without names"):
        profile(unnamed)
    with pytest.raises(InvalidInput, match="release is"):
        profile("folder")
    plan = GroupProfile(release, epsilon=1.0, bounds={"age": (0, 100)})
    table = plan._open(TABLE, None)
    made = plan._plan(table.schema, plan._unit(), weighted=False)
    counted = Domain(made.domain.bounds, names=made.domain.names, schema=made.domain.schema)
    with pytest.raises(InvalidInput, match="must not count"):
        made.algorithm.check(counted)


def test_the_command(release, tmp_path):
    release.save(tmp_path / "r")
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    args = ["profile", tmp_path / "r", tmp_path / "t.csv", "--bounds", "age=0:100", "--epsilon", 1]
    result = CliRunner().invoke(main, [*map(str, args), "--out", str(tmp_path / "p"), "--json"])
    assert result.exit_code == 0, result.output
    ages = sorted(line["age"] for line in json.loads(result.stdout)["means"])
    assert ages == pytest.approx([30, 60], abs=3)
    assert shoal.verify(tmp_path / "p").ok
