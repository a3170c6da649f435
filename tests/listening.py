"""Servers in a test's own event loop, which leave no connection open when they end.

``asyncio.Server.close`` leaves accepted connections open. If the event loop ends before their handlers have, which
happens on a busy machine, a transport stays unclosed, and the warning fails whatever test runs when it is collected.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class StreamServer:
    """A server that runs; ``answer`` is called for each connection. Use :meth:`start`; an asynchronous context manager
    that closes it."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._writers: list[asyncio.StreamWriter] = []

    @classmethod
    async def start(
        cls, answer: Answer, host: str | None = "127.0.0.1", port: int | None = 0, **options: Any
    ) -> "StreamServer":
        """Listen at a TCP address; port 0: a free one. ``options``: those of ``asyncio.start_server``."""
        made = cls(answer)
        made._server = await asyncio.start_server(made._serve, host, port, **options)
        return made

    @classmethod
    async def start_unix(cls, answer: Answer, path: str | os.PathLike[str]) -> "StreamServer":
        """Listen at a Unix socket."""
        made = cls(answer)
        made._server = await asyncio.start_unix_server(made._serve, Path(path))
        return made

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        """Accept no more connections, and end those that are open without sending what is left."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
        if self._server is not None:
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        await self._answer(reader, writer)
