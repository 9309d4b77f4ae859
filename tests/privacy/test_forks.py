"""A child that was forked in the middle of a fit gets no answers: each would be the second for one charge."""

import os
import subprocess
import sys

import pytest

FORK = """
import os, sys
import numpy as np
from shoal import Accountant, DPLloyd
from shoal.errors import BudgetExceeded

children = []

def fork(charge):  # between the charge and its noise
    if not children:
        children.append(os.fork())

budget = Accountant(epsilon=1)
model = DPLloyd(2, epsilon=1, bounds=(0, 1), max_iter=2, n_jobs=1, budget=budget)
model.on_charge = fork
try:
    model.fit(np.random.default_rng(0).random((100, 2)))
except BudgetExceeded as error:
    os._exit(0 if children == [0] and "fork" in str(error) else 1)
if children == [0]:
    os._exit(2)  # it had an answer
assert budget.left < 0.01
sys.exit(os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_after_a_charge_draws_no_noise_for_it():
    # In a process of its own: forking one that has threads is a warning, and warnings are errors here.
    assert subprocess.run([sys.executable, "-c", FORK], check=False, timeout=120).returncode == 0
