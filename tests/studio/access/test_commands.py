"""`shoal studio users`, `tokens` and `link`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from shoal.cli.studio_access import link, tokens, users
from shoal.studio.access.accounts import Users
from shoal.studio.access.roles import CURATOR, LOCAL, VIEWER, User
from shoal.studio.access.sessions import Sessions, new_link, use_link
from shoal.studio.access.store import AccessStore
from shoal.studio.access.tokens import Tokens


@pytest.fixture
def run(tmp_path):
    def call(group, *arguments, given="", code=0):
        found = CliRunner().invoke(group, [*arguments, "--home", str(tmp_path / "home")], input=given)
        assert found.exit_code == code, found.output
        return found.output

    return call


@pytest.fixture
def kept(tmp_path):
    return AccessStore(tmp_path / "home" / "access.db")


def test_people_come_and_go(run, kept):
    run(users, "add", "ana", "--role", "curator", "--password-stdin", given="heron lantern quiet\n")
    run(users, "add", "ben", "--role", "viewer", "--password-stdin", given="heron lantern quiet\n")
    assert Users(kept).check("ana", "heron lantern quiet") == User("ana", CURATOR)
    found = json.loads(run(users, "list", "--json"))
    assert [(one["name"], one["role"]) for one in found] == [("ana", "curator"), ("ben", "viewer")]
    assert "password" not in found[0]
    Sessions(kept).start(User("ana", CURATOR))
    assert "signed in 1x" in run(users, "list")
    assert "1 session ended" in run(users, "logout", "ana")
    run(users, "role", "ana", "--role", "viewer")
    assert Users(kept).find("ana") == User("ana", VIEWER)
    run(users, "password", "ana", "--password-stdin", given="quite another one\n")
    assert Users(kept).check("ana", "heron lantern quiet") is None
    run(users, "remove", "ana")
    assert [account.name for account in Users(kept).list()] == ["ben"]


def test_a_drawn_password_is_printed_and_works(run, kept):
    shown = run(users, "add", "ana", "--role", "curator", "--generate")
    drawn = shown.split("password of ana: ")[1].split("\n")[0]
    assert Users(kept).check("ana", drawn)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["add", "ana", "--role", "curator", "--password-stdin"], "password has"),
        (["add", "Ana!", "--role", "curator", "--generate"], "cannot be a name"),
        (["add", "ana", "--role", "curator"], "no terminal"),
        (["add", "ana", "--role", "admin", "--generate"], "admin"),
        (["remove", "ana"], "no user 'ana'"),
        (["password", "ana", "--generate"], "no user 'ana'"),
        (["role", "ana", "--role", "viewer"], "no user 'ana'"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(run, arguments, why):
    assert why in run(users, *arguments, given="short\n", code=2)


def test_tokens_come_and_go(run, kept):
    secret = run(tokens, "create", "--role", "viewer", "--label", "nightly").splitlines()[-1]
    assert Tokens(kept, local=True).find(secret) == User(LOCAL.name, VIEWER)
    shown = run(tokens, "list")
    assert "nightly" in shown
    assert secret not in shown
    (token,) = json.loads(run(tokens, "list", "--json"))
    run(tokens, "revoke", token["id"])
    assert Tokens(kept, local=True).find(secret) is None
    assert "no token" in run(tokens, "revoke", token["id"], code=2)


def test_a_token_acts_as_somebody(run, kept):
    run(users, "add", "ben", "--role", "viewer", "--generate")
    assert "--user" in run(tokens, "create", "--role", "viewer", code=2)
    assert "no user 'ana'" in run(tokens, "create", "--user", "ana", "--role", "viewer", code=2)
    assert "viewer" in run(tokens, "create", "--user", "ben", "--role", "curator", code=2)
    made = json.loads(run(tokens, "create", "--user", "ben", "--role", "viewer", "--days", "2", "--json"))
    assert Tokens(kept).find(made["token"]) == User("ben", VIEWER)
    assert made["expires"] - made["created"] == 2 * 86_400


def test_a_new_link_opens_a_studio_without_users(run, kept):
    assert "no studio" in run(link, code=2)
    new_link(kept, "http://127.0.0.1:8765")
    shown = run(link).strip()
    assert shown.startswith("http://127.0.0.1:8765/enter?token=")
    assert use_link(kept, shown.split("token=")[1])
    run(users, "add", "ana", "--role", "curator", "--generate")
    assert "has users" in run(link, code=2)
