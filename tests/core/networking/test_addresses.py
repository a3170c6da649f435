"""Addresses that lead a device to itself are refused in every form; those of other hosts are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.networking.addresses import AddressRules, parsed_networks

RULES = AddressRules()
LOOSE = AddressRules(allow_loopback=True)

OWN = {
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "::1": "loopback",
    "169.254.169.254": "link-local",
    "fe80::1": "link-local",
    "0.0.0.0": "unspecified",
    "0.0.0.1": "this host",
    "::": "unspecified",
    "224.0.0.1": "multicast",
    "ff02::1": "multicast",
    "255.255.255.255": "reserved",
    "240.0.0.1": "reserved",
    "::ffff:127.0.0.1": "IPv6's form",
    "::ffff:7f00:1": "IPv6's form",
    "::ffff:10.0.0.1": "IPv6's form",
    "::127.0.0.1": "IPv4-compatible",
    "::ffff:0:127.0.0.1": "reserved",
    "2002:7f00:1::1": "holds 127.0.0.1",
    "2002:a9fe:a9fe::": "holds 169.254.169.254",
    "64:ff9b::127.0.0.1": "holds 127.0.0.1",
    "64:ff9b:1::169.254.169.254": "holds 169.254.169.254",
    "2001:0:7f00:1::": "holds 127.0.0.1",
    "fec0::1": "reserved",
    "100::1": "reserved",
    "4000::1": "reserved",
}
NONE = (
    "",
    " 10.0.0.1",
    "10.0.0.1 ",
    "10.0.0.1\n",
    "10.0.0.1/32",
    "fe80::1%eth0",
    "2001:db8::1%eth0",
    "2130706433",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "010.0.0.1",
    "127.1",
    "１２７.0.0.1",
    "١٢٧.0.0.1",
    "localhost",
    "[::1]",
)
OTHERS = ("10.0.0.1", "192.0.2.7", "203.0.113.9", "100.64.0.1", "2001:db8::7", "fd00::1", "64:ff9b::c000:201")


@pytest.mark.parametrize(("address", "words"), OWN.items())
def test_address_that_leads_a_device_to_itself_is_refused(address: str, words: str) -> None:
    assert words in RULES.member_problem(address)
    assert words in RULES.vip_problem(address)


@pytest.mark.parametrize("address", NONE)
@pytest.mark.parametrize("rules", [RULES, LOOSE])
def test_text_that_is_no_address_is_refused(address: str, rules: AddressRules) -> None:
    assert rules.member_problem(address) == rules.vip_problem(address) == "it is no IPv4 or IPv6 address"


@pytest.mark.parametrize("address", OTHERS)
def test_other_hosts_are_allowed(address: str) -> None:
    assert RULES.member_problem(address) == RULES.vip_problem(address) == ""


def test_loopback_may_be_allowed_and_nothing_else_with_it() -> None:
    allowed = {address for address in OWN if not LOOSE.member_problem(address)}
    assert allowed == {"127.0.0.1", "127.255.255.254", "::1"}


def test_an_operator_may_close_networks_to_members_but_not_to_vips() -> None:
    rules = AddressRules(denied_networks=parsed_networks(["192.0.2.0/24", " fd00:ec2::254/128 "]))
    for address in ("192.0.2.7", "fd00:ec2::254", "2002:c000:207::1", "64:ff9b::192.0.2.7"):
        assert "the operator has closed to members" in rules.member_problem(address), address
        assert rules.vip_problem(address) == ""
    assert rules.member_problem("192.0.3.7") == ""


@pytest.mark.parametrize("text", ["192.0.2.7/24", "nonsense", "10.0.0.0/33", ""])
def test_a_list_that_holds_no_network_is_refused_with_its_value(text: str) -> None:
    with pytest.raises(ValueError, match="a network like") as refused:
        parsed_networks([text])
    assert repr(text) in str(refused.value)


@given(st.ip_addresses())
def test_an_address_that_is_allowed_is_routed_to_one_host(address) -> None:
    if RULES.member_problem(str(address)):
        return
    assert not (address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified)
    inner = [getattr(address, name, None) for name in ("ipv4_mapped", "sixtofour")]
    assert not any(one.is_loopback or one.is_link_local for one in inner if one is not None)
