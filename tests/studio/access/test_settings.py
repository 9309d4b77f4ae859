"""Where a studio may listen."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import InvalidInput
from shoal.studio.access.checks import address_of
from shoal.studio.access.settings import Settings

CERT = {"tls_cert": Path("c.pem"), "tls_key": Path("k.pem")}
ORIGIN = ("https://studio.example.org",)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_loopback_is_for_everybody(host):
    Settings(host=host).check_users(False)
    Settings(host=host).check_users(True)


@pytest.mark.parametrize(
    "settings",
    [
        Settings(host="192.0.2.1"),
        Settings(host="192.0.2.1", **CERT),
        Settings(host="studio.example.org", **CERT),
        Settings(host="0.0.0.0", origins=ORIGIN, **CERT),
        Settings(proxy=("127.0.0.1",), origins=ORIGIN),
        Settings(approval=True),
    ],
)
def test_others_cannot_reach_a_studio_without_users(settings):
    with pytest.raises(InvalidInput, match="users add"):
        settings.check_users(False)


@pytest.mark.parametrize(
    "settings",
    [
        Settings(host="192.0.2.1"),
        Settings(host="0.0.0.0", origins=("http://studio.example.org",)),
        Settings(proxy=("127.0.0.1",), origins=("http://studio.example.org",)),
    ],
)
def test_passwords_do_not_travel_as_plain_text(settings):
    with pytest.raises(InvalidInput, match="plain text"):
        settings.check_users(True)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"tls_cert": Path("c.pem")}, "both"),
        ({"host": "0.0.0.0"}, "--origin"),
        ({"host": "::"}, "--origin"),
        ({"proxy": ("127.0.0.1",)}, "--origin"),
        ({"proxy": ("everyone",), "origins": ORIGIN}, "address of the proxy"),
        ({"proxy": ("127.0.0.1",), "origins": ORIGIN, **CERT}, "not both"),
        ({"origins": ("studio.example.org",)}, "looks like"),
        ({"origins": ("https://a.example/path",)}, "looks like"),
        ({"origins": ("javascript://a",)}, "looks like"),
    ],
)
def test_settings_that_do_not_fit_are_refused(given, why):
    with pytest.raises(InvalidInput, match=why):
        Settings(**given)


def test_only_our_own_names_are_answered():
    assert Settings(port=9000).allowed_hosts == {"localhost:9000", "127.0.0.1:9000", "[::1]:9000"}
    behind = Settings(proxy=("127.0.0.1",), origins=("https://Studio.example.org:443/",))
    assert behind.allowed_hosts == {"studio.example.org"}
    assert behind.allowed_origins == {"https://studio.example.org"}
    assert behind.secure
    assert behind.cookie == "__Host-shoal"
    assert Settings(port=9000).cookie != Settings(port=9001).cookie


@pytest.mark.parametrize(
    ("proxy", "told", "address"),
    [
        ((), ["203.0.113.9"], "127.0.0.1"),
        (("127.0.0.1",), ["203.0.113.9"], "203.0.113.9"),
        (("127.0.0.1",), ["198.51.100.1, 203.0.113.9"], "203.0.113.9"),
        (("127.0.0.1",), ["198.51.100.1", "203.0.113.9"], "203.0.113.9"),
        (("127.0.0.1",), [], "127.0.0.1"),
        (("192.0.2.1",), ["203.0.113.9"], None),
    ],
)
def test_the_rate_limit_counts_the_address_that_the_proxy_saw(proxy, told, address):
    """What the visitor wrote before it, in the same line or another, counts for nothing."""
    scope = {"client": ("127.0.0.1", 5), "headers": [(b"x-forwarded-for", one.encode()) for one in told]}
    assert address_of(scope, Settings(proxy=proxy, origins=ORIGIN)) == address
