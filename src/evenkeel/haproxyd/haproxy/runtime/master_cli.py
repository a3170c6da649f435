"""HAProxy's runtime API through the master's socket, because an old worker may answer at the worker's own socket.

Each command uses a connection of its own, because a persistent one would stay with a worker that has been replaced;
only repeated queries have one (:mod:`.kept_connection`), which is closed before a reload. An answer ends when the
connection closes, and must end with a newline, so that a truncated answer is detected. During a reload the master drops
its connections: commands wait for the reload, and the reload waits for commands in progress.
"""

import asyncio
import contextlib
import functools
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.runtime.kept_connection import PersistentConnection

COMMAND_CHARS_MAX = 8000
"""Maximum length of a request; HAProxy's own buffer is 16 KiB."""
COMMAND_WORD_PATTERN = re.compile(r"[A-Za-z0-9_.:/@%+,=\[\]*-]+")
"""The characters allowed in a command's word; none is special to the runtime API."""
_COMMAND_PATTERN = re.compile(rf"{COMMAND_WORD_PATTERN.pattern}(?: {COMMAND_WORD_PATTERN.pattern})*")
_PAYLOAD_PATTERN = re.compile(r"(?:[\x20-\x7e]+\n)+")
_NO_WORKER_ANSWERS = ("Can't find the target", "Can't connect to the target")


class HaproxyProcesses(Value):
    """The processes that a master lists (``show proc``). ``reloads``: number of the master's reloads;
    ``worker_pid`` None: no current worker; ``workers_leaving``: pids of old workers, which only finish
    their connections.
    """

    master_pid: int
    reloads: int
    worker_pid: int | None
    workers_leaving: tuple[int, ...] = ()


