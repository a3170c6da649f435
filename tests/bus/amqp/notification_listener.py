"""A notification listener of oslo.messaging in a process of its own, as Ceilometer is one.

``python -m tests.bus.amqp.notification_listener URL TOPIC EXCHANGE…`` prints a line of JSON for each notification, and
before them an empty one when it consumes.
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from typing import Any, Self


class Listener:
    """The process, and what it has received."""

    def __init__(self, url: str, *exchanges: str, topic: str = "notifications") -> None:
        url = url.replace("amqp://", "rabbit://")  # oslo.messaging's name
        self._command = (sys.executable, "-W", "ignore", "-m", __name__, url, topic, *exchanges)
        self._process: Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self.received: list[dict[str, Any]] = []

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(*self._command, stdout=PIPE)
        assert self._process.stdout is not None
        assert await self._process.stdout.readline(), "the listener ended"
        self._reading = asyncio.create_task(self._read(self._process))
        return self

    async def __aexit__(self, *_error: object) -> None:
        assert self._process is not None and self._reading is not None
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        await self._reading

    async def _read(self, process: Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            self.received.append(json.loads(line))

    def first_receptions(self) -> list[dict[str, Any]]:
        """Received notifications without repetitions, as a consumer discards them: by message id."""
        found: dict[str, dict[str, Any]] = {}
        for each in self.received:
            found.setdefault(each["metadata"]["message_id"], each)
        return list(found.values())


def _print(value: dict[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()


class _Endpoint:
    def info(
        self, context: dict[str, Any], publisher_id: str, event_type: str, payload: Any, metadata: dict[str, Any]
    ) -> None:
        _print(
            {
                "context": context,
                "publisher_id": publisher_id,
                "event_type": event_type,
                "payload": payload,
                "metadata": metadata,
            }
        )


def main(url: str, topic: str, exchanges: Sequence[str]) -> None:
    """Listen until killed."""
    from oslo_service import backend

    backend.init_backend(backend.BackendType.THREADING)
    import oslo_messaging
    from oslo_config import cfg

    conf = cfg.CONF
    conf([], project="listener", default_config_files=[])
    transport = oslo_messaging.get_notification_transport(conf, url=url)
    # None may be lost over a restart of the broker; such a consumer also starts again quickly.
    conf.set_override("amqp_durable_queues", True, group="oslo_messaging_rabbit")
    conf.set_override("rabbit_retry_interval", 1, group="oslo_messaging_rabbit")
    targets = [oslo_messaging.Target(topic=topic, exchange=exchange) for exchange in exchanges]
    listener = oslo_messaging.get_notification_listener(transport, targets, [_Endpoint()], executor="threading")
    listener.start(override_pool_size=1)  # one thread: in the order of the queue
    _print({})
    listener.wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
