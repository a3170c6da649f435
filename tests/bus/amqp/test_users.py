"""Agents with users of their own: what the broker lets them do, and whom controllers believe."""

import asyncio
import functools
import shlex
import uuid
from collections.abc import AsyncIterator, Callable, Iterator

import aio_pika
import pytest
import structlog
from aio_pika.abc import AbstractChannel
from aiormq.exceptions import ChannelAccessRefused, ChannelLockedResource, ChannelPreconditionFailed

from evenkeel.bus.access import AgentAccess, ControllerAccess, impersonation_refusal
from evenkeel.bus.amqp.topology import DEAD_QUEUE, calls_exchange, declare_own_queue
from evenkeel.bus.codec import encode
from evenkeel.bus.factory import open_bus
from evenkeel.cmd import rabbitmq as command
from evenkeel.core.kit.errors import BusUnavailable
from evenkeel.core.kit.names import default_agent_id
from evenkeel.core.ports import Bus, Will
from evenkeel.core.protocol import messages as m
from evenkeel.core.resources.statuses import HaType
from tests.services.rabbitmq import SharedRabbitMQ
from tests.waiting import eventually

pytestmark = pytest.mark.services

HOSTS = ("host.1", "host-2")
MORE_QUEUES = 20
POLICIES = ("evenkeel-presence", "evenkeel-dead")


@functools.cache
def environment() -> str:
    """Of this process: users are those of the whole node, which other workers have, too."""
    return f"users-{uuid.uuid4()}"


def callback() -> str:
    """The queue of the environment's controllers."""
    return m.callback_queue(environment())


def id_of(host: str) -> str:
    """The host's agent, and its user."""
    return default_agent_id(environment(), 1, host)


def queue_of(host: str) -> str:
    return m.agent_queue(environment(), 1, host)


@pytest.fixture(scope="module")
def users(rabbitmq_node: SharedRabbitMQ) -> Iterator[SharedRabbitMQ]:
    """A virtual host with the users as the command's printed lines make them."""
    with rabbitmq_node.virtual_host() as broker:
        for host in HOSTS:
            broker.add_agent(environment(), 1, host, password="s3cret")
        yield broker
        for user in map(id_of, HOSTS):
            broker.delete_user(user)


def url_of(users: SharedRabbitMQ, host: str) -> str:
    return users.url.replace("guest:guest", f"{id_of(host)}:s3cret")


class Scene:
    """One controller's bus, and agents'."""

    def __init__(self, users: SharedRabbitMQ) -> None:
        self.users = users
        self.heard: list[m.AnyMessage] = []
        self._buses: list[Bus] = []

    async def controller(self) -> Bus:
        bus = await self._open(self.users.url, ControllerAccess(refusal=impersonation_refusal))
        await bus.consume(callback(), self._answer, concurrency=4)
        return bus

    async def agent(self, host: str) -> Bus:
        return await self._open(url_of(self.users, host), AgentAccess(user=id_of(host)))

    async def _open(self, url: str, access: AgentAccess | ControllerAccess) -> Bus:
        bus = open_bus(url, name="test", access=access)
        self._buses.append(bus)
        await bus.start()
        return bus

    async def _answer(self, message: m.AnyMessage) -> m.AnyReply:
        self.heard.append(message)
        return m.Done()

    async def close(self) -> None:
        for bus in self._buses:
            await bus.close()


@pytest.fixture
async def scene(users: SharedRabbitMQ, patience: None) -> AsyncIterator[Scene]:
    opened = Scene(users)
    yield opened
    await opened.close()


def keepalive(host: str) -> m.Keepalive:
    return m.Keepalive(agent_id=id_of(host), session_id="s")


def register(host: str, place: str) -> m.Register:
    return m.Register(
        agent_id=id_of(host),
        session_id="s",
        environment=environment(),
        group_number=1,
        host=place,
        device_driver="noop",
        ha_type=HaType.STANDALONE,
    )


async def test_an_agent_with_its_own_user_calls_hears_and_is_seen(scene: Scene) -> None:
    controller, first, second = await scene.controller(), await scene.agent("host.1"), await scene.agent("host-2")
    hints: dict[str, list[m.AnyMessage]] = {host: [] for host in HOSTS}

    def hearing(host: str) -> Callable[[m.AnyMessage], object]:
        async def heard(message: m.AnyMessage) -> None:
            hints[host].append(message)

        return heard

    for host, bus in zip(HOSTS, (first, second), strict=True):
        await bus.consume(queue_of(host), hearing(host), concurrency=1)  # type: ignore[arg-type]
        assert await bus.call(callback(), register(host, host), timeout_seconds=60) == m.Done()
        await controller.send(queue_of(host), m.ApplyHint(shard_id=host, load_balancer_ids=()))
    await eventually(lambda: all(len(seen) == 1 for seen in hints.values()))
    # settled: no host may get another hint
    assert all(hints[host] == [m.ApplyHint(shard_id=host, load_balancer_ids=())] for host in HOSTS)

    name = m.presence_name(str(uuid.uuid4()))
    announcement = await first.announce(name)
    await eventually(lambda: controller.present(name))
    await announcement.close()

    async def gone() -> bool:
        return await controller.present(name) is False

    await eventually(gone)


