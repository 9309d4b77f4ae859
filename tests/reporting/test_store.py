"""Result files: nothing that was measured is lost, whatever happened to the file."""

import json

import pytest

from shoal.reporting.store import Store


@pytest.fixture
def made_up():
    def make(run=0, **facts):
        return {"id": f"a-{run}", "table": "s", "algorithm": "lloyd", "run": run, **facts}

    return make


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results" / "tiny.jsonl")


def test_results_come_back_in_order(store, made_up):
    records = [made_up(run=i, nicv=i / 3) for i in range(3)]
    assert store.read() == []
    for record in records:
        store.append(record)
    assert store.read() == records
    assert store.complaint == ""


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-20],  # cut off in the middle of the last line
        lambda text: text.replace('"run":1', '"run":}', 1),
        lambda text: text + "\x00\x00\x00",
        lambda text: "[1, 2]\n" + text,
        lambda text: '{"id": "no table"}\n' + text,
    ],
)
def test_a_damaged_file_is_set_aside_and_its_good_lines_kept(store, made_up, damage):
    records = [made_up(run=i) for i in range(3)]
    for record in records:
        store.append(record)
    damaged = damage(store.path.read_text())
    store.path.write_text(damaged)
    kept = store.read()
    assert kept
    assert all(record in records for record in kept)
    assert len(kept) >= 2
    aside = store.path.with_name("tiny.jsonl.damaged")
    assert aside.read_text() == damaged
    assert "tiny.jsonl.damaged" in store.complaint
    assert f"{len(kept)} good results" in store.complaint
    # The file is whole again: read without complaint, and written on.
    again = Store(store.path)
    again.append(made_up(run=9))
    assert [record["run"] for record in again.read()] == [*(r["run"] for r in kept), 9]
    assert again.complaint == ""


def test_a_second_damage_does_not_overwrite_the_first(store, made_up):
    for _ in range(2):
        store.append(made_up())
        store.path.write_bytes(store.path.read_bytes() + b"{\n")
        store.read()
    assert sorted(path.name for path in store.path.parent.iterdir()) == [
        "tiny.jsonl",
        "tiny.jsonl.damaged",
        "tiny.jsonl.damaged-2",
    ]


def test_a_whole_line_without_its_newline_is_no_damage(store, made_up):
    store.append(made_up(run=0))
    store.path.write_bytes(store.path.read_bytes().rstrip(b"\n"))
    assert len(store.read()) == 1
    assert store.complaint == ""
    store.append(made_up(run=1))
    assert [json.loads(line)["run"] for line in store.path.read_text().splitlines()] == [0, 1]


def test_what_is_not_a_number_is_never_written(store, made_up):
    with pytest.raises(ValueError, match="not JSON compliant"):
        store.append(made_up(nicv=float("nan")))


def test_retired_results_are_kept(store, made_up):
    store.append(made_up())
    store.retire()
    assert store.read() == []
    assert store.path.with_name("tiny.jsonl.previous").exists()
