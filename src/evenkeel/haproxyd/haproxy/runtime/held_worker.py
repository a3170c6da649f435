"""A connection to one worker's own runtime API that keeps the worker from ending.

HAProxy counts the last bytes of a connection when it ends, and a worker that was replaced ends with its last
connection: before anybody could read these counts. A connection to its runtime API counts as one that it has to finish
(measured with HAProxy 2.6, 2.8, 3.0 and 3.2), so it must be closed once nothing else is left.
"""

import asyncio
import contextlib
from pathlib import Path

from evenkeel.haproxyd.errors import HaproxyDown

_PROMPT = b"\n> "
"""Ends each answer in interactive mode (HAProxy management guide, 9.3, ``prompt``)."""
TIMEOUT_SECONDS = 5.0
ANSWER_BYTES_MAX = 16 * 1024 * 1024


class HeldWorker:
    """A held worker. Created by :meth:`open`; to be closed soon after its last connection has ended."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, worker_socket: Path) -> "HeldWorker":
        """Connect to the worker that listens on the socket. Raises :class:`HaproxyDown`."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                streams = await asyncio.open_unix_connection(str(worker_socket), limit=ANSWER_BYTES_MAX)
        except (OSError, TimeoutError) as error:
            raise HaproxyDown(f"HAProxy's worker does not answer: {error}") from error
        held = cls(*streams)
        with contextlib.ExitStack() as failed:
            failed.callback(held.close)
            await held.ask("prompt")  # else the worker closes the connection after the first answer
            failed.pop_all()
        return held

    async def ask(self, text: str) -> str:
        """The answer to one command. Raises :class:`HaproxyDown`."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                self._writer.write(f"{text}\n".encode())
                await self._writer.drain()
                answer = await self._reader.readuntil(_PROMPT)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise HaproxyDown(f"HAProxy's old worker does not answer: {type(error).__name__}") from error
        return answer.removesuffix(_PROMPT).decode(errors="replace")

    def close(self) -> None:
        """Let the worker end."""
        self._writer.transport.abort()
