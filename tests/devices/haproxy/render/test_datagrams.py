"""UDP listeners and pools: what the daemon's kernel is to forward."""

from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.resources.model import SessionPersistence, Vip
from evenkeel.devices.haproxy.render.load_balancer import render_load_balancer
from evenkeel.haproxyd import wire
from tests.devices.services import listener, member, monitor, pool, service

UDP_MONITOR = {"type": "UDP-CONNECT"}


def udp(*, on_listener: dict[str, Any] | None = None, **on_pool: Any) -> ServiceDefinition:
    """A load balancer with a UDP listener and pool."""
    pools = (pool(protocol="UDP", **{"monitor": monitor(**UDP_MONITOR), **on_pool}),)
    return service(listeners=(listener(protocol="UDP", **(on_listener or {})),), pools=pools)


def rendered(definition: ServiceDefinition) -> wire.LoadBalancerConfig:
    found = render_load_balancer(definition)
    assert found.load_balancer is not None, found.problem
    return found.load_balancer


def test_udp_listener_is_the_kernels_and_its_members_are_checked_by_the_daemon() -> None:
    one = rendered(udp(on_listener={"connection_limit": 5, "allowed_cidrs": ("10.0.0.1/8",)}))
    assert one.frontends == () and one.files == ()
    assert one.datagram_listeners == (
        wire.DatagramListener(
            name="listener-1",
            binds=(wire.Bind(address="10.1.0.2", port=80),),
            backend="pool-1",
            flows_max=5,
            allowed_cidrs=("10.0.0.0/8",),
        ),
    )
    (backend,) = one.backends
    assert backend.datagrams == wire.DatagramBalance()
    assert backend.ping == wire.Ping(delay=5, timeout=3, rise=2, fall=3, protocol="udp")
    assert {server.arguments for server in backend.servers} == {()}


def test_every_vip_is_served() -> None:
    more = Vip(address="2001:DB8::1", subnet_id="s6", network_id="n", port_id="p")
    definition = service(
        listeners=(listener(protocol="UDP"),), pools=(pool(protocol="UDP", monitor=None),), additional_vips=(more,)
    )
    binds = rendered(definition).datagram_listeners[0].binds
    assert [bind.address for bind in binds] == ["10.1.0.2", "2001:db8::1"]


@pytest.mark.parametrize(
    ("algorithm", "choice"), [("ROUND_ROBIN", "weight"), ("SOURCE_IP", "source"), ("SOURCE_IP_PORT", "source_port")]
)
def test_algorithms_are_the_kernels_choices(algorithm: str, choice: str) -> None:
    (backend,) = rendered(udp(lb_algorithm=algorithm)).backends
    assert backend.datagrams is not None and backend.datagrams.choice == choice


@pytest.mark.parametrize(("given", "seconds"), [(None, 360), (0, 360), (20, 20)])
def test_persistence_binds_clients_for_its_time(given: int | None, seconds: int) -> None:
    bound = SessionPersistence(type="SOURCE_IP", persistence_timeout=given, persistence_granularity="255.255.255.0")
    (backend,) = rendered(udp(session_persistence=bound)).backends
    assert backend.datagrams == wire.DatagramBalance(sticky_seconds=seconds, sticky_netmask="255.255.255.0")
    assert not any("stick" in line for line in backend.lines)


@pytest.mark.parametrize("type_", ["TCP", "HTTP"])
def test_other_monitors_are_haproxys_checks(type_: str) -> None:
    (backend,) = rendered(udp(monitor=monitor(type=type_))).backends
    assert backend.ping is None and backend.datagrams is not None
    assert all("check" in server.arguments for server in backend.servers)


def test_monitor_port_is_the_port_of_udp_checks() -> None:
    (backend,) = rendered(udp(members=(member(monitor_port=7, monitor_address="10.9.9.9"),))).backends
    assert (backend.servers[0].ping_address, backend.servers[0].ping_port) == ("10.9.9.9", 7)


def test_listener_that_is_down_is_left_out() -> None:
    one = rendered(udp(on_listener={"admin_state_up": False}))
    assert one.datagram_listeners == () and one.backends[0].datagrams is not None


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        (udp(lb_algorithm="LEAST_CONNECTIONS"), "lb_algorithm LEAST_CONNECTIONS"),
        (udp(members=(member(address="2001:db8::5"),)), "address 2001:db8::5 of a member of a UDP pool. Allowed: IPv4"),
        (udp(on_listener={"connection_limit": 0}), "connection_limit 0"),
        (udp(on_listener={"timeout_client_data": 7}), "timeout_client_data 7"),
        (udp(session_persistence=SessionPersistence(type="HTTP_COOKIE")), "session_persistence HTTP_COOKIE"),
        (
            udp(session_persistence=SessionPersistence(type="SOURCE_IP", persistence_timeout=10**9)),
            "persistence_timeout 1000000000: 1 to 604800",
        ),
        (
            service(listeners=(listener(protocol="TCP"),), pools=(pool(protocol="UDP", monitor=None),)),
            "protocol TCP is not possible with pools of UDP",
        ),
    ],
)
def test_impossible_datagram_definition_is_refused_by_name(definition: ServiceDefinition, text: str) -> None:
    assert text in render_load_balancer(definition).problem


@pytest.mark.parametrize(("protocol", "of_pool"), [("TCP", "TCP"), ("HTTPS", "HTTPS"), ("HTTPS", "TCP")])
def test_tcp_is_the_kernels_with_its_data_path_and_haproxy_checks_the_members(protocol: str, of_pool: str) -> None:
    definition = service(
        listeners=(listener(protocol=protocol, connection_limit=9),),
        pools=(pool(protocol=of_pool, monitor=monitor(type="TCP"), lb_algorithm="SOURCE_IP"),),
        data_path="kernel",
    )
    one = rendered(definition)
    assert one.frontends == ()
    assert [(each.protocol, each.backend, each.flows_max) for each in one.datagram_listeners] == [("tcp", "pool-1", 9)]
    (backend,) = one.backends
    assert backend.datagrams == wire.DatagramBalance(protocol="tcp", choice="source")
    assert all("check" in server.arguments for server in backend.servers)
    assert rendered(replace(definition, data_path="proxy")).datagram_listeners == ()


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        (service(data_path="kernel"), "protocol HTTP. Allowed: HTTPS, SCTP, TCP, UDP."),
        (
            service(
                listeners=(listener(protocol="TCP", timeout_client_data=7),),
                pools=(pool(protocol="TCP", monitor=None),),
                data_path="kernel",
            ),
            "timeout_client_data 7",
        ),
        (
            service(
                listeners=(listener(protocol="TCP", enhanced_services=("gold",)),),
                pools=(pool(protocol="TCP", monitor=None),),
                data_path="kernel",
            ),
            "gold",
        ),
    ],
)
def test_attributes_that_need_haproxy_are_refused_with_the_kernels_data_path(
    definition: ServiceDefinition, text: str
) -> None:
    found = render_load_balancer(definition)
    assert found.load_balancer is None
    assert text in found.problem
