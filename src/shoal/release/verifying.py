"""Verify a release from its files alone, and say what was found."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InvalidRelease
from shoal.release.checks import (
    check_answers,
    check_budget,
    check_certificate,
    check_charges,
    check_copies,
    check_errors,
    check_totals,
    replay,
)
from shoal.release.coreset import CoresetRelease
from shoal.release.files import CORESET, NAMES, STEP, SYNOPSIS, ZONES
from shoal.release.folder import (
    MANIFEST,
    SIGNATURE,
    check_format,
    check_hash,
    check_listing,
    read_file,
    read_manifest,
)
from shoal.release.formats import format_of, upgraded
from shoal.release.loading import AnyRelease, released
from shoal.release.release import Release
from shoal.release.signing import check_signature
from shoal.release.zoned import ZonedRelease

NOTE = (
    "This shows integrity, not authorship: the files are whole and fit together, but anyone can write files "
    "that do. Compare the fingerprint with one that its author published."
)
SIGNED = (
    "The files are whole and fit together, and whoever holds the key signed them. Whose key it is, you must "
    "know: compare its fingerprint with one that its holder published, or give signed_by."
)


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Parameters
    ----------
    name : str
        What: "charges", "replay", "file centres.csv", ...
    ok : bool
        Whether it holds.
    detail : str
        What was found.
    """

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True)
class Verification:
    """What :func:`verify` found.

    Parameters
    ----------
    folder : str
        Where the release is.
    checks : tuple of Check
        Every check that could be made, in order.
    fingerprint : str, optional
        SHA-256 of the manifest, and so of the whole release.
    """

    folder: str
    checks: tuple[Check, ...]
    fingerprint: str | None

    @property
    def note(self) -> str:
        """What was shown: integrity, and authorship too where a signature holds."""
        return SIGNED if any(check.name == "signature" and check.ok for check in self.checks) else NOTE

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return bool(self.checks) and all(check.ok for check in self.checks)

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the checks that do not hold."""
        return tuple(check.name for check in self.checks if not check.ok)

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, numbers and strings, ready for JSON."""
        checks = [{"name": c.name, "ok": c.ok, "detail": c.detail} for c in self.checks]
        return {"ok": self.ok, "checks": checks, "fingerprint": self.fingerprint, "note": self.note}

    def __str__(self) -> str:
        width = max((len(check.name) for check in self.checks), default=0)
        lines = [
            f"{self.folder}: {'verified' if self.ok else 'NOT VERIFIED'}",
            *(f"  {'ok    ' if c.ok else 'FAILED'}  {c.name:<{width}}  {c.detail}" for c in self.checks),
            f"fingerprint: {self.fingerprint}",
            self.note,
        ]
        return "\n".join(lines)


def verify(
    folder: str | os.PathLike[str], *, signed_by: str | os.PathLike[str] | None = None
) -> Verification:
    """Check a release from its files alone.

    Hashes are recomputed; every charge is recomputed from its question and must fit the budget; answers
    must have the shapes that the questions imply; the algorithm, run again on the recorded answers, must
    give exactly the centres and sizes; errors, intervals, certificate and all copies must follow from
    these. It shows integrity, and authorship only where the release is signed. Whatever is wrong with the
    files is a failed check, never an exception.

    Parameters
    ----------
    folder : path
        Where a release was saved.
    signed_by : path or str, optional
        A public key in PEM, or its fingerprint: the release must be signed by it.

    Returns
    -------
    Verification
        With `ok`, the `checks`, and the names of those that `failed`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from shoal import DPLloyd, verify
    >>> model = DPLloyd(2, epsilon=1.0, bounds=(0, 1)).fit(np.random.default_rng(0).random((1000, 2)))
    >>> with tempfile.TemporaryDirectory() as home:
    ...     model.release_.save(Path(home) / "release")
    ...     whole = verify(Path(home) / "release")
    ...     _ = (Path(home) / "release" / "centres.csv").write_text("changed")
    ...     changed = verify(Path(home) / "release")
    >>> whole.ok, changed.ok, changed.failed
    (True, False, ('file centres.csv', 'copies'))
    """
    path = Path(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a replayed algorithm warns again of what its release says
        checks = (*_checks(path), *_signature(path, signed_by))
    try:
        fingerprint = hashlib.sha256(read_file(path, MANIFEST)).hexdigest()
    except InvalidRelease:
        fingerprint = None
    return Verification(str(path), checks, fingerprint)


def _checks(folder: Path) -> Iterator[Check]:
    yield _try("format", check_format, folder)[0]
    check, hashes = _try("manifest", read_manifest, folder)
    yield check
    if hashes is not None:
        yield _try("listing", check_listing, folder, hashes)[0]
    files: dict[str, bytes] = {}
    for name in hashes or (n for n in (*NAMES, SYNOPSIS, CORESET, STEP, ZONES) if (folder / n).is_file()):
        check, data = _try(f"file {name}", read_file, folder, name)
        if data is not None:
            files[name] = data
            check, _ = _try(f"file {name}", check_hash, name, data, (hashes or {}).get(name))
        yield check
    check, release = _try("contents", _contents, files)
    written = _try("format", format_of, files)[1]
    yield check
    if release is None:
        return
    yield _try("copies", check_copies, release, files, written)[0]
    zoned = isinstance(release, ZonedRelease)
    parts = release.parts if isinstance(release, CoresetRelease | ZonedRelease) else (release,)
    for i, part in enumerate(parts):
        of = f" of {'zone' if zoned else 'table'} {i}" if len(parts) > 1 else ""
        yield _try(f"charges{of}", check_charges, part.transcript)[0]
        yield _try(f"budget{of}", check_budget, part.transcript)[0]
        yield _try(f"answers{of}", check_answers, part.transcript)[0]
        # All but groups are read by running their algorithm again: there is nothing left to compare.
        again = None
        if isinstance(part, Release):
            counted = isinstance(release, ZonedRelease) and release.shared is not None
            check, again = _try(f"replay{of}", replay, part, counted)
            yield check
        if again is not None:
            yield _try(f"errors{of}", check_errors, part, again)[0]
            if part.totals is not None:
                yield _try(f"totals{of}", check_totals, part)[0]
        yield _try(f"certificate{of}", check_certificate, part, written)[0]


def _signature(folder: Path, signed_by: str | os.PathLike[str] | None) -> Iterator[Check]:
    if signed_by is not None or (folder / SIGNATURE).is_file():
        yield _try("signature", check_signature, folder, signed_by)[0]


def _contents(files: dict[str, bytes]) -> AnyRelease:
    return released(upgraded(files))


def _try(name: str, check: Callable[..., Any], *given: Any) -> tuple[Check, Any]:
    # What is in a folder was written by anybody: no way it can be broken may end in a trace.
    try:
        found = check(*given)
    except InvalidRelease as error:
        return Check(name, False, str(error)), None
    except Exception as error:
        return Check(name, False, f"{type(error).__name__}: {error}"), None
    said = _FOUND.get(name.split(" of ")[0], "read")
    return Check(name, True, found if isinstance(found, str) else said), found


_FOUND = {
    "manifest": "is as it was written",
    "contents": "a release can be read",
    "replay": "the algorithm, run again on the recorded answers, gives these centres and sizes",
}
