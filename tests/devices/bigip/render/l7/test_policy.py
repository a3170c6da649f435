"""L7 policies as an LTM policy, what makes them an iRule, and what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.devices.service import ServiceL7Policy, ServiceL7Rule
from evenkeel.core.resources.model import SessionPersistence
from evenkeel.devices.bigip.objects import DATA_GROUP, POLICY, RULE, VIRTUAL
from evenkeel.devices.bigip.render.l7.values import COMPARISONS, OPERANDS
from tests.devices.bigip.render.l7.test_code import FIRST, PART, SECOND, judged, objects, problem
from tests.devices.services import policy, pool, rule


def to_pool(place: int, *rules: ServiceL7Rule, **changes: Any) -> ServiceL7Policy:
    return policy(place, *rules, **{"action": "REDIRECT_TO_POOL", "redirect_pool_id": "pool-2", **changes})


def test_one_policy_with_a_rule_for_each_and_one_for_the_rest() -> None:
    found = objects(
        judged(
            to_pool(1, rule(1), rule(2, type="HOST_NAME", compare_type="EQUAL_TO", value="A.test")),
            policy(
                2,
                rule(1, type="FILE_TYPE", compare_type="EQUAL_TO", value="jpg", invert=True),
                action="REDIRECT_TO_URL",
                redirect_url="https://a.test/b?c=d",
            ),
        )
    )
    assert RULE not in found
    assert DATA_GROUP not in found
    wanted = found[POLICY]
    assert wanted.key.name == "dev_l7_listener-1"
    request = {"request": True}
    path = {"httpUri": True, "path": True, **request, "caseSensitive": True}
    forward = {"name": "0", "forward": True, "select": True, **request}
    assert wanted.attributes == {
        "legacy": True,
        "strategy": "/Common/first-match",
        "controls": ["forwarding"],
        "requires": ["http"],
        "rules": [
            {
                "name": "policy-1",
                "ordinal": 0,
                "conditions": [
                    {"name": "0", **path, "startsWith": True, "values": ["/private"]},
                    {
                        "name": "1",
                        "httpHost": True,
                        "host": True,
                        **request,
                        "equals": True,
                        "caseInsensitive": True,
                        "values": ["a.test"],
                    },
                ],
                "actions": [{**forward, "pool": SECOND}],
            },
            {
                "name": "policy-2",
                "ordinal": 1,
                "conditions": [{"name": "0", **path, "endsWith": True, "not": True, "values": [".jpg"]}],
                "actions": [
                    {"name": "0", "httpReply": True, "redirect": True, **request, "location": "https://a.test/b?c=d"}
                ],
            },
            {"name": "default", "ordinal": 2, "conditions": [], "actions": [{**forward, "pool": FIRST}]},
        ],
        "description": "evenkeel:dev/1:l7:lb-1:listener-1",
    }
    assert found[VIRTUAL].attributes["policies"] == [{"name": f"{PART}/dev_l7_listener-1"}]
    assert found[VIRTUAL].attributes["rules"] == []


@pytest.mark.parametrize(
    ("one", "changes"),
    [
        (policy(1), {}),
        (policy(1, action="REDIRECT_TO_URL", redirect_url="https://a", redirect_http_code=301), {}),
        (policy(1, action="REDIRECT_TO_URL", redirect_url="https://a/$b[c]"), {}),
        (policy(1, action="REDIRECT_PREFIX", redirect_prefix="https://a"), {}),
        (to_pool(1, rule(compare_type="REGEX", value="a")), {}),
        (to_pool(1, rule(value="/a b")), {}),
        (to_pool(1, rule(type="HEADER", key="a")), {}),
        (to_pool(1, rule(type="COOKIE", key="a")), {}),
        (to_pool(1, rule(type="HOST_NAME", invert=True)), {}),
        (to_pool(1, rule(type="SSL_VERIFY_RESULT", compare_type="EQUAL_TO", value="0")), {}),
        (to_pool(1), {"default_pool_id": None}),
        (to_pool(1), {"pools": (pool(1), pool(2, session_persistence=SessionPersistence(type="SOURCE_IP")))}),
        (to_pool(1), {"pools": (pool(1), pool(2, tls_enabled=True))}),
    ],
)
def test_rule_that_no_ltm_policy_expresses_becomes_an_irule(one: ServiceL7Policy, changes: dict[str, Any]) -> None:
    found = objects(judged(to_pool(9, rule(value="/sayable")), one, **changes))
    assert POLICY not in found
    assert {record["name"] for record in found[DATA_GROUP].attributes["records"]} >= {"1.rules", "2.rules"}


def test_nothing_that_can_match_is_nothing() -> None:
    found = objects(judged(policy(1, admin_state_up=False), to_pool(2, rule(admin_state_up=False))))
    assert not {POLICY, DATA_GROUP, RULE} & found.keys()


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (policy(1, action="REDIRECT_TO_URL", redirect_url="tcl:exit"), ["redirect_url", "tcl:exit"]),
        (policy(1, action="REDIRECT_PREFIX"), ["redirect_prefix", "None"]),
        (
            policy(1, action="REDIRECT_TO_URL", redirect_url="https://x", redirect_http_code=304),
            ["redirect_http_code", "304", "308"],
        ),
        (policy(1, action="JUMP"), ["action", "JUMP"]),
        (policy(1, rule(type="SSL_CONN_HAS_CERT", value="true")), ["rule-1", "compare_type", "EQUAL_TO"]),
        (policy(1, rule(type="SSL_DN_FIELD", key="emailAddress")), ["emailAddress", "CN"]),
        (policy(1, rule(type="WEEKDAY")), ["WEEKDAY"]),
        (policy(1, rule(type="HEADER", key="-x")), ["key", "'-x'"]),
        (policy(1, rule(type="COOKIE", key="a b")), ["key", "a b"]),
        (policy(1, rule(type="FILE_TYPE", compare_type="CONTAINS", value="x")), ["compare_type", "CONTAINS", "REGEX"]),
        (policy(1, rule(compare_type="REGEX", value="(")), ["value", "regular expression"]),
        (policy(1, rule(compare_type="REGEX", value="a(?=b)")), ["value", "a(?=b)", "look-ahead"]),
        (policy(1, *(rule(n, compare_type="REGEX", value="a{200}{5}") for n in (1,))), ["value"]),
        (policy(1, *(rule(n, compare_type="REGEX", value="a{250}") for n in range(9))), ["2250", "2000"]),
        (policy(1, rule(value="a\nb")), ["rule-1", "value"]),
        (policy(1, *(rule(number) for number in range(51))), ["51", "50"]),
    ],
)
def test_impossible_rule_is_refused_by_name(one: ServiceL7Policy, words: list[str]) -> None:
    found = problem(judged(one))
    for word in words:
        assert word in found


def test_pools_that_differ_in_what_only_a_listener_can_have_are_refused() -> None:
    proxies = (pool(1), pool(2, protocol="PROXY"))
    assert "pool-2 PROXY" in problem(judged(to_pool(1), pools=proxies))
    cookie = SessionPersistence(type="APP_COOKIE", cookie_name="id")
    by_client = pool(2, session_persistence=cookie, lb_algorithm="SOURCE_IP")
    assert "APP_COOKIE" in problem(judged(to_pool(1), pools=(pool(1), by_client)))
    assert not problem(judged(to_pool(1), pools=(pool(1), pool(2, session_persistence=cookie))))
    same = (pool(1, session_persistence=cookie), pool(2, session_persistence=cookie))
    assert not problem(judged(to_pool(1), pools=same))
    safe = (pool(1, tls_enabled=True), pool(2, tls_enabled=True, tls_versions=("TLSv1.3",)))
    assert "same tls_versions" in problem(judged(to_pool(1), pools=safe))
    many = [policy(place, *(rule(number) for number in range(50))) for place in range(21)]
    assert "1050" in problem(judged(*many))


ANY = st.text(max_size=20)


@given(st.sampled_from([*OPERANDS]), st.sampled_from([*COMPARISONS]), ANY, ANY, st.booleans())
def test_every_rule_has_a_meaning_or_a_reason(kind: str, compare: str, value: str, key: str, invert: bool) -> None:
    one = rule(type=kind, compare_type=compare, value=value, key=key, invert=invert)
    definition = judged(to_pool(1, one))
    reason = problem(definition)
    if reason:
        assert "rule-1" in reason or "l7policy policy-1" in reason
        return
    found = objects(definition)
    assert (POLICY in found) != (DATA_GROUP in found)
    if DATA_GROUP in found:
        records = found[DATA_GROUP].attributes["records"]
        assert all(record["data"].isascii() and record["data"].isprintable() for record in records)
