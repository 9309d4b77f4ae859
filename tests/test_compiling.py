"""A process begins with the loops' NumPy twins and goes over to compiled ones: only time may change."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import shoal
from shoal import _compiling

RNG = np.random.default_rng(3)
X = np.concatenate([RNG.normal(m, 0.4, (400, 3)) for m in (2, 5, 8)])


@pytest.fixture
def twins(monkeypatch):
    """No work is too much for the twins."""
    return lambda: monkeypatch.setattr(_compiling, "_looked_at", -(10**18))


def released(model):
    found, names = model.fit(X), ("centres", "sizes", "points", "weights")
    arrays = [np.asarray(getattr(found.release_, name, 0.0)).tobytes() for name in names]
    return found.certificate_.transcript, arrays


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: shoal.KMeans(3, epsilon=1.0, bounds=(0, 10), random_state=0),
        lambda: shoal.KMeans("auto", epsilon=1.0, bounds=(0, 10), random_state=0),
        lambda: shoal.KMeans(3, epsilon=1.0, delta=1e-6, bounds=(0, 10), scaling="none", random_state=0),
        lambda: shoal.DPLloyd(3, epsilon=1.0, bounds=(0, 10), random_state=0),
        lambda: shoal.GridKMeans(3, epsilon=1.0, bounds=(0, 10), random_state=0),
        lambda: shoal.SwapLloyd(3, epsilon=1.0, delta=1e-6, bounds=(0, 10), random_state=0),
        lambda: shoal.ProjectedKMeans(3, epsilon=1.0, bounds=(0, 10), random_state=0),
        lambda: shoal.PrivateCoreset(3, epsilon=1.0, bounds=(0, 10), random_state=0),
        lambda: shoal.PrivTreeSynopsis(epsilon=1.0, bounds=(0, 10), random_state=0),
        lambda: shoal.LSHTreeKMeans(3, epsilon=1.0, bounds=(0, 10), random_state=0),
        lambda: shoal.KMedians(3, epsilon=1.0, bounds=(0, 10), random_state=0),
        lambda: shoal.GeneticKMeans(3, epsilon=1.0, bounds=(0, 10), random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_fit_by_twins_and_a_compiled_one_release_the_same_bits(make, twins):
    compiled = released(make())
    twins()
    assert released(make()) == compiled


def test_twins_run_until_they_have_much_to_do(monkeypatch):
    ran = []

    def twin(x):
        ran.append(x)
        return x

    loop = _compiling.compiled(lambda x: x, twin, lambda x: x)
    monkeypatch.setattr(_compiling, "_looked_at", 0)
    assert loop(5) == 5
    assert ran == [5]
    calls = _compiling.ENOUGH // _compiling._CALL
    for _ in range(calls):  # small calls add up
        assert _compiling.much(0) == (_compiling._looked_at > _compiling.ENOUGH)
    assert loop(7) == 7
    assert ran == [5]  # the loop itself, compiled
    monkeypatch.setattr(_compiling, "_looked_at", 0)
    assert _compiling.much(_compiling.ENOUGH)  # one large call is enough


def test_a_large_fit_in_a_new_process_compiles_and_says_so(tmp_path):
    code = (
        "import sys, numpy as np; from shoal import _compiling\n"
        "_compiling.ENOUGH = 10_000\n"
        "from shoal.queries import kernels\n"
        "told = []\n"
        "with kernels.telling_of_compiling(lambda: told.append(1)):\n"
        "    rows, cells = np.zeros((1, 10), np.float32), np.zeros((1, 1), np.int64)\n"
        "    kernels.assign(rows, cells)\n"
        "    assert 'numba' not in sys.modules and not told\n"
        "    kernels.assign(np.zeros((1, 20_000), np.float32), cells)\n"
        "    assert 'numba' in sys.modules\n"
        "print(told)\n"
    )
    run = [sys.executable, "-c", code]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first = subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout
    again = subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout
    assert (first.strip(), again.strip()) == ("[1]", "[]")  # kept on disk, it is only read


def test_threads_that_need_the_compiler_at_once_load_it_one_after_the_other():
    code = (
        "import sys, threading, numpy as np; from shoal import _compiling\n"
        "_compiling.at_once()\n"
        "from shoal.queries import kernels; from shoal.postprocess import lloyd_loops\n"
        "sys.setswitchinterval(1e-5)\n"
        "gate, done = threading.Barrier(8), []\n"
        "def work(i):\n"
        "    gate.wait()\n"
        "    if i % 2:\n"
        "        kernels.assign(np.zeros((1, 10), np.float32), np.zeros((1, 1), np.int64))\n"
        "    else:\n"
        "        lloyd_loops.nearest()(np.zeros((1, 3)), np.zeros(1), np.ones(3))\n"
        "    done.append(i)\n"
        "threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(8)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join(120)\n"
        "print(len(done))\n"
    )
    for _ in range(3):  # without the lock it goes wrong in most of them
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert found.stdout.strip() == "8", found.stderr
