"""What a certificate says beyond its budget is held against a mechanism whose loss is known exactly."""

import math
import re

import numpy as np
import pytest
from scipy.stats import norm

from shoal import DPLloyd


def gaussian_delta(rho, shift, epsilon):
    """Return the exact delta of Gaussian noise (Balle and Wang 2018, theorem 8).

    It has a loss of `rho` where one row is added, which moves its mean by one; here it moves by `shift`.
    """
    mu = shift * math.sqrt(2 * rho)
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_a_replaced_row_is_not_promised_more_than_gaussian_noise_keeps(epsilon, delta):
    # A row replaced by its opposite moves a sum twice as far as a row added.
    model = DPLloyd(1, epsilon=epsilon, delta=delta, bounds=(-1, 1), max_iter=1).fit(np.zeros((50, 1)))
    rho = float(sum(charge.amount for charge in model.certificate_.charges))
    promised = {
        relation: tuple(float(x) for x in re.findall(r"= ([\d.e-]+)", text))
        for relation, text in model.certificate_.guarantee.items()
    }
    assert gaussian_delta(rho, 1, promised["add-remove"][0]) <= promised["add-remove"][1]
    assert gaussian_delta(rho, 2, promised["replace"][0]) <= promised["replace"][1]


def test_a_pure_guarantee_for_a_replaced_row_is_twice_that_for_an_added_one():
    model = DPLloyd(1, epsilon=0.75, bounds=(-1, 1), max_iter=1).fit(np.zeros((50, 1)))
    assert model.certificate_.guarantee == {"add-remove": "epsilon = 0.75", "replace": "epsilon = 1.5"}
    other = DPLloyd(1, epsilon=0.75, bounds=(-1, 1), max_iter=1, neighbours="replace").fit(np.zeros((50, 1)))
    assert other.certificate_.guarantee["replace"] == "epsilon = 0.75"
    assert "does not follow" in other.certificate_.guarantee["add-remove"]
