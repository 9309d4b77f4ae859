"""The same table gives the same result bit for bit, however it is cut, threaded or typed."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal import DPLloyd
from shoal.algorithms import Lloyd


def transcript_of(behind_gate, X, **how):
    curator = behind_gate(X, **how)
    Lloyd(4, max_iter=3).run(curator)
    return curator.transcript.digest()


@pytest.mark.parametrize("columns", [2, 5, 40])
def test_chunks_and_threads(behind_gate, columns):
    X = np.random.default_rng(3).uniform(-1.1, 1.1, (3000, columns))
    want = transcript_of(behind_gate, X)
    for chunks in (1, 7, 64):
        for threads in (1, 2):
            rows = -(-len(X) // chunks)
            assert transcript_of(behind_gate, X, chunk_rows=rows, threads=threads) == want


def test_row_order(behind_gate, blobs):
    shuffled = blobs[np.random.default_rng(0).permutation(len(blobs))]
    assert transcript_of(behind_gate, blobs) == transcript_of(behind_gate, shuffled)


def fitted(X, bounds=(-1, 1), **how):
    model = DPLloyd(3, epsilon=1.0, bounds=bounds, random_state=5, **how).fit(X)
    return model.cluster_centers_.tobytes(), model.cluster_sizes_.tobytes()


def test_every_input_type(blobs):
    X = np.round(blobs, 3).astype(np.float32)  # float32 so that every type can hold it
    frame = pd.DataFrame(X, columns=["a", "b"])
    want = fitted(X)
    assert fitted(X.astype(np.float64)) == want
    assert fitted(np.asfortranarray(X)) == want
    assert fitted(X[::1].tolist()) == want
    assert fitted(frame) == want
    assert fitted(pl.from_numpy(X, schema=["a", "b"])) == want
    assert fitted(pa.Table.from_pandas(frame)) == want
    assert fitted(frame.convert_dtypes(dtype_backend="pyarrow")) == want


def test_every_input_type_with_missing_cells(blobs):
    X = np.round(blobs, 3).astype(np.float32)
    X[::7, 0] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b"])
    want = fitted(X)
    assert fitted(frame) == want
    assert fitted(frame.convert_dtypes()) == want
    assert fitted(pl.from_pandas(frame)) == want  # null, not NaN
    assert fitted(pl.from_numpy(X, schema=["a", "b"])) == want
    assert fitted(pa.Table.from_pandas(frame)) == want


def test_integers_and_booleans():
    X = np.random.default_rng(0).integers(0, 2, (500, 2))
    want = fitted(X.astype(float), bounds=(0, 1))
    assert fitted(X.astype(np.int8), bounds=(0, 1)) == want
    assert fitted(X.astype(bool)) == want  # bounds of booleans are implied
    assert fitted(pd.DataFrame(X.astype(bool), columns=["a", "b"])) == want
    assert fitted(pl.DataFrame(X.astype(bool), schema=["a", "b"])) == want
    assert fitted(pd.DataFrame(X, columns=["a", "b"]).astype("Int64"), bounds=(0, 1)) == want


def test_threads_of_the_estimator(blobs):
    assert fitted(blobs, n_jobs=1) == fitted(blobs, n_jobs=2)
