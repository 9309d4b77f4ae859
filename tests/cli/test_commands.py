"""The command line, as a data holder types it."""

import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from shoal import Release, verify
from shoal.cli import main
from shoal.errors import DamagedFile, InvalidInput
from shoal.queries import LiveCurator
from shoal.queries.questions import Sums
from shoal.sources import ArrowSource


@pytest.fixture
def trips(tmp_path):
    rng = np.random.default_rng(4)
    hub = np.array([[-73.98, 40.75], [-73.78, 40.64], [-73.95, 40.80]])[rng.integers(0, 3, 9000)]
    where = hub + rng.normal(0, 0.01, hub.shape)
    table = pa.table({"lon": where[:, 0], "lat": where[:, 1], "note": ["x"] * 9000})
    pq.write_table(table, tmp_path / "trips.parquet")
    return tmp_path / "trips.parquet"


BOUNDS = ["--bounds", "lon=-74.26:-73.70", "--bounds", "lat=40.47:40.92"]


def shoal(*args, code=0):
    result = CliRunner().invoke(main, [str(arg) for arg in args])
    assert result.exit_code == code, result.output
    return result


def test_from_file_to_release_and_back(trips, tmp_path):
    out = tmp_path / "release"
    fitted = shoal("fit", trips, "--columns", "lon,lat", "--k", 3, "--epsilon", 2, *BOUNDS, "--out", out)
    assert "epsilon = 2" in fitted.output
    assert (out / "centres.geojson").exists()
    assert "epsilon = 2" in shoal("show", out).output
    assert "integrity, not authorship" in shoal("verify", out).output
    labelled = shoal("predict", out, trips, "--out", tmp_path / "labels.parquet")
    assert "not for release" in labelled.output
    assert pq.read_table(tmp_path / "labels.parquet").num_rows == 9000


def test_doubtful_groups_are_told_when_they_are_made_and_shown(trips, tmp_path):
    out, swapped = tmp_path / "release", ["--bounds", "lon=40.47:40.92", "--bounds", "lat=-74.26:-73.70"]
    how = ["--k", 3, "--epsilon", 2, *swapped]
    fitted = shoal("fit", trips, *how, "--out", out)
    assert "almost all rows" not in fitted.stderr  # once is enough: with the groups
    for said in (fitted.stdout, shoal("show", out).stdout):
        flat = " ".join(said.split())
        # Two centres have no rows; one time in 25 the highest of the noise is too high to say so of both.
        assert re.search(r"doubt: (groups [0-2], [0-2]|group [0-2]) may hold no rows", flat)
        assert "check units or the order of columns" in flat
        assert "± is the noise of the last answer, for this grouping" in flat
    machine = json.loads(shoal("show", out, "--json").stdout)
    assert len(machine["doubts"]) == 3
    assert "noise of the last answer" in machine["errors"]
    assert "noise of the last answer" in json.loads((out / "centres.geojson").read_text())["note"]
    header = (out / "centres.csv").read_text().splitlines()[0].split(",")
    assert {"size_noise_sd", "lon_noise_low"} <= set(header)
    assert "size_sd" not in header


def test_clipped_cells_are_counted_and_shown(trips, tmp_path):
    out, narrow = tmp_path / "release", ["--bounds", "lon=-74.26:-73.90", "--bounds", "lat=40.47:40.92"]
    fitted = shoal("fit", trips, "--k", 2, "--epsilon", 5, *narrow, "--count-clipped", "--out", out)
    for said in (fitted.stdout, shoal("show", out).stdout):
        assert re.search(r"lon: [0-3]\.\d % missing", said)  # none is; noise of a third of a per cent
        assert "% above the bounds" in " ".join(said.split())
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["clipped"]["lon"]["above"] == pytest.approx(1 / 3, abs=0.05)
    assert shoal("verify", out).exit_code == 0


