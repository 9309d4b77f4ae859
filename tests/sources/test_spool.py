"""The copy of a file's rows on the lattice: for one decoding, and for nobody else."""

import os
import stat
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.domain import Bounds, Chunk, Domain
from shoal.sources import FileTable, spool
from shoal.sources.spool import Spool

ROWS = np.random.default_rng(0).uniform(-2, 2, (5000, 2))


@pytest.fixture
def source(tmp_path):
    """A source of chunks of 700 rows, and how often each part of the file was read."""
    pq.write_table(pa.table({"x": ROWS[:, 0], "y": ROWS[:, 1]}), tmp_path / "t.parquet", row_group_size=700)
    table, read = FileTable(tmp_path / "t.parquet"), []
    real = table.read

    def watched(part):
        read.append(part[0])
        return real(part)

    table.read = watched
    source = table.source(Domain(Bounds.parse((-1, 1), 2)))
    source._chunk_rows = 700
    return source, read


def rows(source):
    return source.reduce(lambda chunk: chunk.columns, lambda a, b: np.hstack([a, b]))


def test_the_file_is_decoded_once_and_rows_come_in_order(source):
    source, read = source
    first = rows(source)
    once = len(read)
    assert once >= 7
    for _ in range(3):
        np.testing.assert_array_equal(rows(source), first)
    assert len(read) == once
    np.testing.assert_array_equal(first, np.float32(np.rint(np.clip(ROWS.T, -1, 1) * 2**20) / 2**20))


def test_another_lattice_is_another_copy(source):
    source, read = source
    rows(source)
    once, wider = len(read), source.within(Domain(Bounds.parse((-2, 2), 2)))
    assert np.abs(rows(wider)).max() < 1
    assert np.abs(rows(wider) * 2 - np.clip(ROWS.T, -2, 2)).max() < 1e-5
    assert len(read) == 2 * once
    assert np.abs(rows(source)).max() == 1  # the first one's copy is still its own


def test_without_room_the_file_is_read_again(source, monkeypatch):
    source, read = source
    monkeypatch.setattr(spool, "SPARED", 2**62)
    first = rows(source)
    once = len(read)
    np.testing.assert_array_equal(rows(source), first)
    assert len(read) == 2 * once


def test_a_pass_that_stops_leaves_no_half_copy(source):
    source, read = source

    def stop(chunk):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        source.reduce(stop, np.add)
    del read[:]
    assert rows(source).shape == (2, 5000)
    assert len(read) >= 7


def test_nobody_else_can_open_it(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    copy = Spool(1)
    assert copy.add(0, Chunk(np.ones((1, 9), dtype=np.float32)))
    assert list(tmp_path.iterdir()) == []
    found = os.fstat(copy._handle)
    assert (found.st_nlink, stat.S_IMODE(found.st_mode), found.st_size) == (0, 0o600, 36)
    handle = copy._handle
    del copy
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handle)


def test_weights_and_chunks_without_rows_come_back():
    copy = Spool(2)
    chunks = [
        Chunk(np.zeros((2, 0), dtype=np.float32)),
        Chunk(np.full((2, 3), 0.5, dtype=np.float32), np.array([1, 2, 3], dtype=np.int32)),
    ]
    for number in (1, 0):  # threads may come in any order
        assert copy.add(number, chunks[number])
    copy.close_after(2)
    assert copy.whole
    empty, full = (copy.read(place) for place in copy.places())
    assert empty.columns.shape == (2, 0)
    np.testing.assert_array_equal(full.columns, chunks[1].columns)
    np.testing.assert_array_equal(full.weights, chunks[1].weights)
    copy.close_after(3)
    assert not copy.whole
