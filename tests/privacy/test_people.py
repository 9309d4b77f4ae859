"""A person has at most m rows, chosen from their own rows and a key alone, and is charged for m."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import DPLloyd
from shoal.domain import STEPS, Bounds, Domain, Unit
from shoal.domain.hashing import hash_rows
from shoal.queries import Grid, Value
from shoal.sources import FileTable, MemorySource, Table
from shoal.sources import people as people_module
from shoal.sources.columns import Piece, Words
from shoal.sources.people import Keeper, keep

# Few people, few different cells: so there are repeats, ties and people with too many rows.
row = st.tuples(
    st.sampled_from(["a", "b", "c", None]), st.sampled_from([0.0, -0.0, 1.5, 2.5, np.nan, np.inf])
)
tables = st.lists(row, max_size=40)


def piece(rows, start=0):
    words = sorted({who for who, _ in rows if who is not None})
    codes = np.array([-1 if who is None else words.index(who) for who, _ in rows], dtype=np.int64)
    return Piece(start, [np.array([value for _, value in rows])], Words(codes, words))


def content(row):
    who, value = row
    return who, "nan" if np.isnan(value) else value + 0.0


def kept(rows, m, key=0, cuts=()):
    """Return the rows that are kept, as a multiset."""
    keeper = Keeper(m, key)
    borders = [0, *sorted(cuts), len(rows)]
    for start, stop in pairwise(borders):
        keeper.add(piece(rows[start:stop], start))
    return Counter(content(rows[place]) for place in keeper.places())


@given(tables, st.integers(1, 4), st.integers(0, 5))
def test_nobody_keeps_more_than_m_rows_nor_fewer_than_they_can(rows, m, key):
    found = kept(rows, m, key)
    had = Counter(content(row) for row in rows)
    assert all(found[row] <= had[row] for row in found)
    for who in ("a", "b", "c"):
        n = sum(count for (name, _), count in had.items() if name == who)
        assert sum(count for (name, _), count in found.items() if name == who) == min(n, m)
    nobody = {row: count for row, count in had.items() if row[0] is None}
    assert {row: count for row, count in found.items() if row[0] is None} == nobody


@given(tables, st.integers(1, 4), st.integers(0, 5))
def test_another_person_changes_nothing_for_the_others(rows, m, key):
    without = [row for row in rows if row[0] != "a"]
    found = kept(rows, m, key)
    assert kept(without, m, key) == Counter({row: n for row, n in found.items() if row[0] != "a"})


@given(tables, st.integers(1, 4), st.lists(st.integers(0, 40), max_size=3), st.randoms())
def test_neither_order_nor_cuts_matter(rows, m, cuts, random):
    want = kept(rows, m)
    shuffled = list(rows)
    random.shuffle(shuffled)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(people_module, "_WAITING", 0)  # pick after every piece
        assert kept(shuffled, m, cuts=[min(cut, len(rows)) for cut in cuts]) == want


def pairs(people, hashes):
    return Counter(zip(people.tolist(), hashes.tolist(), strict=True))


candidates = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6)), max_size=30)


@given(candidates, candidates, st.integers(1, 4))
def test_what_was_dropped_never_has_to_come_back(first, second, m):
    def arrays(rows):
        people = np.array([p for p, _ in rows], dtype=np.int64)
        return people, np.array([h for _, h in rows], dtype=np.uint64)

    people, hashes = arrays(first + second)
    want = keep(people, hashes, m)
    early = keep(*arrays(first), m)
    later = arrays([first[i] for i in early] + second)
    again = keep(*later, m)
    assert pairs(later[0][again], later[1][again]) == pairs(people[want], hashes[want])


@pytest.mark.parametrize("m", [1, 2, 4])
def test_picking_early_gives_the_same(monkeypatch, m):
    rng = np.random.default_rng(m)
    names, cells = rng.integers(0, 150, 500), rng.integers(0, 60, 500)
    rows = [(f"p{name}", float(cell)) for name, cell in zip(names, cells, strict=True)]
    want = kept(rows, m)
    monkeypatch.setattr(people_module, "_WAITING", 10)
    assert kept(rows, m, cuts=range(0, 500, 13)) == want
    monkeypatch.setattr(people_module, "_WAITING", 0)
    assert kept(rows, m, cuts=[*range(0, 60, 1), 200]) == want


def test_equal_rows_have_equal_hashes_whatever_holds_them():
    seeds = np.array([1, 1, 2], dtype=np.uint64)
    here = hash_rows([np.array([0.0, -0.0, 0.0]), np.array([np.nan, -np.nan, np.nan])], seeds)
    there = hash_rows([np.zeros(3, dtype=bool), np.full(3, np.nan, dtype=np.float32)], seeds)
    assert here[0] == here[1] != here[2]
    assert np.array_equal(here, there)


def test_people_are_told_apart_by_name_not_by_hash(monkeypatch):
    monkeypatch.setattr(people_module, "seed_of", lambda word, key: 1)
    found = kept([(who, 1.0) for who in "aabbcc"], 1)
    assert found == Counter({(who, 1.0): 1 for who in "abc"})


def test_every_row_of_a_person_has_the_same_chance():
    rows = [("a", float(value)) for value in range(20)]
    counts = Counter(value for key in range(2000) for _, value in kept(rows, 3, key))
    assert len(counts) == 20
    spread = np.array(list(counts.values()))
    assert spread.sum() == 6000
    assert ((spread - 300) ** 2 / 300).sum() < 50  # chi square, 19 degrees of freedom: 1 in 10,000


def test_people_do_not_all_keep_the_same_rows():
    rows = [(who, float(value)) for who in "abc" for value in range(50)]
    by_person = [{value for name, value in kept(rows, 5) if name == who} for who in "abc"]
    assert by_person[0] != by_person[1] != by_person[2]


def source_of(frame, m, key=3, missing="centre"):
    table = Table(frame, unit="who")
    domain = Domain(table.schema.bounds((-1, 1)), missing=missing, unit=Unit(max_rows=m, column="who"))
    return MemorySource(table, domain, key=key, chunk_rows=17), domain


def crowd(n=200):
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {"x": rng.uniform(-1, 1, n), "y": rng.uniform(-1, 1, n), "who": rng.integers(0, 30, n)}
    )


@pytest.mark.parametrize("m", [1, 2, 5])
def test_a_person_with_many_rows_changes_totals_by_m_rows_at_most(m):
    others = crowd()
    flood = pl.DataFrame({"x": [1.0] * 100, "y": [1.0] * 100, "who": [999] * 100})
    rows = pl.concat([flood[:50], others, flood[50:]])

    def totals(frame):
        source, domain = source_of(frame, m)
        whole = Grid.whole(2)
        return source.reduce(lambda chunk: Value().exact_totals(whole, chunk, domain.metric), np.add)

    change = totals(rows) - totals(others)
    assert change.tolist() == [[m * STEPS] * 3]  # exactly m rows at the corner of the box


def test_incomplete_rows_do_not_use_up_a_person():
    frame = pl.DataFrame({"x": [None] * 9 + [0.5], "y": [0.0] * 10, "who": ["a"] * 10})
    counts = []
    for key in range(20):
        source, _ = source_of(frame, 1, key, missing="drop")
        counts.append(source.reduce(lambda chunk: chunk.n_rows, lambda a, b: a + b))
    assert counts == [1] * 20


def test_another_domain_keeps_the_same_rows():
    source, domain = source_of(crowd(), 2)
    wider = Domain(Bounds.parse((-2, 2), 2), unit=domain.unit)
    here = source.reduce(lambda chunk: chunk.columns.astype(np.float64), lambda a, b: np.hstack([a, b]))
    there = source.within(wider).reduce(
        lambda c: c.columns.astype(np.float64), lambda a, b: np.hstack([a, b])
    )
    assert there == pytest.approx(here / 2, abs=2 / STEPS)


def test_every_input_type_keeps_the_same_rows():
    frame = crowd().with_columns(pl.when(pl.col("who") == 3).then(None).otherwise(pl.col("who")).alias("who"))

    def centres(X):
        how = {"epsilon": 20.0, "bounds": (-1, 1), "unit": "who", "max_rows": 2, "random_state": 1}
        return DPLloyd(2, **how).fit(X).cluster_centers_.tobytes()

    want = centres(frame)
    assert centres(frame.to_arrow()) == want
    assert centres(frame.with_columns(pl.col("who").cast(pl.String))) == want
    as_pandas = pd.DataFrame(frame.to_dict(as_series=False))
    assert as_pandas["who"].dtype == np.float64  # whole numbers with missing ones among them
    assert centres(as_pandas) == want
    assert centres(as_pandas.convert_dtypes()) == want
    assert centres(frame.sample(fraction=1.0, shuffle=True, seed=1)) == want


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")  # four rows a person are much to hide
def test_everything_is_charged_for_m_rows(neighbours, delta):
    def model(m):
        how = {"epsilon": 5.0, "delta": delta, "bounds": (-1, 1), "neighbours": neighbours, "max_iter": 2}
        return DPLloyd(2, unit="who", max_rows=m, **how).fit(crowd(8000))

    one, four = model(1), model(4)
    assert four.release_.size_sd >= 3.9 * one.release_.size_sd
    for fitted in (one, four):
        spent = sum((charge.amount for charge in fitted.certificate_.charges), Fraction(0))
        assert spent <= fitted.release_.transcript.budget.amount
    assert "one person (column 'who') with at most 4 rows" in four.certificate_.unit
    assert "one person (column 'who') with one row" in one.certificate_.unit
    assert list(one.feature_names_in_) == ["x", "y"]


def test_the_key_is_drawn_anew_for_every_fit(monkeypatch):
    keys = []
    original = Keeper.__init__

    def spy(self, max_rows, key, **how):
        keys.append(key)
        original(self, max_rows, key, **how)

    monkeypatch.setattr(Keeper, "__init__", spy)
    model = DPLloyd(2, epsilon=5.0, bounds=(-1, 1), unit="who")
    model.fit(crowd()).fit(crowd())
    assert len(set(keys)) == 2


def people_kept(frame_or_table, m=1, key=3):
    """Return how many rows are kept of each person, by name."""
    table = frame_or_table if hasattr(frame_or_table, "parts") else Table(frame_or_table, unit="who")
    keeper, who = Keeper(m, key), []
    for part in table.parts(1000):
        piece = table.read(part)
        keeper.add(piece)
        who += [piece.people.words[code] if code >= 0 else None for code in piece.people.codes]
    return Counter(who[place] for place in keeper.places())


@pytest.mark.parametrize("newcomer", ["Bob", True, 2**70, ("a", 1), "\ud800", None, 1.5])
def test_a_newcomer_does_not_rename_anybody(newcomer):
    # Arrow could type the column without the newcomer and not with it, or the other way round.
    people = [np.int64(7)] * 500 + [True] * 50 + ["x"] * 5
    without = pd.DataFrame({"x": 0.5, "who": pd.Series(people, dtype=object)})
    with_one = pd.DataFrame({"x": 0.5, "who": pd.Series([*people, newcomer], dtype=object)})
    for who in ("7", "true", "x"):
        assert people_kept(without)[who] == people_kept(with_one)[who] == 1


def test_one_malformed_cell_moves_no_weight_and_no_kept_row(tmp_path):
    # Read beside a cell that is no number, all these weights used to go from the most to nothing.
    lines = [f"0.{i % 90 + 10},p{i % 40},inf" for i in range(3000)]

    def read(extra):
        path = tmp_path / "t.csv"
        path.write_text("\n".join(["x,who,w", *lines, *extra]) + "\n")
        table = FileTable(path, ["x"]).using(unit="who", weights="w")
        domain = Domain(table.schema.bounds((0, 1)), unit=Unit(max_rows=2, column="who"), max_weight=1.0)
        source = table.source(domain, key=1, threads=1)
        chunks = source.reduce(lambda chunk: [chunk], lambda a, b: [*a, *b])
        rows = [np.concatenate([chunk.columns[0] for chunk in chunks])[:80].tolist()]
        return rows, np.concatenate([chunk.weights for chunk in chunks]).tolist()

    rows, weights = read([])
    assert weights == [STEPS] * 80  # infinite: the most
    for extra in ("0.5,zoe,n/a", "n/a,zoe,inf", "oops,p1000,"):
        also, more = read([extra])
        assert also == rows
        assert more[:80] == weights
