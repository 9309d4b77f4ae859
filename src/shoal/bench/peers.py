"""Other people's private k-means, each in an environment of its own so that its pins cannot break ours.

`setup` makes the environment; `fit` talks to `peer_worker.py` inside it. docs/how-to/add-a-peer.md has the
protocol.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, finalize

import numpy as np
import numpy.typing as npt

from shoal.datasets import Dataset
from shoal.datasets.files import cache_directory
from shoal.errors import InvalidInput, ShoalError
from shoal.reporting.store import Record

_WORKER = Path(__file__).with_name("peer_worker.py")
_STAMP = "shoal-peer.json"


class PeerFailed(ShoalError):
    """A peer's environment could not be made, or the peer raised an error."""


@dataclass(frozen=True)
class Peer:
    """Somebody else's library.

    Parameters
    ----------
    name : str
        Its name, and that of its adapter in `peer_worker.py`.
    requirements : tuple of str
        What pip installs.
    spends : callable
        What it really spends at epsilon = 1 on d columns, by its own formulas.
    notes : tuple of str
        What a reader of its results must know.
    place : str
        An environment variable that says where its code is, if it is on no package index; else empty.
    """

    name: str
    requirements: tuple[str, ...]
    spends: Callable[[int], float]
    notes: tuple[str, ...]
    place: str = ""


def diffprivlib_spends(d: int) -> float:
    """Return the epsilon that diffprivlib 0.6.6 spends when it is asked for 1, on `d` columns.

    Its `_split_epsilon` means a share of c/(d + c) for the count and 1/(d + c) for each column's sum, with
    c = (4 d rho^2)^(1/3) and rho = 0.225, and returns them in the order (column, count); its caller unpacks
    (count, column). So the count gets 1/(d + c) and each of d columns c/(d + c).

    Examples
    --------
    >>> [round(diffprivlib_spends(d), 3) for d in (2, 5, 10, 100)]
    [0.905, 1.003, 1.212, 2.663]
    """
    c = math.cbrt(4 * d * 0.225**2)
    return (1 + d * c) / (d + c)


PEERS = {
    "diffprivlib": Peer(
        "diffprivlib",
        ("diffprivlib==0.6.6", "scikit-learn<1.9"),
        diffprivlib_spends,
        (
            "diffprivlib 0.6.6 swaps the shares of the sums and the count, so it spends "
            + ", ".join(f"{diffprivlib_spends(d):.3g} (d = {d})" for d in (2, 5, 10, 30, 100))
            + " times the epsilon it is asked for. 'true epsilon' asks it for less (or more, below five "
            "columns), so that what it spends is the epsilon on the axis.",
            "diffprivlib skips the noise where a cluster is empty, so it is not differentially private at "
            "any epsilon: one row can make an impossible outcome certain. It is shown for accuracy alone.",
            "diffprivlib reads the exact number of rows to choose its number of rounds.",
        ),
    ),
    "google-lsh": Peer(
        "google-lsh",
        ("absl-py", "dp-accounting", "scikit-learn", "pandas"),
        lambda _: 1.0,
        (
            "Google's LSH clustering is on no package index: it is run where SHOAL_GOOGLE_CLUSTERING names "
            "the folder 'learning' of a checkout of google/differential-privacy. It is for (epsilon, delta).",
        ),
        place="SHOAL_GOOGLE_CLUSTERING",
    ),
}


def known_in(records: Iterable[Record]) -> list[str]:
    """Return the peers that some results are of."""
    return sorted({r["algorithm"].removeprefix("peer:") for r in records} & PEERS.keys())


def lookup(name: str) -> Peer:
    """Return a peer by name."""
    if name not in PEERS:
        raise InvalidInput(f"there is no peer {name!r}; there are {', '.join(map(repr, PEERS))}")
    return PEERS[name]


