import contextlib
import errno
import socket

import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.network.binds import BindRegistry, conflicting_load_balancers, unbindable_addresses
from tests.haproxyd.world import free_vip


def lb(name, *places):
    binds = tuple(wire.Bind(address=address, port=port) for address, port in places)
    return wire.LoadBalancerConfig(id=name, revision=1, frontends=(wire.Frontend(name=name, binds=binds),))


def test_the_second_partition_at_a_place_gets_the_name_of_the_first():
    registry = BindRegistry()
    assert not registry.reserve("one", lb("a", ("10.0.0.1", 80)))
    assert registry.reserve("two", lb("b", ("10.0.0.1", 80))) == (
        "address 10.0.0.1 port 80 is used by load balancer a in partition one"
    )
    assert not registry.reserve("two", lb("b", ("10.0.0.1", 81)))


@pytest.mark.parametrize(("one", "other"), [("0.0.0.0", "10.0.0.1"), ("10.0.0.1", "::"), ("fd00:0::1", "fd00::1")])
def test_addresses_that_mean_the_same_are_the_same(one, other):
    registry = BindRegistry()
    assert not registry.reserve("one", lb("a", (one, 80)))
    assert "load balancer a" in registry.reserve("two", lb("b", (other, 80)))


def test_a_place_is_free_once_the_change_is_settled_without_it():
    registry = BindRegistry()
    registry.reserve("one", lb("a", ("10.0.0.1", 80)))
    registry.replace("one", {})
    assert not registry.reserve("two", lb("b", ("10.0.0.1", 80)))
    registry.replace("one", {"a": lb("a", ("10.0.0.2", 80))})
    assert registry.reserve("two", lb("b", ("10.0.0.2", 80)))


def test_two_load_balancers_of_one_partition_cannot_share_a_place():
    first, second = lb("a", ("10.0.0.1", 80)), lb("b", ("10.0.0.1", 80))
    assert conflicting_load_balancers([first], [second]).keys() == {"b"}
    assert conflicting_load_balancers([], [first, lb("b", ("10.0.0.1", 81))]) == {}
    assert "twice" in conflicting_load_balancers([], [lb("a", ("10.0.0.1", 80), ("10.0.0.1", 80))])["a"]


def test_finds_out_that_another_process_listens():
    with contextlib.closing(socket.create_server((free_vip(), 0))) as server:
        place = server.getsockname()
        assert "another process uses it" in unbindable_addresses([place])[place]
    assert unbindable_addresses([place]) == {}


def test_an_address_that_is_not_here_yet_is_fine():
    assert unbindable_addresses([("203.0.113.7", 8080), ("2001:db8::7", 8080)]) == {}


def test_a_host_without_ipv6_refuses_those_addresses_alone(monkeypatch):
    sockets = socket.socket

    def without_six(family, *rest):
        if family is socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        return sockets(family, *rest)

    monkeypatch.setattr(socket, "socket", without_six)
    problems = unbindable_addresses([("203.0.113.7", 8080), ("2001:db8::7", 8080)])
    assert list(problems) == [("2001:db8::7", 8080)]
    assert "2001:db8::7 port 8080 cannot be listened on: Address family not supported" in problems["2001:db8::7", 8080]