async def test_an_agent_with_its_own_user_leaves_a_will(scene: Scene) -> None:
    await scene.controller()
    agent = await scene.agent("host.1")
    notice = m.Departure(agent_id=id_of("host.1"), session_id="s")
    announcement = await agent.announce(m.presence_name(str(uuid.uuid4())), Will(queue=callback(), message=notice))
    session = announcement._link.current  # type: ignore[attr-defined]
    await session.queue.channel.close()
    await eventually(lambda: notice in scene.heard)


async def test_call_in_the_name_of_another_agent_or_place_is_refused(scene: Scene) -> None:
    await scene.controller()
    agent = await scene.agent("host.1")
    for forged in (keepalive("host-2"), register("host.1", "host-2"), register("host-2", "host-2")):
        reply = await agent.call(callback(), forged, timeout_seconds=60)
        assert isinstance(reply, m.Refused)
        assert reply.code == "not_authorised"
    nobody = open_bus(scene.users.url, name="test")  # allowed to send to every queue, but vouched for by nobody
    await nobody.start()
    try:
        reply = await nobody.call(callback(), keepalive("host.1"), timeout_seconds=60)
    finally:
        await nobody.close()
    assert isinstance(reply, m.Refused)
    assert "no user validated" in reply.reason
    assert not scene.heard
    assert await agent.call(callback(), keepalive("host.1"), timeout_seconds=60) == m.Done()


async def test_the_broker_refuses_an_agent_what_is_not_its_own(scene: Scene) -> None:
    controller, victim = await scene.controller(), await scene.agent("host-2")

    async def nothing(message: m.AnyMessage) -> None: ...

    await victim.consume(queue_of("host-2"), nothing, concurrency=1)
    presence = m.presence_name(str(uuid.uuid4()))
    await victim.announce(presence)
    await controller.send(queue_of("host.1"), m.AssignmentsHint())
    connection = await aio_pika.connect(url_of(scene.users, "host.1"))

    async def refused(what: Callable[[AbstractChannel], object], kind: type[Exception] = ChannelAccessRefused) -> None:
        channel = await connection.channel(on_return_raises=True)
        with pytest.raises(kind):
            await what(channel)  # type: ignore[misc]

    async def get(channel: AbstractChannel, queue: str) -> None:
        await (await channel.get_queue(queue, ensure=False)).get(no_ack=True)

    async def publish(channel: AbstractChannel, exchange: str, key: str, user: str | None) -> None:
        message = aio_pika.Message(b"x", user_id=user)
        through = await channel.get_exchange(exchange, ensure=False) if exchange else channel.default_exchange
        await through.publish(message, key)

    try:
        for queue in (callback(), queue_of("host-2"), DEAD_QUEUE):
            await refused(lambda channel, queue=queue: get(channel, queue))
            await refused(lambda channel, queue=queue: declare_own_queue(channel, queue))
            await refused(lambda channel, queue=queue: publish(channel, "", queue, id_of("host.1")))
        await refused(lambda channel: get(channel, presence), ChannelLockedResource)
        for exchange in ("amq.fanout", calls_exchange(m.callback_queue("other"))):
            await refused(lambda channel, name=exchange: publish(channel, name, "", id_of("host.1")))
        for user in (id_of("host-2"), "guest"):
            await refused(
                lambda channel, user=user: publish(channel, calls_exchange(callback()), "", user),
                ChannelPreconditionFailed,
            )
        channel = await connection.channel()
        own = await declare_own_queue(channel, queue_of("host.1"))
        assert await own.get(no_ack=True) is not None
    finally:
        await connection.close()
    assert not scene.heard


async def test_controllers_write_to_no_queue_that_a_caller_names(scene: Scene) -> None:
    await scene.controller()
    connection = await aio_pika.connect(url_of(scene.users, "host.1"))
    try:
        channel = await connection.channel()
        own = await declare_own_queue(channel, queue_of("host.1"))
        await own.purge()
        raw = encode(keepalive("host.1"), message_id="m", reply_to=queue_of("host.1"))
        message = aio_pika.Message(raw, user_id=id_of("host.1"), reply_to=queue_of("host.1"))
        calls = await channel.get_exchange(calls_exchange(callback()), ensure=False)
        with structlog.testing.capture_logs() as lines:
            await calls.publish(message, "")
            await eventually(lambda: [line for line in lines if "its address is a queue" in line["event"]])
        assert scene.heard == [keepalive("host.1")]
        assert await own.get(no_ack=True, fail=False) is None
    finally:
        await connection.close()


