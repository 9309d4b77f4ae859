"""The JSON API: the same actions as the pages, by role, and nothing that is not for release."""

from __future__ import annotations

import ast
import json
import time
from pathlib import Path

import pytest

import shoal.studio.api as package
from shoal.studio.access.assembly import all_routes
from shoal.studio.uploads import forget_ended

BASE = "/api/v1"
CELL = "73.98112"


def wait(client, job, until=("done", "awaiting approval")):
    for _ in range(1500):
        found = client.get(f"{BASE}/jobs/{job['id']}").json()
        if found["state"] in until:
            return found
        assert found["state"] in ("waiting", "running"), found
        time.sleep(0.2)
    raise AssertionError(found)


def first_study(client):
    return client.get(f"{BASE}/studies").json()[0]


def test_every_route_is_declared_and_tried_by_everybody(api):
    """A list of all routes; each is tried as nobody, as a viewer and as a curator."""
    routes = [(path, method) for path, method in all_routes(api.guard) if path.startswith(BASE)]
    assert len(routes) > 25
    for path, method in routes:
        if method == "HEAD":
            continue
        assert api.policy.covers(path, method), f"{method} {path} is not declared"
        url = path.format(study="x", job="x", release="x", name="x", level="x", dataset="x")
        needs = api.policy.find(url, method)[0].role.word
        nobody = api.client().request(method, url).status_code
        viewer = api.client("ben").request(method, url).status_code
        curator = api.client("ana").request(method, url).status_code
        assert nobody == 401, path
        assert (viewer == 403) == (needs == "curator"), (method, path, viewer)
        assert curator not in (401, 403), path


def test_what_a_viewer_may_ask_for(api):
    """Written out, so that a new address for viewers is a decision and no accident."""
    viewers = {
        (declared.template.removeprefix(BASE), method)
        for declared in api.policy
        if declared.role.word == "viewer" and declared.template.startswith(BASE)
        for method in declared.methods - {"HEAD"}
    }
    assert viewers == {
        ("/openapi.json", "GET"),
        ("/me", "GET"),
        ("/levels", "GET"),
        ("/releases", "GET"),
        ("/releases/{release}", "GET"),
        ("/releases/{release}/files/{name}", "GET"),
    }


def test_who_am_i(api):
    assert api.client("ana").get(f"{BASE}/me").json() == {"name": "ana", "role": "curator"}


def test_the_openapi_tells_every_route_and_that_tokens_are_wanted(api):
    told = api.client("ben").get(f"{BASE}/openapi.json").json()
    assert told["security"] == [{"token": []}]
    assert told["servers"] == [{"url": BASE}]
    paths = {(path, method.upper()) for path, methods in told["paths"].items() for method in methods}
    have = {(path.removeprefix(BASE), method) for path, method in all_routes(api.guard) if method != "HEAD"}
    assert paths == {
        (path, method) for path, method in have if path not in ("/openapi.json", *api.guard._own)
    }
    text = json.dumps(told).lower()
    for word in ("notforrelease", "red_centres", "real_rows"):
        assert word not in text


def test_the_api_knows_no_way_to_values_that_are_not_for_release():
    for file in Path(package.__file__).parent.glob("*.py"):
        tree = ast.parse(file.read_text())
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
        }
        forbidden = {"red_centres", "look_at_real_rows", "NotForRelease", "on_the_curators_screen"}
        assert not names & forbidden, file


def test_a_value_that_is_not_for_release_becomes_no_answer(api):
    from shoal.queries import NotForRelease

    ana = api.client("ana")
    study = api.studio.study(first_study(ana)["id"]).look_at_real_rows(by="ana")
    red = study.red_centres()
    assert isinstance(red, NotForRelease)

    @api.app.get(f"{BASE}-leak")
    def leak():
        return {"centres": red}

    from shoal.studio.access.roles import VIEWER

    api.policy.declare(f"{BASE}-leak", VIEWER)
    got = ana.get(f"{BASE}-leak")
    assert got.status_code in (404, 500)
    sent = json.dumps(study.to_dict())
    assert "red" not in sent
    for path in (f"/studies/{study.id}", f"/studies/{study.id}/views", "/jobs"):
        answer = ana.get(BASE + path)
        assert answer.status_code == 200
        assert "red" not in answer.json()


