"""Stored figures of peers are shown as what they are, beside ours where these were measured."""

import json

from shoal.bench.flagship.judge import stored_peers
from shoal.bench.stored import stored_chapter
from shoal.reporting.document import Bullets, Picture, Table, Text


def chapter(directory):
    found = list(stored_chapter(directory))
    [table] = [block for block in found if isinstance(block, Table)]
    return found, table


def test_peers_are_called_stored_and_come_with_version_and_guarantee(tmp_path):
    found, table = chapter(tmp_path / "results")
    assert set(table.head[2:]) == {f"{name}, stored" for name in stored_peers()["methods"]}
    [about] = [block for block in found if isinstance(block, Text)]
    assert "Stored figures, not measured by this run" in about.text
    [methods] = [block for block in found if isinstance(block, Bullets)]
    assert any("commit" in line for line in methods.items)
    s1 = next(row for row in table.rows if row[:2] == ("s1", "1"))
    wanted = {m: r for t, m, e, _, r, *_ in stored_peers()["figures"] if (t, e) == ("s1", 1)}
    assert dict(zip(table.head[2:], s1[2:], strict=True)) == {
        f"{name}, stored": f"{ratio:.3f}" for name, ratio in wanted.items()
    }


def test_ours_stand_beside_them_where_they_were_measured(tmp_path):
    (tmp_path / "flagship").mkdir()
    runs = [
        {"table": "s1", "epsilon": 1.0, "algorithm": "auto", "seed": 1_000_000 + i, "ratio": 1.0 + i}
        for i in range(3)
    ]
    text = "".join(json.dumps({"box": "tight", "delta": 0.0, **run}) + "\n" for run in runs)
    (tmp_path / "flagship" / "peers.jsonl").write_text(text)
    found, table = chapter(tmp_path / "results")
    assert table.head[2] == "KMeans"
    assert next(row for row in table.rows if row[:2] == ("s1", "1"))[2] == "2.000"
    assert next(row for row in table.rows if row[:2] == ("iris", "1"))[2] == ""
    [picture] = [block for block in found if isinstance(block, Picture)]
    assert picture.caption.startswith("Geometric mean over 1 tables")
