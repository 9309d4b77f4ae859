"""Reading a file takes memory for a few parts of it, whatever its size; people take memory a person."""

import threading
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from shoal.domain import Bounds, Domain, Unit
from shoal.errors import DamagedFile
from shoal.sources import ArrowSource, FileTable, lines
from shoal.sources.rows import in_order

BATCH = 20_000


def write(path, rows, people=None):
    """Write a file batch by batch, so that the test itself takes little memory."""
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64()), ("who", pa.int64())])
    rng = np.random.default_rng(0)

    def batches():
        for _ in range(rows // BATCH):
            who = rng.integers(0, people or rows, BATCH)
            yield pa.record_batch([rng.uniform(size=BATCH), rng.uniform(size=BATCH), who], schema=schema)

    if path.suffix == ".parquet":
        with pq.ParquetWriter(path, schema) as writer:
            for batch in batches():
                writer.write_batch(batch)
    elif path.suffix == ".csv":
        with csv.CSVWriter(path, schema) as writer:
            for batch in batches():
                writer.write_batch(batch)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for batch in batches():
                writer.write_batch(batch)
    return path


def peak(path, *, unit=None):
    """Return rows read, and the most bytes that Arrow and NumPy held during two questions."""
    table = FileTable(path, ["x", "y"]).using(unit=unit)
    domain = Domain(Bounds.parse((0, 1), 2), unit=Unit(column=unit))
    before, most, lock = pa.total_allocated_bytes(), 0, threading.Lock()

    def look(chunk):
        nonlocal most
        with lock:
            most = max(most, pa.total_allocated_bytes() - before)
        return chunk.n_rows

    tracemalloc.start()
    source = ArrowSource(table, domain, chunk_rows=BATCH, threads=2)
    counts = [source.reduce(look, lambda a, b: a + b) for _ in range(2)]
    numpy_peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert counts[0] == counts[1]
    return counts[0], most, numpy_peak


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_memory_does_not_grow_with_the_file(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(lines, "_BLOCK", 2**17)
    small = write(tmp_path / f"small.{ending}", 20 * BATCH)
    large = write(tmp_path / f"large.{ending}", 100 * BATCH)
    rows, arrow_small, numpy_small = peak(small)
    assert rows == 20 * BATCH
    rows, arrow_large, numpy_large = peak(large)
    assert rows == 100 * BATCH
    decoded = rows * 16  # two columns of float64
    assert arrow_large < decoded / 2
    assert numpy_large < decoded / 2
    assert arrow_large < 1.5 * arrow_small + 2**22
    assert numpy_large < 1.5 * numpy_small + 2**20


@pytest.mark.slow
def test_memory_of_people_grows_with_people_not_with_rows(tmp_path):
    few = write(tmp_path / "few.parquet", 20 * BATCH, people=5000)
    more_rows = write(tmp_path / "rows.parquet", 100 * BATCH, people=5000)
    kept, _, numpy_few = peak(few, unit="who")
    assert kept == 5000
    kept, arrow_more, numpy_more = peak(more_rows, unit="who")
    assert kept == 5000
    assert numpy_more < 1.2 * numpy_few + 2**20
    assert arrow_more < 100 * BATCH * 24 / 2


def test_results_come_in_order_and_few_wait():
    taken = []

    def items():
        for i in range(50):
            taken.append(i)
            yield i

    for i, result in enumerate(in_order(lambda i: i * i, items(), threads=3)):
        assert result == i * i
        assert len(taken) <= i + 3 + 2  # never reads far ahead of what was used


def test_an_error_in_a_thread_comes_through():
    def fail(i):
        if i == 7:
            raise DamagedFile("seven")
        return i

    with pytest.raises(DamagedFile, match="seven"):
        list(in_order(fail, range(20), threads=2))


def test_small_batches_are_joined(tmp_path):
    table = pa.table({"x": np.arange(1000.0)})
    feather.write_feather(table, str(tmp_path / "t.feather"), chunksize=10)
    parts = list(FileTable(tmp_path / "t.feather").parts(300))
    assert len(parts) <= 5
    assert sum(len(part) for _, part in parts) == 1000