def test_a_file_is_opened_declared_and_priced(api, tmp_path):
    table = tmp_path / "trips.csv"
    table.write_text("x,y\n" + f"{CELL},2\n" * 50)
    ana = api.client("ana")
    study = ana.post(f"{BASE}/studies", json={"path": str(table), "title": "Trips"})
    assert study.status_code == 201, study.text
    where = f"{BASE}/studies/{study.json()['id']}"
    assert study.json()["by"] == "ana"
    assert [column["name"] for column in ana.get(f"{where}/schema").json()] == ["x", "y"]
    assert study.json()["missing"]
    assert ana.get(f"{where}/price").status_code == 422
    made = ana.post(f"{BASE}/datasets", json={"name": "trips", "epsilon": 1})
    assert made.json()["left"] == 1
    declared = {"columns": ["x", "y"], "bounds": {"x": [0, 100], "y": [0, 10]}, "dataset": "trips", "k": 2}
    told = ana.patch(where, json=declared).json()
    assert told["missing"] == []
    assert told["release_key"] != study.json()["release_key"]
    assert ana.get(f"{where}/price", params={"level": "good"}).json()["epsilon"] == 1
    refused = ana.post(
        f"{where}/release", json={"level": "weak"}, headers={"idempotency-key": told["release_key"]}
    )
    assert (refused.status_code, refused.json()["error"]) == (409, "BudgetExceeded")
    assert "trips" in ana.get(f"{where}/code", params={"level": "good"}).json()["command"]
    assert ana.get(f"{BASE}/datasets/trips/budget").json()["spent"] == 0
    assert ana.get(f"{BASE}/datasets/none/budget").status_code == 404
    assert ana.delete(where).status_code == 204
    assert CELL not in (api.studio.home / "access.log").read_text()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/studies", {"path": "/nowhere/at-all.csv"}),
        ("/studies", {"path": "x.csv", "rows": [[1, 2]]}),
        ("/studies", {"path": ["x.csv"]}),
        ("/datasets", {"name": "d", "epsilon": -1}),
        ("/datasets", {"name": "d", "epsilon": "NaN"}),
        ("/datasets", {"name": "d"}),
        ("/studies", {"path": "a" * 4000 + ".csv"}),
        ("/studies", {"path": "a\0b.csv"}),
        ("/studies", {"path": "x.csv", "preview_epsilon": None}),
    ],
)
def test_bad_input_is_said_and_not_repeated(api, path, body):
    got = api.client("ana").post(BASE + path, json={**body, "more": CELL} if "rows" in body else body)
    assert got.status_code == 422
    assert set(got.json()) == {"status", "detail", "error"}
    assert CELL not in got.text


def test_a_row_that_comes_to_the_wrong_address_is_not_repeated(api):
    got = api.client("ana").post(f"{BASE}/datasets", json={"name": [CELL], "epsilon": {"x": CELL}})
    assert got.status_code == 422
    assert CELL not in got.text


def test_a_body_that_is_no_json_is_bad_input(api):
    got = api.client("ana").post(
        f"{BASE}/datasets", content=b"\xff", headers={"content-type": "application/json"}
    )
    assert (got.status_code, got.json()["status"]) == (422, 422)


def test_odd_addresses_have_nothing(api):
    got = api.client("ana").get(f"{BASE}/studies/%0A")
    assert (got.status_code, got.json()["status"]) == (404, 404)


def test_a_ledger_is_told_without_its_password(api):
    from shoal.studio.api.models import _without_password

    assert _without_password("postgresql://ana:secret@db/x?password=secret") == "postgresql://db/x"
    assert _without_password("/a/b.ledger") == "/a/b.ledger"


@pytest.fixture
def trips(tmp_path):
    """What is said to open a table of 600 rows, which is fitted in no time."""
    places = [(0.2 + 0.6 * (i % 2) + 0.05 * (i % 7) / 7, 0.3 + 0.05 * (i % 11) / 11) for i in range(600)]
    path = tmp_path / "trips.csv"
    path.write_text("x,y\n" + "".join(f"{x:.4f},{y:.4f}\n" for x, y in places))
    bounds = {"x": [0, 1], "y": [0, 1]}
    return {"path": str(path), "columns": ["x", "y"], "bounds": bounds, "dataset": "trips", "k": 2}