class MasterCli:
    """Sends commands to one master, and through it to its workers.

    ``timeout_seconds``: for each answer; ``answer_bytes_max``: for one answer; ``worker_socket``: the
    worker's own socket, for :meth:`query`; None: queries go through the master, too.
    """

    def __init__(
        self, socket: Path, *, timeout_seconds: float, answer_bytes_max: int, worker_socket: Path | None = None
    ) -> None:
        self._socket = socket
        self._kept = PersistentConnection(worker_socket) if worker_socket is not None else None
        self._timeout_seconds = timeout_seconds
        self._answer_bytes_max = answer_bytes_max
        self._open = asyncio.Event()
        self._open.set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._under_way = 0

    async def command(self, text: str, payload: str = "") -> str:
        """Send one command, with a payload if it has one, to the current worker, and return the answer.

        Raises :class:`HaproxyDown` if there is no worker or no complete answer in time; :class:`ValueError`
        for a command or payload with characters that are not allowed.
        """
        return await self._send_when_open(f"@1 {text}", payload)

    async def commands(self, texts: Iterable[str], *, pid: int | None = None) -> str:
        """Send commands to the current worker, or to the worker ``pid``, one after the other, and return the
        answers as one text.

        Raises :class:`HaproxyDown` if there is no worker or no complete answer in time; :class:`ValueError`
        for characters that are not allowed.
        """
        answers: list[str] = []
        for request in encode_requests(texts, worker="@1" if pid is None else f"@!{pid:d}"):
            # The master is free between two requests, so that a reload need not wait for all of them.
            await self._wait_until_open()
            with self._counted_exchange():
                answers.append(await self._send_request(request, self._timeout_seconds))
        return "".join(answers)

    async def command_to_worker(self, pid: int, text: str) -> str:
        """Send one command to the worker with this pid, which may be an old one, and return the answer.

        Raises :class:`HaproxyDown` if that worker gives no complete answer in time; :class:`ValueError` for
        characters that are not allowed.
        """
        return await self._send_when_open(f"@!{pid:d} {text}", "")

    async def query(self, pid: int, *texts: str) -> tuple[str, ...]:
        """Send commands that change nothing to the worker with this pid, over a connection kept for the next
        query, or else through the master; return one answer per command.

        Raises :class:`HaproxyDown` if that worker gives no complete answers in time; :class:`ValueError` for
        a text that is not exactly one command.
        """
        for text in texts:
            _check_query(text)
        await self._wait_until_open()
        with self._counted_exchange():
            answers = await self._kept.query(pid, *texts) if self._kept is not None else None
            if answers is None:
                answers = tuple([await self.master_command(f"@!{pid:d} {text}") for text in texts])
            return answers

    def connection_to(self, pid: int) -> object | None:
        """Return the connection of :meth:`query` to the worker with this pid; None if there is none now."""
        return self._kept.connection_to(pid) if self._kept is not None else None

    def close(self) -> None:
        """Close the connection of :meth:`query`, so that the worker can end; the next query opens it again."""
        if self._kept is not None:
            self._kept.close()

    async def processes(self) -> HaproxyProcesses:
        """Read the current processes from the master. Raises :class:`HaproxyDown` if it does not answer or
        lists none.
        """
        return parse_processes(await self.master_command("show proc"))

    @contextlib.asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Return a context around a reload: it begins when commands in progress have ended or timed out;
        until its end, commands of other callers wait, and then raise :class:`HaproxyDown` after their
        time-out.
        """
        self._open.clear()
        try:
            with contextlib.suppress(TimeoutError):  # such a command has timed out anyway
                async with asyncio.timeout(self._timeout_seconds):
                    await self._idle.wait()
            self.close()
            yield
        finally:
            self._open.set()

    async def _send_when_open(self, text: str, payload: str) -> str:
        await self._wait_until_open()
        with self._counted_exchange():
            return await self.master_command(text, payload)

    async def _wait_until_open(self) -> None:
        """Wait while another caller has the master :meth:`exclusive`. Raises :class:`HaproxyDown` if that
        lasts longer than the time-out.
        """
        if self._open.is_set():  # no timer is needed
            return
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._open.wait()
        except TimeoutError as error:
            raise HaproxyDown("HAProxy is being reloaded") from error

    @contextlib.contextmanager
    def _counted_exchange(self) -> Iterator[None]:
        """Return a context for one exchange with HAProxy, whose end :meth:`exclusive` waits for. No await may
        lie between :meth:`_wait_until_open` and the context's begin.
        """
        self._under_way += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def master_command(self, text: str, payload: str = "", *, timeout_seconds: float | None = None) -> str:
        """Send one command to the master, also during :meth:`exclusive`, and return the answer.
        ``timeout_seconds`` None: the default.

        Raises :class:`HaproxyDown` if there is no complete answer in time; :class:`ValueError` for a command
        or payload with characters that are not allowed.
        """
        limit_seconds = self._timeout_seconds if timeout_seconds is None else timeout_seconds
        return await self._send_request(encode_request(text, payload), limit_seconds)

    async def _send_request(self, request: bytes, limit_seconds: float) -> str:
        try:
            async with asyncio.timeout(limit_seconds):
                answer = await self._request_answer(request)
        except TimeoutError as error:
            raise HaproxyDown(f"HAProxy did not answer in {limit_seconds:g} s") from error
        except OSError as error:
            raise HaproxyDown(f"HAProxy does not answer: {error.strerror or error}") from error
        if not answer.endswith("\n"):
            raise HaproxyDown("HAProxy's answer was cut")
        if answer.startswith(_NO_WORKER_ANSWERS):
            raise HaproxyDown("HAProxy has no worker")
        return answer

    async def _request_answer(self, request: bytes) -> str:
        loop = asyncio.get_running_loop()
        transport, answer = await loop.create_unix_connection(
            lambda: _WholeAnswerCollector(loop, self._answer_bytes_max), str(self._socket)
        )
        try:
            transport.write(request)
            transport.write_eof()  # the master closes the connection only after end of file
            return (await answer.complete).decode(errors="replace")
        finally:
            transport.abort()


class _WholeAnswerCollector(asyncio.Protocol):
    """Protocol that collects all bytes until the other side closes the connection; ``complete`` is their
    future, which fails above ``bytes_max``. A stream would cost twice as much.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, bytes_max: int) -> None:
        self._received = bytearray()
        self._bytes_max = bytes_max
        self.complete: asyncio.Future[bytes] = loop.create_future()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > self._bytes_max and not self.complete.done():
            self.complete.set_exception(HaproxyDown(f"HAProxy's answer is over {self._bytes_max} bytes"))

    def connection_lost(self, exc: Exception | None) -> None:
        if self.complete.done():
            return
        if exc is None:
            self.complete.set_result(bytes(self._received))
        else:
            self.complete.set_exception(exc)


