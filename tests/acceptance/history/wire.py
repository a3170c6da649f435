"""A cable between an agent and the broker, to be cut: connections stay open, and nothing passes until it is healed.

What was sent meanwhile arrives then, as after a real partition.
"""

import asyncio
import contextlib

CHUNK_BYTES = 1 << 16


class Wire:
    """Listens on a free port of 127.0.0.1 and forwards to another."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self._to = port
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """Nothing passes from now on."""
        self._open.clear()

    def heal(self) -> None:
        """Let it pass again."""
        self._open.set()

    async def close(self) -> None:
        """End all connections."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._open.wait()
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._to)
            await asyncio.gather(self._pump(reader, there_writer), self._pump(there_reader, writer))
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._tasks.discard(task)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until one side ends, which ends the other."""
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK_BYTES):
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        await self._open.wait()
        writer.close()
