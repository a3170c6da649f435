"""TLS to a real broker: verified, and said loudly when it is not."""

import asyncio
from pathlib import Path

import pytest
import structlog
import trustme

from evenkeel.bus.amqp import AmqpBus, parse_nodes
from evenkeel.core.messages import Done
from tests.bus.amqp.starting import why_not_started
from tests.bus.test_contract import Recorder
from tests.bus.transports import CALL, Amqp
from tests.services.rabbitmq import RabbitMQ

pytestmark = pytest.mark.services

AUTHORITY = trustme.CA()
"""Made once: the broker of the test process is restarted only for the first of these tests."""
_serving: set[int] = set()


@pytest.fixture
async def tls_broker(broker: RabbitMQ) -> RabbitMQ:
    if broker.tls_port not in _serving:
        broker.serve_tls(AUTHORITY, "localhost")
        await asyncio.to_thread(broker.restart)
        _serving.add(broker.tls_port)
    return broker


@pytest.fixture
def authority_file(tmp_path: Path) -> Path:
    AUTHORITY.cert_pem.write_to_path(tmp_path / "ca.pem")
    return tmp_path / "ca.pem"


def _url(broker: RabbitMQ, options: str, *, host: str = "localhost") -> str:
    return f"amqps://guest:guest@{host}:{broker.tls_port}/?{options}"


async def test_messages_calls_and_names_go_over_tls(tls_broker: RabbitMQ, authority_file: Path, tmp_path: Path) -> None:
    client = AUTHORITY.issue_cert("client")
    client.cert_chain_pems[0].write_to_path(tmp_path / "client.pem")
    client.private_key_pem.write_to_path(tmp_path / "client.key")
    files = f"ssl_cert_file={tmp_path}/client.pem&ssl_key_file={tmp_path}/client.key&ssl_ca_file={authority_file}"
    amqp = Amqp(_url(tls_broker, files))
    bus = await amqp.bus()
    await bus.consume(amqp.queue, Recorder(Done()), concurrency=1)
    assert await bus.call(amqp.queue, CALL, timeout_seconds=60) == Done()
    await bus.announce(amqp.name())
    assert await bus.present(amqp.name()) is True
    await amqp.close()


@pytest.mark.parametrize("fault", ["unknown authority", "other host"])
async def test_a_broker_that_cannot_be_verified_is_refused_with_the_reason(
    tls_broker: RabbitMQ, authority_file: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr("evenkeel.bus.amqp.bus.START_SECONDS", 3.0)
    if fault == "unknown authority":
        trustme.CA().cert_pem.write_to_path(authority_file)
    host = "127.0.0.1" if fault == "other host" else "localhost"
    bus = AmqpBus(parse_nodes(_url(tls_broker, f"ssl_ca_file={authority_file}", host=host)), name="test")
    await why_not_started(bus, "TLS: the certificate cannot be verified")


async def test_an_unverified_broker_is_used_only_if_told_so_and_loudly(tls_broker: RabbitMQ) -> None:
    with structlog.testing.capture_logs() as logs:
        amqp = Amqp(_url(tls_broker, "ssl_verify=no", host="127.0.0.1"))
        await amqp.bus()
        await amqp.close()
    assert [entry["log_level"] for entry in logs if "NOT verified" in entry["event"]] == ["warning"]


async def test_a_port_without_tls_is_told(broker: RabbitMQ, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenkeel.bus.amqp.bus.START_SECONDS", 3.0)
    bus = AmqpBus(parse_nodes(f"amqps://guest:guest@localhost:{broker.port}/"), name="test")
    await why_not_started(bus, "TLS: ")