async def test_an_agent_waits_for_the_first_controller(users: SharedRabbitMQ, patience: None) -> None:
    await asyncio.to_thread(users.control, "eval", _deleted(users.vhost, calls_exchange(callback())))
    scene = Scene(users)
    try:
        agent = await scene.agent("host.1")
        with pytest.raises(BusUnavailable):
            await agent.call(callback(), keepalive("host.1"), timeout_seconds=5)
        await scene.controller()

        async def answered() -> bool:
            try:
                return await agent.call(callback(), keepalive("host.1"), timeout_seconds=60) == m.Done()
            except BusUnavailable:
                return False

        await eventually(answered)
    finally:
        await scene.close()


def _deleted(vhost: str, exchange: str) -> str:
    name = f'rabbit_misc:r(<<"{vhost}">>, exchange, <<"{exchange}">>)'
    return f'rabbit_exchange:delete({name}, false, <<"test">>).'


@pytest.fixture
def limited(users: SharedRabbitMQ, monkeypatch: pytest.MonkeyPatch) -> Iterator[SharedRabbitMQ]:
    """The virtual host with the limits as the command's printed lines set them, of a few more queues than it has."""
    monkeypatch.setattr(command, "PRESENCE_UNUSED_SECONDS", 1)
    for arguments in command.limit_commands(vhost=users.vhost, queues_max=queues_of(users) + MORE_QUEUES):
        users.control(*arguments)
    yield users
    names = ", ".join(f'rabbit_policy:delete_op(<<"{users.vhost}">>, <<"{name}">>, <<"test">>)' for name in POLICIES)
    users.evaluate(f'{names}, rabbit_vhost_limit:clear(<<"{users.vhost}">>, <<"test">>)')


def queues_of(broker: SharedRabbitMQ) -> int:
    return int(broker.evaluate(f'rabbit_amqqueue:count(<<"{broker.vhost}">>)'))


async def test_queues_of_an_agents_user_are_limited_in_number_and_size_and_do_not_outlive_it(
    limited: SharedRabbitMQ,
) -> None:
    before = queues_of(limited)
    connection = await aio_pika.connect(url_of(limited, "host.1"))
    try:
        name = f"{m.presence_name(str(uuid.uuid4()))}.will"
        channel = await connection.channel()
        exchange = await channel.declare_exchange(name, "fanout", durable=True)
        queue = await channel.declare_queue(name, durable=True)  # without any argument that limits it
        await queue.bind(exchange)
        await channel.set_qos(prefetch_count=1)
        await queue.consume(ignored)  # it is in use
        for _ in range(command.PRESENCE_MESSAGES_MAX * 5):
            await exchange.publish(aio_pika.Message(b"x", user_id=id_of("host.1")), "")
        found = await channel.declare_queue(name, passive=True)
        assert (found.declaration_result.message_count or 0) <= command.PRESENCE_MESSAGES_MAX
        with pytest.raises(ChannelPreconditionFailed, match="limit"):
            for _ in range(MORE_QUEUES + 1):
                await channel.declare_queue(m.presence_name(str(uuid.uuid4())), durable=True)
    finally:
        await connection.close()
    await eventually(lambda: queues_of(limited) <= before, every_seconds=0.2)


async def test_an_agent_is_seen_and_leaves_a_will_within_the_limits(scene: Scene, limited: SharedRabbitMQ) -> None:
    controller, agent = await scene.controller(), await scene.agent("host.1")
    name, notice = m.presence_name(str(uuid.uuid4())), m.Departure(agent_id=id_of("host.1"), session_id="limited")
    announcement = await agent.announce(name, Will(queue=callback(), message=notice))
    await eventually(lambda: controller.present(name))
    await announcement._link.current.queue.channel.close()  # type: ignore[attr-defined]
    await eventually(lambda: notice in scene.heard)


async def ignored(message: object) -> None:
    """Not acknowledged."""


def test_an_agent_with_another_ones_user_gets_an_error_at_start(users: SharedRabbitMQ) -> None:
    with pytest.raises(ValueError, match=f"this agent's user is {id_of('host.1')}"):
        open_bus(users.url, name="test", access=AgentAccess(user=id_of("host.1")))


@pytest.mark.parametrize("url", ["memory://x", "embedded:///tmp/x"])
def test_only_rabbitmq_has_users(url: str) -> None:
    with pytest.raises(ValueError, match="needs RabbitMQ"):
        open_bus(url, name="test", access=ControllerAccess(refusal=impersonation_refusal))


def test_the_printed_lines_are_what_is_run_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["agent-user", "--environment", environment(), "--host", "host.1"]) == 0
    lines = [tuple(shlex.split(line)) for line in capsys.readouterr().out.splitlines()]
    expected = (*command.agent_user_commands(environment(), 1, "host.1", vhost="/"), *command.limit_commands(vhost="/"))
    assert lines == [("rabbitmqctl", *one) for one in expected]
    for wrong in (["--environment", "not one"], ["--environment", "one", "--max-queues", "3"]):
        with pytest.raises(SystemExit):
            command.main(["agent-user", *wrong, "--host", "h"])
