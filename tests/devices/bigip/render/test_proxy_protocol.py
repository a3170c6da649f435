"""The PROXY protocol's code: whole headers are in the tests of traffic."""

import pytest

from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from tests.devices.services import listener, monitor, pool, service

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)


def attributes(listener_protocol: str, pool_protocol: str, kind: str) -> str:
    checked = pool(protocol=pool_protocol, monitor=monitor(type=kind))
    made = render_load_balancer(service(listeners=(listener(protocol=listener_protocol),), pools=(checked,)), NAMES)
    assert not made.problem
    return "\n".join(str(dict(item.attributes)) for item in made.objects)


@pytest.mark.parametrize("protocol", ["HTTP", "TCP", "HTTPS"])
@pytest.mark.parametrize(("version", "header"), [("PROXY", "PROXY TCP"), ("PROXYV2", "0d0a0d0a000d0a515549540a")])
def test_members_get_a_header_first(protocol: str, version: str, header: str) -> None:
    text = attributes(protocol, version, "TCP")
    assert header in text and "when SERVER_CONNECTED {" in text and "TCP::respond $proxy_header" in text
    assert "oneconnect" not in text and "/Common/tcp" in text


@pytest.mark.parametrize("kind", ["HTTP", "TCP", "TLS-HELLO"])
def test_checks_of_a_proxy_pool_send_the_proxy_header(kind: str) -> None:
    assert "PROXY UNKNOWN" in attributes("TCP", "PROXY", kind)
    assert r"\\x0d\\x0a\\x0d\\x0a\\x00" in attributes("TCP", "PROXYV2", kind)
