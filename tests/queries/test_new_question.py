"""A new question is one file: the one on docs/how-to/add-a-question.md does all that the gate's own do."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest

import shoal
from shoal.accounting import budget_of
from shoal.audit import pair_loss
from shoal.audit.gate import noise_in_answers
from shoal.audit.replay import check_cells
from shoal.domain import Bounds, Domain
from shoal.errors import InvalidInput, InvalidRelease, ReplayMismatch
from shoal.queries import Grid, RehearsalCurator, ReplayCurator, Transcript
from shoal.queries.gate.answering import Entry
from shoal.queries.gate.codec import digest, from_plain, plain
from shoal.queries.questions import Histogram, Question
from shoal.queries.questions.base import Additive, exact_sum
from shoal.release.checks import check_answers, check_budget, check_charges

PAGE = Path(shoal.__file__).parents[2] / "docs" / "how-to" / "add-a-question.md"
HALF = Fraction(1, 2)


@pytest.fixture
def example(monkeypatch):
    """The file that the page shows."""
    (code,) = re.findall(r"```python\n(\"\"\"How many rows.*?)```", PAGE.read_text(), re.DOTALL)
    module = ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)
    monkeypatch.setattr(Question, "kinds", dict(Question.kinds))
    exec(compile(code, "example.py", "exec"), vars(module))
    return module


def test_it_is_asked_charged_recorded_and_replayed(example, behind_gate, blobs):
    curator = behind_gate(blobs, epsilon=50.0)
    question = example.CountAbove(0, 0.0, HALF)
    answer = curator._ask(question)
    assert answer == pytest.approx((blobs[:, 0] > 0).sum(), abs=5)
    assert curator._allowance.spent == pytest.approx(25)
    again = ReplayCurator(curator.transcript)
    assert again._ask(example.CountAbove(0, 0.0, HALF)) == answer
    with pytest.raises(ReplayMismatch):
        ReplayCurator(curator.transcript)._ask(example.CountAbove(1, 0.0, HALF))


def test_it_is_refused_before_anything_is_charged(example, behind_gate, blobs):
    curator = behind_gate(blobs)
    with pytest.raises(InvalidInput, match="column 2"):
        curator._ask(example.CountAbove(2, 0.0, HALF))
    assert curator._allowance.spent == 0


def test_it_is_rehearsed(example):
    domain = Domain(Bounds.parse((-1, 1), 2, ("x", "y")), names=("x", "y"))
    curator = RehearsalCurator(domain, budget_of(1.0), 300.0)
    assert curator._ask(example.CountAbove(0, 0.0, HALF)) == 150
    assert curator.transcript.charges


def test_it_is_written_read_and_verified(example, behind_gate, blobs):
    curator = behind_gate(blobs)
    curator._ask(example.CountAbove(0, 0.0, HALF))
    text = plain(curator.transcript)
    read = from_plain(Transcript, text)
    assert digest(read) == digest(curator.transcript)
    for check in (check_charges, check_budget, check_answers):
        check(read)
    forged = replace(read.entries[0], charge=replace(read.entries[0].charge, amount=Fraction(1, 9)))
    with pytest.raises(InvalidRelease, match="is charged"):
        check_charges(replace(read, entries=[forged]))
    text["entries"][0]["answer"] = "many"
    with pytest.raises(InvalidRelease, match="float is wanted"):
        from_plain(Transcript, text)


def test_it_is_audited(example, behind_gate):
    rows = np.full((5, 1), 0.9)
    curator = behind_gate(rows.copy())
    curator._ask(example.CountAbove(0, 0.0, HALF))
    found = pair_loss(curator.transcript, rows, np.vstack([rows, [[0.5]]]))
    assert found.what == "1 of 1 questions"
    assert found.true == pytest.approx(found.charged) == pytest.approx(0.5)
    check_cells(curator.transcript, rows)
    empty = behind_gate(np.zeros((0, 1)))
    empty._ask(example.CountAbove(0, 0.0, HALF))
    assert noise_in_answers(empty.transcript) == []  # it does not tell; a histogram does
    empty.histogram(Grid((2,)), share=Fraction(1, 4))
    assert len(noise_in_answers(empty.transcript)) == 1


def test_an_answer_to_another_question_is_not_taken(behind_gate, blobs):
    curator = behind_gate(blobs)
    curator.histogram(Grid.whole(2), share=HALF)
    entry = curator.transcript.entries[0]
    wrong = Entry(entry.question, 7, entry.charge)
    with pytest.raises(InvalidRelease, match="is not one to"):
        check_answers(replace(curator.transcript, entries=[wrong]))
    with pytest.raises(InvalidRelease, match="NoisyCounts is wanted"):
        from_plain(Transcript, plain(replace(curator.transcript, entries=[wrong])))


def test_files_keep_the_word_that_they_were_written_with():
    question = Histogram(Grid((2,)), HALF)
    assert plain(question) == {
        "class": "Histogram",
        "partition": {"class": "Grid", "shape": [2]},
        "cost": "1/2",
    }
    assert from_plain(Question, plain(question)).share == HALF


# Questions that are charged together: a row is on one side, so that both cost what the dearer one does.


def _side_of(kinds):
    @dataclass(frozen=True, eq=False)
    class OnSide(Additive):
        right: bool
        share: Fraction = field()

        answers: ClassVar = float

        def describe(self):
            return "rows on one side"

        def law(self, terms):
            return terms.noise(terms.change(None), self.share, None)

        def charge(self, law, terms, tally: Mapping):
            most = max((amount for _, amount in self._paid(terms, tally).items()), default=Fraction(0))
            grown = most - max(dict(tally).values(), default=Fraction(0))
            return replace(law.charge(self.describe()), amount=grown) if grown else None

        def tally(self, terms, tally):
            return self._paid(terms, tally)

        def _paid(self, terms, tally):
            side = ("side", self.right)
            return {**tally, side: tally.get(side, Fraction(0)) + self.law(terms).amount}

        def exact(self, chunk, terms):
            return np.array([[((chunk.columns[0] > 0) == self.right).sum()]], dtype=np.int64)

        def draw(self, exact_totals, law, entropy):
            return law.added(exact_totals, entropy)

        def rehearse(self, rows, law, terms):
            return np.array([[rows / 2]])

        def answer(self, noisy, law, terms):
            return float(noisy[0, 0])

        def fits(self, answer, law, terms):
            return bool(np.isfinite(answer))

    return OnSide


def test_the_gate_keeps_what_questions_that_are_charged_together_need(monkeypatch, behind_gate, blobs):
    monkeypatch.setattr(Question, "kinds", dict(Question.kinds))
    on_side = _side_of(Question.kinds)
    curator = behind_gate(blobs)
    quarter = Fraction(1, 4)
    spent = []
    for right, share in ((False, HALF), (True, quarter), (True, quarter), (True, quarter)):
        curator._ask(on_side(right, share))
        spent.append(float(curator._allowance.spent))
    # Left pays 1/2; right is free up to as much, and then pays what it has more.
    assert spent == pytest.approx([0.5, 0.5, 0.5, 0.75], rel=1e-4)
    check_charges(curator.transcript)
    honest = curator.transcript.entries
    with pytest.raises(InvalidRelease, match="is charged nothing"):
        check_charges(replace(curator.transcript, entries=honest[1:]))
    # Cells of another lattice, and rows of which some were taken away, are charged apart.
    inner = behind_gate(blobs)
    inner._ask(on_side(False, quarter))
    inner.within(inner.domain.bounds, Fraction(1))._ask(on_side(True, quarter))
    inner.hold()._ask(on_side(True, quarter))
    assert float(inner._allowance.spent) == pytest.approx(0.75, rel=1e-4)


def test_rows_that_stand_for_many_are_summed_as_many():
    from shoal.domain import Chunk

    rows = Chunk(np.array([[0.5, -0.5]], dtype=np.float32), counts=np.array([3, 4]))
    assert exact_sum(lambda chunk: np.array([chunk.n_rows]), rows) == [7]
