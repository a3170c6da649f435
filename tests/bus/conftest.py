"""The bus fixtures: every contract test runs on every transport."""

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bus.patience import be_patient
from tests.bus.transports import Amqp, Embedded, Memory, Transport
from tests.services.rabbitmq import RabbitMQ, SharedRabbitMQ


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """No limit of a bus passes because the machine is slow."""
    be_patient(monkeypatch.setattr)


@pytest.fixture
def broker(rabbitmq: SharedRabbitMQ, patience: None) -> SharedRabbitMQ:
    """A virtual host of RabbitMQ."""
    return rabbitmq


@pytest.fixture
def own_broker(own_rabbitmq: RabbitMQ, patience: None) -> RabbitMQ:
    """A RabbitMQ that the test may stop."""
    return own_rabbitmq


@pytest.fixture(params=["memory", "embedded", pytest.param("amqp", marks=pytest.mark.services)])
async def transport(request: pytest.FixtureRequest, patience: None) -> AsyncIterator[Transport]:
    """Each transport in turn."""
    with tempfile.TemporaryDirectory(prefix="bus") as directory:
        if request.param == "amqp":
            opened: Transport = Amqp(request.getfixturevalue("broker").url)
        elif request.param == "embedded":
            opened = Embedded(Path(directory))
        else:
            opened = Memory()
        yield opened
        await opened.close()


@pytest.fixture
async def embedded(patience: None) -> AsyncIterator[Embedded]:
    """The embedded transport alone."""
    with tempfile.TemporaryDirectory(prefix="bus") as directory:
        opened = Embedded(Path(directory))
        yield opened
        await opened.close()


@pytest.fixture
async def amqp(broker: SharedRabbitMQ) -> AsyncIterator[Amqp]:
    """RabbitMQ alone."""
    opened = Amqp(broker.url)
    yield opened
    await opened.close()


@pytest.fixture
async def own_amqp(own_broker: RabbitMQ) -> AsyncIterator[Amqp]:
    """A RabbitMQ that the test may stop."""
    opened = Amqp(own_broker.url)
    yield opened
    await opened.close()
