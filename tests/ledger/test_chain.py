"""What `verify` finds: an edit, a removal, a new order, a cut tail, and an old copy."""

import json
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction

import pytest

from postgres_server import new_database
from shoal import Accountant, DPLloyd
from shoal.accounting import Charge, Pure
from shoal.accounting.verifying import Claim, verify_dataset
from shoal.errors import BudgetExceeded, InvalidLedger, LedgerUnavailable
from shoal.ledger import Draft, Record, backup, migrate, open_store, restore


def spend(accountant, epsilon=Fraction(1, 4)):
    with accountant.reserve(Pure(epsilon), "fit") as allowance:
        allowance.charge(Charge("a question", "some noise", epsilon, "epsilon"))
        allowance.keep(0, "", b"an answer")
    return allowance


def claim(allowance, name="release/"):
    return Claim(name, allowance.statement, tuple(allowance.charges))


def found(path, claims=()):
    """The names of the checks that fail."""
    return [check.name for check in verify_dataset(open_store(path), "trips", claims) if not check.ok]


def tamper(path, *commands):
    """Change a ledger behind Shoal's back."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for name in ("shoal_no_update", "shoal_no_delete"):
            connection.execute(f"DROP TRIGGER IF EXISTS {name}")
        for command in commands:
            connection.execute(command)
    connection.close()


def test_a_ledger_that_nobody_touched_is_verified(url):
    trips = Accountant.create(url, "trips", epsilon=4)
    claims = [claim(spend(trips)) for _ in range(3)]
    assert found(url, claims) == []


def test_records_cannot_be_changed_or_removed_by_a_slip(path, trips):
    spend(trips)
    with closing(sqlite3.connect(path)) as connection, connection:
        for command in ("UPDATE shoal_records SET time = ''", "DELETE FROM shoal_records"):
            with pytest.raises(sqlite3.IntegrityError, match="appended to, never changed"):
                connection.execute(command)
    connection.close()


@pytest.mark.needs("postgres")
def test_records_on_a_server_cannot_be_changed_either(postgres):
    import psycopg

    url = new_database(postgres)
    spend(Accountant.create(url, "trips", epsilon=4))
    commands = ("UPDATE shoal_records SET time = ''", "DELETE FROM shoal_records", "TRUNCATE shoal_records")
    for command in commands:
        with psycopg.connect(url) as connection, pytest.raises(psycopg.Error, match="never changed"):
            connection.execute(command)


SWAP = (
    "UPDATE shoal_records SET number = -1 WHERE number = 3",
    "UPDATE shoal_records SET number = 3 WHERE number = 4",
    "UPDATE shoal_records SET number = 4 WHERE number = -1",
)


@pytest.mark.parametrize(
    "change",
    [
        ["UPDATE shoal_records SET body = replace(body, '1/4', '1/8') WHERE kind = 'charged' AND number = 3"],
        ["UPDATE shoal_records SET time = '2020-01-01T00:00:00Z' WHERE number = 2"],
        ["UPDATE shoal_records SET kind = 'noted' WHERE number = 5"],
        ["UPDATE shoal_records SET key = 'other' WHERE number = 5"],
        ["UPDATE shoal_records SET payload = x'00' WHERE number = 4"],
        ["UPDATE shoal_records SET payload = NULL WHERE number = 4"],
        ["UPDATE shoal_records SET hash = previous WHERE number = 6"],
        ["DELETE FROM shoal_records WHERE number = 4"],
        ["DELETE FROM shoal_records WHERE number = 1"],
        SWAP,
        ["DELETE FROM shoal_records WHERE number > 5"],
    ],
)
def test_an_edit_a_removal_another_order_and_a_cut_tail_are_found(path, trips, change):
    spend(trips)
    spend(trips)
    assert found(path) == []
    tamper(path, *change)
    assert found(path) == ["chain"]


def cut(path, number):
    """Cut the tail as somebody would who knows how a ledger is kept."""
    tamper(
        path,
        f"DELETE FROM shoal_records WHERE number > {number}",
        "UPDATE shoal_heads SET number = (SELECT max(number) FROM shoal_records), hash = (SELECT hash FROM "
        "shoal_records ORDER BY number DESC LIMIT 1)",
    )


def test_a_tail_that_was_cut_with_care_contradicts_a_certificate(path, trips):
    first, second = claim(spend(trips)), claim(spend(trips), "second/")
    cut(path, 5)
    assert found(path, [first]) == []
    assert found(path, [first, second]) == ["certificate second/"]


def test_an_old_copy_that_was_put_back_and_gone_on_with_contradicts_a_certificate(path, trips, tmp_path):
    first = claim(spend(trips))
    shutil.copy(path, tmp_path / "old")
    second = claim(spend(trips), "second/")
    shutil.copy(tmp_path / "old", path)
    again = Accountant.open(path, "trips")
    for _ in range(2):
        spend(again)
    assert found(path, [first]) == []
    assert found(path, [first, second]) == ["certificate second/"]
    # Whoever had it open notices at once.
    with pytest.raises(InvalidLedger, match="an old copy was put in its place"):
        spend(trips)


def forge(path, change):
    """Write a whole new chain whose hashes fit."""
    records, last = [], None
    for record, payload in list(open_store(path).payloads("trips")):
        body = change(record.kind, record.content)
        body.pop("payload_sha256", None)
        last = Record.after(last, "trips", record.time, record.key, Draft(record.kind, body, payload))
        records.append((last, payload))
    tamper(path, "DELETE FROM shoal_records", "DELETE FROM shoal_heads")
    open_store(path).copy_in("trips", records)


def test_a_chain_that_was_written_anew_contradicts_every_certificate_and_its_own_budget(path, trips):
    one, other = claim(spend(trips)), claim(spend(trips, Fraction(3)), "other/")
    forge(path, lambda kind, body: {**body, "amount": "1/8"} if kind == "charged" else body)
    assert found(path) == []
    assert found(path, [one, other]) == ["certificate release/", "certificate other/"]
    # More than the total, or more than was reserved, cannot be said in any chain.
    forge(path, lambda kind, body: {**body, "amount": "5"} if kind == "charged" else body)
    assert found(path) == ["budget"]

    def larger(kind, body):
        return {**body, "budget": {"epsilon": "3"}, "amount": "3"}

    forge(path, lambda kind, body: larger(kind, body) if kind in ("reserved", "charged") else body)
    assert found(path) == ["budget"]


def test_a_chain_that_differs_in_one_word_contradicts_a_certificate(path, trips):
    one = claim(spend(trips))
    forge(path, lambda kind, body: {**body, "label": "another"} if kind == "reserved" else body)
    assert found(path) == []
    assert found(path, [one]) == ["certificate release/"]


def test_a_window_that_does_not_fit_its_time_is_found(path):
    spend(Accountant.create(path, "trips", epsilon=4, renewal="yearly", decided_by="the DPO"))
    forge(path, lambda kind, body: {**body, "window": "1999"} if kind == "reserved" else body)
    assert found(path) == ["budget"]


def test_a_data_set_of_the_same_name_elsewhere_is_another_one(path, trips, tmp_path):
    one = claim(spend(trips))
    other = str(tmp_path / "other")
    spend(Accountant.create(other, "trips", epsilon=4))
    assert found(other, [one]) == ["certificate release/"]


def test_a_certificate_has_the_head_and_the_charges_of_its_fit(path, trips, rows):
    model = DPLloyd(2, epsilon=1, bounds=(-1, 1), max_iter=2, budget=trips).fit(rows)
    said = model.certificate_.ledger
    assert said["head"] == trips.records()[-1].hash
    assert found(path, [Claim("it", said, model.certificate_.charges)]) == []
    assert found(path, [Claim("it", said, model.certificate_.charges[1:])]) == ["certificate it"]
    assert found(path, [Claim("it", {}, ())]) == ["certificate it"]


def test_nothing_of_the_table_nor_of_the_noise_is_in_the_ledger(path, trips, rows):
    DPLloyd(2, epsilon=1, bounds=(-1, 1), max_iter=1, budget=trips, random_state=123456789).fit(rows)
    known = {
        "created": {"charter"},
        "reserved": {"budget", "fit", "key", "label", "part", "plan", "run", "window"},
        "charged": {"amount", "asked", "currency", "fit", "mechanism", "number", "question", "run"},
        "answered": {"asked", "fit", "number", "payload_sha256", "run"},
        "ended": {"fit", "outcome", "run"},
    }
    for record in trips.records():
        assert set(record.content) == known[record.kind]
        assert "123456789" not in record.body
    # Two fits of other rows, and as many as you like, have the same parameters: the plan does not tell.
    DPLloyd(2, epsilon=1, bounds=(-1, 1), max_iter=1, budget=trips, random_state=5).fit(rows[:300])
    plans = {r.content["plan"] for r in trips.records() if r.kind == "reserved"}
    assert len(plans) == 1


def test_a_backup_is_restored_and_a_cut_one_refused(url, tmp_path):
    trips = Accountant.create(url, "trips", epsilon=4)
    one = claim(spend(trips))
    file, new = tmp_path / "backup", str(tmp_path / "new")
    assert backup(open_store(url), file)["trips"] == (one.ledger["record"], one.ledger["head"])
    assert file.stat().st_mode & 0o777 == 0o600
    late = claim(spend(trips), "late/")
    assert restore(file, open_store(new)) == ("trips",)
    assert found(new, [one]) == []
    assert found(new, [one, late]) == ["certificate late/"]
    again = Accountant.open(new, "trips")
    assert again.spent == Fraction(1, 4)
    spend(again)
    with pytest.raises(InvalidLedger, match="already"):
        restore(file, open_store(new))
    with pytest.raises(InvalidLedger, match="cannot be written"):
        backup(open_store(url), file)
    lines = file.read_text().splitlines()
    for name, kept in (
        ("cut", lines[:-2]),
        ("holed", lines[:3] + lines[4:]),
        ("other", ['{"what": 1}', lines[-1]]),
    ):
        (tmp_path / name).write_text("\n".join(kept))
        with pytest.raises(InvalidLedger):
            restore(tmp_path / name, open_store(str(tmp_path / f"{name}.ledger")))


@pytest.mark.needs("postgres")
def test_a_ledger_moves_to_a_server_and_is_spent_from_in_one_place(path, trips, postgres):
    one = claim(spend(trips))
    under_way = trips.reserve(Pure(Fraction(1)), "fit")
    url = new_database(postgres)
    assert migrate(open_store(path), open_store(url)) == ("trips",)
    there = Accountant.open(url, "trips")
    assert there.spent == Fraction(1, 4)
    assert there.left == Fraction(11, 4)  # what is under way is still reserved
    spend(there)
    assert found(url, [one]) == []
    for attempt in (lambda: spend(trips), lambda: under_way.charge(Charge("q", "n", Fraction(1), "epsilon"))):
        with pytest.raises(Exception, match="it was moved to postgresql://"):
            attempt()
    assert migrate(open_store(path), open_store(url)) == ("trips",)  # once more changes nothing
    assert there.spent == Fraction(1, 2)


def test_a_fit_cannot_go_on_in_a_ledger_that_moved(path, trips, tmp_path):
    under_way = trips.reserve(Pure(Fraction(1)), "fit")
    migrate(open_store(path), open_store(tmp_path / "moved"))
    with pytest.raises(BudgetExceeded, match="it was moved to"):
        under_way.charge(Charge("q", "n", Fraction(1), "epsilon"))
    with pytest.raises(BudgetExceeded, match="it was moved to"):
        spend(trips)
    spend(Accountant.open(tmp_path / "moved", "trips"))


def test_a_ledger_of_another_version_is_left_alone(path, trips, monkeypatch):
    spend(trips)
    before = trips.spent
    tamper(path, "UPDATE shoal_ledger SET version = 2")
    with pytest.raises(InvalidLedger, match="version 2, and this Shoal keeps version 1: use a newer Shoal"):
        spend(trips)
    with pytest.raises(InvalidLedger, match="which this Shoal cannot read"):
        open_store(path).upgrade()
    tamper(path, "UPDATE shoal_ledger SET version = 1")
    # A later Shoal says so, and brings it up to date.
    from shoal.ledger import sqlite, store

    monkeypatch.setattr(store, "VERSION", 2)
    monkeypatch.setattr(sqlite.SqliteStore, "upgrades", {1: ("CREATE TABLE shoal_new (x TEXT)",)})
    with pytest.raises(InvalidLedger, match="shoal budget migrate"):
        spend(trips)
    assert open_store(path).upgrade() == (1, 2)
    assert Accountant.open(path, "trips").spent == before


def test_what_is_no_ledger_is_told_from_one(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but long enough to be taken for one " * 40)
    with pytest.raises(InvalidLedger, match="no SQLite file"):
        Accountant.open(str(file), "trips")
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection, connection:
        connection.execute("CREATE TABLE things (x TEXT)")
    connection.close()
    with pytest.raises(InvalidLedger, match="is not a ledger"):
        Accountant.open(str(tmp_path / "other.db"), "trips")


def test_a_password_is_never_shown():
    store = open_store("postgresql://ada:secret@nowhere.invalid/db", patience=0.0)
    assert "secret" not in store.shown
    assert "ada" in store.shown
    with pytest.raises((LedgerUnavailable, InvalidLedger)) as error:
        store.datasets()
    assert "secret" not in str(error.value)


def test_a_record_is_canonical_json():
    record = Record.after(None, "d", "t", "k", Draft("noted", {"b": 1, "a": "ä"}))
    assert record.body == json.dumps(record.content, sort_keys=True, separators=(",", ":"))
