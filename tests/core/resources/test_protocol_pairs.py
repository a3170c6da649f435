"""Protocols of listeners and pools that fit each other."""

import pytest

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.resources.model import POOL_PROTOCOLS_OF_LISTENER, PROMETHEUS_PROTOCOL
from evenkeel.core.resources.protocol_pairs import check_protocol_pair


@pytest.mark.parametrize("listener_protocol", sorted(POOL_PROTOCOLS_OF_LISTENER))
def test_pool_protocols_that_fit_a_listener_are_accepted(listener_protocol: str) -> None:
    for pool_protocol in POOL_PROTOCOLS_OF_LISTENER[listener_protocol]:
        check_protocol_pair(listener_protocol, pool_protocol)


def test_pool_protocol_that_does_not_fit_is_refused_with_those_that_do() -> None:
    with pytest.raises(Invalid, match=r"The pool protocol 'UDP' is invalid .* 'HTTP'\. Allowed: HTTP, PROXY"):
        check_protocol_pair("HTTP", "UDP")


def test_listener_without_children_is_refused_whatever_the_pool() -> None:
    with pytest.raises(Invalid, match="cannot have child objects"):
        check_protocol_pair(PROMETHEUS_PROTOCOL, "HTTP")
