"""What is said of brokers that do not let us in, and how often."""

import asyncio
import uuid

import pytest
import structlog

from evenkeel.bus.amqp import AmqpBus, Node, parse_nodes
from evenkeel.bus.amqp.connection_errors import REPEAT_SECONDS, ConnectionErrorLog, ConnectionRefused
from evenkeel.core.kit.errors import BusUnavailable
from tests.bus.amqp.starting import why_not_started
from tests.services.rabbitmq import SharedRabbitMQ


def test_a_reason_is_reported_once_then_each_minute_and_again_when_it_changes() -> None:
    now = 100.0
    error_log, node, other = ConnectionErrorLog(lambda: now), Node(host="h", port=1), Node(host="h", port=2)
    with structlog.testing.capture_logs() as logs:
        for _ in range(5):
            error_log.record_failure(node, ConnectionRefused("one"))
        assert len(logs) == 1
        error_log.record_failure(other, BusUnavailable("one"))
        error_log.record_failure(node, ConnectionRefused("two"))
        assert len(logs) == 3
        now += REPEAT_SECONDS
        error_log.record_failure(node, ConnectionRefused("two"))
        error_log.record_failure(node, ConnectionRefused("two"))
        assert len(logs) == 4
        error_log.record_connection(node)
        error_log.record_failure(node, ConnectionRefused("two"))
    assert [(entry["log_level"], entry["node"], entry["reason"]) for entry in logs] == [
        ("error", "h:1", "one"),
        ("warning", "h:2", "one"),
        ("error", "h:1", "two"),
        ("error", "h:1", "two"),
        ("error", "h:1", "two"),
    ]


@pytest.mark.services
@pytest.mark.parametrize(
    ("credentials", "vhost", "reason"),
    [("guest:s3cret", "", "log-in as guest refused"), ("guest:guest", "s3cret", "virtual host s3cret refused")],
)
async def test_a_refusal_is_logged_once_with_the_host_for_all_connections_and_without_the_password(
    broker: SharedRabbitMQ, monkeypatch: pytest.MonkeyPatch, credentials: str, vhost: str, reason: str
) -> None:
    monkeypatch.setattr("evenkeel.bus.amqp.bus.START_SECONDS", 2.0)
    monkeypatch.setattr("evenkeel.bus.amqp.consumer.FIRST_CONNECT_SECONDS", 2.0)
    monkeypatch.setattr("evenkeel.bus.amqp.connection_errors.REPEAT_SECONDS", 3600.0)
    bus = AmqpBus(parse_nodes(f"amqp://{credentials}@127.0.0.1:{broker.port}/{vhost}"), name="test")
    with structlog.testing.capture_logs() as logs:
        errors = [await why_not_started(bus, reason) for _ in range(2)]

        async def nothing(message: object) -> None: ...

        await bus.consume("q", nothing, concurrency=1)
        await bus.close()
    assert [(entry["log_level"], entry["node"]) for entry in logs] == [("error", f"127.0.0.1:{broker.port}")]
    if vhost == "":
        assert "s3cret" not in f"{logs} {errors}"


@pytest.mark.services
async def test_a_user_that_is_made_later_gets_in(broker: SharedRabbitMQ) -> None:
    user = f"late-{uuid.uuid4()}"
    bus = AmqpBus(parse_nodes(broker.url.replace("guest:guest", f"{user}:s3cret")), name="test")
    starting = asyncio.create_task(bus.start())
    await asyncio.to_thread(broker.control, "add_user", user, "s3cret")
    await asyncio.to_thread(broker.control, "set_permissions", "-p", broker.vhost, user, ".*", ".*", ".*")
    try:
        await starting
    except BusUnavailable:  # the broker's tool may take longer than a start does
        await bus.start()
    await bus.close()
    await asyncio.to_thread(broker.control, "delete_user", user)
