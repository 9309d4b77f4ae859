"""`shoal budget`, and fits that draw on a ledger, as people type them."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from shoal import Accountant, load
from shoal.accounting.ledgered_fit import LedgerAllowance
from shoal.cli import main


def shoal(*args, code=0):
    result = CliRunner().invoke(main, [str(arg) for arg in args])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(5)
    where = np.where(rng.random((3000, 1)) < 0.5, 2.0, 8.0) + rng.normal(0, 0.3, (3000, 2))
    columns = {"x": where[:, 0], "y": where[:, 1], "user_id": rng.integers(0, 900, 3000)}
    pq.write_table(pa.table(columns), tmp_path / "trips.parquet")
    return tmp_path / "trips.parquet"


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "budget.ledger"
    shoal(
        "budget", "create", "trips", "--epsilon", 4, "--delta", "1e-6", "--unit", "user_id", "--ledger", path
    )
    return path


FIT = ("--k", 2, "--epsilon", 1, "--algorithm", "lloyd", "--bounds", "x=0:10", "--bounds", "y=0:10")


def test_two_months_with_one_budget(table, ledger, tmp_path):
    drawn = ["--ledger", ledger, "--dataset", "trips"]
    for month in ("january", "february", "march", "april"):
        said = shoal("fit", table, *FIT, *drawn, "--out", tmp_path / month)
        assert "trips: epsilon = 4" in said.stderr
    # Who is protected is the data set's to say.
    assert load(tmp_path / "april").certificate.unit.startswith("one person (column 'user_id')")
    assert "4 of 4 epsilon" in shoal("budget", "list", "--ledger", ledger).stdout
    refused = shoal("fit", table, *FIT, *drawn, "--out", tmp_path / "may", code=3)
    assert "too much. Ask for less, or look at `shoal budget history trips`" in refused.stderr
    assert not (tmp_path / "may").exists()
    shown = shoal("budget", "show", "trips", "--ledger", ledger).stdout
    assert "one person (column 'user_id') added or removed" in shown
    assert "20 charges, 4 fits so far" in shown
    told = shoal("budget", "history", "trips", "--ledger", ledger).stdout.splitlines()
    assert len(told) == len(Accountant.open(ledger, "trips").records())
    assert "DPLloyd.fit reserves epsilon = 1" in told[1]
    releases = [part for m in ("january", "april") for part in ("--certificate", tmp_path / m)]
    assert "FAILED" not in shoal("budget", "verify", "trips", "--ledger", ledger, *releases).stdout


def test_a_fit_that_was_interrupted_says_how_to_go_on(table, ledger, tmp_path, monkeypatch):
    keep = LedgerAllowance.keep

    def interrupted(self, number, asked, answer):
        if number == 3:
            raise KeyboardInterrupt
        keep(self, number, asked, answer)

    drawn = ["--ledger", ledger, "--dataset", "trips", "--out", tmp_path / "out"]
    with monkeypatch.context() as patched:
        patched.setattr(LedgerAllowance, "keep", interrupted)
        said = shoal("fit", table, *FIT, *drawn, code=130).stderr
    fit = next(iter(Accountant.open(ledger, "trips").book.fits))
    assert f"Its answers are in the ledger: go on with --resume {fit}" in said
    shoal("fit", table, *FIT, *drawn, "--resume", fit)
    assert "was charged for answers that never came" in (tmp_path / "out" / "certificate.txt").read_text()
    told = json.loads(shoal("budget", "history", "trips", "--ledger", ledger, "--json").stdout)
    assert [record["record"] for record in told] == list(range(1, len(told) + 1))
    assert not any("key" in record or "parts_key" in record.get("charter", {}) for record in told)
    assert [record["kind"] for record in told].count("resumed") == 1


def test_verify_fails_where_a_certificate_is_contradicted(table, ledger, tmp_path):
    shoal("fit", table, *FIT, "--ledger", ledger, "--dataset", "trips", "--out", tmp_path / "out")
    with closing(sqlite3.connect(ledger)) as connection, connection:
        connection.execute("DROP TRIGGER shoal_no_delete")
        connection.execute("DELETE FROM shoal_records WHERE number > 4")
        connection.execute(
            "UPDATE shoal_heads SET number = 4, hash = (SELECT hash FROM shoal_records WHERE number = 4)"
        )
    connection.close()
    verify = ("budget", "verify", "trips", "--ledger", ledger)
    assert "ok" in shoal(*verify).stdout
    said = shoal(*verify, "--certificate", tmp_path / "out", "--json", code=1)
    checks = {check["name"]: check["ok"] for check in json.loads(said.stdout)["checks"]}
    assert checks == {"chain": True, "budget": True, f"certificate {tmp_path / 'out'}": False}
    # The release itself is as sound as it was.
    assert "ledger" in load(tmp_path / "out").certificate.to_dict()
    shoal("verify", tmp_path / "out")


def test_a_config_file_names_the_ledger_and_the_environment_may(table, ledger, tmp_path, monkeypatch):
    config = tmp_path / "fit.toml"
    config.write_text(f'k = 2\nepsilon = 1\nalgorithm = "lloyd"\nledger = "{ledger}"\ndataset = "trips"\n')
    where = ("--bounds", "x=0:10", "--bounds", "y=0:10")
    shoal("fit", table, *where, "--config", config, "--out", tmp_path / "one")
    monkeypatch.setenv("SHOAL_LEDGER", str(ledger))
    shoal("fit", table, *FIT, "--dataset", "trips", "--out", tmp_path / "two")
    assert "10 charges, 2 fits so far" in shoal("budget", "show", "trips").stdout


@pytest.mark.parametrize(
    "kind",
    [("--synopsis", "--epsilon", 1), ("--synopsis", "--algorithm", "coreset", "--k", 2, "--epsilon", 3)],
)
def test_synopses_and_coresets_draw_on_it_too(table, ledger, tmp_path, kind):
    where = ("--bounds", "x=0:10", "--bounds", "y=0:10", "--ledger", ledger, "--dataset", "trips")
    shoal("fit", table, *kind, *where, "--out", tmp_path / "out")
    assert load(tmp_path / "out").certificate.ledger["dataset"] == "trips"
    shoal("verify", tmp_path / "out")


def test_what_is_missing_is_said_before_anything_is_read(table, ledger, tmp_path):
    out = ("--out", tmp_path / "out")
    assert "--ledger needs --dataset" in shoal("fit", table, *FIT, "--ledger", ledger, *out, code=2).stderr
    assert "name it with --ledger" in shoal("fit", table, *FIT, "--dataset", "trips", *out, code=2).stderr
    drawn = ("--ledger", ledger, "--dataset", "trips", *out)
    assert "no one fit 'f00'" in shoal("fit", table, *FIT, *drawn, "--resume", "f00", code=2).stderr
    assert "partition columns are none" in shoal("fit", table, *FIT, *drawn, "--part", "a=b", code=2).stderr
    assert "not column=level" in shoal("fit", table, *FIT, *drawn, "--part", "a", code=2).stderr
    assert (
        "--epsilon is 'x'"
        in shoal("budget", "create", "b", "--epsilon", "x", "--ledger", ledger, code=2).stderr
    )


def test_backup_restore_close_and_migrate(ledger, tmp_path):
    shoal("budget", "backup", "--ledger", ledger, "--out", tmp_path / "backup")
    shoal("budget", "restore", tmp_path / "backup", "--ledger", tmp_path / "new")
    assert "version 1 already" in shoal("budget", "migrate", "--ledger", ledger).stderr
    shoal("budget", "migrate", "--ledger", ledger, "--to", tmp_path / "moved")
    shown = shoal("budget", "show", "trips", "--ledger", ledger).stdout
    assert "it was moved to" in shown
    shoal("budget", "close", "trips", "--ledger", tmp_path / "moved")
    found = json.loads(shoal("budget", "show", "trips", "--ledger", tmp_path / "moved", "--json").stdout)
    assert found["closed"].startswith("it was closed")
    assert "parts_key" not in found
    assert "closed" in shoal("budget", "close", "trips", "--ledger", tmp_path / "moved", code=2).stderr
