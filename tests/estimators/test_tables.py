"""People, levels and weights as parameters: what is refused, and what a fitted model then knows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from shoal import Accountant, DPLloyd
from shoal.domain import Schema
from shoal.errors import InvalidBounds, InvalidInput, InvalidTable

ARRAY = np.random.default_rng(0).uniform(0, 1, (40, 2))
FRAME = pl.DataFrame(
    {
        "age": [20.0, 30.0, None, 60.0] * 10,
        "member": [True, False, True, None] * 10,
        "hue": ["red", "blue", None, "mauve"] * 10,
        "who": ["a", "b", "b", None] * 10,
        "day": [1, 2, 3, 4] * 10,
    }
).with_columns(pl.col("day").cast(pl.Date))
NUMBERS = FRAME.select("age", "who")


def refused(error, says, X, sample_weight=None, **how):
    budget = Accountant(epsilon=10)
    with pytest.raises(error, match=says):
        DPLloyd(2, **{"epsilon": 1.0, "bounds": (0, 100), "budget": budget, **how}).fit(
            X, sample_weight=sample_weight
        )
    assert budget.charges == ()
    assert budget.left == 10


@pytest.mark.parametrize(
    ("says", "X", "how"),
    [
        ("a row is taken for a person", NUMBERS, {"max_rows": 2}),
        ("max_rows", NUMBERS, {"unit": "who", "max_rows": 0}),
        ("max_rows", NUMBERS, {"unit": "who", "max_rows": 1.5}),
        ("name of the column", NUMBERS, {"unit": 3}),
        ("n_rows cannot go with unit", NUMBERS, {"unit": "who", "n_rows": 40}),
        ("no column names", ARRAY, {"unit": "who"}),
        ("did you mean 'who'", NUMBERS, {"unit": "whom"}),
        ("text or numbers", FRAME.select("age", "day"), {"unit": "day"}),
        ("text or numbers", FRAME.select("age", "member"), {"unit": "member"}),
        ("0 feature", FRAME.select("who"), {"unit": "who"}),
    ],
)
def test_people(says, X, how):
    refused(InvalidInput, says, X, **how)


HUES = FRAME.select("age", "hue")


@pytest.mark.parametrize(
    ("says", "X", "levels"),
    [
        ("declare its levels, as in levels={'hue'", HUES, None),
        ("did you mean 'hue'", HUES, {"hues": ["red"]}),
        ("give a mapping", HUES, ["red"]),
        ("are 'red'", HUES, {"hue": "red"}),
        (r"are \[\]", HUES, {"hue": []}),
        ("is 1.5", HUES, {"hue": [1.5]}),
        ("is True", HUES, {"hue": [True]}),
        ("twice", HUES, {"hue": ["red", "red"]}),
        ("twice", HUES, {"hue": [1, "1"]}),
        ("give whole ones", HUES, {"age": ["old"], "hue": ["red"]}),
        ("give whole ones", HUES, {"age": ["01"], "hue": ["red"]}),
        ("has no levels", FRAME.select("member"), {"member": [0, 1]}),
        ("has no levels", FRAME.select("day"), {"day": ["1970-01-02"]}),
        ("no column names", ARRAY, {"x0": [0, 1]}),
        ("appear twice", HUES.with_columns(pl.lit(1).alias("hue=red")), {"hue": ["red"]}),
    ],
)
def test_levels(says, X, levels):
    refused(InvalidTable, says, X, levels=levels)


W = np.ones(40)


@pytest.mark.parametrize(
    ("says", "X", "weight", "how"),
    [
        ("must be public", ARRAY, W, {}),
        ("max_weight", ARRAY, W, {"max_weight": 0.0}),
        ("max_weight", ARRAY, W, {"max_weight": np.inf}),
        ("max_weight", ARRAY, W, {"max_weight": "10"}),
        ("n_rows cannot go with sample_weight", ARRAY, W, {"max_weight": 1.0, "n_rows": 40}),
        ("number of rows", ARRAY, W[:-1], {"max_weight": 1.0}),
        ("1D", ARRAY, W.reshape(-1, 1), {"max_weight": 1.0}),
        ("not numbers", ARRAY, ["x"] * 40, {"max_weight": 1.0}),
        ("not numbers", ARRAY, pd.Series(["1"] * 40), {"max_weight": 1.0}),
        ("not numbers", ARRAY, np.ones(40, dtype=object), {"max_weight": 1.0}),
        ("no column names", ARRAY, "w", {"max_weight": 1.0}),
        ("did you mean 'age'", NUMBERS, "ages", {"max_weight": 1.0, "unit": "who"}),
        ("must hold numbers", NUMBERS, "who", {"max_weight": 1.0}),
        ("both name the person", NUMBERS, "age", {"max_weight": 1.0, "unit": "age"}),
    ],
)
def test_weights(says, X, weight, how):
    refused(InvalidInput, says, X, sample_weight=weight, **how)


@pytest.mark.parametrize("bounds", [{"age": (0, 99), "hue": (0, 1)}, {}, ([0, 0], [1, 1])])
def test_bounds_of_categories_are_not_given(bounds):
    refused(InvalidBounds, "bounds", HUES, levels={"hue": ["red"]}, bounds=bounds)


def test_a_model_knows_the_table_as_it_was_and_as_it_became():
    X = FRAME.drop("day")
    model = DPLloyd(
        2,
        epsilon=50.0,
        bounds={"age": (0, 100), "member": "boolean"},
        levels={"hue": ["red", "blue"]},
        unit="who",
        max_rows=5,
        random_state=0,
    ).fit(X)
    assert list(model.feature_names_in_) == ["age", "member", "hue"]
    assert model.n_features_in_ == 3
    assert model.release_.names == ("age", "member", "hue=red", "hue=blue")
    assert model.cluster_centers_.shape == (2, 4)
    assert (model.cluster_centers_[:, 1:] >= 0).all()
    assert (model.cluster_centers_[:, 1:] <= 1).all()
    schema = model.release_.domain.schema
    assert isinstance(schema, Schema)
    assert (schema.unit, schema.levels) == ("who", {"hue": ("red", "blue")})
    want = model.predict(X)
    assert np.array_equal(model.predict(X.drop("who")), want)
    assert np.array_equal(model.predict(X.to_arrow()), want)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.select("hue", "age", "member"))
    with pytest.raises(InvalidTable, match="levels are declared for column 'hue'"):
        model.predict(X.drop("hue"))


def test_levels_changed_after_the_fit_do_not_matter():
    X = FRAME.select("age", "hue")
    model = DPLloyd(2, epsilon=50.0, bounds=(0, 100), levels={"hue": ["red", "blue"]}, random_state=0).fit(X)
    want = model.predict(X)
    model.set_params(levels={"hue": ["mauve"]}, unit="age")
    assert np.array_equal(model.predict(X), want)


def test_a_clone_has_the_same_parameters():
    model = DPLloyd(2, epsilon=1.0, levels={"hue": ["red"]}, unit="who", max_rows=np.int64(3), max_weight=2.0)
    assert clone(model).get_params() == model.get_params()


def test_replace_and_several_rows_a_person():
    model = DPLloyd(2, epsilon=50.0, bounds=(0, 100), unit="who", max_rows=np.int64(2), neighbours="replace")
    model.fit(NUMBERS)
    assert model.certificate_.unit == "one person (column 'who') with at most 2 rows replaced"
