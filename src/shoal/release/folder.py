"""A folder of files that is written whole or not at all, with a manifest of their hashes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.errors import InvalidInput, InvalidRelease

FORMAT = 4
"""Raised with every change to the files or their words, since `verify` writes them anew and compares.

Older ones are read too: `formats.py`."""

MANIFEST = "manifest.json"
SIGNATURE = "signature.json"  # of the manifest, so not listed in it
_NOTE = (
    "Hashes show that no file was changed, not who wrote them. Publish the SHA-256 of this file through "
    "another channel if readers should know that the release is yours."
)


def check_free(folder: str | os.PathLike[str]) -> Path:
    """Return the path of a folder that can be written, or say why not. To be asked before a fit is paid for.

    Parameters
    ----------
    folder : path
        It must not exist; the folder around it must.

    Examples
    --------
    >>> check_free(".")
    Traceback (most recent call last):
        ...
    shoal.errors.InvalidInput: the output folder . exists; give another name, or move it away first
    """
    path = Path(folder)
    if path.exists() or path.is_symlink():
        raise InvalidInput(f"the output folder {path} exists; give another name, or move it away first")
    if not path.parent.is_dir():
        raise InvalidInput(f"there is no folder {path.parent} to write {path.name} in; make it first")
    partial = _partial(path)
    try:  # rights, a full disk, a read-only system, a name that is too long: trying is the only proof
        partial.mkdir()
        with (partial / MANIFEST).open("xb") as file:
            file.write(b"{}")
    except OSError as error:
        raise InvalidInput(f"nothing can be written to {path}: {error.strerror}; give another name") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return path


def _partial(path: Path) -> Path:
    # A sibling, so that renaming it is one step of the file system; until then nobody sees the name.
    return path.parent / f".{path.name[:100]}.{uuid.uuid4().hex}.partial"


def write_folder(folder: str | os.PathLike[str], files: Mapping[str, bytes]) -> None:
    """Write files and their manifest into a new folder: all of them, or nothing.

    Parameters
    ----------
    folder : path
        As for :func:`check_free`.
    files : mapping of str to bytes
        Contents by name.
    """
    path = check_free(folder)
    manifest = _manifest({name: hashlib.sha256(data).hexdigest() for name, data in files.items()})
    partial = _partial(path)
    try:
        partial.mkdir()
        for name, data in {**files, MANIFEST: manifest}.items():
            with (partial / name).open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        _sync(partial)
        partial.rename(path)
    except BaseException as error:  # an interrupt too must leave nothing behind
        shutil.rmtree(partial, ignore_errors=True)
        if isinstance(error, OSError):
            raise InvalidInput(f"the release cannot be written to {path}: {error.strerror}") from error
        raise
    _sync(path.parent)


def _sync(folder: Path) -> None:
    # Makes the names durable, not only the contents. Not every system can open a folder.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_manifest(folder: Path) -> dict[str, str]:
    """Return the hash of every file of a release, or say what is wrong with its manifest."""
    check_format(folder)
    data = read_file(folder, MANIFEST)
    manifest = loads(data, MANIFEST)
    hashes = manifest.get("files")
    if not isinstance(hashes, dict) or data != _manifest(hashes, manifest["format"]):
        raise InvalidRelease(f"{MANIFEST} is not as it was written")
    if outside := [name for name in hashes if Path(name).name != name]:
        raise InvalidRelease(f"{MANIFEST} lists {outside[0]!r}, which is not in the folder")
    return hashes


def check_listing(folder: Path, hashes: Mapping[str, str]) -> str:
    """Check that nothing lies beside the files of a release; hidden files, which systems leave, may."""
    found = {entry.name for entry in folder.iterdir() if not entry.name.startswith(".")}
    if strange := sorted(found - {*hashes, MANIFEST, SIGNATURE}):
        raise InvalidRelease(f"{MANIFEST} does not list {', '.join(strange)}")
    return f"{len(hashes)} files, and no others"


def check_format(folder: Path) -> str:
    """Return the format of a release in words, if this Shoal can read it."""
    if not folder.is_dir():
        raise InvalidRelease(f"there is no release at {folder}: a folder is wanted")
    manifest = loads(read_file(folder, MANIFEST), MANIFEST)
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if type(found) is not int or not 1 <= found <= FORMAT:
        raise InvalidRelease(
            f"{folder} is written in format {found!r}; this Shoal reads 1 to {FORMAT}: use the one that "
            "wrote it"
        )
    return f"format {found}"


def _manifest(hashes: dict[str, str], number: int = FORMAT) -> bytes:
    return dumps({"format": number, "note": _NOTE, "files": hashes}).encode()


def read_file(folder: Path, name: str) -> bytes:
    """Return the content of a file of a release."""
    try:
        return (folder / name).read_bytes()
    except FileNotFoundError:
        raise InvalidRelease(f"{name} is missing from {folder}") from None
    except OSError as error:
        raise InvalidRelease(f"{name} in {folder} cannot be read: {error.strerror}") from None


def read_folder(folder: str | os.PathLike[str]) -> dict[str, bytes]:
    """Read every file of a saved release, or raise `InvalidRelease` where one is missing or changed."""
    path = Path(folder)
    hashes = read_manifest(path)
    files = {name: read_file(path, name) for name in hashes}
    for name, data in files.items():
        check_hash(name, data, hashes[name])
    return files


def check_hash(name: str, data: bytes, wanted: str | None) -> str:
    """Return the hash of a file if it is the one in the manifest."""
    found = hashlib.sha256(data).hexdigest()
    if found != wanted:
        raise InvalidRelease(f"{name} was changed: its sha256 is {found}, the manifest has {wanted}")
    return found


def dumps(value: Any) -> str:
    """Write JSON for people: one line for each list of numbers.

    Examples
    --------
    >>> print(dumps({"centres": [[1.0, 2.0], [3.0, 4.0]]}), end="")
    {
      "centres": [
        [1.0, 2.0],
        [3.0, 4.0]
      ]
    }
    """
    return _lines(value, "") + "\n"


def _lines(value: Any, indent: str) -> str:
    inner = indent + "  "
    if isinstance(value, dict) and value:
        rows = [f"{inner}{json.dumps(key)}: {_lines(entry, inner)}" for key, entry in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value):
        rows = [inner + _lines(entry, inner) for entry in value]
        return "[\n" + ",\n".join(rows) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False)


def loads(data: bytes, name: str) -> Any:
    """Read JSON, or say which file is not."""
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidRelease(f"{name} is not JSON, or cut short: {error}") from None
