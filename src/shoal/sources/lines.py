"""Text files, line by line: a line is a row or it is none, whatever the lines around it hold.

Arrow's reader lets one opening quote swallow all lines up to the next one, and fails on a line that is longer
than its blocks. So lines are sorted out here, and it is given only such as it reads one by one.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

LONGEST_LINE = 2**20
"""Bytes; a longer line is not a row. Blocks are no longer, so that a line within one need not be measured."""
# Bytes read at a time.
_BLOCK = 2**20
_MARK = b"\xef\xbb\xbf"  # some programs begin UTF-8 files with it


@dataclass(frozen=True)
class TextFile:
    """How one file of text is laid out.

    Parameters
    ----------
    path : Path
        Where it is.
    names : tuple of (str or None)
        What the cells of a line are called, in order; None for one without a name.
    body : int
        Bytes before the first row.
    delimiter : str
        What stands between cells.
    multiline : bool
        Whether a quoted cell may hold line ends.
    """

    path: Path
    names: tuple[str | None, ...]
    body: int
    delimiter: str
    multiline: bool

    @classmethod
    def open(cls, path: Path, names: Sequence[str | None] | None, *, multiline: bool) -> TextFile:
        """Read the first line, the header, where names are not given; no other line is looked at."""
        delimiter = "\t" if ".tsv" in path.suffixes else ","
        with _stream(path) as file:
            start = file.read(LONGEST_LINE)
        mark = len(_MARK) if start.startswith(_MARK) else 0
        if names is not None:
            return cls(path, tuple(names), mark, delimiter, multiline)
        header, length = _header(start[mark:].decode("latin-1"), delimiter, multiline)
        found = [name.encode("latin-1").decode("utf-8") for name in header]
        if any("\0" in name for name in found):
            raise csv.Error
        return cls(path, tuple(found), mark + length, delimiter, multiline)

    def read(self, wanted: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of some columns: cells as they are, every byte a letter (Latin-1)."""
        places = [str(self.names.index(name)) for name in wanted]
        with _stream(self.path) as file:
            file.read(self.body)
            for table in self._tables(file, places):
                renamed = pa.Table.from_batches([table]).rename_columns(list(wanted))
                yield from renamed.to_batches()

    def _tables(self, file: Any, places: list[str]) -> Iterator[Any]:
        if self.multiline:
            try:
                yield from arrow_csv.open_csv(file, *self._options(places, max(_BLOCK, 64 * len(self.names))))
            except pa.ArrowInvalid as error:
                if "Empty CSV" not in str(error):
                    raise
            return
        for block in whole_lines(file, self.delimiter):
            options = self._options(places, len(block) + 1)
            yield from arrow_csv.read_csv(pa.py_buffer(block), *options).to_batches()

    def _options(self, places: list[str], block: int) -> tuple[Any, Any, Any]:
        columns = [str(i) for i in range(len(self.names))]  # names may come twice, places do not
        return (
            arrow_csv.ReadOptions(
                encoding="latin-1", column_names=columns, block_size=block, use_threads=self.multiline
            ),
            # A line of too few or too many cells is not a row.
            arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=self.multiline,
                invalid_row_handler=lambda _: "skip",
            ),
            arrow_csv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(columns, pa.string()),
                strings_can_be_null=True,
                null_values=[""],
                include_columns=places,
            ),
        )


def whole_lines(file: Any, delimiter: str) -> Iterator[bytes]:
    r"""Yield blocks of whole lines, without those that are not rows whatever the number of their cells.

    These are lines longer than `LONGEST_LINE` and lines in which a quote opens a cell and does not close it.

    Examples
    --------
    >>> b"".join(whole_lines(io.BytesIO(b'1,2\r\n3,"x\n"5",6\n7,a"b'), ","))
    b'1,2\n\n\n"5",6\n7,a"b\n'
    """
    spoilt = _spoilt(delimiter)
    for block in _cut(file):
        yield block if _all_quotes_pair(block, delimiter) else spoilt.sub(b"", block)


def _cut(file: Any) -> Iterator[bytes]:
    begun: list[bytes] = []  # pieces of a line that has not ended
    length = 0
    while raw := file.read(_BLOCK):
        block = raw.replace(b"\r", b"\n")  # an empty line is no row, so a line may end twice
        end = block.find(b"\n")
        if end >= 0:
            whole = length + end <= LONGEST_LINE
            last = block.rfind(b"\n")
            first = b"".join([*begun, block[:end]]) if whole else b""
            if lines := first + block[end : last + 1]:
                yield lines
            begun, length, block = [], 0, block[last + 1 :]
        length += len(block)
        # What is too long is counted, not kept.
        begun = [*begun, block] if length <= LONGEST_LINE else []
    if 0 < length <= LONGEST_LINE:
        yield b"".join(begun) + b"\n"


def _all_quotes_pair(block: bytes, delimiter: str) -> bool:
    """Say whether every quote opens a cell and the next closes it, in the same line: no line is spoilt then.

    It saves time only. Of other blocks, such as those with quotes in quotes, every line is looked at.
    """
    if b'"' not in block:
        return True
    end = ord("\n")
    cells = np.frombuffer(b"\n" + block, np.uint8)  # a block ends with a line's end, and now begins with one
    quotes = np.flatnonzero(cells == ord('"'))
    borders = np.zeros(256, dtype=np.bool_)
    borders[[end, ord(delimiter)]] = True
    opens, closes = borders[cells[quotes - 1]], borders[cells[quotes + 1]]
    line = np.cumsum(cells == end, dtype=np.int32)[quotes]
    return (
        len(quotes) % 2 == 0
        and bool((opens[::2] & ~closes[::2] & closes[1::2] & ~opens[1::2]).all())
        and bool((line[::2] == line[1::2]).all())
    )


def _spoilt(delimiter: str) -> re.Pattern[bytes]:
    """Return what matches a line with an opening quote that is not closed before the cell ends."""
    mark = re.escape(delimiter)
    cell = rf'(?:"(?:[^"\n]++|"")*+"|[^"{mark}\n][^{mark}\n]*+|)'
    return re.compile(rf'(?m)^(?=[^"\n]*+")(?!{cell}(?:{mark}{cell})*+$)[^\n]*+'.encode())


def _header(text: str, delimiter: str, multiline: bool) -> tuple[list[str], int]:
    """Return the cells of the first line that is not empty, and how many bytes it takes to its end."""
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for line in io.StringIO(text, newline=""):
            taken += len(line)
            yield line

    # Each line is one by itself, or they are read on until the quotes end.
    runs: Iterable[Iterable[str]] = [lines()] if multiline else ([line] for line in lines())
    found = (cells for run in runs for cells in csv.reader(run, delimiter=delimiter))
    return next((cells for cells in found if cells), []), taken


def _stream(path: Path) -> Any:
    return pa.input_stream(str(path), compression="detect")


def decode(word: str) -> str:
    """Return a word of a CSV as it was written in UTF-8.

    Examples
    --------
    >>> decode("cafÃ©")
    'café'
    """
    return word if word.isascii() else word.encode("latin-1").decode("utf-8", errors="surrogateescape")
