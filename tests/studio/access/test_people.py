"""Accounts, sessions, tokens and attempts, in the store alone."""

from __future__ import annotations

import argon2
import pytest

from shoal.errors import InvalidInput
from shoal.studio.access import hashing
from shoal.studio.access.accounts import Users
from shoal.studio.access.attempts import PER_ADDRESS, PER_NAME, WINDOW, Attempts
from shoal.studio.access.roles import CURATOR, LOCAL, VIEWER, User
from shoal.studio.access.sessions import ABSOLUTE, IDLE, LINK, Sessions, new_link, use_link
from shoal.studio.access.store import AccessStore
from shoal.studio.access.tokens import PREFIX, Tokens

PASSWORD = "heron lantern quiet seven"


REAL = hashing._HASHER


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Hash as fast as argon2 can: what is tested here is what is done with hashes."""
    monkeypatch.setattr(hashing, "_HASHER", argon2.PasswordHasher(time_cost=1, memory_cost=16, parallelism=1))


def test_passwords_are_hashed_as_rfc_9106_recommends():
    assert (REAL.type, REAL.time_cost, REAL.memory_cost, REAL.parallelism) == (argon2.Type.ID, 3, 65_536, 4)
    assert REAL.hash(PASSWORD) != REAL.hash(PASSWORD)


@pytest.fixture
def users(store):
    made = Users(store)
    made.add("ana", CURATOR, PASSWORD)
    made.add("ben", VIEWER, PASSWORD)
    return made


def everything(store):
    return "\n".join(store._connection.iterdump())


def test_only_its_owner_may_read_the_file(store):
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_a_file_of_another_format_is_refused(store):
    store._connection.execute("PRAGMA user_version=99")
    with pytest.raises(InvalidInput, match="format 99"):
        AccessStore(store.path)


def test_no_secret_is_in_the_file_as_it_is(store, users):
    session = Sessions(store).start(User("ana", CURATOR))
    _, token = Tokens(store).create(User("ana", CURATOR), VIEWER, 1)
    link = new_link(store, "http://127.0.0.1:8765").split("token=")[1]
    Attempts(store).begin("some-name", "192.0.2.7")
    kept = everything(store)
    for secret in (PASSWORD, session, token, token.removeprefix(PREFIX), link, "some-name", "192.0.2.7"):
        assert secret not in kept
    assert "$argon2id$" in kept


def test_the_right_password_signs_in_and_no_other(users):
    assert users.check("ana", PASSWORD) == User("ana", CURATOR)
    assert users.check("ana", PASSWORD + "x") is None
    assert users.check("nobody", PASSWORD) is None
    assert users.check("ana", "") is None


def test_a_name_that_is_not_there_takes_as_much_work(users, monkeypatch):
    asked = []
    plain = hashing._HASHER.verify

    class Watched:
        def verify(self, *given):
            asked.append(given)
            return plain(*given)

    monkeypatch.setattr(hashing, "_HASHER", Watched())
    assert users.check("nobody", PASSWORD) is None
    assert len(asked) == 1
    assert asked[0][0].startswith("$argon2id$")


def test_a_weak_hash_is_made_anew_when_its_owner_signs_in(store, users):
    weak = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    with store.write() as connection:
        connection.execute("UPDATE users SET password = ? WHERE name = 'ana'", (weak,))
    assert users.check("ana", PASSWORD)
    (kept,) = store.row("SELECT password FROM users WHERE name = 'ana'")
    assert kept != weak
    assert not hashing.is_stale(kept)
    assert users.check("ana", PASSWORD)


@pytest.mark.parametrize("name", ["", "Ana", "ana b", "ana\n", "../ana", "<b>", "local", "a" * 33, "7up"])
def test_names_that_need_escaping_are_refused(users, name):
    with pytest.raises(InvalidInput, match="cannot be a name"):
        users.add(name, VIEWER, PASSWORD)


@pytest.mark.parametrize("password", ["short", "x" * 40, "i am ana and so", "y" * 513])
def test_passwords_that_are_easily_guessed_are_refused(users, password):
    with pytest.raises(InvalidInput, match="password"):
        users.set_password("ana", password)


def test_a_second_account_of_a_name_is_refused_and_changes_nothing(users):
    with pytest.raises(InvalidInput, match="already"):
        users.add("ana", VIEWER, "another password of mine")
    assert users.check("ana", PASSWORD) == User("ana", CURATOR)


def test_sessions_end_when_nothing_happens(store, users, clock):
    sessions = Sessions(store)
    session = sessions.start(User("ana", CURATOR))
    for _ in range(3):
        clock.now += IDLE - 1
        assert sessions.visit(session).user == User("ana", CURATOR)
    clock.now += IDLE + 1
    assert sessions.visit(session) is None


def test_asking_whether_a_session_lives_does_not_keep_it_alive(store, users, clock):
    sessions = Sessions(store)
    session = sessions.start(User("ana", CURATOR))
    hashed = hashing.hash_of(session)
    clock.now += IDLE - 1
    assert sessions.alive(hashed)
    clock.now += 2
    assert not sessions.alive(hashed)


def test_sessions_end_after_a_working_day_whatever_happens(store, users, clock):
    sessions = Sessions(store)
    session, began = sessions.start(User("ana", CURATOR)), clock.now
    while clock.now + IDLE / 2 < began + ABSOLUTE:
        clock.now += IDLE / 2
        assert sessions.visit(session)
    clock.now = began + ABSOLUTE + 1
    assert sessions.visit(session) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda users, _: users.remove("ana"),
        lambda users, _: users.set_password("ana", "quite another password"),
        lambda users, _: users.set_role("ana", VIEWER),
        lambda _, sessions: sessions.end_all("ana"),
    ],
)
def test_whoever_is_removed_or_changed_is_signed_out_everywhere(store, users, change):
    sessions = Sessions(store)
    ids = [sessions.start(User("ana", CURATOR)) for _ in range(2)]
    other = sessions.start(User("ben", VIEWER))
    change(users, sessions)
    assert [sessions.visit(session) for session in ids] == [None, None]
    assert sessions.visit(other)


def test_a_session_keeps_no_role_that_its_account_has_not(store, users):
    sessions = Sessions(store)
    session = sessions.start(User("ben", CURATOR))
    assert sessions.visit(session) is None


def test_the_local_curator_and_users_do_not_mix(store, users):
    local = Sessions(store, local=True).start(LOCAL)
    session = Sessions(store).start(User("ana", CURATOR))
    assert Sessions(store).visit(local) is None
    assert Sessions(store, local=True).visit(session) is None
    assert Sessions(store, local=True).visit(local).user == LOCAL


def test_a_link_works_once_and_for_an_hour(store, clock):
    with pytest.raises(InvalidInput, match="no studio"):
        new_link(store)
    link, late = (new_link(store, url).split("token=")[1] for url in ("http://127.0.0.1:8765", None))
    assert use_link(store, link)
    assert not use_link(store, link)
    assert not use_link(store, "")
    clock.now += LINK + 1
    assert not use_link(store, late)


def test_tokens_have_a_role_and_an_end(store, users, clock):
    tokens = Tokens(store)
    made, secret = tokens.create(User("ana", CURATOR), VIEWER, 2, "nightly")
    assert tokens.find(secret) == User("ana", VIEWER)
    assert tokens.find(secret + "x") is None
    clock.now += 2 * 86_400
    assert tokens.find(secret) is None
    assert [token.label for token in tokens.list()] == ["nightly"]
    tokens.revoke(made.id)
    assert tokens.list() == []


def test_a_viewer_cannot_have_a_token_of_a_curator(store, users):
    with pytest.raises(InvalidInput, match="viewer"):
        Tokens(store).create(User("ben", VIEWER), CURATOR, 2)


@pytest.mark.parametrize(
    "change", [lambda users: users.remove("ana"), lambda users: users.set_role("ana", VIEWER)]
)
def test_tokens_end_with_the_account_or_its_role(store, users, change):
    _, secret = Tokens(store).create(User("ana", CURATOR), CURATOR, 2)
    change(users)
    assert Tokens(store).find(secret) is None


def test_a_name_is_locked_for_a_while_from_everywhere(store, clock):
    attempts = Attempts(store)
    for place in range(PER_NAME):
        assert attempts.begin("ana", f"192.0.2.{place}") == 0
    assert 0 < attempts.begin("ana", "198.51.100.1") <= WINDOW
    assert attempts.begin("ben", "198.51.100.1") == 0
    # Trying on does not make it longer: one could keep another out for ever.
    clock.now += WINDOW - 1
    assert attempts.begin("ana", "198.51.100.1") > 0
    clock.now += 2
    assert attempts.begin("ana", "198.51.100.1") == 0


def test_an_address_is_locked_whatever_names_it_tries(store):
    attempts = Attempts(store)
    for number in range(PER_ADDRESS):
        assert attempts.begin(f"name{number}", "192.0.2.1") == 0
    assert attempts.begin("ana", "192.0.2.1") > 0
    assert attempts.begin("ana", "192.0.2.2") == 0


def test_a_restart_does_not_reset_the_count(store, clock):
    for _ in range(PER_NAME):
        Attempts(store).begin("ana", "192.0.2.1")
    again = AccessStore(store.path, clock)
    assert Attempts(again).begin("ana", "192.0.2.1") > 0


def test_success_forgets_the_failures_of_the_name_and_not_those_of_the_address(store):
    attempts = Attempts(store)
    for number in range(PER_ADDRESS - 1):
        attempts.begin(f"name{number}", "192.0.2.1")
    assert attempts.begin("ana", "192.0.2.1") == 0
    attempts.succeeded("ana", "192.0.2.1")
    assert attempts.begin("ana", "192.0.2.1") == 0
    assert attempts.begin("ana", "192.0.2.1") > 0
