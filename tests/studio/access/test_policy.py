"""Which role an address asks for."""

from __future__ import annotations

import pytest

from shoal.studio.access.policy import POLICY, SOCKET, Policy
from shoal.studio.access.roles import CURATOR, PUBLIC, VIEWER


@pytest.mark.parametrize("order", [(PUBLIC, CURATOR), (CURATOR, PUBLIC)])
def test_where_two_declarations_fit_the_stricter_counts(order):
    policy = Policy()
    for template, role in zip(("/studies/{study}", "/studies/{path:path}"), order, strict=True):
        policy.declare(template, role)
    found, _ = policy.find("/studies/x", "GET")
    assert found.role is CURATOR


def test_what_is_not_declared_is_not_found():
    policy = Policy()
    policy.declare("/a", VIEWER, methods=("GET",))
    assert policy.find("/a", "HEAD")
    assert policy.find("/a", "POST") is None
    assert policy.find("/a/", "GET") is None
    assert policy.find("/b", "GET") is None
    assert not policy.covers("/a", "POST")
    assert policy.covers("/a", "GET")


def test_what_is_there_for_everybody_is_code_alone():
    public = {
        declared.template
        for declared in POLICY
        if declared.role is PUBLIC and "_nicegui" in declared.template
    }
    assert all("{version}" not in template and "/auto/" not in template for template in public)
    assert POLICY.find("/_nicegui/auto/static/x/y.csv", "GET") is None
    assert POLICY.find("/_nicegui/client/x/upload/1", "POST")[0].role is CURATOR
    assert POLICY.find(SOCKET, "GET") is None
