"""What a device type cannot do is told with field, value and what is allowed; what it can do passes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from evenkeel.core.devices.capabilities import (
    ALL_CAPABILITIES,
    INSERT_HEADERS,
    OPTIONS,
    Capabilities,
    definition_problems,
    listener_pool_problems,
    listener_problems,
    member_problems,
    monitor_problems,
    needs_capability_check,
    pool_monitor_problems,
    pool_problems,
    raise_first_problem,
    tree_problems,
)
from evenkeel.core.devices.service import service_definition_of_tree
from evenkeel.core.kit.errors import Unsupported
from evenkeel.core.resources.model import (
    POOL_PROTOCOLS_OF_LISTENER,
    HealthMonitor,
    Listener,
    LoadBalancer,
    LoadBalancerTree,
    Member,
    Pool,
    SessionPersistence,
    Vip,
)

LITTLE = Capabilities(
    protocol_pairs={"HTTP": ("HTTP",), "TCP": ("HTTP", "PROXY", "TCP")},
    lb_algorithms=("ROUND_ROBIN",),
    session_persistence={"HTTP_COOKIE": ("HTTP",)},
    health_monitor_types=("HTTP",),
    health_monitor_ranges={"delay": (1, 60)},
    insert_headers=("X-Forwarded-Port", "X-Forwarded-Proto"),
    exclusive_headers=(("X-Forwarded-Port", "X-Forwarded-Proto"),),
    options=("listener.connection_limit",),
    refused_values={"listener.connection_limit": (0,)},
)
IDS = {"load_balancer_id": "lb", "project_id": "t"}
ROOT = LoadBalancer(
    id="lb",
    project_id="t",
    vip=Vip(address="10.0.0.5", subnet_id="s", network_id="n", port_id="p"),
    provider="demo",
)
COOKIE = SessionPersistence(type="HTTP_COOKIE")


def listener(**attributes: Any) -> Listener:
    return Listener(**{"id": "l", "protocol": "HTTP", "protocol_port": 80, **IDS, **attributes})


def pool(**attributes: Any) -> Pool:
    return Pool(**{"id": "p", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", **IDS, **attributes})


def member(**attributes: Any) -> Member:
    return Member(**{"id": "m", "pool_id": "p", "address": "10.0.0.9", "protocol_port": 80, **IDS, **attributes})


def monitor(**attributes: Any) -> HealthMonitor:
    usual = {"id": "h", "pool_id": "p", "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 2}
    return HealthMonitor(**{**usual, **IDS, **attributes})


def tree(**parts: Any) -> LoadBalancerTree:
    return LoadBalancerTree(load_balancer=ROOT, **parts)


HEADERS = dict.fromkeys(("X-Forwarded-Port", "X-Forwarded-Proto"), "true")

TOO_MUCH: list[tuple[LoadBalancerTree, str]] = [
    (tree(listeners=(listener(protocol="HTTPS"),)), "protocol HTTPS. Allowed: HTTP, TCP."),
    (tree(listeners=(listener(allowed_cidrs=("10.0.0.0/8",)),)), "allowed_cidrs 10.0.0.0/8. Allowed: none."),
    (tree(listeners=(listener(timeout_member_connect=1),)), "timeout_member_connect 1. Allowed: 5000."),
    (tree(listeners=(listener(connection_limit=0),)), "connection_limit 0. Allowed: any other value; -1 is"),
    (tree(listeners=(listener(insert_headers=HEADERS),)), "insert_headers X-Forwarded-Port and X-Forwarded-Proto."),
    (
        tree(listeners=(listener(insert_headers={"X-Forwarded-For": "true"}),)),
        "insert_headers X-Forwarded-For. ",
    ),
    (tree(pools=(pool(protocol="PROXYV2"),)), "protocol PROXYV2. Allowed: HTTP, PROXY, TCP."),
    (tree(pools=(pool(lb_algorithm="SOURCE_IP"),)), "lb_algorithm SOURCE_IP. Allowed: ROUND_ROBIN."),
    (
        tree(pools=(pool(session_persistence=SessionPersistence(type="SOURCE_IP")),)),
        "session_persistence type SOURCE_IP. Allowed: HTTP_COOKIE.",
    ),
    (tree(pools=(pool(),), members=(member(backup=True),)), "backup True. Allowed: False."),
    (tree(pools=(pool(),), members=(member(monitor_port=81),)), "monitor_port 81. Allowed: null."),
    (tree(pools=(pool(),), health_monitors=(monitor(type="PING"),)), "type PING. Allowed: HTTP."),
    (tree(pools=(pool(),), health_monitors=(monitor(delay=0),)), "delay 0. Allowed: 1 to 60."),
    (
        tree(pools=(pool(session_persistence=COOKIE),), listeners=(listener(protocol="TCP", default_pool_id="p"),)),
        "session_persistence HTTP_COOKIE behind a listener of protocol TCP. Allowed: behind HTTP.",
    ),
    (
        tree(pools=(pool(protocol="PROXY"),), listeners=(listener(default_pool_id="p"),)),
        "pool protocol PROXY behind a listener of protocol HTTP. Allowed: HTTP.",
    ),
]


@pytest.mark.parametrize(("wanted", "words"), TOO_MUCH, ids=[words for _, words in TOO_MUCH])
def test_unsupported_setting_names_field_value_and_what_is_allowed(wanted: LoadBalancerTree, words: str) -> None:
    (problem,) = tree_problems(LITTLE, wanted)
    assert words in problem
    assert list(tree_problems(ALL_CAPABILITIES, wanted)) == []
    with pytest.raises(Unsupported, match=r"^Provider 'dmz' does not support a requested option: "):
        raise_first_problem("dmz", tree_problems(LITTLE, wanted))


def test_a_renderer_is_told_the_object_too() -> None:
    wanted = tree(listeners=(listener(timeout_tcp_inspect=9),), pools=(pool(),), members=(member(backup=True),))
    assert list(definition_problems(LITTLE, service_definition_of_tree(wanted))) == [
        "pool p: backup True. Allowed: False.",
        "listener l: timeout_tcp_inspect 9. Allowed: 0.",
    ]
    assert list(definition_problems(ALL_CAPABILITIES, service_definition_of_tree(wanted))) == []


def test_supported_settings_have_no_problem() -> None:
    wanted = tree(
        listeners=(
            listener(default_pool_id="p", connection_limit=7, insert_headers={"X-Forwarded-Port": "true"}),
            listener(id="l2", protocol="TCP", insert_headers=dict.fromkeys(INSERT_HEADERS, "false")),
        ),
        pools=(pool(session_persistence=COOKIE), pool(id="p2", protocol="TCP")),
        members=(member(weight=0),),
        health_monitors=(monitor(),),
    )
    assert list(tree_problems(LITTLE, wanted)) == []
    raise_first_problem("dmz", tree_problems(LITTLE, wanted))


def test_only_what_is_to_change_is_looked_at() -> None:
    assert list(listener_problems(LITTLE, {"name": "x", "connection_limit": -1})) == []
    assert list(pool_problems(LITTLE, {"session_persistence": None})) == []
    assert list(member_problems(LITTLE, {"monitor_address": None})) == []
    assert list(monitor_problems(LITTLE, {"timeout": 0})) == []
    assert list(listener_problems(LITTLE, {"allowed_cidrs": ()})) == []


def test_a_long_value_is_cut() -> None:
    cidrs = tuple(f"10.{number}.0.0/16" for number in range(200))
    (problem,) = listener_problems(LITTLE, {"allowed_cidrs": cidrs})
    assert len(problem) < 300


def test_every_option_has_a_default_that_every_table_takes() -> None:
    nothing = Capabilities(options=())
    assert list(listener_problems(nothing, asdict(listener()))) == []
    assert list(pool_problems(nothing, asdict(pool()))) == []
    assert list(member_problems(nothing, asdict(member()))) == []
    assert {option.partition(".")[0] for option in OPTIONS} >= {"listener", "pool", "session_persistence", "member"}


_VALUES: dict[str, Any] = {
    "allowed_cidrs": ("10.0.0.0/8",),
    "connection_limit": 5,
    "timeout_client_data": 1,
    "timeout_member_connect": 1,
    "timeout_member_data": 1,
    "timeout_tcp_inspect": 1,
    "default_tls_container_ref": "ref",
    "sni_container_refs": ("ref",),
    "client_ca_tls_container_ref": "ref",
    "client_authentication": "OPTIONAL",
    "client_crl_container_ref": "ref",
    "tls_ciphers": "AES",
    "tls_versions": ("TLSv1.3",),
    "alpn_protocols": ("h2",),
    "hsts_max_age": 0,
    "hsts_include_subdomains": True,
    "hsts_preload": True,
    "tls_enabled": True,
    "tls_container_ref": "ref",
    "ca_tls_container_ref": "ref",
    "crl_container_ref": "ref",
    "persistence_timeout": 0,
    "persistence_granularity": "255.255.255.0",
    "backup": True,
    "monitor_address": "10.0.0.1",
    "monitor_port": 1,
    "request_sriov": True,
}
_OF_CHILDREN = [option for option in OPTIONS if option.partition(".")[2] in _VALUES]


def _attributes(used: frozenset[str], kind: str) -> dict[str, Any]:
    """Those of one kind of object, as requests make them."""
    names = [name for each, _, name in (option.partition(".") for option in used) if each == kind]
    values = {name: _VALUES[name] for name in names}
    return values | ({"vnic_type": "direct"} if values.pop("request_sriov", False) else {})


@given(st.frozensets(st.sampled_from(_OF_CHILDREN)), st.frozensets(st.sampled_from(_OF_CHILDREN)))
def test_exactly_the_options_that_are_used_and_not_declared_are_problems(
    declared: frozenset[str], used: frozenset[str]
) -> None:
    table = Capabilities(options=tuple(declared))
    of_persistence = _attributes(used, "session_persistence")
    persistence = SessionPersistence(type="SOURCE_IP", **of_persistence) if of_persistence else None
    of_listener, of_pool, of_member = (_attributes(used, kind) for kind in ("listener", "pool", "member"))
    problems = [
        *listener_problems(table, asdict(listener()) | of_listener),
        *pool_problems(table, asdict(pool()) | of_pool | {"session_persistence": persistence}),
        *member_problems(table, asdict(member()) | of_member),
    ]
    refused = sorted(problem.split(" ", 1)[0] for problem in problems)
    assert refused == sorted(option.partition(".")[2] for option in used - declared)
    assert needs_capability_check(of_listener) == bool(of_listener)
    assert needs_capability_check(of_pool) == bool(of_pool)
    assert needs_capability_check({"session_persistence": persistence}) == bool(of_persistence)


@given(st.sampled_from(sorted(set(POOL_PROTOCOLS_OF_LISTENER) - {"PROMETHEUS"})), st.data())
def test_everything_takes_every_pair_that_the_api_takes(protocol: str, data: st.DataObject) -> None:
    pool_protocol = data.draw(st.sampled_from(sorted(POOL_PROTOCOLS_OF_LISTENER[protocol])))
    persistence = data.draw(st.sampled_from([None, COOKIE]))
    assert list(listener_pool_problems(ALL_CAPABILITIES, protocol, pool_protocol, persistence)) == []
    without = replace(ALL_CAPABILITIES, protocol_pairs={})
    assert len(list(listener_pool_problems(without, protocol, pool_protocol, None))) == 1


@pytest.mark.parametrize(
    "changes", [{}, {"name": "x", "weight": 3}, {"backup": False, "monitor_port": None}, {"default_pool_id": None}]
)
def test_changes_that_no_table_refuses_need_no_look(changes: dict[str, Any]) -> None:
    assert not needs_capability_check(changes)


@pytest.mark.parametrize(
    "changes", [{"delay": 5}, {"lb_algorithm": "SOURCE_IP"}, {"session_persistence": COOKIE}, {"backup": True}]
)
def test_changes_that_a_table_may_refuse_need_a_look(changes: dict[str, Any]) -> None:
    assert needs_capability_check(changes)


def test_a_pool_may_have_fewer_types_of_monitors_and_http_over_tls_is_https() -> None:
    table = Capabilities(pool_monitors={"PROXY": ("HTTP", "TCP")})
    for pool_protocol, type_, over_tls, refused in (
        ("PROXY", "HTTP", False, False),
        ("PROXY", "HTTPS", False, True),
        ("PROXY", "HTTP", True, True),
        ("PROXY", "TCP", True, False),
        ("HTTP", "HTTPS", True, False),
    ):
        found = [*pool_monitor_problems(table, pool_protocol, type_, over_tls=over_tls)]
        assert bool(found) is refused
        assert all("PROXY" in problem and "HTTP, TCP" in problem for problem in found)


def test_an_attribute_may_be_fixed_for_a_protocol() -> None:
    table = Capabilities(fixed_attributes={"SCTP": ("timeout_member_connect",)})
    for attributes, refused in (
        ({"protocol": "SCTP", "timeout_member_connect": 7}, True),
        ({"protocol": "SCTP", "timeout_member_connect": 5_000}, False),
        ({"protocol": "TCP", "timeout_member_connect": 7}, False),
        ({"timeout_member_connect": 7}, False),
    ):
        found = [*listener_problems(table, attributes)]
        assert found == (["timeout_member_connect 7 of protocol SCTP. Allowed: 5000."] if refused else [])


def test_algorithm_that_a_pool_protocol_lacks_is_refused() -> None:
    table = Capabilities(pool_algorithms={"UDP": ("ROUND_ROBIN",)})
    udp = {"protocol": "UDP", "lb_algorithm": "LEAST_CONNECTIONS"}
    assert list(pool_problems(table, udp)) == [
        "lb_algorithm LEAST_CONNECTIONS in a pool of protocol UDP. Allowed: ROUND_ROBIN."
    ]
    assert list(pool_problems(table, udp | {"protocol": "TCP"})) == []
    assert list(pool_problems(table, {"lb_algorithm": "LEAST_CONNECTIONS"})) == []
