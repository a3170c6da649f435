"""The kernel tells which addresses are this host's."""

import socket

import pytest

from evenkeel.haproxyd.network.host_addresses import own_addresses


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "an address of this host"),
        ("127.77.1.2", "an address of this host"),
        ("255.255.255.255", "broadcast"),
    ],
)
def test_own_address_is_recognised_with_its_kind(address: str, kind: str) -> None:
    assert kind in own_addresses([address])[address]


def test_interfaces_addresses_are_this_hosts() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("203.0.113.9", 9))  # sends nothing
        except OSError:
            pytest.skip("this host has no network")
        here = probe.getsockname()[0]
    assert own_addresses([here]) == {here: "an address of this host"}


def test_other_hosts_are_none_of_it() -> None:
    assert own_addresses(["203.0.113.9", "2001:db8::9", "2001:db8::10"]) == {}
    assert own_addresses([]) == {}