def test_json_is_for_machines(trips, tmp_path):
    out = tmp_path / "release"
    args = [trips, "--k", 2, "--epsilon", 1, *BOUNDS]
    fitted = json.loads(shoal("fit", *args, "--out", out, "--json").stdout)
    assert len(fitted["groups"]) == 2
    assert set(fitted["groups"][0]["centre"]) == {"lon", "lat"}
    assert 0.99 < fitted["spent"] <= 1.0  # shares that it does not need are left
    plan = json.loads(shoal("explain", *args, "--rows", "1e6", "--json").stdout)
    assert plan["mostly_noise"] is False
    assert json.loads(shoal("verify", out, "--json").stdout)["ok"] is True
    assert json.loads(shoal("show", out, "--json").stdout)["certificate"]["status"] == "proven"
    rows = json.loads(shoal("algorithms", "--json").stdout)
    assert "lloyd" in [row["name"] for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["grid", "masked-grid", "tree"])
def test_a_synopsis_is_released_once_and_asked_for_free(kind, trips, tmp_path, monkeypatch):
    out, rows = tmp_path / "grid", tmp_path / "rows.csv"
    args = [trips, "--epsilon", 1, *BOUNDS, "--synopsis", *(["--algorithm", kind] if kind != "grid" else [])]
    plan = json.loads(shoal("explain", *args, "--rows", 9000, "--json").stdout)
    assert ("boxes" if kind == "tree" else "cells") in plan["released"]
    fitted = json.loads(shoal("fit", *args, "--out", out, "--json").stdout)
    assert fitted["synopsis"]["columns"] == ["lon", "lat"]
    assert (
        fitted["spent"]
        == pytest.approx(1.0, rel=1e-4)
        == sum(float(Fraction(charge["amount"])) for charge in plan["charges"])
    )
    assert fitted["synopsis"]["kind"] == kind.replace("-", " ")
    shown = shoal("show", out).output
    assert f"Noisy counts of rows in a {'tree' if kind == 'tree' else 'grid'} of" in shown
    assert json.loads(shoal("show", out, "--json").stdout)["certificate"]["algorithm"] == kind
    assert "integrity, not authorship" in shoal("verify", out).output
    # From here on the table is not touched.
    monkeypatch.setattr(LiveCurator, "_ask", lambda *_: pytest.fail("asked the rows"))
    for k in (2, 3):
        assert len(json.loads(shoal("ask", out, "--k", k, "--json").stdout)["groups"]) == k
    assert "3 groups found on the released counts" in shoal("ask", out, "--k", 3).output
    found = json.loads(shoal("ask", out, "--box", "lon=-73.9:-73.7", "--json").stdout)
    # A group's rows spill over the edge of the box by a few per cent, which no error of the noise covers.
    assert abs(found["rows"] - 3000) < 300
    assert 0 < found["standard_error"] < 500
    shoal("ask", out, "--sample", 500, "--out", rows)
    assert pyarrow.csv.read_csv(rows).column_names == ["lon", "lat"]
    assert pyarrow.csv.read_csv(rows).num_rows == 500


def test_a_coreset_is_released_once_and_asked_for_free(trips, tmp_path, monkeypatch):
    out = tmp_path / "points"
    args = [trips, "--k", 3, "--epsilon", 1, *BOUNDS, "--synopsis", "--algorithm", "coreset"]
    plan = json.loads(shoal("explain", *args, "--rows", 9000, "--json").stdout)
    assert "weighted points" in plan["released"]
    fitted = json.loads(shoal("fit", *args, "--out", out, "--json").stdout)
    assert min(point["size"] for point in fitted["points"]) > 0
    assert "A coreset:" in shoal("show", out).output
    assert json.loads(shoal("show", out, "--json").stdout)["certificate"]["algorithm"] == "coreset"
    assert "integrity, not authorship" in shoal("verify", out).output
    monkeypatch.setattr(LiveCurator, "_ask", lambda *_: pytest.fail("asked the rows"))
    assert len(json.loads(shoal("ask", out, "--k", 2, "--json").stdout)["groups"]) == 2
    refused(tmp_path, "gives groups", "ask", out, "--box", "lon=-73.9:-73.7")
    refused(tmp_path, "has no groups", "predict", out, trips, "--out", tmp_path / "labels.csv")
    refused(tmp_path, "--k is missing", "fit", *args[:1], *args[3:], "--out", tmp_path / "other")


