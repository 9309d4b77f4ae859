"""Releases that are read by running their algorithm again on the recorded answers: synopses, coresets, steps.

So there is nothing to compare: what was found cannot be other than what the transcript says.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, TypeVar

from shoal.algorithms import AlgorithmInfo, Runs, counts_clipped, lookup, run_prepared
from shoal.errors import InvalidRelease, ReplayMismatch
from shoal.queries import ReplayCurator, Transcript
from shoal.queries.gate.codec import Arrays, from_plain, plain
from shoal.release.certificate import Certificate
from shoal.release.files import ARRAYS, CERTIFICATE, TEXT, TRANSCRIPT, read_npz, write_npz
from shoal.release.folder import FORMAT, dumps, loads

Found = TypeVar("Found")


def run_again(algorithm: Runs[Found], transcript: Transcript) -> Found:
    """Make what was released from its recorded answers, or say why these are not of such a run."""
    curator = ReplayCurator(transcript)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it was said at the time, and the release says it
            made = run_prepared(algorithm, curator, count_clipped=counts_clipped(transcript))
        curator.finish()
    except ReplayMismatch as error:
        raise InvalidRelease(str(error)) from None
    return made


def files_of(
    name: str, summary: Mapping[str, Any], arrays: Arrays, certificate: Certificate, transcript: Transcript
) -> dict[str, bytes]:
    """Return the content of every file of a release, by name.

    Parameters
    ----------
    name : str
        The file that says, for people, what it is.
    summary : mapping
        What it says.
    arrays : dict of str to ndarray
        The numbers.
    certificate : Certificate
        What is guaranteed.
    transcript : Transcript
        Every question and noisy answer.
    """
    stored: Arrays = {}
    texts = {
        name: dumps({"format": FORMAT, **summary}),
        TRANSCRIPT: dumps(plain(transcript, stored)),
        CERTIFICATE: dumps(certificate.to_dict()),
        TEXT: f"{certificate}\n",
    }
    return {ARRAYS: write_npz({**arrays, **stored}), **{file: text.encode() for file, text in texts.items()}}


def read_again(
    name: str, files: Mapping[str, bytes], registry: dict[str, AlgorithmInfo]
) -> tuple[Any, Certificate, Transcript]:
    """Return what was found, by running its algorithm again, with certificate and transcript.

    Parameters
    ----------
    name : str
        The file that says what it is.
    files : mapping of str to bytes
        As from :func:`files_of`; those that are not needed are copies.
    registry : dict of str to AlgorithmInfo
        Where its algorithm is.
    """
    for file in (name, ARRAYS, TRANSCRIPT, CERTIFICATE, TEXT):
        if file not in files:
            raise InvalidRelease(f"{file} is missing")
    arrays = read_npz(files[ARRAYS])
    stated = loads(files[CERTIFICATE], CERTIFICATE)
    if not isinstance(stated, dict):
        raise InvalidRelease(f"{CERTIFICATE} does not hold one record")
    certificate = Certificate.from_dict(stated)
    transcript: Transcript = from_plain(Transcript, loads(files[TRANSCRIPT], TRANSCRIPT), arrays)
    algorithm = from_plain(lookup(certificate.algorithm, registry).algorithm, certificate.parameters)
    return run_again(algorithm, transcript), certificate, transcript
