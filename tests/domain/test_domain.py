import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal.domain import STEPS, Bounds, Domain, Unit, to_steps
from shoal.errors import InvalidInput

cells = st.floats(allow_nan=True, allow_infinity=True, width=64)


@given(
    arrays(np.float64, st.tuples(st.integers(0, 30), st.just(2)), elements=cells),
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
)
def test_every_cell_lands_on_the_lattice(rows, low, width):
    domain = Domain(Bounds.parse((low, low + width), 2))
    encoded = domain.encode(list(rows.T)).columns
    steps = encoded.astype(np.float64) * STEPS
    assert encoded.dtype == np.float32
    assert np.array_equal(steps, np.rint(steps))
    assert (np.abs(steps) <= STEPS).all()


@given(arrays(np.float64, st.tuples(st.integers(1, 20), st.just(2)), elements=cells), st.integers(0, 19))
@example(np.array([[np.nan, 1.0], [5.0, 2.0], [6.0, -1.0]]), 0)  # a missing cell beside others, at any rate
def test_a_row_is_encoded_by_itself_alone(rows, i):
    domain = Domain(Bounds.parse((-3, 7), 2))
    i %= len(rows)
    alone = domain.encode(list(rows[i : i + 1].T)).columns
    assert np.array_equal(domain.encode(list(rows.T)).columns[:, i : i + 1], alone)


def test_clipping_centring_and_missing_cells():
    domain = Domain(Bounds.parse(([0, 100], [10, 200]), 2))
    rows = np.array([[-5.0, 150.0], [np.nan, np.inf], [10.0, 1e300]])
    assert domain.encode(list(rows.T)).columns.T.tolist() == [[-1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]


def test_dropping_removes_only_incomplete_rows():
    domain = Domain(Bounds.parse((0, 2), 2), missing="drop")
    rows = np.array([[0.0, 0.0], [np.nan, 1.0], [2.0, 2.0], [1.0, -np.inf]])
    assert domain.encode(list(rows.T)).columns.T.tolist() == [[-1.0, -1.0], [1.0, 1.0]]


def test_dropping_needs_add_remove():
    with pytest.raises(InvalidInput, match="add-remove"):
        Domain(Bounds.parse((0, 1), 1), missing="drop", unit=Unit("replace"))


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.integers(-STEPS, STEPS))
def test_decode_undoes_encode(low, width, step):
    bounds = Bounds.parse((low, low + width), 1)
    if bounds.half_width[0] < 1e-7 * max(1.0, abs(low)):
        return  # the bounds themselves are too close for float64 to tell a million points between them
    domain = Domain(bounds)
    point = np.array([[step / STEPS]])
    assert to_steps(domain.encode(list(domain.decode(point).T)).columns.astype(np.float64).T)[0, 0] == step


def test_power_of_two_rescaling_and_shift_give_the_same_lattice():
    rows = np.random.default_rng(0).uniform(0, 1, (100, 1))
    here = Domain(Bounds.parse((0, 1), 1)).encode([rows[:, 0]]).columns
    scaled = Domain(Bounds.parse((0, 8), 1)).encode([rows[:, 0] * 8]).columns
    assert np.array_equal(here, scaled)


def test_own_units_weigh_columns_by_their_width():
    domain = Domain(Bounds.parse(([0, 0], [10, 100]), 2), scaling="none")
    assert domain.metric is not None
    assert domain.metric.tolist() == pytest.approx([0.01, 1.0])
    assert domain.length_unit == 50.0


def test_a_constant_column_is_harmless():
    domain = Domain(Bounds.parse(([3, 0], [3, 1]), 2))
    encoded = domain.encode([np.array([3.0, 9.0]), np.array([0.0, 1.0])]).columns
    assert encoded[0].tolist() == [0.0, 0.0]
    assert domain.decode(np.zeros((1, 2))).tolist() == [[3.0, 0.5]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Unit("swap"),  # type: ignore[arg-type]
        lambda: Unit(max_rows=0),
        lambda: Domain(Bounds.parse((0, 1), 1), scaling="z-score"),  # type: ignore[arg-type]
        lambda: Domain(Bounds.parse((0, 1), 1), missing="mean"),  # type: ignore[arg-type]
    ],
)
def test_unknown_choices_name_the_known_ones(make):
    with pytest.raises(InvalidInput, match="must be"):
        make()


def test_rows_of_other_columns_are_refused_and_not_made_up():
    domain = Domain(Bounds.parse((0, 1), 3))
    with pytest.raises(InvalidInput, match="2 columns for a domain of 3"):
        domain.encode([np.zeros(4), np.zeros(4)])
