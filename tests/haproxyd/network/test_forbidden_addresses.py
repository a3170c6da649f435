"""No tenant's load balancer sends to this host or its neighbours, or listens where they are."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evenkeel.core.networking.addresses import AddressRules
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.network.forbidden_addresses import CACHE_SECONDS, ForbiddenAddresses
from evenkeel.haproxyd.settings import DaemonSettings

HERE, API, MANAGED, PEERS, PEER = "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"
ELSEWHERE, VIP = "198.51.100.7", "203.0.113.9"
NEIGHBOURS = (wire.HaproxyPeer(name="host-2", address=PEER, port=10300),)


class Kernel:
    """Knows the host's addresses."""

    def __init__(self, *own: str) -> None:
        self.own = set(own)
        self.asked: list[str] = []

    def __call__(self, addresses: Iterable[str]) -> Mapping[str, str]:
        wanted = list(addresses)
        self.asked += wanted
        return {address: "an address of this host" for address in wanted if address in self.own}


def limits(kernel: Kernel | None = None, **settings: Any) -> ForbiddenAddresses:
    values = {"name": "host-1", "state_dir": Path("/nowhere"), "run_dir": Path("/nowhere"), "peers_address": PEERS}
    made = ForbiddenAddresses(
        DaemonSettings(**{**values, "management_addresses": (MANAGED,), **settings}),
        own_addresses=kernel or Kernel(HERE, API, MANAGED, PEERS, VIP, "127.0.0.1"),
    )
    made.forbid_api_address(API, 9443)
    return made


def balancer(vip: str = VIP, listening: int = 80, **server: Any) -> wire.LoadBalancerConfig:
    one = wire.BackendServer(**{"name": "s", "address": ELSEWHERE, "port": 8080, **server})
    bind = wire.Bind(address=vip, port=listening)
    return wire.LoadBalancerConfig(
        id="lb",
        revision=1,
        frontends=(wire.Frontend(name="f", binds=(bind,)),),
        backends=(wire.Backend(name="b", servers=(one,)),),
    )


def test_other_hosts_and_vips_are_nobodys_business() -> None:
    assert limits().refusal_reason(balancer(), NEIGHBOURS) == ""


@pytest.mark.parametrize("address", [HERE, API, MANAGED, PEERS, PEER, "127.0.0.1", "0192.0.2.1".removeprefix("0")])
@pytest.mark.parametrize("how", ["address", "ping_address", "addr"])
def test_no_server_is_at_an_address_of_this_host_or_a_peer(address: str, how: str) -> None:
    server = {"arguments": ("check", "addr", address)} if how == "addr" else {how: address}
    problem = limits().refusal_reason(balancer(**server), NEIGHBOURS)
    assert f"address is '{address}'" in problem and "the address of another host is allowed" in problem


@pytest.mark.parametrize("address", [API, MANAGED, PEERS, PEER])
def test_no_listener_is_where_the_daemon_or_its_peers_are(address: str) -> None:
    problem = limits().refusal_reason(balancer(vip=address, listening=443), NEIGHBOURS)
    assert problem.startswith(f"frontend f: bind: address is '{address}'") and "a VIP is allowed" in problem


def test_the_same_address_written_otherwise_is_the_same() -> None:
    made = limits(Kernel("2001:db8::1"), management_addresses=("2001:db8::2",))
    assert made.refusal_reason(balancer(address="2001:0db8:0::0001"), ())
    assert made.refusal_reason(balancer(vip="2001:0DB8::2"), ())


def test_an_api_on_every_address_is_protected_by_the_hosts_addresses() -> None:
    made = limits()
    made.forbid_api_address("0.0.0.0", 9443)
    assert made.refusal_reason(balancer(address=HERE, port=9443), ())
    assert (
        made.refusal_reason(balancer(vip=VIP, listening=9443), ()) == ""
    )  # what is bound already cannot be bound again


def test_daemons_own_ports_are_forbidden_where_loopback_is_allowed() -> None:
    made = limits(
        addresses=AddressRules(allow_loopback=True),
        peers_address="127.0.0.1",
        peers_port_first=10300,
        peers_port_last=10310,
    )
    made.forbid_api_address("127.0.0.1", 9443)
    peers = (wire.HaproxyPeer(name="host-2", address="127.0.0.2", port=10400),)
    assert made.refusal_reason(balancer(address="127.0.0.1", port=8080), peers) == ""
    assert made.refusal_reason(balancer(vip="127.0.0.1", listening=8081), peers) == ""
    for address, port in (("127.0.0.1", 9443), ("127.9.9.9", 9443), ("127.0.0.1", 10305), ("127.0.0.2", 10400)):
        assert made.refusal_reason(balancer(address=address, port=port), peers), (address, port)
    assert made.refusal_reason(balancer(arguments=("check", "addr", "127.0.0.1", "port", "9443")), peers)
    assert made.refusal_reason(balancer(address="127.0.0.1", arguments=("check", "port", "9443")), peers)


@pytest.mark.parametrize("address", [HERE, API, MANAGED, PEERS, PEER])
def test_access_logs_go_to_no_address_of_this_host_or_its_neighbours(address: str) -> None:
    def logging_to(target: str) -> wire.LoadBalancerConfig:
        bind = wire.Bind(address=VIP, port=80)
        log = wire.LogTarget(address=target, port=514)
        frontend = wire.Frontend(name="f", binds=(bind,), access_log=log)
        return wire.LoadBalancerConfig(id="lb", revision=1, frontends=(frontend,))

    assert "frontend f: access_log: address is" in limits().refusal_reason(logging_to(address), NEIGHBOURS)
    assert limits().refusal_reason(logging_to(ELSEWHERE), NEIGHBOURS) == ""


def test_the_kernel_is_queried_once_in_a_while() -> None:
    kernel, now = Kernel(HERE), [0.0]
    made = ForbiddenAddresses(
        DaemonSettings(name="host-1", state_dir=Path("/nowhere"), run_dir=Path("/nowhere")),
        own_addresses=kernel,
        monotonic=lambda: now[0],
    )
    for _ in range(3):
        assert made.refusal_reason(balancer(), ()) == ""
    assert kernel.asked == [ELSEWHERE]
    kernel.own.add(ELSEWHERE)
    now[0] += CACHE_SECONDS
    assert made.refusal_reason(balancer(), ())


def test_a_kernel_that_may_not_be_asked_ends_the_start() -> None:
    def forbidden(addresses: Iterable[str]) -> Mapping[str, str]:
        raise OSError(97, "Address family not supported by protocol")

    made = ForbiddenAddresses(
        DaemonSettings(name="host-1", state_dir=Path("/nowhere"), run_dir=Path("/nowhere")), own_addresses=forbidden
    )
    with pytest.raises(ValueError, match="AF_NETLINK"):
        made.check_host_addresses()