@functools.lru_cache(maxsize=64)
def _check_query(text: str) -> None:
    """Raise :class:`ValueError` if the text is not exactly one command."""
    encode_request(text)


def encode_request(text: str, payload: str = "") -> bytes:
    """Encode a command, and its payload if there is one, for sending. Raises :class:`ValueError`, with no
    secret in the text, for anything that HAProxy could parse as two commands, or that is too long.
    """
    words = text[1:] if text.startswith("@!") else text
    if len(text) > COMMAND_CHARS_MAX or not _COMMAND_PATTERN.fullmatch(words.lstrip("!")):
        raise ValueError("not a command: a character that has a meaning of its own, or too long")
    if payload and not _PAYLOAD_PATTERN.fullmatch(payload):
        raise ValueError("not a payload: lines of printable ASCII, none of them empty")
    return f"{text} <<\n{payload}\n".encode() if payload else f"{text}\n".encode()


def encode_requests(texts: Iterable[str], *, worker: str = "@1") -> Iterator[bytes]:
    """Encode commands without payload for one worker, and yield as few requests as possible. ``worker``:
    prefix that addresses the worker; the default is the current one.

    Raises :class:`ValueError` for a text that HAProxy could parse as two commands, or that is too long.
    """
    some: list[bytes] = []
    size = 0
    for command in (encode_request(f"{worker} {text}").rstrip(b"\n") for text in texts):
        if some and size + len(command) > COMMAND_CHARS_MAX:
            yield b";".join(some) + b"\n"
            some, size = [], 0
        some.append(command)
        size += len(command) + 1
    if some:
        yield b";".join(some) + b"\n"


def parse_processes(text: str) -> HaproxyProcesses:
    """Parse the answer to ``show proc``. Raises :class:`HaproxyDown` if it lists no master."""
    master: tuple[int, int] | None = None
    workers: list[tuple[int, int]] = []
    leaving: list[tuple[int, int]] = []
    section = workers
    for line in text.splitlines():
        if line.startswith("# old workers"):
            section = leaving
        elif line.startswith("#"):
            # `#<PID>` begins the header of the columns; any other line with # begins a section.
            section = section if line.startswith("#<") else workers
        fields = line.split()
        if len(fields) > 2 and fields[0].isdigit() and fields[1] == "master":
            master = (int(fields[0]), int(fields[2]))
        elif len(fields) > 2 and fields[0].isdigit() and fields[1] == "worker":
            section.append((int(fields[0]), int(fields[2])))
    if master is None:
        raise HaproxyDown("HAProxy's master does not list its processes")
    if not workers and leaving:  # from 3.1 on, after a reload that failed: the worker that continues is listed as old
        # The youngest worker has seen the fewest reloads.
        workers = [min(leaving, key=lambda worker: worker[1])]
        leaving.remove(workers[0])
    return HaproxyProcesses(
        master_pid=master[0],
        reloads=master[1],
        worker_pid=workers[0][0] if workers else None,
        workers_leaving=tuple(pid for pid, _ in leaving),
    )
