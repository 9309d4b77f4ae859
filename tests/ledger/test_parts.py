"""Parallel composition: which parts count for whom, and that the gate reads what it is charged for."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Accountant, DPLloyd, PrivateScaler
from shoal.accounting import Charge, Pure, budget_of
from shoal.accounting.lanes import Losses
from shoal.accounting.parts import worst
from shoal.domain import Bounds, Domain, Part, Unit
from shoal.errors import BudgetExceeded, InvalidBudget, InvalidInput, InvalidTable
from shoal.sources import open_table

PARTS = {"region": ["north", "south", "east"], "month": ["1", "2"]}


def spend(path, epsilon, unit=None, **part):
    accountant = Accountant.open(path, "trips", part=part or None)
    budget = Pure(Fraction(str(epsilon)))
    with accountant.reserve(budget, "fit", unit) as allowance:
        allowance.charge(Charge("a question", "some noise", budget.amount, "epsilon"))
    return allowance.statement


def test_a_row_loses_the_whole_and_the_worst_part_of_each_column(path):
    trips = Accountant.create(path, "trips", epsilon=4, parts=PARTS)
    spend(path, 1)
    spend(path, 0.5, region="north")
    assert trips.spent == Fraction(3, 2)
    spend(path, 1, region="south")
    spend(path, 1, region=None)  # rows of no declared region are a part too
    assert trips.spent == 2
    assert spend(path, 0.25, month="1")["part"] == "month = 1"
    said = spend(path, 0.5, month=2)
    assert trips.spent == Fraction(5, 2)
    assert (
        "the worst part of each partition column ('month', 'region'): one row added or removed is in no"
        in said["adds_up"]
    )
    # What is left depends on the part: north has lost half as much as south.
    assert trips.left == Fraction(3, 2)
    assert Accountant.open(path, "trips", part={"region": "north"}).left == 2
    assert Accountant.open(path, "trips", part={"region": "east"}).left == Fraction(5, 2)
    with pytest.raises(BudgetExceeded, match=r"1.5 of 4 epsilon is left"):
        spend(path, 1.6, region="south")
    spend(path, 2.5, region="east")
    assert trips.spent == 4


def test_a_row_that_is_replaced_loses_the_two_worst(path):
    trips = Accountant.create(path, "trips", epsilon=4, parts=PARTS, neighbours="replace")
    unit = Unit("replace")
    for region, epsilon in (("north", 0.5), ("south", 1), ("east", 0.75)):
        said = spend(path, epsilon, unit, region=region)
    assert trips.spent == Fraction(7, 4)
    assert "the 2 worst parts" in said["adds_up"]
    assert "one row replaced" in said["adds_up"]


def test_parts_of_a_person_add_up(path):
    trips = Accountant.create(path, "trips", epsilon=4, parts=PARTS, unit="who")
    for region, epsilon in (("north", 0.5), ("south", 1), (None, 0.75)):
        said = spend(path, epsilon, Unit(column="who"), region=region)
    assert trips.spent == Fraction(9, 4)
    assert said["adds_up"].startswith("losses of all parts add up: one person may be in all of them")


@pytest.mark.parametrize(
    ("neighbours", "spent"), [("add-remove", Fraction(7, 4)), ("replace", Fraction(5, 2))]
)
def test_a_person_who_is_limited_to_q_parts_loses_the_q_worst_or_twice_as_many(path, neighbours, spent):
    trips = Accountant.create(
        path, "trips", epsilon=4, parts=PARTS, unit="who", parts_per_person=2, neighbours=neighbours
    )
    unit = Unit(neighbours, column="who")
    for region, epsilon in (("north", 0.5), ("south", 1), ("east", 0.75), (None, 0.25)):
        said = spend(path, epsilon, unit, region=region)
    assert trips.spent == spent
    assert "as the gate reads at most 2 parts of a person, by their own rows" in said["adds_up"]


LOSSES = st.builds(
    lambda pure, rho: Losses.of("epsilon", Fraction(pure, 8)) + Losses.of("rho", Fraction(rho, 8)),
    st.integers(0, 8),
    st.integers(0, 8),
)


@given(LOSSES, st.lists(LOSSES, min_size=1, max_size=4), st.lists(LOSSES, max_size=3), st.integers(1, 3))
def test_the_worst_fits_a_lane_if_and_only_if_every_unit_does(whole, first, second, most):
    parts = {"a": dict(enumerate(first)), "b": dict(enumerate(second))}
    found = worst(whole, parts, most)

    def subsets(losses):
        return [sum(chosen, Losses()) for n in range(most + 1) for chosen in combinations(losses, n)]

    units = [whole + one + other for one in subsets(first) for other in subsets(second)]
    for value in (lambda loss: loss.epsilon, lambda loss: loss.rho, lambda loss: loss.squares + loss.rho):
        assert value(found) == max(map(value, units))


def test_lanes_with_delta_count_parts_as_rho_too(path):
    trips = Accountant.create(path, "trips", epsilon=2, delta=1e-6, parts=PARTS)
    north = Accountant.open(path, "trips", part={"region": "north"})
    for region in ("north", "south", "east"):
        accountant = Accountant.open(path, "trips", part={"region": region})
        with accountant.reserve(budget_of(1, 1e-6), "fit") as allowance:
            allowance.charge(Charge("q", "n", allowance.budget.amount, "rho"))
    assert 0.9 < trips.spent < 1.01
    assert north.left_for(1e-6) == trips.left_for(1e-6) > 0.9


@pytest.fixture
def frame():
    rng = np.random.default_rng(8)
    n = 600
    region = rng.choice(np.array(["north", "south", "east", "west", ""]), n)
    return pd.DataFrame(
        {"x": rng.random(n), "y": rng.random(n), "region": region, "who": rng.integers(0, 60, n).astype(str)}
    )


def rows_read(table, part, unit=None, max_rows=1, parts_key=0, key=0):
    """The rows that a fit of a part would see, as pairs."""
    bounds = {"x": (0, 1), "y": (0, 1)}
    opened = open_table(table, bounds=bounds, unit=unit, part=part)
    domain = Domain(Bounds.parse((0, 1), 2), unit=Unit(column=unit, max_rows=max_rows))
    source = opened.source(domain, key=key, parts_key=parts_key)
    columns = source.reduce(lambda chunk: chunk.columns, lambda a, b: np.hstack([a, b]))
    return {(float(x), float(y)) for x, y in columns.T}


LEVELS = ("north", "south", "east")


def test_every_row_is_in_one_part_whatever_holds_the_table(frame, tmp_path):
    table = pa.Table.from_pandas(frame)
    pq.write_table(table, tmp_path / "t.parquet")
    pa.csv.write_csv(table, tmp_path / "t.csv")
    all_rows = rows_read(frame, None)
    for held in (frame, table, str(tmp_path / "t.parquet"), str(tmp_path / "t.csv")):
        found = [rows_read(held, Part("region", LEVELS, level)) for level in (*LEVELS, None)]
        assert sum(map(len, found)) == len(all_rows)
        assert set().union(*found) == all_rows
        assert len(found[3]) == (~frame.region.isin(LEVELS)).sum()


def test_a_person_is_in_q_parts_at_most_and_by_their_own_rows(frame):
    m = 50

    def read(table, level, q):
        part = Part("region", LEVELS, level, q)
        return rows_read(table, part, "who", max_rows=m, parts_key=5)

    whole = {q: {level: read(frame, level, q) for level in (*LEVELS, None)} for q in (1, 2, 4)}
    owner = {}  # rows are told from another by their places on the lattice
    for who, rows in frame.groupby("who"):
        for pair in rows_read(rows.drop(columns="who"), None):
            owner[pair] = who
    for q in (1, 2, 4):
        parts_of = {}
        for level, rows in whole[q].items():
            for pair in rows:
                parts_of.setdefault(owner[pair], set()).add(level)
        assert max(map(len, parts_of.values())) == q
        assert set(parts_of) == set(frame.who)  # everybody is in some part
    # Another person's coming or going changes nothing of the others' rows.
    without = frame[frame.who != "7"]
    for level in (*LEVELS, None):
        mine = {pair for pair in whole[2][level] if owner[pair] == "7"}
        assert read(without, level, 2) == whole[2][level] - mine
    # Nor does the order of rows, or how the levels were declared.
    assert read(frame[::-1].reset_index(drop=True), "south", 2) == whole[2]["south"]
    turned = Part("region", LEVELS[::-1], "south", 2)
    assert rows_read(frame, turned, "who", max_rows=m, parts_key=5) == whole[2]["south"]
    # Another key would read other parts; a data set has one.
    assert (
        rows_read(frame, Part("region", LEVELS, "south", 1), "who", max_rows=m, parts_key=6)
        != whole[1]["south"]
    )


@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_a_fit_of_a_part_says_so_and_predicts_rows_of_all(path, frame):
    Accountant.create(path, "trips", epsilon=4, parts={"region": LEVELS}, unit="who", parts_per_person=1)
    south = Accountant.open(path, "trips", part={"region": "south"})
    how = {"epsilon": 2, "bounds": {"x": (0, 1), "y": (0, 1)}, "unit": "who", "budget": south}
    model = DPLloyd(2, max_iter=1, random_state=0, **how).fit(frame)
    assert "part       region = south" in str(model.certificate_)
    assert model.cluster_sizes_.sum() < 200
    assert len(model.predict(frame)) == len(frame)
    assert PrivateScaler(**{**how, "epsilon": 1}).fit(frame).certificate_.ledger["part"] == "region = south"
    assert south.spent == pytest.approx(3, abs=1e-3)


def test_a_part_that_cannot_be_had_is_refused_before_anything_is_spent(path, frame):
    trips = Accountant.create(path, "trips", epsilon=4, parts=PARTS)
    for part, said in (
        ({"region": "west"}, "its levels are 'north', 'south', 'east', and None"),
        ({"colour": "red"}, "partition columns are 'month', 'region'"),
        ({"region": "north", "month": "1"}, "give one column and its level"),
        ("north", "give one column"),
    ):
        with pytest.raises(InvalidBudget, match=said):
            Accountant.open(path, "trips", part=part)
    south = Accountant.open(path, "trips", part={"region": "south"})
    model = DPLloyd(2, epsilon=1, bounds={"x": (0, 1), "y": (0, 1)}, budget=south)
    with pytest.raises(InvalidInput, match="n_rows cannot go with a part"):
        DPLloyd(2, epsilon=1, bounds=(0, 1), n_rows=600, budget=south).fit(frame)
    with pytest.raises(InvalidTable, match="part is column 'region', which the table does not have"):
        model.fit(frame.drop(columns="region"))
    assert trips.spent == 0
    assert len(trips.records()) == 1
