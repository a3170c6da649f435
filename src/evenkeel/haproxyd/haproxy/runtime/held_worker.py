"""A connection to one worker's own runtime API that keeps the worker from ending.

HAProxy counts the last bytes of a connection when it ends, and a replaced worker ends with its last connection, before
these counts can be read. A worker also waits for connections to its runtime API (measured with HAProxy 2.6, 2.8, 3.0
and 3.2), so this connection must be closed once no other is left.
"""

import asyncio
import contextlib
from pathlib import Path

from evenkeel.haproxyd.errors import HaproxyDown

_ANSWER_PROMPT = b"\n> "
"""Prompt that ends each answer in interactive mode (HAProxy management guide, 9.3, ``prompt``)."""
_INTERACTIVE_COMMAND = "prompt"
"""Command for interactive mode: otherwise the worker closes the connection after the first answer."""
SHOW_INFO = "show info"
TIMEOUT_SECONDS = 5.0
ANSWER_BYTES_MAX = 16 * 1024 * 1024


class HeldWorkerConnection:
    """Connection that keeps a worker from ending. Created by :meth:`open`; close it soon after the worker's last
    connection has ended.
    """

    def __init__(self, transport: asyncio.Transport, answers: "_AnswerCollector") -> None:
        self._transport = transport
        self._answers = answers

    @classmethod
    async def open(cls, worker_socket: Path, *texts: str) -> tuple["HeldWorkerConnection", tuple[str, ...]]:
        """Connect to the worker that listens on the socket, and send commands to it; returns the connection
        and one answer per command.

        Raises :class:`HaproxyDown` if the worker does not answer within 5 s; the connection is closed then.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                held = cls(*await loop.create_unix_connection(_AnswerCollector, str(worker_socket)))
        except (OSError, TimeoutError) as error:
            raise HaproxyDown(f"HAProxy's worker does not answer: {error}") from error
        with contextlib.ExitStack() as failed:
            # A connection that stays open after a failure would keep the worker from ending.
            failed.callback(held.close)
            _, *answers = await held.commands(_INTERACTIVE_COMMAND, *texts)
            failed.pop_all()
        return held, tuple(answers)

    async def command(self, text: str) -> str:
        """Send one command and return the worker's answer. Raises :class:`HaproxyDown` if there is none
        within 5 s.
        """
        return (await self.commands(text))[0]

    async def commands(self, *texts: str) -> tuple[str, ...]:
        """Send commands at once, and return the worker's answers, one per command. Raises
        :class:`HaproxyDown` if they do not arrive within 5 s, or the connection fails.
        """
        loop = asyncio.get_running_loop()
        answered = self._answers.expect(len(texts))
        timeout = loop.call_later(TIMEOUT_SECONDS, self._answers.fail, TimeoutError())
        try:
            self._transport.write("".join(f"{text}\n" for text in texts).encode())
            received = await answered
        except OSError as error:  # a TimeoutError is one
            raise HaproxyDown(f"HAProxy's old worker does not answer: {type(error).__name__}") from error
        finally:
            timeout.cancel()
        *found, _ = received.decode(errors="replace").split(_ANSWER_PROMPT.decode())
        if len(found) != len(texts):
            raise HaproxyDown("HAProxy's answers are not understood")
        return tuple(found)

    def close(self) -> None:
        """Close the connection, so that the worker can end."""
        # close() would wait for unsent data, and the worker may read no more.
        self._transport.abort()


class _AnswerCollector(asyncio.Protocol):
    """Protocol that collects a worker's answers to the commands sent last, at most 16 MiB.

    Used because a stream's buffers and waits cost more than the rest of an observation.
    """

    def __init__(self) -> None:
        self._received = bytearray()
        self._expected = 0
        self._answered: asyncio.Future[bytes] | None = None
        self._lost = False

    def expect(self, count: int) -> "asyncio.Future[bytes]":
        """Drop what was received, and return a future of the bytes of the next ``count`` answers, each with
        its prompt. The future fails with an :class:`OSError` if the connection does.
        """
        self._received.clear()
        self._expected = count
        self._answered = asyncio.get_running_loop().create_future()
        if self._lost:
            self.fail(ConnectionResetError())
        return self._answered

    def fail(self, error: OSError) -> None:
        """Complete the future of answers with the error, if there is one that is not complete."""
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(error)

    def _is_complete(self) -> bool:
        return self._received.endswith(_ANSWER_PROMPT) and self._received.count(_ANSWER_PROMPT) >= self._expected

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > ANSWER_BYTES_MAX:
            self.fail(ConnectionAbortedError())
        elif self._answered is not None and not self._answered.done() and self._is_complete():
            self._answered.set_result(bytes(self._received))

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self.fail(ConnectionResetError())


def worker_pid(info: str) -> int:
    """Return the pid in the answer to ``show info``. Raises :class:`HaproxyDown` if there is none."""
    for line in info.splitlines():
        key, _, value = line.partition(": ")
        if key == "Pid" and value.strip().isdecimal():
            return int(value)
    raise HaproxyDown("HAProxy does not report its pid")
