"""Peers speak by JSON lines from an environment of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shoal import datasets
from shoal.bench import peers
from shoal.bench.methods import everything
from shoal.errors import InvalidInput

WORKER = Path(peers.__file__).with_name("peer_worker.py")

# Speaks the protocol: the "centres" tell what was asked for.
ECHO = """
import json, sys
import numpy as np
for line in sys.stdin:
    ask = json.loads(line)
    if ask["n_clusters"] == 4:
        print(json.dumps({"error": "no"}), flush=True)
    elif ask["n_clusters"] == 5:
        sys.exit(3)
    else:
        rows = np.load(ask["table"])
        centre = [ask["epsilon"], abs(rows).max(), len(rows), ask["seed"]]
        print(json.dumps({"centres": [centre] * ask["n_clusters"], "seconds": 0.5}), flush=True)
"""


@pytest.fixture
def echo(tmp_path, monkeypatch):
    """Put a worker that echoes in the place of a peer."""
    script = tmp_path / "worker.py"
    script.write_text(ECHO)
    monkeypatch.setattr(peers, "_WORKER", script)
    monkeypatch.setattr(peers, "python", lambda _: Path(sys.executable))
    monkeypatch.setattr(peers, "installed", lambda _: True)
    peers.use_scratch(str(tmp_path))
    peers._worker.cache_clear()
    yield tmp_path
    peers._close_all()
    peers._worker.cache_clear()
    peers.use_scratch(None)


def test_a_peer_gets_scaled_rows_and_gives_centres(echo):
    data = datasets.load("iris")
    centres, seconds = peers.fit("diffprivlib", data, 2, epsilon=1.0, seed=7)
    assert seconds == 0.5
    assert centres.shape == (2, 4)
    epsilon, largest, n, seed = centres[0]
    assert (epsilon, n, seed) == (1.0, 150, 7)
    assert largest <= 1


def test_at_its_true_epsilon_a_peer_is_asked_for_what_makes_it_spend_that(echo):
    data = datasets.load("iris")
    centres, _ = peers.fit("diffprivlib", data, 1, epsilon=1.0, seed=0, true_epsilon=True)
    asked = centres[0, 0]
    assert asked * peers.diffprivlib_spends(4) == pytest.approx(1.0)


def test_a_table_is_written_once_and_removed_with_its_data_set(echo):
    data = datasets.load("iris")
    for _ in range(2):
        peers.fit("diffprivlib", data, 1, epsilon=1.0, seed=0)
    assert len(list(echo.glob("*.npy"))) == 1
    del data
    assert not list(echo.glob("*.npy"))


def test_a_peers_error_and_its_death_are_told_apart_from_ours(echo):
    data = datasets.load("iris")
    with pytest.raises(peers.PeerFailed, match="diffprivlib: no"):
        peers.fit("diffprivlib", data, 4, epsilon=1.0, seed=0)
    with pytest.raises(peers.PeerFailed, match="process ended"):
        peers.fit("diffprivlib", data, 5, epsilon=1.0, seed=0)
    # The next fit starts a new process.
    assert peers.fit("diffprivlib", data, 1, epsilon=1.0, seed=0)[1] == 0.5


def test_the_real_worker_answers_every_request(tmp_path):
    table = tmp_path / "t.npy"
    np.save(table, np.zeros((3, 2)))
    request = json.dumps({"table": str(table), "n_clusters": 1, "epsilon": 1.0, "seed": 0})
    done = subprocess.run(
        [sys.executable, "-I", str(WORKER), "diffprivlib"],
        input=f"{request}\nnot json\n",
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = map(json.loads, done.stdout.splitlines())
    assert "centres" in first or "ModuleNotFoundError" in first["error"]
    assert "error" in second


@pytest.mark.parametrize(("d", "factor"), [(5, 1.003), (10, 1.21), (30, 1.75), (100, 2.66)])
def test_what_diffprivlib_spends(d, factor):
    assert peers.diffprivlib_spends(d) == pytest.approx(factor, abs=0.006)


def test_a_peer_that_is_not_installed_says_how(monkeypatch, tmp_path):
    monkeypatch.setenv("SHOAL_PEERS", str(tmp_path))
    peers._worker.cache_clear()
    assert not peers.installed("diffprivlib")
    with pytest.raises(peers.PeerFailed, match="shoal bench peers setup"):
        peers.fit("diffprivlib", datasets.load("iris"), 2, epsilon=1.0, seed=0)
    with pytest.raises(InvalidInput, match=r"no peer 'diffprivlibb'; .*'diffprivlib'"):
        peers.lookup("diffprivlibb")


def test_a_failed_setup_is_told_and_leaves_no_complete_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("SHOAL_PEERS", str(tmp_path))

    def fail(command, **_):
        return subprocess.CompletedProcess(command, 1, "", "no network")

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(peers.PeerFailed, match="no network"):
        peers.setup("diffprivlib")
    assert not peers.installed("diffprivlib")


def test_environments_stay_out_of_the_data(monkeypatch, tmp_path):
    monkeypatch.delenv("SHOAL_PEERS", raising=False)
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    assert tmp_path not in peers.home("diffprivlib").parents


# What Google's package has of the names that are called, with centres that tell what was asked for.
GOOGLE = {
    "clustering_params.py": """
from collections import namedtuple
Data = namedtuple("Data", "datapoints radius")
DifferentialPrivacyParam = namedtuple("DifferentialPrivacyParam", "epsilon delta")
""",
    "clustering_algorithm.py": """
from collections import namedtuple
import numpy as np
Result = namedtuple("Result", "centers")
def private_lsh_clustering(k, data, promise):
    return Result(np.array([[promise.epsilon, promise.delta], [data.radius, len(data.datapoints)]]))
""",
    "__init__.py": "",
}


def test_googles_clustering_is_called_where_a_user_has_it(tmp_path, monkeypatch):
    (tmp_path / "clustering").mkdir()
    for name, text in GOOGLE.items():
        (tmp_path / "clustering" / name).write_text(text)
    np.save(tmp_path / "t.npy", np.zeros((7, 2)))
    ask = {"table": str(tmp_path / "t.npy"), "n_clusters": 3, "epsilon": 0.5, "delta": 1e-6, "seed": 1}
    done = subprocess.run(
        [sys.executable, str(WORKER), "google-lsh"],
        input=json.dumps(ask) + "\n",
        env={**os.environ, "SHOAL_GOOGLE_CLUSTERING": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)["centres"]
    assert found == [[0.5, 1e-6], [pytest.approx(2**0.5), 7.0], [0.5, 1e-6]]
    monkeypatch.delenv("SHOAL_GOOGLE_CLUSTERING", raising=False)
    assert not peers.installed("google-lsh")
    assert "Google LSH" not in [method.label for method in everything(1e-6)]
