"""Files that are larger than memory: how fast they are fitted beside decoding alone, and in what memory.

Each file is written in parts into a temporary folder, decoded once without doing anything with its rows (the
floor), and fitted in a fresh process that reports its peak memory: with a copy of the rows on the lattice on
the local disk, and without, when every question decodes the file again.

    python benchmarks/files.py [--rows 1e6 ...] [--columns 2] [--rounds 5] [--formats parquet csv csv.gz]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

# Rows written at a time.
_WRITTEN = 1_000_000
# Megabytes that a fit may take, whatever the size of the file.
AIM = 1000


def batches(n: int, d: int):
    rng = np.random.default_rng(0)
    for start in range(0, n, _WRITTEN):
        rows = rng.normal(
            rng.integers(0, 4, (min(_WRITTEN, n - start), 1)), 0.3, (min(_WRITTEN, n - start), d)
        )
        yield pa.table({f"x{c}": rows[:, c] for c in range(d)})


def write(path: Path, ending: str, n: int, d: int) -> None:
    schema = pa.schema([(f"x{c}", pa.float64()) for c in range(d)])
    if ending == "parquet":
        sink = pq.ParquetWriter(path, schema)
    elif ending == "arrow":
        sink = pa.ipc.new_file(str(path), schema)
    else:
        out = pa.CompressedOutputStream(str(path), "gzip") if ending.endswith("gz") else str(path)
        sink = arrow_csv.CSVWriter(out, schema)
    with sink:
        for table in batches(n, d):
            sink.write_table(table)
    if ending == "csv.gz":
        out.close()


def decode(path: str, d: int) -> float:
    """Return the seconds that it takes to read every cell as Shoal reads it, and nothing more."""
    from shoal.sources import FileTable
    from shoal.sources.rows import available_cores, chunk_rows_for, in_order

    table = FileTable(path, [f"x{c}" for c in range(d)])
    start = time.perf_counter()
    for _ in in_order(table.read, table.parts(chunk_rows_for(table)), available_cores()):
        pass
    return time.perf_counter() - start


def fit(path: str, d: int, rounds: int, copy: bool) -> None:
    """Fit, and print seconds and peak memory; in a process of its own."""
    import resource

    from shoal import DPLloyd
    from shoal.sources import FileTable

    FileTable.keeps_copy = copy
    names = [f"x{c}" for c in range(d)]
    bounds = dict.fromkeys(names, (-1.0, 5.0))
    small = np.zeros((10, d))
    DPLloyd(4, epsilon=1.0, bounds=(-1, 5), max_iter=1).fit(small)  # imports, compiled loops
    start, cpu = time.perf_counter(), time.process_time()
    DPLloyd(4, epsilon=1.0, bounds=bounds, max_iter=rounds).fit(path)
    found = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    print(json.dumps(found | {"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6])
    parser.add_argument("--columns", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--formats", nargs="+", default=["parquet", "csv", "csv.gz", "arrow"])
    parser.add_argument("--fit-of", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.fit_of:
        path, d, rounds, copy = args.fit_of
        fit(path, int(d), int(rounds), copy == "True")
        return
    print(f"load {os.getloadavg()[0]:.1f}; seconds on the wall (of the processor), {args.rounds} questions")
    print("     rows format    file MB   decode once   with a copy      without   peak MB (aim below 1000)")
    for n in map(int, args.rows):
        for ending in args.formats:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"rows.{ending}"
                write(path, ending, n, args.columns)
                once = decode(str(path), args.columns)
                shown = []
                for copy in (True, False):
                    command = [sys.executable, __file__, "--fit-of", str(path), str(args.columns)]
                    command += [str(args.rounds), str(copy)]
                    shown.append(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))
                size = path.stat().st_size / 1e6
            with_, without = (f"{run['seconds']:.1f} ({run['cpu']:.1f})" for run in shown)
            peaks = " ".join(f"{run['megabytes']:.0f}" for run in shown)
            print(
                f"{n:>9} {ending:8} {size:8.0f} {once:13.1f} {with_:>13} {without:>12}   {peaks}", flush=True
            )


if __name__ == "__main__":
    main()