def test_the_number_of_groups_can_be_found(trips, tmp_path):
    args = [trips, "--columns", "lon,lat", "--k", "auto", "--epsilon", 2, *BOUNDS, "--set", "max_clusters=6"]
    assert "as many groups" in shoal("explain", *args, "--rows", 9000).output.replace("\n", " ")
    fitted = shoal("fit", *args, "--out", tmp_path / "release")
    assert "     3  " in next(line for line in fitted.output.splitlines() if "<- chosen" in line)
    assert (
        json.loads(shoal("show", tmp_path / "release", "--json").stdout)["certificate"]["parameters"][
            "n_clusters"
        ]
        == "auto"
    )
    shoal("verify", tmp_path / "release")
    other = [*args[:4], "three", *args[5:-2]]
    refused(tmp_path, "--k is 'three'", "fit", *other, "--out", tmp_path / "other")
    lloyd = [*args[:-2], "--algorithm", "lloyd"]
    refused(tmp_path, "n_clusters is 'auto'", "fit", *lloyd, "--out", tmp_path / "other")


def test_any_parameter_can_be_set(trips, tmp_path):
    ask = [trips, "--epsilon", 1, *BOUNDS]
    config = tmp_path / "shoal.toml"
    config.write_text("synopsis = true\n[set]\nresolution = 9\n")
    fitted = json.loads(shoal("fit", *ask, "--config", config, "--out", tmp_path / "a", "--json").stdout)
    assert fitted["synopsis"]["shape"] == [9, 9]
    variant = ["--k", 2, "--algorithm", "merging", "--set", "variant=average_k", "--set", "factor=2"]
    shoal("fit", *ask, *variant, "--out", tmp_path / "b")
    shown = json.loads(shoal("show", tmp_path / "b", "--json").stdout)["certificate"]["parameters"]
    assert (shown["variant"], shown["factor"]) == ("average_k", 2)


def test_bad_questions_to_a_synopsis(trips, tmp_path):
    grid, groups = tmp_path / "grid", tmp_path / "groups"
    ask = [trips, "--epsilon", 1, *BOUNDS]
    shoal("fit", *ask, "--synopsis", "--out", grid)
    shoal("fit", *ask, "--k", 2, "--out", groups)
    out = ["--out", tmp_path / "out"]
    refused(
        tmp_path,
        "is for --algorithm grid, masked-grid, tree, coreset",
        "fit",
        *ask,
        "--synopsis",
        "--algorithm",
        "lloyd",
        *out,
    )
    refused(tmp_path, "not name=value", "fit", *ask, "--k", 2, "--set", "variant", *out)
    refused(tmp_path, "no parameter 'colour'", "fit", *ask, "--k", 2, "--set", "colour=red", *out)
    refused(tmp_path, "ask for something", "ask", grid)
    refused(tmp_path, "go together", "ask", grid, "--sample", 5)
    refused(tmp_path, "exists", "ask", grid, "--sample", 5, "--out", trips)
    refused(tmp_path, "no column 'long'", "ask", grid, "--box", "long=1:2")
    refused(tmp_path, "reversed", "ask", grid, "--box", "lon=2:1")
    refused(tmp_path, "n_clusters", "ask", grid, "--k", 0)
    refused(tmp_path, "not a synopsis", "ask", groups, "--k", 2)
    refused(tmp_path, "has no groups", "predict", grid, trips, "--out", tmp_path / "labels.csv")
    refused(tmp_path, "no release", "ask", tmp_path / "nowhere", "--k", 2)


def test_explain_reads_no_row(trips, monkeypatch):
    from shoal.sources import FileTable

    monkeypatch.setattr(FileTable, "parts", lambda *_: pytest.fail("a row was read"))
    result = shoal("explain", trips, "--k", 5, "--epsilon", 1, *BOUNDS, "--rows", "1e6")
    assert "Predicted noise of a centre" in result.output
    assert "73 % sure" in result.output
    noisy = shoal("explain", trips, "--k", 50, "--epsilon", 0.001, *BOUNDS, "--rows", 1000)
    assert "mostly noise" in noisy.output


