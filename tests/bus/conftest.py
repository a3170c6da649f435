"""The bus fixtures: every contract test runs on every transport."""

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bus.patience import be_patient
from tests.bus.transports import Amqp, Embedded, Memory, Transport
from tests.services.rabbitmq import RabbitMQ


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """No limit of a bus passes because the machine is slow."""
    be_patient(monkeypatch.setattr)


@pytest.fixture
def broker(rabbitmq: RabbitMQ, patience: None) -> RabbitMQ:
    """RabbitMQ, running whatever the test before did to it."""
    rabbitmq.start()
    return rabbitmq


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
async def amqp(broker: RabbitMQ) -> AsyncIterator[Amqp]:
    """RabbitMQ alone."""
    opened = Amqp(broker.url)
    yield opened
    await opened.close()
