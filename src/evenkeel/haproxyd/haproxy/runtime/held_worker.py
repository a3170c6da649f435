"""A connection to one worker's own runtime API that keeps the worker from ending.

HAProxy counts the last bytes of a connection when it ends, and a replaced worker ends with its last connection, before
these counts can be read. A worker also waits for connections to its runtime API (measured with HAProxy 2.6, 2.8, 3.0
and 3.2), so this connection must be closed once no other is left.
"""

import asyncio
import contextlib
from pathlib import Path

from evenkeel.haproxyd.errors import HaproxyDown

_PROMPT = b"\n> "
"""Prompt that ends each answer in interactive mode (HAProxy management guide, 9.3, ``prompt``)."""
TIMEOUT_SECONDS = 5.0
ANSWER_BYTES_MAX = 16 * 1024 * 1024


class HeldWorker:
    """Connection that keeps a worker from ending. Created by :meth:`open`; close it soon after the worker's last
    connection has ended.
    """

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
            # A connection that stays open after a failure would keep the worker from ending.
            failed.callback(held.close)
            await held.command("prompt")  # else the worker closes the connection after the first answer
            failed.pop_all()
        return held

    async def command(self, text: str) -> str:
        """Send one command and return the worker's answer. Raises :class:`HaproxyDown`."""
        return (await self.commands(text))[0]

    async def commands(self, *texts: str) -> tuple[str, ...]:
        """Send commands at once, and return the worker's answers. Raises :class:`HaproxyDown`."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                self._writer.write("".join(f"{text}\n" for text in texts).encode())
                await self._writer.drain()
                answers = [await self._reader.readuntil(_PROMPT) for _ in texts]
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise HaproxyDown(f"HAProxy's old worker does not answer: {type(error).__name__}") from error
        return tuple(answer.removesuffix(_PROMPT).decode(errors="replace") for answer in answers)

    def close(self) -> None:
        """Close the connection, so that the worker can end."""
        # close() would wait for unsent data, and the worker may read no more.
        self._writer.transport.abort()


def worker_pid(info: str) -> int:
    """Return the pid in the answer to ``show info``. Raises :class:`HaproxyDown` if there is none."""
    for line in info.splitlines():
        key, _, value = line.partition(": ")
        if key == "Pid" and value.strip().isdecimal():
            return int(value)
    raise HaproxyDown("HAProxy does not report its pid")