def test_what_is_not_private_wants_to_be_asked_for(trips, tmp_path):
    args = ["fit", trips, "--k", 2, "--epsilon", 1, *BOUNDS, "--algorithm", "subcluster-published"]
    refused = shoal(*args, "--out", tmp_path / "r", code=2)
    assert "allow_unproven=True is wanted" in refused.output
    fitted = shoal(*args, "--allow-unproven", "--out", tmp_path / "r")
    assert "no guarantee" in fitted.output
    assert "epsilon" not in shoal("show", tmp_path / "r").output
    shoal("verify", tmp_path / "r")
    shoal(
        "fit", trips, "--k", 2, "--epsilon", 1, *BOUNDS, "--allow-unproven", "--out", tmp_path / "s", code=2
    )


def test_no_bounds_are_estimated(trips, tmp_path):
    shoal("fit", trips, "--columns", "lon,lat", "--k", 2, "--epsilon", 4, "--out", tmp_path / "r")
    assert "estimated privately" in shoal("show", tmp_path / "r").output


def test_preset_bounds(trips, tmp_path):
    args = ["--columns", "lon,lat", "--bounds", "latlon", "--k", 2, "--epsilon", 1]
    shoal("fit", trips, *args, "--out", tmp_path / "r")
    assert "preset latlon" in shoal("show", tmp_path / "r").output


def test_people_categories_and_missing_cells(tmp_path):
    rng = np.random.default_rng(0)
    n = 4000
    table = pa.table(
        {
            "age": pa.array(rng.integers(18, 90, n), mask=rng.random(n) < 0.1),
            "ward": pa.array(rng.choice(["A", "B", "C"], n)),
            "smoker": pa.array(rng.random(n) < 0.3),
            "patient": pa.array(rng.integers(0, 1500, n).astype(str)),
        }
    )
    pyarrow.csv.write_csv(table, tmp_path / "visits.csv")
    config = tmp_path / "shoal.toml"
    config.write_text(
        'columns = ["age", "ward", "smoker"]\nk = 2\nepsilon = 5\nunit = "patient"\nmax_rows = 2\n'
        '[types]\nsmoker = "boolean"\n[bounds]\nage = [18, 90]\n[levels]\nward = ["A", "B", "C"]\n'
    )
    shoal("fit", tmp_path / "visits.csv", "--config", config, "--out", tmp_path / "r")
    shown = shoal("show", tmp_path / "r").output
    assert "ward=A" in shown
    assert "at most 2 rows" in shown
    assert shoal("verify", tmp_path / "r")


