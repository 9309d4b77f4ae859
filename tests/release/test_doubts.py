"""What released groups say against themselves: nothing but noise, all rows in one, centres on the border."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

from shoal import DPLloyd, KMeans, KMedians, verify
from shoal.domain import Bounds, Domain
from shoal.errors import ExactScore, GroupsOfNoise, SuspectBounds
from shoal.estimators import base
from shoal.release.release import Release
from shoal.release.trust import doubts

RIGHT = {"longitude": (-74.3, -73.6), "latitude": (40.4, 41.0)}
SWAPPED = {"longitude": RIGHT["latitude"], "latitude": RIGHT["longitude"]}


@pytest.fixture(scope="module")
def city():
    rng = np.random.default_rng(1)
    hubs = np.array([[-73.98, 40.75], [-73.8, 40.65], [-74.1, 40.6], [-73.9, 40.85], [-74.15, 40.85]])
    where = hubs[rng.integers(0, 5, 20_000)] + rng.normal(0, 0.01, (20_000, 2))
    return pd.DataFrame(where, columns=["longitude", "latitude"])


def test_swapped_columns_are_told(city, tmp_path):
    with pytest.warns() as said:
        model = KMeans(5, epsilon=1.0, bounds=SWAPPED).fit(city)
    assert [w.category for w in said] == [GroupsOfNoise, SuspectBounds, SuspectBounds]
    assert all(w.filename == __file__ for w in said)
    texts = [str(w.message) for w in said]
    assert "may hold no rows at all" in texts[0]
    assert "almost all rows" in texts[1]
    assert "columns longitude, latitude" in texts[2]
    assert "check units or the order of columns" in texts[2]
    assert model.certificate_.doubts == tuple(texts)
    assert all(text in str(model.certificate_) for text in texts)
    model.release_.save(tmp_path / "release")
    assert verify(tmp_path / "release").ok
    assert Release.load(tmp_path / "release").certificate.doubts == tuple(texts)


def test_good_groups_are_not_doubted(city):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KMeans(5, epsilon=1.0, bounds=RIGHT).fit(city)
    assert model.certificate_.doubts == ()
    assert "doubt" not in str(model.certificate_)


def found(centres, sizes, sd=1.0, merged=None, **domain):
    centres = np.array(centres, dtype=np.float64)
    public = Domain(Bounds.parse((0, 10), centres.shape[1]), **domain)
    merged = np.arange(len(centres)) if merged is None else np.array(merged)
    return [doubt.category for doubt in doubts(centres, np.array(sizes, float), sd, merged, public)]


def test_a_size_stands_out_of_its_noise_or_is_told():
    assert found([[4], [6]], [60, 40]) == []
    assert found([[4], [6]], [60, 2.9]) == [GroupsOfNoise]
    assert found([[4], [6]], [60, -50]) == [GroupsOfNoise, SuspectBounds]
    # Groups that are one are counted as one: neither alone, nor as often as they are.
    assert found([[4], [6], [6]], [60, 2.9, 2.9], merged=[0, 1, 1]) == []
    assert found([[4], [6], [6]], [60, 2, 2], merged=[0, 1, 1]) == [GroupsOfNoise]
    assert found([[4], [4]], [60, 0], merged=[0, 0]) == []


def test_almost_all_rows_in_one_of_several_groups():
    assert found([[4], [6]], [9890, 110]) == []
    assert found([[4], [6]], [9900, 90]) == [SuspectBounds]
    assert found([[4]], [9900]) == []
    # Not where the largest may hold none: its share is noise.
    assert found([[4], [6], [8]], [20, -15, -3], sd=10.0) == [GroupsOfNoise]


def test_centres_on_the_border():
    assert found([[0, 4], [0.01, 6]], [60, 40]) == [SuspectBounds]
    assert found([[10, 4], [10, 6]], [60, 40]) == [SuspectBounds]
    # Some groups lie at the end of a column by nature; so do all where it has two values.
    assert found([[0, 4], [5, 6]], [60, 40]) == []
    assert found([[0, 4], [10, 6]], [60, 40]) == []
    assert found([[0.1, 4], [0.1, 6]], [60, 40]) == []


def test_categories_and_constants_lie_on_their_bounds_by_nature():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.random(3000), "sure": np.ones(3000, dtype=bool), "colour": "red", "c": 3.0}
    )
    how = {"bounds": {"x": (0, 1), "c": (3, 3)}, "levels": {"colour": ["red", "blue"]}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DPLloyd(1, epsilon=5.0, **how).fit(frame)


@pytest.mark.parametrize("kind", [DPLloyd, KMedians])
def test_score_says_once_that_choosing_by_it_is_not_covered(kind, blobs, monkeypatch):
    monkeypatch.setattr(base, "_said_exact", False)
    search = GridSearchCV(kind(2, epsilon=5.0, bounds=(-1, 1)), {"n_clusters": [2, 4]}, cv=2)
    with pytest.warns() as said:
        search.fit(blobs)
    assert [w.category for w in said] == [ExactScore]
    assert "covered by no certificate" in str(said[0].message)
    assert 'n_clusters="auto"' in str(said[0].message)


def test_a_certificate_says_which_rows_it_covers_and_what_its_errors_are(model):
    text = str(model.certificate_)
    assert "covers       the rows as they were given" in text
    assert "from its own row alone" in text
    assert "errors       what is stated beside centres and sizes is the noise of the last answer" in text
