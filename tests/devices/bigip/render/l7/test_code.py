"""The iRule of L7 policies, run by a real Tcl."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from evenkeel.config.esd.parts import NO_PARTS
from evenkeel.core.devices.service import ServiceDefinition, ServiceL7Policy, ServiceL7Rule
from evenkeel.core.resources.model import SessionPersistence
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import DATA_GROUP, POLICY, RULE, VIRTUAL, WantedObject
from evenkeel.devices.bigip.render.l7.effective import effective_routing
from evenkeel.devices.bigip.render.l7.rendered import render_l7
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from evenkeel.devices.bigip.render.rule_parts import code_lines
from evenkeel.devices.bigip.render.services.responses import RuleResponses
from evenkeel.devices.bigip.render.services.texts import RuleTexts
from tests.devices.bigip.render.l7.tcl import Rule
from tests.devices.services import listener, policy, pool, rule, service

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)
PART = "/dev_a3f1c2"
FIRST, SECOND = f"{PART}/dev_pool-1", f"{PART}/dev_pool-2"


def judged(*policies: ServiceL7Policy, **changes: Any) -> ServiceDefinition:
    """A load balancer with two pools whose listener has these policies."""
    pools = changes.pop("pools", (pool(1), pool(2)))
    return service(pools=pools, listeners=(listener(l7policies=policies, **changes),))


def objects(definition: ServiceDefinition) -> dict[str, WantedObject]:
    rendered = render_load_balancer(definition, NAMES)
    assert not rendered.problem
    return {item.key.type: item for item in rendered.objects}


def problem(definition: ServiceDefinition) -> str:
    return render_load_balancer(definition, NAMES).problem


def ran(definition: ServiceDefinition) -> Rule:
    found = objects(definition)
    assert POLICY not in found
    group = found[DATA_GROUP]
    records = {record["name"]: record["data"] for record in group.attributes["records"]}
    return Rule(found[RULE].attributes["apiAnonymous"], {f"{PART}/{group.key.name}": records})


def matched(one: ServiceL7Rule, target: str = "/", *headers: tuple[str, str]) -> bool:
    """Whether the rule matches the request."""
    outcome = ran(judged(policy(1, one))).request(target, headers or (("Host", "www.example.org"),))
    assert outcome.status in (0, 403)
    assert (outcome.pool == FIRST) == (outcome.status == 0)
    return outcome.status == 403


def test_the_first_policy_that_matches_decides() -> None:
    rules = ran(
        judged(
            policy(1, rule(value="/a"), action="REDIRECT_TO_POOL", redirect_pool_id="pool-2"),
            policy(2, rule(value="/a"), rule(2, value="/ab", compare_type="EQUAL_TO")),
            policy(3, rule(value="/b")),
            policy(4, rule(value="/c"), action="REDIRECT_TO_URL", redirect_url="https://example.com/100%25?a=b#c"),
            policy(
                5,
                rule(value="/d"),
                action="REDIRECT_PREFIX",
                redirect_prefix="https://example.com/$x[y]",
                redirect_http_code=308,
            ),
        )
    )
    assert rules.request("/ab").pool == SECOND
    rejected = rules.request("/b")
    assert (rejected.status, rejected.content) == (403, "<h1>403 Forbidden</h1>")
    redirected = rules.request("/c")
    assert (redirected.status, redirected.location) == (302, "https://example.com/100%25?a=b#c")
    prefixed = rules.request("/d/e?f=g[h]$i")
    assert (prefixed.status, prefixed.location) == (308, "https://example.com/$x[y]/d/e?f=g[h]$i")
    assert rules.request("http://www.example.org/d?q").location == "https://example.com/$x[y]/d?q"
    assert rules.request("/e").pool == FIRST


@pytest.mark.parametrize(
    ("compare_type", "value", "target", "expected"),
    [
        ("EQUAL_TO", "/a", "/a?b", True),
        ("EQUAL_TO", "/a", "/A", False),
        ("STARTS_WITH", "/a/", "/a/b", True),
        ("STARTS_WITH", "/a/", "/a", False),
        ("ENDS_WITH", "/b.html", "/a/b.html", True),
        ("ENDS_WITH", "longer/than/this", "/this", False),
        ("CONTAINS", "[exit]$x", "/a[exit]$x{", True),
        ("CONTAINS", "*", "/a", False),
        ("REGEX", r"^/(a|b)/\d{2}$", "/b/12", True),
        ("REGEX", r"^/(a|b)/\d{2}$", "/b/123", False),
        ("EQUAL_TO", "/a", "http://www.example.org/a", True),
        ("EQUAL_TO", "/", "http://www.example.org?a", True),
        ("CONTAINS", "*", "*", False),
        ("EQUAL_TO", "/%2e%2E", "/%2e%2E", True),
    ],
)
def test_paths(compare_type: str, value: str, target: str, expected: bool) -> None:
    one = rule(compare_type=compare_type, value=value)
    assert matched(one, target) is expected
    assert matched(rule(compare_type=compare_type, value=value, invert=True), target) is not expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("www.example.org", True),
        ("WWW.Example.ORG:8080", True),
        ("other.org", False),
        ("", False),
    ],
)
def test_hosts(host: str, expected: bool) -> None:
    one = rule(type="HOST_NAME", compare_type="EQUAL_TO", value="www.Example.org")
    assert matched(one, "/", ("Host", host)) is expected
    pattern = rule(type="HOST_NAME", compare_type="REGEX", value=r"^WWW\.example\.org$")
    assert matched(pattern, "/", ("Host", host)) is expected


def test_a_host_may_be_an_address_or_missing() -> None:
    one = rule(type="HOST_NAME", compare_type="EQUAL_TO", value="[2001:db8::1]")
    assert matched(one, "/", ("Host", "[2001:DB8::1]:80"))
    assert matched(one, "/", ("Host", "[2001:db8::1]"))
    assert not matched(one, "/", ("Other", "x"))
    assert matched(rule(type="HOST_NAME", value="a", invert=True), "/", ("Other", "x"))


@pytest.mark.parametrize(
    ("value", "lines", "expected"),
    [
        ("b", ("a, b",), True),
        ("b", ("a", "c,b"), True),
        ("a, b", ("a, b",), False),
        ('"a, b"', ('x, "a, b"',), True),
        (r'"a\", b"', (r'"a\", b"',), True),
        ("c d", ("c d",), True),
        ("[exit] {", ("[exit] {",), True),
        ("a", (), False),
        ("b}", ("a", "b}"), True),
    ],
)
def test_each_value_of_a_header_is_compared(value: str, lines: tuple[str, ...], expected: bool) -> None:
    one = rule(type="HEADER", key="X-Kind", compare_type="REGEX", value=f"^{re.escape(value)}$")
    assert matched(one, "/", *(("x-kind", line) for line in lines), ("Host", "h")) is expected


@pytest.mark.parametrize(
    ("cookies", "expected"),
    [
        (("id=7",), True),
        (("a=b; id=7; c=d",), True),
        (("a=b", "c; id = 7 "), True),
        (("a=b,id=7",), True),
        (("id=8; id=7",), True),
        (("ID=7",), False),
        (("a=id=7",), False),
        (('a="; id=7"',), False),
        (("id",), False),
        ((), False),
    ],
)
def test_cookies(cookies: tuple[str, ...], expected: bool) -> None:
    one = rule(type="COOKIE", key="id", compare_type="EQUAL_TO", value="7")
    assert matched(one, "/", *(("Cookie", line) for line in cookies), ("Host", "h")) is expected


def test_file_types() -> None:
    assert matched(rule(type="FILE_TYPE", compare_type="EQUAL_TO", value="jpg"), "/a.jpg?b")
    assert not matched(rule(type="FILE_TYPE", compare_type="EQUAL_TO", value="jpg"), "/a.jpg/")
    assert matched(rule(type="FILE_TYPE", compare_type="REGEX", value="(jpg|png)$"), "/a.png")


def over_tls(one: ServiceL7Rule, **certificate: Any) -> bool:
    """Whether the rule matches a request on a listener where TLS ends."""
    definition = judged(policy(1, one), protocol="TERMINATED_HTTPS")
    routing = effective_routing(definition.listeners[0], {"pool-1": definition.pools[0]})
    rendered = render_l7(definition, routing, NAMES, RuleResponses(NO_PARTS, RuleTexts("", over_tls=True)))
    records = {record["name"]: record["data"] for record in rendered.objects[0].attributes["records"]}
    rules = Rule("\n".join(code_lines(rendered.parts)), {f"{PART}/dev_l7_listener-1": records})
    return rules.request(**certificate).status == 403


def test_certificates() -> None:
    has = rule(type="SSL_CONN_HAS_CERT", compare_type="EQUAL_TO", value="True")
    revoked = rule(type="SSL_VERIFY_RESULT", compare_type="EQUAL_TO", value="023")
    valid = rule(type="SSL_VERIFY_RESULT", compare_type="EQUAL_TO", value="0")
    named = rule(type="SSL_DN_FIELD", key="cn", compare_type="EQUAL_TO", value="a, b")
    text = r"CN=x,CN=a\, b,OU=x,O=y,C=DE"
    for one in (has, revoked, valid, named):
        assert not matched(one), "never without TLS"
        assert matched(replace(one, invert=True))
    assert over_tls(has, subject=text)
    assert not over_tls(has)
    assert over_tls(revoked, subject=text, verdict=23)
    assert not over_tls(revoked, verdict=23)
    assert over_tls(valid)
    assert over_tls(named, subject=text)
    assert not over_tls(named, subject="CN=a,O=y")
    assert not over_tls(named)


def test_without_a_default_pool_the_rest_is_unserved() -> None:
    rules = ran(judged(policy(1, action="REDIRECT_TO_POOL", redirect_pool_id="pool-2"), default_pool_id=None))
    assert rules.request("/private").pool == SECOND
    unserved = rules.request("/")
    assert (unserved.status, unserved.content) == (503, "<h1>503 Service Unavailable</h1>")


def test_pools_may_keep_clients_differently() -> None:
    by_cookie = SessionPersistence(type="HTTP_COOKIE")
    policies = [
        policy(number, rule(value=f"/{number}"), action="REDIRECT_TO_POOL", redirect_pool_id=f"pool-{number}")
        for number in (2, 3)
    ]
    pools = (pool(1), pool(2, session_persistence=by_cookie), pool(3, lb_algorithm="SOURCE_IP_PORT"))
    rules = ran(judged(*policies, pools=pools))
    assert rules.request("/2").persist == ("cookie", "insert")
    assert rules.request("/3").persist == ("carp", "192.0.2.1 5000")
    assert rules.request("/").persist == ("none",)


TEXT = st.text(st.characters(codec="ascii", min_codepoint=32, max_codepoint=126), min_size=1, max_size=12)


@given(TEXT, TEXT)
def test_no_text_of_a_tenant_is_in_the_code(value: str, other: str) -> None:
    one = rule(type="HEADER", key="X", compare_type="CONTAINS", value=value)
    plain = rule(type="HEADER", key="X", compare_type="CONTAINS", value="v")
    code = objects(judged(policy(1, one)))[RULE].attributes["apiAnonymous"]
    assert code == objects(judged(policy(1, plain)))[RULE].attributes["apiAnonymous"]
    expected = value[1:-1] if re.fullmatch(r'"[^"]+"', value) else value
    if "," not in other and '"' not in other:
        hit = matched(one, "/", ("X", other), ("Host", "h"))
        assert hit == (expected in other.strip())


def test_the_virtual_server_refers_to_them() -> None:
    found = objects(judged(policy(1)))
    assert found[VIRTUAL].attributes["rules"] == [f"{PART}/dev_rule_listener-1"]
    assert found[VIRTUAL].attributes["policies"] == []