def refused(tmp_path, says, *args, code=2):
    """Run a command that must fail clearly, without a trace of Python and without writing anything."""
    before = sorted(p.name for p in tmp_path.iterdir())
    result = shoal(*args, code=code)
    text = " ".join(result.output.split())
    assert says in text, text
    assert "Traceback" not in text
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_bad_input(trips, tmp_path):
    out = ["--out", tmp_path / "release"]
    ask = ["--k", 3, "--epsilon", 1, *BOUNDS, *out]
    (tmp_path / "fake.parquet").write_text("lon,lat\n1,2\n")
    (tmp_path / "cut.parquet").write_bytes(trips.read_bytes()[:-200])
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    pq.write_table(pa.table({"lon": [1.0], "lat": [1.0]}), tmp_path / "mixed/a.parquet")
    pq.write_table(pa.table({"lon": ["x"], "lat": [1.0]}), tmp_path / "mixed/b.parquet")
    (tmp_path / "part").mkdir()
    pq.write_table(pa.table({"lon": [1.0], "lat": [1.0]}), tmp_path / "part/a.parquet")
    pq.write_table(pa.table({"lon": [1.0]}), tmp_path / "part/b.parquet")
    (tmp_path / "bad.toml").write_text("k = = 3")
    (tmp_path / "odd.toml").write_text("kk = 3")
    refused(tmp_path, "nowhere.parquet", "fit", tmp_path / "nowhere.parquet", *ask)
    refused(tmp_path, "fake.parquet", "fit", tmp_path / "fake.parquet", *ask)
    refused(tmp_path, "cut.parquet", "fit", tmp_path / "cut.parquet", *ask)
    refused(tmp_path, "empty", "fit", tmp_path / "empty", *ask)
    refused(tmp_path, "column 'lat'", "fit", tmp_path / "part", *ask)
    refused(tmp_path, "column 'lon' holds", "fit", tmp_path / "mixed", *ask)
    refused(tmp_path, "exists", "fit", trips, "--k", 3, "--epsilon", 1, *BOUNDS, "--out", tmp_path / "empty")
    refused(tmp_path, "not TOML", "fit", trips, *ask, "--config", tmp_path / "bad.toml")
    refused(tmp_path, "unknown entries ['kk']", "fit", trips, *ask, "--config", tmp_path / "odd.toml")
    refused(tmp_path, "cannot be read", "fit", trips, *ask, "--config", tmp_path / "none.toml")
    refused(tmp_path, "did you mean 'lloyd'", "fit", trips, *ask, "--algorithm", "loyd")
    refused(tmp_path, "epsilon", "fit", trips, "--k", 3, "--epsilon", "-1", *BOUNDS, *out)
    refused(tmp_path, "not a number", "fit", trips, "--k", 3, "--epsilon", "lots", *BOUNDS, *out)
    refused(tmp_path, "--epsilon is missing", "fit", trips, "--k", 3, *BOUNDS, *out)
    refused(tmp_path, "reversed", "fit", trips, "--k", 3, "--epsilon", 1, "--bounds", "lon=3:1", *out)
    refused(tmp_path, "low:high", "fit", trips, "--k", 3, "--epsilon", 1, "--bounds", "lon=3", *out)
    refused(tmp_path, "did you mean fit", "fitt", trips)
    refused(tmp_path, "lon", "fit", trips, "--columns", "long,lat", *ask)
    refused(tmp_path, "release", "show", tmp_path / "nowhere")
    refused(tmp_path, "exists", "predict", tmp_path / "x", trips, "--out", tmp_path / "bad.toml")


def test_a_tampered_release_fails(trips, tmp_path):
    out = tmp_path / "release"
    shoal("fit", trips, "--k", 2, "--epsilon", 1, *BOUNDS, "--out", out)
    text = (out / "centres.csv").read_text()
    (out / "centres.csv").write_text(text.replace("40.", "41.", 1))
    result = shoal("verify", out, code=1)
    assert "centres.csv" in result.output


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that nobody can write to")
def test_the_output_is_proved_writable_before_the_fit(trips, tmp_path, monkeypatch):
    monkeypatch.setattr(LiveCurator, "_pay", lambda *_: pytest.fail("the fit began"))
    args = ["--k", 3, "--epsilon", 1, *BOUNDS, "--out", "/proc/release"]
    refused(tmp_path, "nothing can be written to /proc/release", "fit", trips, *args)


@pytest.mark.parametrize(
    ("delta", "spent"), [(0, "0.25 of epsilon = 1"), (1e-6, "25 % of epsilon = 1, delta")]
)
def test_an_error_half_way_says_what_was_spent(trips, tmp_path, monkeypatch, delta, spent):
    def broken(*_):
        raise DamagedFile("the file broke off")

    monkeypatch.setattr(ArrowSource, "reduce", broken)
    how = ["--k", 3, "--epsilon", 1, "--delta", delta, *BOUNDS, "--algorithm", "lloyd", "--max-iter", 4]
    refused(tmp_path, spent, "fit", trips, *how, "--out", tmp_path / "release", code=4)


def test_a_release_that_cannot_be_written_after_all_says_what_was_spent(trips, tmp_path, monkeypatch):
    def full(*_):
        raise InvalidInput("the release cannot be written: no space left")

    monkeypatch.setattr(Release, "save", full)
    args = ["--k", 3, "--epsilon", 1, *BOUNDS, "--out", tmp_path / "release"]
    refused(
        tmp_path, "of epsilon = 1 was spent and is gone; nothing was written", "fit", trips, *args, code=4
    )


