"""Path prefixes of an endpoint behind a proxy."""

from ipaddress import ip_network
from typing import Any

import pytest

from evenkeel.api.http.path_prefix import STATE, PathPrefix, checked_prefix

PROXIES = (ip_network("192.0.2.0/24"),)


@pytest.mark.parametrize(
    ("given", "prefix"), [("", ""), ("/", ""), ("/load-balancer", "/load-balancer"), ("/a/v2.0/", "/a/v2.0")]
)
def test_prefix_has_no_slash_at_its_end(given: str, prefix: str) -> None:
    assert checked_prefix(given) == prefix


@pytest.mark.parametrize(
    "given", ["name", "//host", "/a b", "/a?b", "/..", "/a/../b", "/a%2f", "/" + "a" * 128, "/a\n"]
)
def test_text_that_is_no_path_prefix_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="is not a path prefix"):
        checked_prefix(given)


@pytest.mark.parametrize(
    ("peer", "headers", "prefix"),
    [
        ("192.0.2.7", [b"/cloud"], "/cloud"),
        ("192.0.2.7", [], "/default"),
        ("192.0.2.7", [b"//host"], "/default"),
        ("192.0.2.7", [b"/a", b"/b"], "/default"),
        ("198.51.100.7", [b"/cloud"], "/default"),
        ("", [b"/cloud"], "/default"),
    ],
)
async def test_forwarded_prefix_of_trusted_proxies_takes_the_place_of_the_configured_one(
    peer: str, headers: list[bytes], prefix: str
) -> None:
    found: dict[str, Any] = {}

    async def app(scope: dict[str, Any], receive: object, send: object) -> None:
        found.update(scope["state"])

    scope = {
        "type": "http",
        "client": (peer, 1),
        "headers": [(b"x-forwarded-prefix", value) for value in headers],
    }
    await PathPrefix(app, default="/default", proxies=PROXIES)(scope, None, None)
    assert found[STATE] == prefix
