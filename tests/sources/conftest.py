"""A table with everything in it, and ways to write it to files."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

LEVELS = {"colour": ["red", "green"], "zone": [1, 2, 3]}


@pytest.fixture(scope="session")
def everything():
    """3,000 rows of numbers, booleans, categories, people and weights, with cells missing in all of them."""
    rng = np.random.default_rng(11)
    n = 3000

    def holes(values, share=0.05):
        return pa.array(values, mask=rng.uniform(size=n) < share)

    return pa.table(
        {
            "lon": holes(rng.uniform(-1.2, 1.2, n)),
            "lat": holes(rng.normal(0, 0.5, n)),
            "hour": holes(rng.integers(0, 24, n)),
            "member": holes(rng.uniform(size=n) < 0.4),
            "colour": holes(rng.choice(["red", "green", "mauve"], n)),
            "zone": holes(rng.integers(0, 5, n)),
            "who": holes([f"p{i}" for i in rng.integers(0, 400, n)]),
            "w": holes(rng.uniform(-0.5, 3.0, n)),
        }
    )


def write(table, path, rows=1000):
    """Write a table in the format of its name, in row groups or batches of some rows."""
    name = path.name
    if name.endswith(".parquet"):
        pq.write_table(table, path, row_group_size=rows)
    elif ".csv" in name or ".tsv" in name:
        options = csv.WriteOptions(delimiter="\t" if ".tsv" in name else ",", batch_size=rows)
        with pa.output_stream(str(path), compression="detect") as sink:
            csv.write_csv(table, sink, options)
    else:
        feather.write_feather(table, str(path), chunksize=rows, compression="zstd")
    return path
