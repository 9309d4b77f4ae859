"""Random words, and integer noise drawn from them whose law is exactly the one that the privacy proofs name.

Every sampler is vectorised, compares 64-bit integers only, and takes its source of words as its first
argument: :class:`SystemEntropy` for a release, :class:`SeededEntropy` for a test. Rates and scales are
fractions, so that what is charged and what is drawn are the same number.
"""

from shoal.mechanisms.binomial import binomial_tail, distinct_below
from shoal.mechanisms.choice import (
    check_choice,
    choose_without_replacement,
    exponential_choice,
    permute_and_flip,
)
from shoal.mechanisms.cylinder import cylinder_core, cylinder_noise, cylinder_variance
from shoal.mechanisms.entropy import Entropy, SeededEntropy, SystemEntropy, public_seed, uniform_below
from shoal.mechanisms.exact import bernoulli_exp, geometric_exp
from shoal.mechanisms.gaussian import (
    check_gaussian,
    discrete_gaussian,
    discrete_gaussian_each,
    gaussian_log_pmf,
    gaussian_variance,
)
from shoal.mechanisms.laplace import (
    check_laplace,
    discrete_laplace,
    discrete_laplace_each,
    laplace_log_pmf,
    laplace_variance,
)
from shoal.mechanisms.linf import check_linf, linf_noise, linf_variance

__all__ = [
    "Entropy",
    "SeededEntropy",
    "SystemEntropy",
    "bernoulli_exp",
    "binomial_tail",
    "check_choice",
    "check_gaussian",
    "check_laplace",
    "check_linf",
    "choose_without_replacement",
    "cylinder_core",
    "cylinder_noise",
    "cylinder_variance",
    "discrete_gaussian",
    "discrete_gaussian_each",
    "discrete_laplace",
    "discrete_laplace_each",
    "distinct_below",
    "exponential_choice",
    "gaussian_log_pmf",
    "gaussian_variance",
    "geometric_exp",
    "laplace_log_pmf",
    "laplace_variance",
    "linf_noise",
    "linf_variance",
    "permute_and_flip",
    "public_seed",
    "uniform_below",
]
