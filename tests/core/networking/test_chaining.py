"""Addresses at which a member and a VIP are one."""

import pytest

from evenkeel.core.networking.chaining import is_chainable


@pytest.mark.parametrize(
    ("address", "chains"), [("10.0.0.5", True), ("2001:db8::5", True), ("127.0.0.5", False), ("::1", False)]
)
def test_loopback_addresses_do_not_chain(address: str, chains: bool) -> None:
    assert is_chainable(address) is chains
