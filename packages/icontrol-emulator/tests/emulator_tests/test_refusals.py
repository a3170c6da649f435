"""Error texts and statuses that clients match on."""

from __future__ import annotations

from typing import Any

import pytest

from emulator_tests.client import Client


async def refused(device: Client, method: str, path: str, body: Any = None) -> tuple[int, int | None, str]:
    answer = await device.send(method, path, body)
    return answer.status, answer.document.get("apiError"), answer.message


@pytest.fixture
async def site(device: Client) -> Client:
    """A virtual server with pool, member and monitor in partition P; an empty partition Q."""
    await device.post("auth/partition", {"name": "Q"})
    await device.post("ltm/monitor/http", {"name": "m", "partition": "P"})
    await device.post("ltm/pool", {"name": "p", "partition": "P", "monitor": "/P/m", "members": ["10.1.0.1:80"]})
    body = {"name": "v", "partition": "P", "destination": "10.0.0.1:80", "pool": "p", "profiles": ["http"]}
    await device.post("ltm/virtual", body)
    return device


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "ltm/pool/~P~x", (404, 3, "01020036:3: The requested Pool (/P/x) was not found.")),
        ("DELETE", "ltm/virtual/~P~x", (404, 3, "01020036:3: The requested Virtual Server (/P/x) was not found.")),
        ("GET", "ltm/pool/~P~p/members/~P~10.9.9.9:80", (404, 1, "Object not found - /P/10.9.9.9:80")),
        ("GET", "ltm/monitor/http/~P~x", (404, 3, "01020036:3: The requested monitor (/P/x) was not found.")),
        ("GET", "ltm/frob", (404, None, "Public URI path not registered: /tm/ltm/frob")),
        ("DELETE", "ltm/pool/~P~p", (400, 3, "01070265:3: The Pool (/P/p) cannot be deleted because it is in use by a "
                                             "Virtual Server (/P/v).")),
        ("DELETE", "ltm/node/~P~10.1.0.1", (400, 3, "01070110:3: Node address '/P/10.1.0.1' is referenced by a member "
                                                    "of pool '/P/p'.")),
        ("DELETE", "ltm/monitor/http/~P~m", (400, 3, "01070083:3: Monitor /P/m is in use.")),
        ("DELETE", "auth/partition/P", (400, 3, "0107082a:3: You must remove all objects from a partition before "
                                                "removing the partition (P), type ID (4032)")),
        ("GET", "vcmp/guest", (400, 1, "One of the following features must be licensed/provisioned for the URI vcmp : "
                                       "vcmp")),
    ],
)  # fmt: skip
async def test_items(site: Client, method: str, path: str, expected: tuple[int, int | None, str]) -> None:
    assert await refused(site, method, path) == expected


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("ltm/pool", {"name": "p", "partition": "P"},
         (409, 3, "01020066:3: The requested Pool (/P/p) already exists in partition P.")),
        ("ltm/pool", {"name": "n", "partition": "nowhere"},
         (400, 26214401, "The requested folder (/nowhere) was not found.")),
        ("ltm/pool", {"name": "n", "partition": "P", "frob": 1}, (400, 26214401, '"frob" unknown property')),
        ("ltm/pool", {"name": "n", "partition": "P", "loadBalancingMode": "best"},
         (400, 26214401, 'invalid property value "loadBalancingMode":"best"')),
        ("ltm/pool", {"name": "n", "partition": "P", "monitor": "/P/none-such"},
         (404, 3, "01020036:3: The requested monitor (/P/none-such) was not found.")),
        ("ltm/pool/~P~x/members", {"name": "10.1.0.1:80"},
         (404, 3, "01020036:3: The requested pool (/P/x) was not found.")),
        ("ltm/pool/~P~p/members", {"name": "10.1.0.1:80", "partition": "P"},
         (409, 3, "01020066:3: The requested Pool Member (/P/p /P/10.1.0.1 80) already exists in partition P.")),
        ("ltm/pool/~P~p/members", {"name": "10.200.1.137:80", "partition": "wrong"},
         (400, 3, "01070734:3: Configuration error: Can't associate Pool Member (/P/p /wrong/10.200.1.137 http) "
                  "folder does not exist")),
        ("ltm/virtual", {"name": "w", "partition": "P", "destination": "10.0.0.1:80", "profiles": ["tcp"]},
         (400, 3, "01070333:3: Virtual Server /P/w illegally shares destination address, source address, service "
                  "port, ip-protocol, and vlan with Virtual Server /P/v.")),
        ("ltm/virtual", {"name": "w", "partition": "P", "destination": "10.0.0.2:80", "pool": "/P/none-such"},
         (404, 3, "01020036:3: The requested Pool (/P/none-such) was not found.")),
        ("ltm/virtual", {"name": "w", "partition": "Q", "destination": "10.0.0.2:80", "pool": "/P/p"},
         (400, 3, "01070726:3: A virtual server may only reference pools in the same partition or the common "
                  "partition (/Q/w:/P/p)")),
        ("ltm/virtual", {"name": "w", "partition": "Q", "destination": "10.0.0.1:81"},
         (400, 3, "0107176c:3: Invalid Virtual Address, the IP address 10.0.0.1 already exists.")),
        ("ltm/virtual", {"name": "w", "partition": "P", "destination": "10.0.0.2:80", "profiles": ["http", "fastL4"]},
         (400, 3, "01070734:3: Configuration error: Found disallowed profile on /P/w: Not Any Of (FastL4 Profile, "
                  "FastHTTP Profile)")),
        ("ltm/virtual", {"name": "w", "partition": "P", "destination": "10.0.0.2:80", "profiles": ["tcp"],
                         "persist": ["cookie"]},
         (400, 3, "01070734:3: Configuration error: Required profile profile_http not present")),
        ("ltm/virtual", {"name": "w", "partition": "P", "destination": "10.0.0.2:80",
                         "rules": ["/Common/_sys_https_redirect"]},
         (400, 3, "01071912:3: HTTP_REQUEST event in rule (/Common/_sys_https_redirect) requires an associated HTTP "
                  "or FASTHTTP profile on the virtual-server (/P/w).")),
    ],
)  # fmt: skip
async def test_creations(site: Client, path: str, body: Any, expected: tuple[int, int | None, str]) -> None:
    before = await site.get("ltm/virtual")
    assert await refused(site, "POST", path, body) == expected
    assert await site.get("ltm/virtual") == before


