"""A bus end that speaks version 1 only: what it sends and takes goes through the frozen copy, both ways."""

from typing import TypeVar, cast

from evenkeel.bus.codec import decode, encode
from evenkeel.bus.memory import MemorySubscription
from evenkeel.core.kit.errors import MessageRejected
from evenkeel.core.ports import Handler
from evenkeel.core.protocol import messages as m
from tests.bus.recorded import version_1
from tests.system.world import WatchedBus

M = TypeVar("M", bound=m.Message)


def squeezed(message: M) -> M:
    """What is left of a message when a process of version 1 has read and written it."""
    try:
        old = version_1.decode(encode(cast(m.AnyMessage, message), message_id="x"))
    except version_1.SetAside as error:
        raise MessageRejected(str(error)) from error
    return cast(M, decode(version_1.encode(old)).body)


class NeighbourBus(WatchedBus):
    """The bus of a process of version 1. Such a process announces no presence and asks for none."""

    async def send(self, queue: str, message: m.Hint) -> None:
        await super().send(queue, squeezed(message))

    async def call(self, queue: str, message: m.Call, *, timeout_seconds: float) -> m.AnyReply:
        return squeezed(await super().call(queue, squeezed(message), timeout_seconds=timeout_seconds))

    async def consume(self, queue: str, handler: Handler, *, concurrency: int) -> MemorySubscription:
        async def handle(message: m.AnyMessage) -> m.AnyReply | None:
            reply = await handler(squeezed(message))
            return None if reply is None else squeezed(reply)

        return await super().consume(queue, handle, concurrency=concurrency)

    async def announce(self, name: str, will: object = None) -> "_Nothing":  # type: ignore[override]
        return _Nothing()

    async def present(self, name: str) -> bool | None:
        return None


class _Nothing:
    async def close(self) -> None:
        """Nothing was announced."""
