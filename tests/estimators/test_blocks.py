"""Blocks of rows: each row is in one, all together cost what one does, and their coresets are joined."""

import numpy as np
import pytest

import zoo
from shoal import Accountant, PrivateCoreset
from shoal.domain import Chunk
from shoal.errors import InvalidInput
from shoal.estimators.explanation import explain
from shoal.queries.gate.codec import digest
from shoal.queries.gate.dealt import Block, DealtSource
from shoal.sources import open_table


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    return np.concatenate([rng.normal(2, 0.5, (12_000, 3)), rng.normal(8, 0.5, (12_000, 3))])


def chunk(n, seed=0):
    return Chunk(np.random.default_rng(seed).integers(-9, 9, (2, n)).astype(np.float32))


def in_blocks(rows, key, of=4):
    return [Block(key, number, of).taken(rows) for number in range(of)]


def test_every_row_is_in_one_block_and_blocks_are_about_even():
    rows = Chunk(np.random.default_rng(0).normal(size=(2, 4000)).astype(np.float32))
    sizes = [one.n_rows for one in in_blocks(rows, key=7)]
    assert sum(sizes) == 4000
    assert min(sizes) > 850


@pytest.mark.parametrize("key", [0, 7, 2**64 - 1])
def test_a_row_more_changes_one_block_and_leaves_the_others_as_they_are(key):
    for seed in range(20):
        after = chunk(50, seed)
        before = Chunk(after.columns[:, 1:])
        differ = [
            not np.array_equal(one.columns, other.columns)
            for one, other in zip(in_blocks(before, key), in_blocks(after, key), strict=True)
        ]
        assert sum(differ) == 1


def test_blocks_do_not_hang_on_chunks_or_order():
    whole = chunk(300)
    mixed = whole.columns[:, np.random.default_rng(1).permutation(300)]
    for number in range(4):
        block = Block(3, number, 4)
        parts = [
            block.taken(Chunk(np.ascontiguousarray(c))).columns for c in np.array_split(mixed, 7, axis=1)
        ]
        both = [np.concatenate(parts, axis=1), block.taken(whole).columns]
        one, other = (cells[:, np.lexsort(cells)] for cells in both)
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("how", "each", "all_of_them"),
    [
        ({}, "epsilon = 2", {"add-remove": "epsilon = 2", "replace": "epsilon = 4"}),
        ({"delta": 1e-6}, "epsilon = 2, delta = 1e-06", {"add-remove": "epsilon = 2, delta = 1e-06"}),
        ({"neighbours": "replace"}, "epsilon = 1", {"replace": "epsilon = 2"}),
        (
            {"neighbours": "replace", "delta": 1e-6},
            "epsilon = 1, delta = 5e-07",
            {"replace": "epsilon = 2, delta = 1e-06"},
        ),
    ],
    ids=str,
)
def test_what_blocks_promise_together(how, each, all_of_them, rows):
    release = PrivateCoreset(2, epsilon=2.0, bounds=(0, 10), n_blocks=3, **how).fit(rows).release_
    assert len(release.parts) == 3
    assert {part.transcript.budget.describe() for part in release.parts} == {each}
    assert release.guarantee == all_of_them


def test_an_accountant_is_charged_for_the_dearest_block_and_not_for_all(rows):
    accountant = Accountant(epsilon=2.5)
    release = PrivateCoreset(2, epsilon=2.0, bounds=(0, 10), n_blocks=4, budget=accountant).fit(rows).release_
    assert release.weights.sum() == pytest.approx(len(rows), rel=0.05)
    assert np.sort(release.kmeans(2).centres[:, 0]) == pytest.approx([2, 8], abs=0.2)
    assert 1.5 < float(accountant.spent) <= 2


def test_what_every_block_promises_names_the_ledger(rows, tmp_path):
    Accountant.create(tmp_path / "l.ledger", "rows", epsilon=2)
    ledger = Accountant.open(tmp_path / "l.ledger", "rows")
    release = PrivateCoreset(2, epsilon=2.0, bounds=(0, 10), n_blocks=2, budget=ledger).fit(rows).release_
    said = [part.certificate.ledger for part in release.parts]
    assert said[0] == said[1]
    assert said[0]["dataset"] == "rows"


def test_blocks_of_a_seeded_fit_have_noise_of_their_own(rows, tmp_path):
    model = PrivateCoreset(2, epsilon=2.0, bounds=(0, 10), n_blocks=2, random_state=1)
    one, other = (model.fit(rows).release_ for _ in range(2))
    assert np.array_equal(one.points, other.points)
    # Without rows, answers are noise and nothing else; with a ledger, that hangs on the number of a question.
    Accountant.create(tmp_path / "l.ledger", "rows", epsilon=2)
    model.set_params(budget=Accountant.open(tmp_path / "l.ledger", "rows"))
    first, second = zoo.quietly(model.fit, rows[:0]).release_.parts
    assert digest(first.transcript) != digest(second.transcript)


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ({"n_blocks": 0}, "n_blocks"),
        ({"n_rows": 24_000}, "n_rows cannot go with n_blocks"),
        ({"bounds": None}, "bounds=None cannot go with n_blocks"),
        ({"count_clipped": True}, "count_clipped cannot go with n_blocks"),
        ({"unit": "who"}, "unit cannot go with n_blocks"),
    ],
    ids=str,
)
def test_what_does_not_go_with_blocks_is_refused_before_anything_is_spent(how, what, rows):
    accountant = Accountant(epsilon=2.0)
    usual = {"epsilon": 2.0, "bounds": (0, 10), "n_blocks": 2, "budget": accountant}
    with pytest.raises(InvalidInput, match=what):
        PrivateCoreset(2, **{**usual, **how}).fit(rows)
    assert accountant.spent == 0


def test_explain_tells_of_one_block():
    model = PrivateCoreset(2, epsilon=2.0, bounds=(0, 10), n_blocks=3, neighbours="replace")
    plan = explain(model, ["a", "b", "c"], rows=24_000)
    assert (plan.rows, plan.budget) == (8000, "epsilon = 1")


def test_another_lattice_would_deal_rows_out_otherwise(rows):
    model = PrivateCoreset(2, epsilon=2.0, bounds=(0, 10))
    table = open_table(rows)
    domain = model._plan(table.schema, model._unit(), weighted=False).domain
    with pytest.raises(TypeError, match="one domain"):
        DealtSource(table.source(domain), Block(0, 0, 2)).within(domain)
