"""Tables in files: from the directory, from a web server in place of the public source, or refused."""

import functools
import gzip
import http.server
import io
import threading
import zipfile
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal import datasets
from shoal.datasets import files
from shoal.datasets.catalogue import Download, Entry, catalogue
from shoal.errors import ChecksumMismatch, DataUnavailable

ROWS = np.array([[1.0, 2.5], [3.0, -4.0], [5.0, 0.125]])
TEXT = "x;name;y\n# remark\n1;a;2.5\n3;b;-4\n5;c;0.125\n"
ENTRY = Entry(
    name="made",
    title="Made",
    file="made.parquet",
    n_rows=3,
    columns=("x", "y"),
    k=2,
    lower=-5,
    upper=5,
    bounds_source="convention",
    source="Nobody",
    licence="none",
    sha256="0" * 64,
    rows_sha256=files.rows_digest(ROWS),
    label="name",
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def web(tmp_path):
    """Serve a directory; give its address."""
    root = tmp_path / "web"
    root.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield root, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def write(folder, rows=ROWS, names=("a", "b", "c")):
    folder.mkdir(exist_ok=True)
    table = pa.table({"id": range(len(rows)), "x": rows[:, 0], "name": names[: len(rows)], "y": rows[:, 1]})
    pq.write_table(table, folder / "made.parquet")


def served(web, content, **how):
    root, address = web
    (root / "made").write_bytes(content)
    return replace(
        ENTRY, download=Download(f"{address}/made", **({"columns": (0, 2), "separator": ";"} | how))
    )


def test_features_alone_come_from_the_directory(here):
    write(here)
    data = files.read(ENTRY)
    assert np.array_equal(data.X, ROWS)
    assert data.names == ("x", "y")
    assert list(data.labels) == ["a", "b", "c"]
    assert data.bounds[1].tolist() == [5, 5]


def test_rows_in_another_order_are_the_same_table(here):
    write(here, ROWS[::-1])
    assert files.read(ENTRY).n_rows == 3


@pytest.mark.parametrize("change", [lambda r: r + np.array([0, 1e-3]), lambda r: r[:2]])
def test_other_rows_are_refused(here, change):
    write(here, change(ROWS))
    with pytest.raises(ChecksumMismatch, match=r"made.parquet does not hold the table .* \(SHA-256"):
        files.read(ENTRY)


def test_the_file_digest_is_accepted_too(here):
    import hashlib

    write(here)
    digest = hashlib.sha256((here / "made.parquet").read_bytes()).hexdigest()
    assert files.read(replace(ENTRY, sha256=digest, rows_sha256="f" * 64)).n_rows == 3


def test_a_file_that_is_no_parquet_is_refused(here):
    here.mkdir()
    (here / "made.parquet").write_bytes(b"not a table")
    with pytest.raises(ChecksumMismatch, match="cannot be read"):
        files.read(ENTRY)


def test_download_plain_text_and_keep_it(here, web):
    entry = served(web, TEXT.encode())
    assert np.array_equal(files.read(entry).X, ROWS)
    (web[0] / "made").unlink()
    assert np.array_equal(files.read(entry).X, ROWS)  # from the directory now
    assert [path.name for path in here.iterdir()] == ["made.parquet"]


def test_download_gzip_and_zip(here, web):
    assert files.read(served(web, gzip.compress(TEXT.encode()))).n_rows == 3
    (here / "made.parquet").unlink()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("one", "1;a;2.5\n")
        zipped.writestr("two", "3;b;-4\n5;c;0.125\n")
    assert files.read(served(web, archive.getvalue(), members=("one", "two"))).n_rows == 3


def test_a_changed_source_is_refused_and_not_kept(here, web):
    entry = served(web, TEXT.replace("2.5", "2.6").encode())
    with pytest.raises(ChecksumMismatch, match=r"is not the table .* \(3 rows, 3 expected\)"):
        files.read(entry)
    assert not here.exists()


@pytest.mark.parametrize("content", [b"\x1f\x8b broken", b"PK broken"])
def test_a_broken_archive_is_refused(here, web, content):
    members = ("one",) if content.startswith(b"PK") else ()
    with pytest.raises(ChecksumMismatch, match="cannot be read"):
        files.read(served(web, content, members=members))


def test_no_network_says_where_to_put_the_file(here, web):
    entry = served(web, b"")
    (web[0] / "made").unlink()
    with pytest.raises(DataUnavailable) as missing:
        files.read(entry)
    gone = replace(entry, download=replace(entry.download, url="http://127.0.0.1:9/made"))
    with pytest.raises(DataUnavailable) as unreachable:
        files.read(gone)
    for refusal in (missing, unreachable):
        assert "could not be reached" in str(refusal.value)
        assert f"Put made.parquet into {here}" in str(refusal.value)
        assert "columns x, y" in str(refusal.value)


def test_no_download_says_where_to_put_the_file(here):
    assert catalogue()["lifesci"].download is None
    with pytest.raises(DataUnavailable, match=r"cannot be downloaded. Put lifesci.parquet into .*SHOAL_DATA"):
        datasets.load("lifesci")


def test_without_the_variable_the_cache_directory_is_used(monkeypatch, tmp_path):
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert datasets.directory() == tmp_path / "shoal"
