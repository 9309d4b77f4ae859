"""What the gate refuses, it refuses before it charges, and without a word about rows."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import Accountant, SampleAggregateKMeans
from shoal.algorithms.registry import REGISTRY, Status
from shoal.domain import STEPS, Unit
from shoal.errors import InvalidBudget, InvalidInput
from shoal.mechanisms import SeededEntropy, permute_and_flip
from shoal.queries import (
    Ball,
    Direction,
    Offset,
    Outer,
    ProjectedLoss,
    Projection,
    Region,
    Relative,
    Voronoi,
    WithCost,
    kernels,
)
from shoal.queries.kernels import relative as relative_kernels
from shoal.queries.laws.choices import design_choice
from shoal.queries.laws.growth import design_growth
from shoal.queries.laws.noise import BALL_NOISES, design
from shoal.queries.losses.windows import BoxCount, Windows, WindowSize
from shoal.queries.statistics.aggregates import RowChange

CELLS = Voronoi(np.array([[-0.5, -0.5], [0.5, 0.5], [0.0, 0.0]]))


@pytest.mark.parametrize("shape", [(2, 2), (4, 2), (3, 1), (3, 3)])
@pytest.mark.parametrize(
    "statistic",
    [
        lambda anchors: Offset(anchors, Ball(0.5)),
        lambda anchors: WithCost(Offset(anchors, Ball(0.5))),
        lambda anchors: Outer(Offset(anchors, Ball(0.5))),
        lambda anchors: Direction(anchors, 0.1),
        lambda anchors: Relative(anchors, np.full(anchors.shape, 0.5)),
        lambda anchors: Relative(anchors, np.full(anchors.shape, 0.5), "ball", np.ones(len(anchors))),
    ],
)
def test_anchors_of_every_statistic_must_fit_the_cells(behind_gate, blobs, statistic, shape):
    curator = behind_gate(blobs)
    with pytest.raises(InvalidInput, match="anchors have shape"):
        curator.sums(CELLS, of=statistic(np.zeros(shape)), share=Fraction(1, 2))
    assert curator._allowance.spent == 0


def test_no_text_tells_how_many_rows_there_are_or_what_they_add_up_to():
    rows = np.zeros((2, 4321), dtype=np.float32)
    steps = np.zeros((1, 2), dtype=np.int64)
    outside = np.ones(4321, dtype=np.int32)
    said = []
    for refused in (
        lambda: kernels.accumulate(rows.astype(np.int32), outside, 1),
        lambda: relative_kernels.relative(rows, outside, steps, steps + STEPS, False),
        lambda: permute_and_flip(SeededEntropy(0), np.array([4321, -4321]), Fraction(1)),
    ):
        with pytest.raises(InvalidInput) as caught:
            refused()
        said.append(str(caught.value))
    assert not any("4321" in text for text in said), said


@pytest.mark.parametrize("loss", [BoxCount, lambda windows: WindowSize((windows,), 10)])
def test_a_loss_of_held_rows_cannot_hide_in_a_projection(loss):
    # It would pass for one that adds up over rows, and be charged as such.
    with pytest.raises(InvalidInput, match="held"):
        ProjectedLoss(Projection(np.eye(2)), loss(Windows(Region.whole(2), (0, 1), 4)))


@st.composite
def laws(draw):
    """Any noise, choice or tree that can be designed, of budgets from nothing to absurd."""
    share = Fraction(draw(st.integers(1, 2**20))) * Fraction(2) ** draw(st.sampled_from(range(-80, 80, 8)))
    unit = Unit(draw(st.sampled_from(["add-remove", "replace"])), draw(st.sampled_from([1, 3, 50])), "who")
    currency = draw(st.sampled_from(["epsilon", "rho"]))
    kind = draw(st.sampled_from(["noise", "choice", "tree"]))
    if kind == "choice":
        return design_choice, draw(st.integers(1, 3)), share, currency, unit
    if kind == "tree":
        return design_growth, draw(st.sampled_from([1, STEPS])), share, currency, unit
    change = RowChange(
        width=draw(st.sampled_from([1, 16, 1000, STEPS, 2 * STEPS])),
        n_values=draw(st.integers(1, 40)),
        ball=draw(st.booleans()),
        extras=draw(st.sampled_from([(), ("count",), ("count", "cost")])),
    )
    return design, change, share, currency, unit, draw(st.sampled_from([None, *BALL_NOISES]))


@settings(max_examples=300)
@given(laws())
def test_whatever_can_be_designed_can_be_drawn(asked):
    # The charge lies between the two: what a sampler refuses after it has been paid for and not had.
    try:
        law = asked[0](*asked[1:])
    except InvalidInput:
        return
    entropy = SeededEntropy(0)
    if hasattr(law, "blocks"):
        assert (law.sd > 0).all()
        law.draw(entropy, 2)
    elif hasattr(law, "penalty"):
        law.grow(entropy, lambda active, level, deeper: np.zeros((len(active), 2**deeper), dtype=int), 3)
    else:
        law.draw(entropy, np.arange(5) * STEPS)


PEOPLE = pd.DataFrame(np.random.default_rng(0).random((300, 2)), columns=["a", "b"])
PEOPLE["who"] = [f"person {i % 60}" for i in range(len(PEOPLE))]


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@pytest.mark.parametrize(
    ("epsilon", "delta", "max_rows"), [(0.01, 0, 50), (1e-7, 0, 7), (1e-6, 1e-6, 1), (1e5, 0, 1)]
)
@pytest.mark.parametrize("row", [r for r in REGISTRY.values() if r.status is not Status.CLAIMED_ONLY])
def test_budgets_beyond_reason_are_honoured_or_refused_for_nothing(row, epsilon, delta, max_rows):
    budget = Accountant(epsilon=epsilon, delta=delta)
    how = {"epsilon": epsilon, "delta": delta, "bounds": (0, 1), "unit": "who", "max_rows": max_rows}
    k = () if "Synopsis" in row.estimator else (2,)
    try:
        getattr(shoal, row.estimator)(*k, budget=budget, **how, **dict(row.parameters)).fit(PEOPLE)
    except InvalidInput:
        assert budget.spent == 0


@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_a_person_of_many_rows_does_not_break_sample_and_aggregate():
    # Its range is twice as wide as any other, and a rate of that width left the sampler's 53 bits.
    model = SampleAggregateKMeans(2, epsilon=0.01, bounds=(0, 1), unit="who", max_rows=50)
    assert model.fit(PEOPLE).cluster_centers_.shape == (2, 2)


def test_a_budget_too_small_to_be_cut_is_refused_as_a_whole(behind_gate, blobs):
    with pytest.raises(InvalidBudget, match=r"from 9.54e-07 to 1.1e\+12 .* raise epsilon"):
        behind_gate(blobs, epsilon=9e-7)
    with pytest.raises(InvalidBudget, match="lower epsilon"):
        behind_gate(blobs, epsilon=1e13)
