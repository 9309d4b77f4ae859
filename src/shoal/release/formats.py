"""Every format that a release was ever written in, and how to read it today.

A release outlives the program that wrote it. The files of an older format are brought up to the next one,
step by step, in memory; the folder is never changed. A new format is one number, one step here, and stored
folders in `tests/release/stored`. Formats 1 and 2 are of 0.1.0, 3 and 4 of the way to 0.2.0.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shoal.errors import InvalidRelease
from shoal.release.files import ARRAYS, CORESET, STEP, SUMMARY, SYNOPSIS, TABLE, ZONES, read_npz, write_npz
from shoal.release.folder import FORMAT, dumps, loads, read_folder

Files = dict[str, bytes]

# The file that says what a release is: groups, a synopsis, a coreset, a step or zones.
_SUMMARIES = (SUMMARY, SYNOPSIS, CORESET, STEP, ZONES)

# What a certificate of an older format does not state; `verify` does not ask it to.
NOT_STATED: dict[int, tuple[str, ...]] = {
    1: ("covers", "errors", "doubts", "measured"),
    2: ("covers", "errors", "doubts", "measured"),
    3: ("measured",),
}


def format_of(files: Mapping[str, bytes]) -> int:
    """Return the format that the files of a release are written in.

    Parameters
    ----------
    files : mapping of str to bytes
        The content of each.
    """
    name = next((name for name in _SUMMARIES if name in files), None)
    summary = loads(files[name], name) if name is not None else {}
    found = summary.get("format") if isinstance(summary, dict) else None
    if type(found) is not int or not 1 <= found <= FORMAT:
        raise InvalidRelease(f"{name or SUMMARY} has format {found!r}; this Shoal reads 1 to {FORMAT}")
    return found


def upgraded(files: Mapping[str, bytes]) -> Files:
    """Return files as today's reader wants them, whatever format they are in.

    Parameters
    ----------
    files : mapping of str to bytes
        The content of each.
    """
    found = dict(files)
    for step in range(format_of(found), FORMAT):
        found = _STEPS[step](found)
    return found


def read_release(folder: str | os.PathLike[str]) -> Files:
    """Read every file of a saved release, as today's reader wants them.

    Parameters
    ----------
    folder : path
        Where it was saved.
    """
    return upgraded(read_folder(folder))


def same_numbers(older: Mapping[str, bytes], anew: Mapping[str, bytes]) -> bool:
    """Say whether a table of an older format has the numbers of today's, whatever its columns are called."""
    if TABLE not in older:
        return True
    then, now = (list(csv.reader(io.StringIO(files[TABLE].decode()))) for files in (older, anew))
    width = len(then[0])
    return len(then) == len(now) and all(a == b[:width] for a, b in zip(then[1:], now[1:], strict=True))


def _one_to_two(files: Files) -> Files:
    # Groups that noise cannot tell apart were not marked.
    if SUMMARY in files:
        arrays = read_npz(files[ARRAYS])
        arrays["merged_into"] = np.arange(len(arrays.get("sizes", ())), dtype=np.int64)
        files = {**files, ARRAYS: write_npz(arrays)}
    return _renumbered(files, 2)


def _two_to_three(files: Files) -> Files:
    # Only words changed: what certificates and tables call the noise of the last answer.
    return _renumbered(files, 3)


def _three_to_four(files: Files) -> Files:
    # Certificates say how rows were measured.
    return _renumbered(files, 4)


def _renumbered(files: Files, number: int) -> Files:
    name = next(name for name in _SUMMARIES if name in files)
    summary: dict[str, Any] = loads(files[name], name)
    return {**files, name: dumps({**summary, "format": number}).encode()}


_STEPS: dict[int, Callable[[Files], Files]] = {1: _one_to_two, 2: _two_to_three, 3: _three_to_four}
