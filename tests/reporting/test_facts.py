"""Where results were made."""

import re
import subprocess

import pytest

from shoal.reporting import facts


@pytest.fixture
def unknown():
    facts.commit.cache_clear()
    yield
    facts.commit.cache_clear()


def test_a_commit_is_told_only_of_our_own_repository(unknown, monkeypatch, tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    somewhere = tmp_path / "site-packages" / "facts.py"
    somewhere.parent.mkdir()
    somewhere.touch()
    monkeypatch.setattr(facts, "__file__", str(somewhere))
    assert facts.commit() == ""
    how = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", *how, "commit", "-qm", "ours"], cwd=tmp_path, check=True)
    facts.commit.cache_clear()
    assert re.fullmatch(r"[0-9a-f]{7,}", facts.commit())
