"""Clients that stay with their member."""

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.resources.model import LbAlgorithm, SessionPersistence, Vip
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import WantedObject
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from tests.devices.bigip.definitions import in_network, services
from tests.devices.services import listener, member, pool, service, vip

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)
PART = "/dev_a3f1c2"
SIX = Vip(address="2001:db8::1", subnet_id="s", network_id="n", port_id="p")


def objects(definition: ServiceDefinition) -> dict[str, WantedObject]:
    made = render_load_balancer(definition, NAMES)
    assert not made.problem
    return {f"{item.key.type} {item.key.name}": item for item in made.objects}


def sticky(type_: Any, **more: Any) -> SessionPersistence:
    return SessionPersistence(type=type_, **more)


def of_pool(protocol: str = "HTTP", weights: tuple[int, ...] = (1, 1), **changes: Any) -> ServiceDefinition:
    members = tuple(member(place=place, weight=weight) for place, weight in enumerate(weights, 1))
    return service(
        listeners=(listener(protocol=protocol),),
        pools=(pool(protocol=protocol, members=members, monitor=None, **changes),),
    )


def used(definition: ServiceDefinition) -> tuple[list[str], str]:
    """The persistence profile and the fallback of the virtual server."""
    attributes = objects(definition)["ltm/virtual dev_listener-1"].attributes
    return [f"/{one['partition']}/{one['name']}" for one in attributes["persist"]], attributes["fallbackPersistence"]


def settings_of(definition: ServiceDefinition) -> dict[str, Any]:
    found = dict(objects(definition)["ltm/persistence/source-addr dev_source_pool-1"].attributes)
    return {name: value for name, value in found.items() if name not in ("defaultsFrom", "description")}


def code(definition: ServiceDefinition, name: str = "dev_rule_listener-1") -> str:
    return str(objects(definition)[f"ltm/rule {name}"].attributes["apiAnonymous"])


def test_source_addresses_with_time_out_and_netmask() -> None:
    assert used(of_pool(session_persistence=sticky("SOURCE_IP"))) == (["/Common/source_addr"], "")
    for given_, expected in (
        ({"persistence_timeout": 60}, {"timeout": "60", "mask": "none"}),
        ({"persistence_timeout": 0}, {"timeout": "indefinite", "mask": "none"}),
        ({"persistence_granularity": "255.255.0.0"}, {"timeout": "180", "mask": "255.255.0.0"}),
    ):
        definition = of_pool("UDP", session_persistence=sticky("SOURCE_IP", **given_))
        assert settings_of(definition) == {**expected, "hashAlgorithm": "default"}
        assert used(definition) == ([f"{PART}/dev_source_pool-1"], "")


def test_a_netmask_is_of_the_addresses_family() -> None:
    persistence = sticky("SOURCE_IP", persistence_granularity="ffff:ffff::")
    pools = (pool(protocol="UDP", monitor=None, session_persistence=persistence),)
    listeners = (listener(protocol="UDP"),)
    assert settings_of(service(vip=SIX, listeners=listeners, pools=pools))["mask"] == "ffff:ffff::"
    for wrong in (
        service(listeners=listeners, pools=pools),
        service(listeners=listeners, pools=pools, additional_vips=(SIX,)),
    ):
        assert "persistence_granularity 'ffff:ffff::'" in render_load_balancer(wrong, NAMES).problem


def test_a_netmask_of_vips_in_a_network_of_the_tenant() -> None:
    persistence = sticky("SOURCE_IP", persistence_granularity="255.255.255.0")
    pools = (pool(protocol="UDP", monitor=None, session_persistence=persistence),)
    plain = service(listeners=(listener(protocol="UDP"),), pools=pools, additional_vips=(vip(9),))
    assert settings_of(in_network(plain)) == settings_of(plain)
    wrong = replace(plain, additional_vips=(SIX,), networks=in_network(plain).networks)
    assert render_load_balancer(wrong, NAMES).problem.endswith("a netmask of IPv4 does not fit 2001:db8::1")


@given(definition=services(1))
def test_random_definitions_can_be_rendered_in_a_network_of_the_tenant(definition: ServiceDefinition) -> None:
    assert not render_load_balancer(in_network(definition), NAMES).problem


def test_the_algorithm_by_source_is_a_hash_and_with_weights_a_table() -> None:
    even = of_pool(lb_algorithm="SOURCE_IP", weights=(2, 2, 0))
    assert settings_of(even)["hashAlgorithm"] == "carp"
    assert used(even) == ([f"{PART}/dev_source_pool-1"], "")
    weighted = of_pool(lb_algorithm="SOURCE_IP", weights=(1, 9))
    assert settings_of(weighted) == {"timeout": "3600", "mask": "none", "hashAlgorithm": "default"}
    assert objects(weighted)["ltm/pool dev_pool-1"].attributes["loadBalancingMode"] == "ratio-least-connections-member"


def test_beside_a_cookie_the_algorithm_is_the_fallback() -> None:
    definition = of_pool(lb_algorithm="SOURCE_IP", session_persistence=sticky("HTTP_COOKIE"))
    assert used(definition) == (["/Common/cookie"], f"{PART}/dev_source_pool-1")
    assert used(of_pool(session_persistence=sticky("HTTP_COOKIE"))) == (["/Common/cookie"], "")