def test_an_interrupt_leaves_no_half_release_and_says_what_was_spent(trips, tmp_path, monkeypatch):
    real, asked = LiveCurator._noisy, []

    def pressed(self, question, *args):
        asked.extend([question] if isinstance(question, Sums) else [])
        if len(asked) == 3:
            raise KeyboardInterrupt
        return real(self, question, *args)

    monkeypatch.setattr(LiveCurator, "_noisy", pressed)
    args = ["--k", 3, "--epsilon", 1, *BOUNDS, "--algorithm", "lloyd", "--max-iter", 4]
    refused(tmp_path, "0.75", "fit", trips, *args, "--out", tmp_path / "release", code=130)


def test_help_loads_no_heavy_part():
    code = "import sys; from shoal.cli import main; main(['--help'], standalone_mode=False); "
    code += (
        "print([m for m in ('numba', 'sklearn', 'pyarrow', 'scipy', 'pandas', 'rich') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip().endswith("[]")


def test_import_shoal_loads_numpy_at_most():
    code = "import sys, shoal; "
    code += "print([m for m in ('numba', 'sklearn', 'pyarrow', 'scipy', 'narwhals') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_a_fit_loads_nothing_of_other_clusterings(tmp_path):
    """They take longer to load than a small fit takes to run."""
    (tmp_path / "small.csv").write_text("x\n" + "1\n9\n" * 50)
    args = ["fit", f"{tmp_path}/small.csv", "--k", "2", "--epsilon", "1", "--bounds", "x=0:10"]
    args += ["--algorithm", "lloyd", "--out", f"{tmp_path}/out"]
    unused = ("sklearn.cluster", "sklearn.metrics", "sklearn.model_selection", "matplotlib", "cryptography")
    code = f"import sys; from shoal.cli import main; main({args}, standalone_mode=False); "
    code += f"print([m for m in {unused} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip().endswith("[]")


@pytest.mark.parametrize("algorithm", ["auto", "lloyd"])
def test_a_small_fit_in_a_process_of_its_own_loads_neither_scikit_learn_nor_the_compiler(tmp_path, algorithm):
    """They take longer to load than all the rest."""
    (tmp_path / "small.csv").write_text("x,y\n" + "1,1e0\n9,7\n" * 500)
    args = ["fit", f"{tmp_path}/small.csv", "--k", "2", "--epsilon", "1", "--bounds", "x=0:10"]
    args += ["--bounds", "y=0:10", "--algorithm", algorithm, "--out", f"{tmp_path}/out"]
    # From a folder where this is not a test: a command line as it is installed.
    command = [sys.executable, "-X", "importtime", "-m", "shoal", *args]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = {line.split("|")[-1].strip().split(".")[0] for line in done.stderr.splitlines() if "|" in line}
    assert {"shoal", "pyarrow"} <= loaded  # it is a list of modules
    assert not {"sklearn", "numba", "llvmlite", "pandas"} & loaded
    assert "scipy.stats" not in done.stderr
    assert verify(tmp_path / "out").ok  # replayed by compiled loops


def test_columns_of_a_csv_are_named(tmp_path):
    bare = tmp_path / "bare.csv"
    bare.write_text("Ada,true,0.125\n" * 200 + "Bob,false,0.75\n" * 200)
    fit = ("fit", bare, "--k", 2, "--epsilon", 5, "--algorithm", "grid")
    out = ("--out", tmp_path / "r")
    refused(tmp_path, "name those to cluster", *fit, *out)
    refused(tmp_path, "names none of the columns", *fit, "--bounds", "lon=0:1", *out)
    assert "0.125" not in shoal(*fit, "--columns", "lon", *out, code=2).output
    named = ("--no-header", "--columns", ",member,lon")
    shoal(*fit, *named, "--types", "member=boolean", "--bounds", "lon=0:1", *out)
    assert "member" in shoal("show", tmp_path / "r").output
    labels = tmp_path / "labels.csv"
    shoal("predict", tmp_path / "r", bare, *named, "--out", labels)
    assert pyarrow.csv.read_csv(labels).num_rows == 400
