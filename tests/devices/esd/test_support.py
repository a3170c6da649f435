"""Enhanced services that a device type cannot render."""

import json
from ipaddress import ip_network
from typing import Any

import pytest

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.log_targets import NO_TARGETS, LogTargets
from evenkeel.config.esd.parse import parse_all
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.networking.addresses import AddressRules
from evenkeel.devices.bigip import capabilities as bigip
from evenkeel.devices.esd.support import SupportVerifier, check_supported_parts
from evenkeel.devices.haproxy import capabilities as haproxy
from tests.devices.enhanced_behaviour import guide

SOME = Capabilities(service_parts=("compression", "deny"))


def definition(**content: Any) -> Definition:
    return parse_all({"a.json": json.dumps({"web": content}).encode()}).definitions["web"]


def test_definition_of_rendered_parts_is_kept_as_it_is() -> None:
    one = definition(compression={}, deny=["192.0.2.0/24"])
    assert check_supported_parts(one, SOME) is one


def test_definition_with_a_part_that_cannot_be_rendered_is_unusable_as_a_whole() -> None:
    found = check_supported_parts(definition(compression={}, https_redirect={}), SOME)
    assert found.problem == (
        "a.json: enhanced service 'web': https_redirect: not possible on this device type; allowed: compression, deny"
    )
    assert found.parts.names == ()


def test_definition_with_a_setting_that_cannot_be_rendered_is_unusable() -> None:
    table = Capabilities(service_parts=("deny", "timeouts"), service_settings={"timeouts": ("tunnel",)})
    one = definition(timeouts={"tunnel": 60})
    assert check_supported_parts(one, table) is one
    assert check_supported_parts(definition(timeouts={"tunnel": 60, "request": 5}), table).problem == (
        "a.json: enhanced service 'web': timeouts.request: not possible on this device type;"
        " allowed: deny, timeouts.tunnel"
    )


def test_a_known_reason_is_given() -> None:
    table = Capabilities(
        service_parts=("timeouts",),
        service_settings={"timeouts": ("tunnel",)},
        service_refusals={"drain": "no time", "timeouts.request": "no event"},
    )
    problem = check_supported_parts(definition(drain=1, deny=["192.0.2.0/24"], timeouts={"request": 5}), table)
    assert problem.problem.endswith(
        "deny, timeouts.request (no event), drain (no time): not possible on this device type; allowed: timeouts.tunnel"
    )


@pytest.mark.parametrize("table", [haproxy.CAPABILITIES, bigip.CAPABILITIES])
def test_the_definitions_of_the_guide_are_possible_on_each_device_type(table: Capabilities) -> None:
    definitions = parse_all({"guide.json": json.dumps(guide()).encode()}).definitions.values()
    assert [one.name for one in definitions if one.problem or check_supported_parts(one, table) is not one] == []
    assert definitions


def test_tags_need_a_device_type_that_has_objects_of_operators() -> None:
    one = definition(lbaas_irule=["r"])
    assert "lbaas_irule: not possible" in check_supported_parts(one, SOME).problem
    assert check_supported_parts(one, Capabilities(service_tags=True)) is one
    nothing = check_supported_parts(definition(compression={}), Capabilities(service_tags=True))
    assert nothing.problem.endswith("allowed: tags of F5 (lbaas_*)")


async def test_earlier_problems_stay() -> None:
    wrong = definition(compression={"types": []})
    assert await SupportVerifier(SOME).verify({"web": wrong}, strict=False) == {"web": wrong}


async def test_access_log_goes_only_where_the_operator_and_the_rules_for_members_allow() -> None:
    table = Capabilities(service_parts=("access_log",))
    targets = LogTargets(
        networks=(ip_network("192.0.2.0/24"), ip_network("2001:db8::/32")),
        rules=AddressRules(denied_networks=(ip_network("192.0.2.128/25"),)),
    )

    async def problem(target: str, rules: LogTargets = targets) -> str:
        one = definition(access_log={"target": target})
        return (await SupportVerifier(table, rules).verify({"web": one}, strict=False))["web"].problem

    assert await problem("192.0.2.1:514") == await problem("[2001:db8::1]:514") == ""
    assert "access_log: target '192.0.2.200:514': it is in 192.0.2.128/25, which the operator" in await problem(
        "192.0.2.200:514"
    )
    for target in ("198.51.100.1:514", "[2001:db9::1]:514", "[::ffff:192.0.2.1]:514", "127.0.0.1:514"):
        assert "allowed: 192.0.2.0/24, 2001:db8::/32" in await problem(target)
    assert (await problem("192.0.2.1:514", NO_TARGETS)).endswith("access_log_networks; allowed: none")
