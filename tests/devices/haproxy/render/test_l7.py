"""L7 policies: what is refused, and what clients get to see of them through a real HAProxy."""

from typing import Any

import pytest

from evenkeel.core.devices.service import ServiceDefinition, ServiceL7Policy
from evenkeel.core.resources.patterns import check_pattern
from evenkeel.devices.haproxy.note import unpack_note
from evenkeel.devices.haproxy.render.load_balancer import render_load_balancer
from tests.devices.haproxy.asking import applied, request, servers
from tests.devices.haproxy.configuration import rendered
from tests.devices.haproxy.features import judged, tcp, to_pool
from tests.devices.haproxy.rig import HaproxyRig
from tests.devices.service_behaviour import Server
from tests.devices.services import listener, member, policy, pool, rule, service

__all__ = ["servers"]

DEFAULT, SHOP, IMAGES = "member-1-1", "member-1-2", "member-1-3"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (policy(1, action="REDIRECT_TO_URL"), ["policy-1", "redirect_url", "None"]),
        (policy(1, action="REDIRECT_TO_URL", redirect_url="ftp://x"), ["redirect_url", "ftp://x"]),
        (policy(1, action="REDIRECT_PREFIX", redirect_prefix="https://x y"), ["redirect_prefix", "https://x y"]),
        (
            policy(1, action="REDIRECT_TO_URL", redirect_url="https://x", redirect_http_code=304),
            ["redirect_http_code", "304", "308"],
        ),
        (policy(1, action="JUMP"), ["action", "JUMP"]),
        (policy(1, rule(type="SSL_CONN_HAS_CERT", value="true")), ["rule-1", "compare_type", "EQUAL_TO"]),
        (
            policy(1, rule(type="SSL_CONN_HAS_CERT", compare_type="EQUAL_TO", value="false")),
            ["rule-1", "false", "true"],
        ),
        (policy(1, rule(type="SSL_VERIFY_RESULT", compare_type="EQUAL_TO", value="-1")), ["rule-1", "-1", "999999999"]),
        (policy(1, rule(type="SSL_DN_FIELD", key="C N")), ["rule-1", "C N", "distinguished name"]),
        (policy(1, rule(type="SSL_DN_FIELD")), ["rule-1", "None", "distinguished name"]),
        (policy(1, rule(type="WEEKDAY")), ["rule-1", "WEEKDAY", "HAProxy"]),
        (policy(1, rule(type="HEADER")), ["key", "None"]),
        (policy(1, rule(type="COOKIE", key="a b")), ["key", "a b"]),
        (policy(1, rule(type="FILE_TYPE", compare_type="CONTAINS", value="x")), ["compare_type", "CONTAINS", "REGEX"]),
        (policy(1, rule(compare_type="REGEX", value="(")), ["value", "regular expression"]),
        (policy(1, rule(value="a\nb")), ["rule-1", "value"]),
        (policy(1, *(rule(number) for number in range(51))), ["51", "50"]),
    ],
)
def test_impossible_rule_is_refused_by_name(wanted: ServiceL7Policy, words: list[str]) -> None:
    problem = render_load_balancer(judged(wanted)).problem
    for word in words:
        assert word in problem


def test_listeners_that_see_no_requests_have_no_policies() -> None:
    wanted = service(listeners=(tcp(l7policies=(policy(),)),))
    assert "protocol HTTP, not TCP" in render_load_balancer(wanted).problem


def test_a_pool_that_only_policies_send_to_is_in_use() -> None:
    assert unpack_note(rendered(judged(to_pool(1, 2), pools=2)).note).pools_idle == ()
    down = judged(to_pool(1, 2, admin_state_up=False), pools=2)
    assert unpack_note(rendered(down).note).pools_idle == ("pool-2",)


def site(servers: tuple[Server, ...], *policies: ServiceL7Policy) -> ServiceDefinition:
    """Three pools of a member each; the first is the default."""
    pools = tuple(
        pool(
            number,
            monitor=None,
            members=(member(1, number, address="127.0.0.1", protocol_port=server.port),),
        )
        for number, server in enumerate(servers, start=1)
    )
    return service(listeners=(listener(l7policies=policies),), pools=pools)


async def got(rig: HaproxyRig, path: str, *headers: str, host: str = "test") -> Any:
    """The member that answered, else status and where to go."""
    head, body = await request(rig, path, *headers, host=host)
    status = int(head.split(" ")[1])
    if status == 200:
        return body
    (location,) = [line.partition(": ")[2] for line in head.splitlines() if line.lower().startswith("location")] or [""]
    return (status, location) if location else status


LONG = 14_000
"""Characters of a path that HAProxy still takes."""
JUDGED = {
    r"^/a.*secret$": "/a" + "secre" * (LONG // 5) + "secret",
    r"^/(b[0-9]+/){1,20}secret$": "/b" + "1" * LONG + "/secret",
    r"^/[c/]*/[^/]*/secret$": "/" + "c/" * (LONG // 2) + "/secret",
    r"\.(php|cgi)$": "/d" + ".ph" * (LONG // 3) + ".php",
}
"""Expressions that the API takes, and what gives them most to try."""


async def test_requests_of_any_length_are_judged_by_expressions_that_the_api_takes(
    rig: HaproxyRig, servers: tuple[Server, ...]
) -> None:
    for expression in JUDGED:
        check_pattern(expression)
    rules = [policy(place, rule(compare_type="REGEX", value=each)) for place, each in enumerate(JUDGED, start=1)]
    await applied(rig, site(servers, *rules))
    for path in JUDGED.values():
        assert await got(rig, path) == 403, path[:40]
        assert await got(rig, path[:-1]) == DEFAULT, path[:40]