async def test_snatpool_of_a_translation_that_is_not_there(site: Client) -> None:
    """Only a member that is an address makes its translation."""
    body = {"name": "s", "partition": "P", "members": ["/Common/outside"]}
    expected = (404, 3, "01020036:3: The requested SNAT Translation Address (/Common/outside) was not found.")
    assert await refused(site, "POST", "ltm/snatpool", body) == expected
    await site.post("ltm/snat-translation", {"name": "outside", "address": "10.9.0.1"})
    await site.post("ltm/snatpool", body)


async def test_snatpool_in_use(site: Client) -> None:
    await site.post("ltm/snatpool", {"name": "s", "partition": "P", "members": ["10.9.0.1"]})
    await site.patch("ltm/virtual/~P~v", {"sourceAddressTranslation": {"type": "snat", "pool": "s"}})
    expected = (400, 3, "01070320:3: Snatpool /P/s is still referenced by a virtual server.")
    assert await refused(site, "DELETE", "ltm/snatpool/~P~s") == expected


async def test_empty_patch_and_bad_json(site: Client) -> None:
    status, _, message = await refused(site, "PATCH", "ltm/pool/~P~p", {})
    assert (status, message) == (400, "one or more properties must be specified")
    answer = await site.send("POST", "ltm/pool", raw=b"{nonsense")
    assert answer.document == {
        "code": 400, "message": "Found invalid JSON body in the request.", "errorStack": [], "apiError": 1,
    }  # fmt: skip


async def test_long_values_are_refused(site: Client) -> None:
    records = [{"name": "a", "data": "x" * 65_529}]
    body = {"name": "dg", "partition": "P", "type": "string", "records": records}
    expected = (
        "01070712:3: Max string size exceeded during update of attribute:data type:class_value_item max:65520 "
        "received:65529"
    )
    assert await refused(site, "POST", "ltm/data-group/internal", body) == (400, 3, expected)


async def test_a_refusal_changes_nothing(site: Client) -> None:
    """The members were written before the missing monitor was noticed: all is undone."""
    before = await site.get("ltm/node")
    body = {"name": "n", "partition": "P", "members": ["10.7.7.7:80"], "monitor": "/P/none-such"}
    assert (await site.send("POST", "ltm/pool", body)).status == 404
    assert await site.get("ltm/node") == before
    assert (await site.send("GET", "ltm/pool/~P~n")).status == 404


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("ltm/pool", {"name": "n", "description": "<b>bold</b>"}),
        ("ltm/rule", {"name": "n", "apiAnonymous": 'when HTTP_REQUEST { HTTP::respond 403 content "<h1>no</h1>" }'}),
        ("ltm/pool/~P~p/members", {"name": "<script>:80"}),
        ("ltm/pool/~P~<br>/members", {"name": "10.1.0.9:80"}),
    ],
)
async def test_request_that_looks_like_html_is_refused(site: Client, path: str, body: dict[str, Any]) -> None:
    assert await refused(site, "POST", path, body) == (400, 26214401, "HTML Tag-like Content in the Request URL/Body")


async def test_comparisons_are_no_html(site: Client) -> None:
    text = "when HTTP_REQUEST { if { 1 < 2 && 2 > 1 } { HTTP::respond 403 } }"
    await site.post("ltm/rule", {"name": "n", "partition": "P", "apiAnonymous": text})