@pytest.mark.slow
def test_prepare_explore_and_release_once(api, trips):
    ana, ben = api.client("ana"), api.client("ben")
    ana.post(f"{BASE}/datasets", json={"name": "trips", "epsilon": 3})
    study = ana.post(f"{BASE}/studies", json=trips).json()
    where = f"{BASE}/studies/{study['id']}"
    job = ana.post(f"{where}/prepare", json={"levels": ["good", 0.25]})
    assert job.status_code == 202, job.text
    wait(ana, job.json())
    views = ana.get(f"{where}/views").json()
    assert [view["level"]["epsilon"] for view in views] == [0.25, 1.0]
    assert ana.get(f"{where}/views/good").json() == views[1]
    assert ana.get(f"{where}/views/0.25").json() == views[0]
    before = ana.get(f"{BASE}/datasets/trips/budget").json()["spent"]
    assert ana.post(f"{where}/release", json={"level": "good"}).status_code == 422  # without a key
    key = {"idempotency-key": study["release_key"]}
    asked = [ana.post(f"{where}/release", json={"level": "good"}, headers=key).json() for _ in range(3)]
    assert len({job["id"] for job in asked}) == 1
    done = wait(ana, asked[0])
    assert done["state"] == "done"
    spent = ana.get(f"{BASE}/datasets/trips/budget").json()["spent"] - before
    assert 0.9 < spent <= 1  # once; a fit gives back what it did not need
    stale = ana.post(f"{where}/release", json={"level": "good"}, headers={"idempotency-key": "made up"})
    assert stale.status_code == 422
    (release,) = ben.get(f"{BASE}/releases").json()
    assert done["release"] == release["id"]
    assert release["by"] == "ana"
    assert release["files"]
    for file in release["files"]:
        got = ben.get(f"{BASE}/releases/{release['id']}/files/{file['name']}")
        assert got.status_code == 200, file
        assert got.content
        assert "attachment" in got.headers["content-disposition"]
        assert got.headers["cache-control"] == "no-store"
    for name in ("nothing.csv", "..%2F..%2Fstudio.db", "%2Fetc%2Fpasswd", "centres"):
        assert ben.get(f"{BASE}/releases/{release['id']}/files/{name}").status_code == 404
    assert ben.put(f"{BASE}/releases/{release['id']}/share").status_code == 403
    shared = ana.put(f"{BASE}/releases/{release['id']}/share").json()["shared"]
    assert len(shared) >= 16
    assert ana.put(f"{BASE}/releases/{release['id']}/share").json()["shared"] == shared
    assert ana.delete(f"{BASE}/releases/{release['id']}/share").json()["shared"] is None


@pytest.mark.slow
def test_a_second_person_approves(make_api, trips):
    api = make_api(two_people=True)
    ana, carl, ben = api.client("ana"), api.client("carl"), api.client("ben")
    ana.post(f"{BASE}/datasets", json={"name": "trips", "epsilon": 3})
    study = ana.post(f"{BASE}/studies", json=trips).json()
    where, key = f"{BASE}/studies/{study['id']}", {"idempotency-key": study["release_key"]}
    job = ana.post(f"{where}/release", json={"level": "good"}, headers=key).json()
    assert job["state"] == "awaiting approval"
    assert ben.post(f"{BASE}/jobs/{job['id']}/approve").status_code == 403
    own = ana.post(f"{BASE}/jobs/{job['id']}/approve")
    assert own.status_code == 422
    assert "second person" in own.json()["detail"]
    assert ana.get(f"{BASE}/datasets/trips/budget").json()["spent"] == 0
    assert carl.post(f"{BASE}/jobs/{job['id']}/approve").json()["approved_by"] == "carl"
    wait(ana, job)
    (release,) = ben.get(f"{BASE}/releases").json()
    assert (release["by"], release["approved_by"]) == ("ana", "carl")


def test_a_file_that_was_sent_goes_when_its_token_or_session_ends(api):
    ana = api.client("ana")
    sent = ana.post(f"{BASE}/uploads", params={"name": "trips.csv"}, content=b"x,y\n1,2\n")
    assert sent.status_code == 201, sent.text
    (file,) = [path for path in (api.studio.home / "uploads").rglob("*") if path.is_file()]
    assert file.stat().st_mode & 0o777 == 0o600
    assert forget_ended(api.studio, api.sessions, api.tokens) == 0
    assert file.exists()
    for token in api.tokens.list():
        if token.name == "ana":
            api.tokens.revoke(token.id)
    assert forget_ended(api.studio, api.sessions, api.tokens) == 1
    assert not file.exists()
    assert len(api.studio.studies()) == 1  # the made-up city, which was not sent


def test_what_is_sent_has_a_limit_and_a_plain_name(api):
    ana = api.client("ana")
    big = ana.post(f"{BASE}/uploads", params={"name": "trips.csv"}, content=b"x" * 100_001)
    assert big.status_code == 413
    for name in ("../../trips.csv", "/etc/trips.csv"):
        sent = ana.post(f"{BASE}/uploads", params={"name": name}, content=b"x,y\n1,2\n")
        assert sent.json()["source"] == "trips.csv"
    for name in ("trips.exe", ".csv", "a\nb.csv"):
        refused = ana.post(f"{BASE}/uploads", params={"name": name}, content=b"x")
        assert refused.status_code == 422
        assert str(api.studio.home) not in refused.text
    kept = [path for path in (api.studio.home / "uploads").rglob("*") if path.is_file()]
    assert [path.name for path in kept] == ["trips.csv"] * 2
