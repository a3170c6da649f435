"""Agents of the first message version get what they can read."""

from typing import Any

import pytest

from evenkeel.bus.codec import encode
from evenkeel.controller.former_agents import readable_by_former
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.protocol.messages import ServiceDefinitions
from evenkeel.core.resources.model import SessionPersistence
from tests.bus.recorded import version_1
from tests.devices.services import listener, monitor, pool, service


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, ""),
        ({"listeners": (listener(), listener(2, protocol="TERMINATED_HTTPS"))}, "TERMINATED_HTTPS"),
        ({"pools": (pool(protocol="PROXYV2"),)}, "PROXYV2"),
        ({"pools": (pool(lb_algorithm="SOURCE_IP_PORT"),)}, "SOURCE_IP_PORT"),
        ({"pools": (pool(monitor=monitor(type="HTTPS")),)}, "HTTPS"),
        ({"pools": (pool(session_persistence=SessionPersistence(type="APP_COOKIE", cookie_name="c")),)}, "APP_COOKIE"),
    ],
)
def test_a_word_that_they_do_not_know_is_named_instead_of_sent(changes: dict[str, Any], word: str) -> None:
    definition: ServiceDefinition = service(**changes)
    sent = readable_by_former(definition)
    assert (sent == definition) == (not word) and word in sent.problem
    read = version_1.decode(encode(ServiceDefinitions(services=(sent,)), message_id="m")).body
    assert read.services[0].load_balancer_id == definition.load_balancer_id
