"""The floor of an idle agent: a request and its reply each second and agent over RabbitMQ, by the client library alone.

Nothing of Even Keel but the bytes of a keepalive and its answer: no database, no rounds, no metrics. Each client has
one connection, and all are in one process, as in ``benchmarks.idle``; the servers are as many processes as that has
controllers.
"""

import argparse
import asyncio
import uuid
from pathlib import Path

import aiormq
import uvloop
from aiormq import spec
from aiormq.abc import DeliveredMessage

from evenkeel.bus.amqp.nodes import HEARTBEAT_SECONDS
from evenkeel.bus.codec import encode
from evenkeel.core.kit.ids import AgentId, SessionId
from evenkeel.core.protocol.messages import Keepalive, SessionState

QUEUE = "floor"
REPLY_TO = "amq.rabbitmq.reply-to"
INTERVAL_SECONDS = 1.0
SETTLE_SECONDS = 5.0


async def open_channel(url: str) -> aiormq.abc.AbstractChannel:
    """A channel without confirms on a connection of its own."""
    connection = await aiormq.connect(f"{url}?heartbeat={HEARTBEAT_SECONDS}")
    return await connection.channel(publisher_confirms=False)


async def serve(url: str, ready: Path) -> None:
    """Answer requests, until this process is killed. ``ready``: a file to be made when it has begun."""
    replies = await open_channel(url)
    requests = await open_channel(url)
    await requests.queue_declare(QUEUE)
    answer = encode(
        SessionState(ttl_seconds=5.0, assignments_revision=1, history=str(uuid.uuid4()), keepalives=1000),
        message_id=uuid.uuid4().hex,
    )

    async def received(message: DeliveredMessage) -> None:
        address = message.header.properties.reply_to or ""
        await replies.basic_publish(answer, routing_key=address, properties=spec.Basic.Properties(), wait=False)

    await requests.basic_consume(QUEUE, received, no_ack=True)
    await asyncio.to_thread(ready.touch)
    await asyncio.Event().wait()


async def ask(url: str, count: int, ready: Path) -> None:
    """This many clients, until this process is killed. ``ready``: a file to be made when all have begun."""
    begun = asyncio.Barrier(count)

    async def client(number: int) -> None:
        channel = await open_channel(url)
        await channel.basic_consume(REPLY_TO, ignore, no_ack=True)
        call = Keepalive(agent_id=AgentId(str(uuid.uuid4())), session_id=SessionId(str(uuid.uuid4())))
        raw = encode(call, message_id=uuid.uuid4().hex, reply_to=REPLY_TO)
        properties = spec.Basic.Properties(reply_to=REPLY_TO, expiration="1250")
        await begun.wait()
        await asyncio.to_thread(ready.touch)
        await asyncio.sleep(INTERVAL_SECONDS * number / count)  # spread over the interval
        while True:
            await channel.basic_publish(raw, routing_key=QUEUE, properties=properties, wait=False)
            await asyncio.sleep(INTERVAL_SECONDS)

    await asyncio.gather(*map(client, range(count)))


async def ignore(message: DeliveredMessage) -> None:
    """The reply has come."""


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers-of", metavar="URL")
    parser.add_argument("--clients-of", metavar="URL")
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--ready", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.servers_of:  # as controllers: with their event loop
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(arguments.servers_of, arguments.ready))
    else:
        asyncio.run(ask(arguments.clients_of, arguments.clients, arguments.ready))


if __name__ == "__main__":
    main()
