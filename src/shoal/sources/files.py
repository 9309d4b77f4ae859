"""Finding the files that a path, a folder or a pattern means, and telling their format by their names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from shoal.errors import InvalidFile

Format: TypeAlias = Literal["parquet", "csv", "ipc"]

_FORMATS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
_KNOWN = f"{', '.join(_FORMATS)}, and .csv or .tsv with {', '.join(_COMPRESSED)}"


def find_files(path: str, given: Format | None) -> tuple[Format, list[Path]]:
    """Return the files that a path, a folder or a glob means, and their format.

    Parameters
    ----------
    path : str
        A file, a folder (read with its subfolders; hidden files and those beginning with "_" are passed
        over), or a pattern with ``*``, ``?`` or ``[``.
    given : {"parquet", "csv", "ipc"}, optional
        The format, where names do not tell.
    """
    if given is not None and given not in get_args(Format):
        raise InvalidFile(f"format is {given!r}; it must be 'parquet', 'csv' or 'ipc'")
    place = Path(path).expanduser()
    if place.is_file():
        found, what = [place], "file"
    elif place.is_dir():
        found, what = _in_folder(place), "folder"
    elif any(sign in path for sign in "*?["):
        pattern = str(place.relative_to(place.anchor))
        found, what = sorted(p for p in Path(place.anchor or ".").glob(pattern) if p.is_file()), "pattern"
        if not found:
            raise InvalidFile(f"the pattern {path} matches no file; check it, quoted, with ls")
    else:
        raise InvalidFile(f"there is no file or folder {path}; check the name and the folder you are in")
    if given is not None:
        if not found:
            raise InvalidFile(f"the folder {path} has no data: no files are in it")
        return given, found
    formats = {name: _format(name) for name in found}
    known = {name: kind for name, kind in formats.items() if kind is not None}
    if not known:
        if what == "folder":
            raise InvalidFile(f"the folder {path} has no data: no file in it ends with {_KNOWN}")
        raise InvalidFile(f"{found[0]} does not say what it is; name it {_KNOWN}, or give format=")
    if len(set(known.values())) > 1:
        raise InvalidFile(
            f"the {what} {path} holds files of several formats ({', '.join(sorted(set(known.values())))}); "
            "name one with a pattern such as folder/*.parquet"
        )
    return next(iter(known.values())), list(known)


def find_all(paths: Sequence[str], given: Format | None) -> tuple[Format, list[Path]]:
    """Return the files that several paths mean, each once, and their one format.

    Parameters
    ----------
    paths : sequence of str
        As for :func:`find_files`.
    given : {"parquet", "csv", "ipc"}, optional
        The format, where names do not tell.
    """
    if not paths:
        raise InvalidFile("no file is named")
    found = [find_files(path, given) for path in paths]
    kinds = sorted({kind for kind, _ in found})
    if len(kinds) > 1:
        raise InvalidFile(f"the files are of several formats ({', '.join(kinds)}); name those of one")
    return found[0][0], list(dict.fromkeys(file for _, files in found for file in files))


def _in_folder(folder: Path) -> list[Path]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in found if not _is_hidden(path.relative_to(folder))]


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _format(path: Path) -> Format | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        kind = _FORMATS.get(suffixes[-2]) if len(suffixes) > 1 else None
        return kind if kind == "csv" else None
    return _FORMATS.get(suffixes[-1]) if suffixes else None
