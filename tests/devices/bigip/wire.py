"""The wire to a device, and ways to cut it off so that nobody is told: no reset, no refusal, only silence."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Wire:
    """A TCP forwarder to one port of this host. Cut, it takes connections and passes nothing on."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._open = asyncio.Event()
        self._open.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.address = ""

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        self._open.clear()

    def mend(self) -> None:
        """New connections work; those that were cut stay dead, as after a change of route."""
        for task in self._tasks:
            task.cancel()
        self._open.set()

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._connect((reader, writer)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, client: Pair) -> None:
        writers = [client[1]]
        try:
            await self._open.wait()
            device = await asyncio.open_connection("127.0.0.1", self._target)
            writers.append(device[1])
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass_on(client[0], device[1]))
                group.create_task(self._pass_on(device[0], client[1]))
        except* OSError:
            pass
        finally:
            for writer in writers:
                writer.transport.abort()

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            await self._open.wait()
            sink.write(data)
            await sink.drain()
        raise ConnectionError("ended")


@asynccontextmanager
async def wire_to(url: str) -> AsyncIterator[Wire]:
    """A wire to the device at ``https://127.0.0.1:port``."""
    made = Wire(int(url.rpartition(":")[2]))
    await made.start()
    try:
        yield made
    finally:
        await made.stop()
