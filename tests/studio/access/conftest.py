"""A small app with users, in a process of its own, for all tests of a worker."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("nicegui", reason="needs nicegui (pip install -e '.[studio]')")
pytest.importorskip("argon2", reason="needs argon2-cffi (pip install -e '.[studio]')")
sys.path.insert(0, str(Path(__file__).parent))

from servers import free_port, running, with_users

_SMALL = str(Path(__file__).with_name("small_app.py"))


@pytest.fixture
def clock():
    """A clock that stands still until it is moved."""

    class Clock:
        now = 1_700_000_000.0

        def __call__(self):
            return self.now

    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    from shoal.studio.access.store import AccessStore

    with contextlib.closing(AccessStore(tmp_path / "access.db", clock)) as made:
        yield made


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """The small app with two curators (ana, carl) and a viewer (ben)."""
    home, port = tmp_path_factory.mktemp("small"), free_port()
    with_users(home).close()
    with running([_SMALL, str(home), str(port), json.dumps({"max_upload": 200_000})], home, port) as server:
        yield server


@pytest.fixture
def start(tmp_path):
    """Start the small app with settings of one's own."""
    with contextlib.ExitStack() as stack:

        def make(users=True, scheme="http", verify=True, **settings):
            port = free_port()
            if users:
                with_users(tmp_path).close()
            command = [_SMALL, str(tmp_path), str(port), json.dumps(settings)]
            return stack.enter_context(running(command, tmp_path, port, scheme=scheme, verify=verify))

        yield make
