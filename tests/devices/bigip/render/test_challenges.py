"""Challenges of a certificate authority in a BIG-IP's objects; test_challenges.py above shows what clients see."""

from typing import Any

import pytest

from evenkeel.core.devices.service import ServiceListener
from evenkeel.core.resources.model import Vip
from evenkeel.devices.bigip.naming import BigIpNames, parse_mark
from evenkeel.devices.bigip.objects import DATA_GROUP, POLICY, RULE, VIRTUAL
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from tests.devices.challenge_behaviour import CHALLENGES, CONTENT, PATH, TOKEN, away
from tests.devices.services import listener, policy, rule, service

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)


def objects(challenges: dict[str, str] = CHALLENGES, **changes: Any) -> dict[str, dict[str, Any]]:
    """Attributes by type, of a listener with challenges."""
    rendered = render_load_balancer(service(listeners=(listener(**changes),), challenges=challenges), NAMES)
    assert not rendered.problem
    return {item.key.type: dict(item.attributes) for item in rendered.objects}


def test_no_text_of_an_authority_becomes_code() -> None:
    one, other = objects()[RULE], objects({"other": "other.thumb"})[RULE]
    assert one == other and TOKEN not in one["apiAnonymous"]


def test_challenges_are_answered_before_the_code_of_l7_policies() -> None:
    code = objects(l7policies=(policy(1, rule(1, compare_type="REGEX", value="/.*")),))[RULE]["apiAnonymous"]
    assert code.index("challenge_content") < code.index("l7_uri")
    assert code.count("when HTTP_REQUEST") == 1


def test_an_ltm_policy_lets_challenges_pass_before_its_own_rules() -> None:
    own = (away(rule(1, value="/")),)
    first, *rest = objects(l7policies=own)[POLICY]["rules"]
    assert first["conditions"][0]["values"] == sorted([PATH, PATH.replace(TOKEN, "another")])
    plain = objects({}, l7policies=own)[POLICY]["rules"]
    assert [{**each, "ordinal": 0} for each in rest] == [{**each, "ordinal": 0} for each in plain]
    assert [each["ordinal"] for each in (first, *rest)] == list(range(len(plain) + 1))


def test_tcp_listener_on_port_80_answers_no_challenges_and_keeps_its_port() -> None:
    found = objects(protocol="TCP")
    assert not {RULE, DATA_GROUP} & found.keys()
    assert found[VIRTUAL]["destination"].endswith(":80")


@pytest.mark.parametrize("listeners", [(), (listener(protocol_port=8080),), (listener(protocol="UDP"),)])
def test_without_a_listener_on_port_80_each_vip_gets_a_virtual_server_that_is_no_listeners(
    listeners: tuple[ServiceListener, ...],
) -> None:
    more = (Vip(address="2001:db8::1", subnet_id="s", network_id="n", port_id="p"),)
    rendered = render_load_balancer(service(listeners=listeners, additional_vips=more, challenges=CHALLENGES), NAMES)
    assert not rendered.problem
    marks = {item.key.name: item.attributes.get("description") for item in rendered.objects if item.key.type == VIRTUAL}
    own = {name: mark for name, mark in marks.items() if "challenges" in name}
    assert len(own) == 2 and "dev_challenges_lb-1" in own
    assert all(parse_mark(mark).lbaas_object_kind == "challenges" for mark in own.values())  # type: ignore[union-attr]


def test_disabled_load_balancer_gets_no_virtual_server_for_challenges() -> None:
    rendered = render_load_balancer(service(listeners=(), challenges=CHALLENGES, admin_state_up=False), NAMES)
    assert VIRTUAL not in {item.key.type for item in rendered.objects}


@pytest.mark.parametrize("token", ["", "a b", "../x", 'a"b', "a\n", "[x]", "x" * 201])
def test_a_text_that_is_no_challenge_is_the_load_balancers_problem(token: str) -> None:
    for challenges in ({token: CONTENT}, {TOKEN: token}):
        assert "RFC 8555" in render_load_balancer(service(challenges=challenges), NAMES).problem
