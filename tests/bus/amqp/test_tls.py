"""TLS to a real broker: verified, and said loudly when it is not."""

from pathlib import Path

import pytest
import structlog
import trustme

from evenkeel.bus.amqp import AmqpBus, parse_nodes
from evenkeel.core.protocol.messages import Done
from tests.bus.amqp.starting import why_not_started
from tests.bus.test_contract import Recorder
from tests.bus.transports import CALL, Amqp
from tests.services.rabbitmq import SharedRabbitMQ

pytestmark = pytest.mark.services


@pytest.fixture
def authority_file(broker: SharedRabbitMQ, tmp_path: Path) -> Path:
    broker.authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    return tmp_path / "ca.pem"


def _url(broker: SharedRabbitMQ, options: str, *, host: str = "localhost") -> str:
    return f"amqps://guest:guest@{host}:{broker.tls_port}/{broker.vhost}?{options}"


async def test_messages_calls_and_names_go_over_tls(
    broker: SharedRabbitMQ, authority_file: Path, tmp_path: Path
) -> None:
    client = broker.authority.issue_cert("client")
    client.cert_chain_pems[0].write_to_path(tmp_path / "client.pem")
    client.private_key_pem.write_to_path(tmp_path / "client.key")
    files = f"ssl_cert_file={tmp_path}/client.pem&ssl_key_file={tmp_path}/client.key&ssl_ca_file={authority_file}"
    amqp = Amqp(_url(broker, files))
    bus = await amqp.bus()
    await bus.consume(amqp.queue, Recorder(Done()), concurrency=1)
    assert await bus.call(amqp.queue, CALL, timeout_seconds=60) == Done()
    await bus.announce(amqp.name())
    assert await bus.present(amqp.name()) is True
    await amqp.close()


@pytest.mark.parametrize("fault", ["unknown authority", "other host"])
async def test_a_broker_that_cannot_be_verified_is_refused_with_the_reason(
    broker: SharedRabbitMQ, authority_file: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr("evenkeel.bus.amqp.bus.START_SECONDS", 3.0)
    if fault == "unknown authority":
        trustme.CA().cert_pem.write_to_path(authority_file)
    host = "127.0.0.1" if fault == "other host" else "localhost"
    bus = AmqpBus(parse_nodes(_url(broker, f"ssl_ca_file={authority_file}", host=host)), name="test")
    await why_not_started(bus, "TLS: the certificate cannot be verified")


async def test_an_unverified_broker_is_used_only_if_told_so_and_loudly(broker: SharedRabbitMQ) -> None:
    with structlog.testing.capture_logs() as logs:
        amqp = Amqp(_url(broker, "ssl_verify=no", host="127.0.0.1"))
        await amqp.bus()
        await amqp.close()
    assert [entry["log_level"] for entry in logs if "NOT verified" in entry["event"]] == ["warning"]


async def test_a_port_without_tls_is_reported(broker: SharedRabbitMQ, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenkeel.bus.amqp.bus.START_SECONDS", 3.0)
    bus = AmqpBus(parse_nodes(f"amqps://guest:guest@localhost:{broker.port}/"), name="test")
    await why_not_started(bus, "TLS: ")