@pytest.mark.parametrize(
    ("protocol", "port"), [("HTTP", "TCP"), ("TCP", "TCP"), ("HTTPS", "TCP"), ("UDP", "UDP"), ("SCTP", "SCTP")]
)
def test_source_port_is_a_hash_in_the_rule(protocol: str, port: str) -> None:
    definition = of_pool(protocol, lb_algorithm="SOURCE_IP_PORT")
    assert f'persist carp "[IP::client_addr] [{port}::client_port]"' in code(definition)
    assert used(definition) == ([], "")


def test_all_requests_of_a_connection_go_to_one_member_where_no_hash_chooses() -> None:
    def profiles(definition: ServiceDefinition) -> list[str]:
        found = objects(definition)
        assert "ltm/rule dev_rule_listener-1" not in found
        return [one["name"] for one in found["ltm/virtual dev_listener-1"].attributes["profiles"]]

    weighted = of_pool(lb_algorithm="SOURCE_IP_PORT", weights=(1, 2))
    assert objects(weighted)["ltm/pool dev_pool-1"].attributes["loadBalancingMode"] == "ratio-member"
    assert "/Common/oneconnect" not in profiles(weighted)
    beside = of_pool(lb_algorithm="SOURCE_IP_PORT", session_persistence=sticky("SOURCE_IP"))
    assert "/Common/oneconnect" not in profiles(beside)
    assert "/Common/oneconnect" in profiles(of_pool())


def test_the_members_cookie_is_named_by_a_data_group() -> None:
    definition = of_pool(session_persistence=sticky("APP_COOKIE", cookie_name="$x'[`"[:3]))
    found = objects(definition)
    group = found["ltm/data-group/internal dev_appcookie-name_pool-1"].attributes
    assert (group["type"], group["records"]) == ("string", [{"name": "cookie", "data": "$x'"}])
    profile = found["ltm/persistence/universal dev_appcookie_pool-1"].attributes
    assert profile["rule"] == f"{PART}/dev_appcookie-rule_pool-1" and profile["timeout"] == "3600"
    assert used(definition) == ([f"{PART}/dev_appcookie_pool-1"], "")
    text = code(definition, "dev_appcookie-rule_pool-1")
    assert f'[class match -value "cookie" equals "{PART}/dev_appcookie-name_pool-1"]' in text
    assert "when HTTP_REQUEST {" in text and "when HTTP_RESPONSE {" in text and "persist add uie" in text
    assert list(found).index("ltm/rule dev_appcookie-rule_pool-1") > list(found).index(
        "ltm/data-group/internal dev_appcookie-name_pool-1"
    )


tokens = st.text(st.sampled_from("abcXYZ019!#$&'*+.^_`|~-"), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(one=tokens, other=tokens, type_=st.sampled_from(["HTTP_COOKIE", "APP_COOKIE"]))
def test_no_name_of_a_cookie_becomes_code(one: str, other: str, type_: str) -> None:
    def codes(name: str) -> list[Any]:
        found = objects(of_pool(session_persistence=sticky(type_, cookie_name=name)))
        return [item.attributes.get("apiAnonymous") for item in found.values()]

    assert codes(one) == codes(other)


@pytest.mark.parametrize("name", ["", "a b", "a;b", 'a"b', "a[b]", "a{b}", "a\\b", "a\nb", "é", "x" * 256])
def test_invalid_cookie_name_is_refused(name: str) -> None:
    assert (
        "cookie_name"
        in render_load_balancer(of_pool(session_persistence=sticky("APP_COOKIE", cookie_name=name)), NAMES).problem
    )


@pytest.mark.parametrize("weights", [(1, 1), (0, 3), (1, 256)])
@pytest.mark.parametrize("algorithm", get_args(LbAlgorithm))
def test_every_algorithm_has_a_mode(algorithm: str, weights: tuple[int, ...]) -> None:
    mode = objects(of_pool(lb_algorithm=algorithm, weights=weights))["ltm/pool dev_pool-1"].attributes[
        "loadBalancingMode"
    ]
    assert mode.startswith("ratio-") is (weights == (1, 256))


@pytest.mark.parametrize("protocol", ["HTTP", "TCP"])
@pytest.mark.parametrize(("kind", "name"), [("HTTP_COOKIE", None), ("APP_COOKIE", "sid")])
def test_a_tcp_listener_whose_pool_keeps_clients_by_a_cookie_reads_requests(
    protocol: str, kind: str, name: str | None
) -> None:
    found = objects(of_pool(protocol, session_persistence=sticky(kind, cookie_name=name)))
    profiles = [each["name"] for each in found["ltm/virtual dev_listener-1"].attributes["profiles"]]
    assert profiles == ["/Common/http", "/Common/tcp", "/Common/oneconnect"]
    assert found["ltm/virtual dev_listener-1"].attributes["persist"]


def test_others_are_passed_on() -> None:
    found = objects(of_pool("TCP", session_persistence=sticky("SOURCE_IP")))
    assert [each["name"] for each in found["ltm/virtual dev_listener-1"].attributes["profiles"]] == ["/Common/fastL4"]
