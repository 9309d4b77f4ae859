"""Other units change nothing; odd tables get sound answers: finite centres in bounds, sizes that add up."""

import numpy as np
import pytest

from shoal import KMeans

# Columns, groups, epsilon, delta: one of each kind of start and rounds.
CASES = {
    "grid alone": (2, 15, 0.1, 0.0),
    "one round": (2, 10, 0.2, 0.0),
    "two rounds": (3, 4, 0.3, 0.0),
    "tree": (2, 3, 3.0, 0.0),
    "tree in more columns": (8, 4, 0.3, 0.0),
    "cuts": (8, 3, 3.0, 0.0),
    "tree with a delta": (18, 3, 2.0, 1e-6),
    "directions": (18, 6, 0.2, 0.0),
}
N = 5000


@pytest.fixture(scope="module", params=CASES)
def case(request):
    d, k, epsilon, delta = CASES[request.param]
    rng = np.random.default_rng(3)
    centres = rng.uniform(-0.8, 0.8, (k, d))
    X = np.clip(centres[np.arange(N) % k] + rng.normal(0, 0.05, (N, d)), -1, 1)

    def fit(scale, shift, **given):
        bounds = -scale + shift, scale + shift
        model = KMeans(
            k, epsilon=epsilon, delta=delta, bounds=bounds, random_state=0, n_starts=2, **given
        ).fit(scale * X + shift)
        return model.release_

    return fit, fit(1.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2.0**-9, 1024.0])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_powers_of_two_change_nothing_at_all(case, scale):
    fit, plain = case
    found = fit(scale, 0.0)
    assert np.array_equal(found.centres, scale * plain.centres)
    assert np.array_equal(found.sizes, plain.sizes)
    assert np.array_equal(found.merged_into, plain.merged_into)


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "shift"), [(1.0, 100.0), (0.3048, -7.3), (1e6 / 3, 5e5)])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_moved_tables_and_other_units_give_the_same_groups(case, scale, shift):
    fit, plain = case
    found = fit(scale, shift)
    # A row may fall on the next step of the lattice, and nothing more.
    assert np.abs(found.centres - (scale * plain.centres + shift)).max() <= 2 * scale * 2.0**-18
    assert np.allclose(found.sizes, plain.sizes, atol=2)


def test_own_units_too():
    rng = np.random.default_rng(0)
    X = np.array([[2.0, 10.0], [7.0, 30.0]])[np.arange(N) % 2] + rng.normal(0, [0.2, 1.0], (N, 2))
    plain = KMeans(2, epsilon=1.0, bounds=([0, 0], [10, 40]), scaling="none", random_state=0).fit(X)
    wide = KMeans(2, epsilon=1.0, bounds=([0, 0], [80, 320]), scaling="none", random_state=0).fit(8 * X)
    assert np.array_equal(wide.cluster_centers_, 8 * plain.cluster_centers_)


RNG = np.random.default_rng(1)
ODD = {
    "all points equal": (np.full((N, 2), 0.25), (-1, 1)),
    "all points equal, at a corner": (np.full((N, 3), -1.0), (-1, 1)),
    "one group": (RNG.normal(0.3, 0.05, (N, 2)), (-1, 1)),
    "a constant column": (np.column_stack([RNG.uniform(-1, 1, N), np.full(N, 0.5)]), (-1, 1)),
    "a column of no width": (np.column_stack([RNG.uniform(0, 1, N), np.full(N, 7.0)]), ([0, 7], [1, 7])),
    "constant columns only": (np.full((N, 2), 7.0), (7, 7)),
    "one column": (RNG.normal(3, 0.5, (N, 1)), (0, 10)),
    "wide empty bounds": (RNG.normal(0, 1, (N, 2)), (-1e6, 1e6)),
    "wide empty bounds, four columns": (RNG.normal(5, 1, (N, 4)), (-1e4, 1e5)),
    "many columns": (RNG.normal(0, 0.1, (N, 20)), (-1, 1)),
}


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_odd_tables(name, k, delta):
    X, bounds = ODD[name]
    model = KMeans(k, epsilon=1.0, delta=delta, bounds=bounds, random_state=0, n_starts=2).fit(X)
    low, high = (np.broadcast_to(end, X.shape[1]) for end in bounds)
    centres, sizes = model.cluster_centers_, model.release_.sizes
    assert centres.shape == (k, X.shape[1])
    assert np.isfinite(centres).all()
    assert ((centres >= low) & (centres <= high)).all()
    # Of sizes the noise is the only error, whatever the rows look like.
    assert abs(sizes.sum() - N) <= 5 * model.release_.size_sd * np.sqrt(k)
    assert model.release_.size_sd < N / 10
    # The heaviest centre is where rows are: within a hundredth of the bounds, or their own spread.
    near = np.maximum((high - low) / 100, 3 * X.std(axis=0) + 1e-9)
    assert (np.abs(centres[sizes.argmax()] - X.mean(axis=0)) <= near).all()
