"""scikit-learn's own checks, with every exception justified."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import zoo
from shoal import Accountant, DPLloyd

NO_LABELS = "a fitted model holds only releasable values, so there is no labels_"
EXCEPTIONS = {
    "check_clustering": NO_LABELS,
    "check_estimators_empty_data_messages": "zero rows are not an error: it would show an empty table",
    "check_dtype_object": "an untyped array is refused by its schema, before its cells are looked at",
    "check_all_zero_sample_weights_error": "weights of zero are not an error: it would show the weights",
    "check_sample_weight_equivalence_on_dense_data": "weighted and repeated rows get different fresh noise",
}


def justified(estimator):
    return EXCEPTIONS


# The tables of the checks are small, and reach further than those of the zoo.
SUITED = {"epsilon": 100.0, "bounds": (-10, 10), "max_weight": 10.0, "random_state": None}
QUICK = {"max_iter": 2, "resolution": 3, "n_levels": 2, "blocks": 3}


def suited(member):
    model = member.model
    quick = {name: value for name, value in QUICK.items() if name in model.get_params()}
    return model.set_params(**SUITED, **quick)


@pytest.mark.slow
@parametrize_with_checks(
    [
        *(suited(member) for member in zoo.first_of_each(zoo.MODELS)),
        DPLloyd(
            2, epsilon=100.0, delta=1e-6, bounds=(-10, 10), scaling="none", max_iter="auto", max_weight=10.0
        ),
    ],
    expected_failed_checks=justified,
)
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_estimator_checks(estimator, check):
    check(estimator)


def model(**how):
    return DPLloyd(3, **{"epsilon": 1.0, "bounds": (-1, 1), **how})


def test_params_clone_and_shared_budget():
    budget = Accountant(epsilon=5)
    original = model(budget=budget, max_iter=3)
    copy = clone(original)
    assert copy.get_params() == original.get_params()
    assert copy.budget is budget  # a clone must draw on the same budget, not on a copy of it


def test_feature_names_and_output_frames(blobs):
    frame = pd.DataFrame(blobs, columns=["lon", "lat"])
    fitted = model(bounds={"lon": (-1, 1), "lat": (-1, 1)}).set_output(transform="pandas").fit(frame)
    assert list(fitted.feature_names_in_) == ["lon", "lat"]
    out = fitted.transform(frame.head())
    assert list(out.columns) == ["dplloyd0", "dplloyd1", "dplloyd2"]
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["lat", "lon"]])


def test_transform_predict_and_score_agree(blobs):
    fitted = model().fit(blobs)
    distances = fitted.transform(blobs)
    assert np.array_equal(distances.argmin(axis=1), fitted.predict(blobs))
    assert fitted.score(blobs) == pytest.approx(-(distances.min(axis=1) ** 2).sum())
    direct = np.linalg.norm(blobs[:, None] - fitted.cluster_centers_[None], axis=2)
    assert distances == pytest.approx(direct, abs=1e-5)


def test_own_units(blobs):
    stretched = blobs * [1, 100]
    fitted = model(bounds=([-1, -100], [1, 100]), scaling="none").fit(stretched)
    direct = np.linalg.norm(stretched[:, None] - fitted.cluster_centers_[None], axis=2)
    assert fitted.transform(stretched) == pytest.approx(direct, abs=1e-3)


def test_pipeline(blobs):
    halve = FunctionTransformer(partial(np.multiply, 0.5))
    pipeline = make_pipeline(halve, model())
    labels = pipeline.fit(blobs).predict(blobs)
    assert set(labels) <= {0, 1, 2}


def test_fit_predict_labels_the_callers_rows(blobs):
    fitted = model()
    labels = fitted.fit_predict(blobs)
    assert np.array_equal(labels, fitted.predict(blobs))
    assert not hasattr(fitted, "labels_")


def test_it_finds_the_groups(blobs):
    fitted = DPLloyd(4, epsilon=5.0, bounds=(-1, 1), random_state=1, max_iter=7).fit(blobs)
    found = fitted.cluster_centers_[np.lexsort(np.sign(fitted.cluster_centers_).T)]
    want = np.array([[-0.6, -0.6], [0.6, -0.6], [-0.6, 0.6], [0.6, 0.6]])
    assert found == pytest.approx(want, abs=0.05)
    assert fitted.cluster_sizes_.sum() == pytest.approx(2000, rel=0.1)
