"""Values of listeners that all renderers use alike."""

import pytest

from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.listeners import allowed_networks
from tests.devices.services import listener


def test_networks_are_canonical_sorted_and_there_once() -> None:
    given = ("192.0.2.7/24", "10.0.0.0/8", "192.0.2.0/24", "2001:DB8::1/32")
    assert allowed_networks(listener(allowed_cidrs=given)) == ["10.0.0.0/8", "192.0.2.0/24", "2001:db8::/32"]


def test_text_that_is_no_network_is_named() -> None:
    with pytest.raises(Unrenderable, match="listener listener-1: allowed_cidrs: 'nowhere' is no network"):
        allowed_networks(listener(allowed_cidrs=("nowhere",)))