def home(name: str) -> Path:
    """Return where a peer's environment lives: under `SHOAL_PEERS`, else in the user's cache directory."""
    # Never in `SHOAL_DATA`: a directory of data may be shared, and is not ours to write to.
    chosen = os.environ.get("SHOAL_PEERS")
    return (Path(chosen) if chosen else cache_directory() / "peers") / name


def python(name: str) -> Path:
    """Return the interpreter of a peer's environment."""
    return home(name) / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def installed(name: str) -> bool:
    """Tell whether a peer's environment is complete."""
    if name not in PEERS or (PEERS[name].place and not os.environ.get(PEERS[name].place)):
        return False
    return (home(name) / _STAMP).is_file() and python(name).exists()


def setup(name: str) -> dict[str, str]:
    """Make a peer's environment with pip, and return the versions that were installed."""
    peer = lookup(name)
    target = home(name)
    pip = [str(python(name)), "-m", "pip", "--disable-pip-version-check"]
    _run([sys.executable, "-m", "venv", "--clear", str(target)])
    _run([*pip, "install", "--quiet", *peer.requirements])
    listed = json.loads(_run([*pip, "list", "--format=json"]))
    versions = {row["name"].lower(): row["version"] for row in listed}
    # Last: an environment without it is not complete.
    (target / _STAMP).write_text(json.dumps(versions, indent=2))
    return versions


def fit(
    name: str,
    data: Dataset,
    k: int,
    *,
    epsilon: float,
    seed: int | None,
    delta: float = 0.0,
    true_epsilon: bool = False,
) -> tuple[npt.NDArray[np.float64], float]:
    """Return a peer's centres, in scaled units, and its seconds.

    With `true_epsilon` it is asked for as much as makes it really spend `epsilon`.
    """
    asked = epsilon / lookup(name).spends(data.n_columns) if true_epsilon else epsilon
    worker = _worker(name)
    request = {"table": _saved(data), "n_clusters": k, "epsilon": asked, "delta": delta, "seed": seed}
    answer = worker.ask(request)
    if "error" in answer:
        raise PeerFailed(f"{name}: {answer['error']}")
    return np.array(answer["centres"], dtype=np.float64).reshape(k, data.n_columns), float(answer["seconds"])


class _Worker:
    """A peer's process, kept from one fit to the next."""

    def __init__(self, name: str) -> None:
        if not installed(name):
            raise PeerFailed(f"the peer {name!r} is not installed: run 'shoal bench peers setup'")
        # -I: neither our packages nor the user's may be seen from there.
        command = [str(python(name)), "-I", str(_WORKER), name]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL
        )
        _running.add(self)

    def close(self) -> None:
        """End the process."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.process.kill()
        self.process.wait()
        _running.discard(self)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        except (OSError, ValueError) as error:
            self.close()
            _worker.cache_clear()
            raise PeerFailed(f"the peer's process ended: {error}") from error
        return answer


_running: set[_Worker] = set()
_worker = cache(_Worker)


@atexit.register
def _close_all() -> None:
    for worker in list(_running):
        worker.close()


_tables: WeakKeyDictionary[Dataset, str] = WeakKeyDictionary()


def _saved(data: Dataset) -> str:
    """Write a table where a peer can read it, once, and remove it when the table is no longer in use."""
    if data not in _tables:
        handle, path = tempfile.mkstemp(prefix="peer-", suffix=".npy", dir=_scratch)
        with os.fdopen(handle, "wb") as file:
            np.save(file, data.scaled().astype(np.float64))
        finalize(data, Path(path).unlink, missing_ok=True)
        _tables[data] = path
    return _tables[data]


_scratch: str | None = None


def use_scratch(path: str | None) -> None:
    """Say where to write tables for peers: a directory that whoever starts the workers removes."""
    global _scratch
    _scratch = path


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerFailed(f"{' '.join(command[:4])} ... failed:\n{done.stderr.strip()[-2000:]}")
    return done.stdout
