"""A connection with a reconnect loop over all nodes of the cluster.

The client library uses a single URL and would wait for a dead node to return. Here a lost connection is replaced at
once by one to the next node; only after all have failed is there a short pause with jitter.
"""

import asyncio
import contextlib
import logging
import random
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Generic, TypeVar

import aio_pika
import structlog
from aio_pika.abc import AbstractConnection
from aio_pika.exceptions import AMQPError, ChannelInvalidStateError
from yarl import URL

from evenkeel.bus.amqp.connection_errors import ConnectionErrorLog, translate_refusals
from evenkeel.bus.amqp.nodes import Node
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import BusUnavailable

CONNECT_SECONDS = 3.0
SETUP_SECONDS = 10.0
VERIFY_SECONDS = 5.0
"""Time-out of a broker's answer to a probe, after which the broker counts as gone."""
CLOSE_SECONDS = 3.0
RECONNECT = Backoff(initial_seconds=0.2, max_seconds=1.0, jitter=(0.0, 1.0), min_seconds=0.05)
WAIT_FOR_MAIN_SECONDS = 10.0
"""Time for which a connection waits for the process's main one after an outage."""
STABLE_SECONDS = 1.0
"""Lifetime of a connection below which its loss counts as a failure, so that flapping leads to pauses, too."""

S = TypeVar("S")
log = structlog.get_logger(__name__)


class AmqpConnection(Generic[S]):
    """Keeps a connection to one of the nodes open until closed, with the *session* that ``open_session``
    opens on it (channels, a consumer); replaces both when the connection is lost.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        *,
        name: str,
        error_log: ConnectionErrorLog,
        open_session: Callable[[AbstractConnection], Awaitable[S]],
        on_down: Callable[[], None] = lambda: None,
        wait_for_main: Callable[[], Awaitable[None]] | None = None,
        probe_session: Callable[[S], Awaitable[object]] | None = None,
    ) -> None:
        """``nodes`` are tried in this order. ``on_down`` is called after each end of a connection, also of
        one that was never established.

        ``wait_for_main`` returns when the process can send again. After an outage this connection waits for that
        first, at most ``WAIT_FOR_MAIN_SECONDS``: all processes reconnect at once, and the messages sent over
        their main connections keep sessions alive. ``probe_session`` sends a request to the broker over a session; with
        it heartbeats are rare, and :meth:`verify` must be called when another connection to the broker is
        lost.
        """
        self._nodes = nodes
        self._name = name
        self._error_log = error_log
        self._open_session = open_session
        self._on_down = on_down
        self._wait_for_main = wait_for_main
        self._probe_session = probe_session
        self._verifying: asyncio.Task[None] | None = None
        self._lost = asyncio.Event()
        self._up = asyncio.Event()
        self._session: S | None = None
        self._task: asyncio.Task[None] | None = None
        self._reason = "not connected yet"

    def start(self) -> None:
        if self._task is None:
            _silence_library_logs()
            self._task = asyncio.get_running_loop().create_task(self._reconnect_repeatedly())

    async def session(self, *, timeout_seconds: float) -> S:
        """Return the session; waits up to ``timeout_seconds`` for a connection if there is none. Raises
        :class:`BusUnavailable` after that.
        """
        try:
            async with asyncio.timeout(timeout_seconds):
                while self._session is None:  # one that came up may be lost before this task runs
                    await self._up.wait()
        except TimeoutError as error:
            raise BusUnavailable(f"no connection to the message broker: {self._reason}") from error
        return self._session

    @property
    def current(self) -> S | None:
        """The session of the present connection; None if there is no connection."""
        return self._session

    async def wait_until_up(self) -> None:
        """Wait, without a time-out, until there is a session."""
        await self._up.wait()

    def replace_session(self, session: S) -> None:
        """Disconnect and connect again, because ``session`` no longer works; ignored if it is not the current
        session.
        """
        # A late report about a session that was replaced already must not cost the new one.
        if session is self._session:
            self._lost.set()

    def verify(self) -> None:
        """Start a check, in the background, that the broker answers over the session within
        ``VERIFY_SECONDS``; otherwise the session is replaced. Does nothing without a session or without a
        request to send.
        """
        session, probe_session = self._session, self._probe_session
        # One verification at a time: several lost connections need it at once.
        if session is not None and probe_session is not None and self._task is not None and self._verifying is None:
            self._verifying = asyncio.get_running_loop().create_task(self._verify_session(session, probe_session))

    async def _verify_session(self, session: S, probe_session: Callable[[S], Awaitable[object]]) -> None:
        try:
            with translate_errors("asking the broker"):
                async with asyncio.timeout(VERIFY_SECONDS):
                    await probe_session(session)
        except BusUnavailable as error:
            log.warning("message broker does not answer", client=self._name, reason=str(error))
            self.replace_session(session)
        finally:
            self._verifying = None

    async def close(self) -> None:
        """Disconnect and stop reconnecting. Errors of the connection are ignored."""
        tasks = [task for task in (self._task, self._verifying) if task is not None]
        # Set before the cancellation, because the loop checks it: aiormq may turn a cancellation into an error.
        self._task = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _reconnect_repeatedly(self) -> None:
        loop = asyncio.get_running_loop()
        failures = 0
        while True:
            for node in self._nodes:
                if self._task is None:  # closed: the library may turn the cancellation into an error
                    return
                began = loop.time()
                try:
                    await self._connect_and_wait(node)
                    log.warning("message broker connection lost", node=str(node), client=self._name)
                except BusUnavailable as error:
                    self._reason = str(error)
                    self._error_log.record_failure(node, error)
                    began = loop.time()  # a failure that took long is no stable connection
                except Exception:  # an internal error must not stop the reconnect loop while the process runs
                    self._reason = "internal error"
                    log.exception("message broker connection failed", node=str(node), client=self._name)
                    began = loop.time()
                # A broker that accepts connections and drops them at once counts as failing, or the loop would never
                # pause.
                failures = 0 if loop.time() - began > STABLE_SECONDS else failures + 1
            # No pause before every node was tried once: fail-over has to be fast.
            if failures >= len(self._nodes):
                await asyncio.sleep(RECONNECT.delay_seconds(failures, random.uniform))
                await self._wait_for_main_connection()

    async def _wait_for_main_connection(self) -> None:
        if self._wait_for_main is not None:
            # Only a courtesy: after the time-out this connection is opened in any case.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WAIT_FOR_MAIN_SECONDS):
                    await self._wait_for_main()

    async def _connect_and_wait(self, node: Node) -> None:
        """Connect to a node, open the session, and return when the connection is lost. Raises
        :class:`BusUnavailable` if it could not be established. In every case ``on_down`` is called at the
        end.
        """
        self._lost = lost = asyncio.Event()  # of this connection: one that closes late concerns no later one
        # created before connecting, so that it is always closed: else the library would do that at garbage collection,
        # perhaps in a closed event loop
        connection = aio_pika.Connection(URL(node.url(self._name, idle=self._probe_session is not None)))
        try:
            with translate_errors("connecting"):
                async with asyncio.timeout(CONNECT_SECONDS):
                    # Only around connecting: the same exceptions mean something else once the connection is open.
                    with translate_refusals(node):
                        await connection.connect()
                # Before the session is opened, so that a loss during its set-up is not missed.
                connection.close_callbacks.add(lambda *_: lost.set())
                async with asyncio.timeout(SETUP_SECONDS):
                    self._session = await self._open_session(connection)
            self._error_log.record_connection(node)
            log.info("message broker connected", node=str(node), client=self._name)
            self._up.set()
            await lost.wait()
        finally:
            self._session = None
            self._up.clear()
            # The session is gone before the callback runs, so that nothing new is sent over it.
            self._on_down()
            await _close_connection(connection)


def _silence_library_logs() -> None:
    """Silence the client library's tracebacks about lost connections, which this module logs in one line. A
    log level that was set explicitly is kept.
    """
    for name in ("aiormq", "aio_pika"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            # A level that was set on purpose is kept.
            logger.setLevel(logging.CRITICAL)


async def _close_connection(connection: AbstractConnection) -> None:
    """Close the connection within ``CLOSE_SECONDS``, because the peer may hang; failures are ignored."""
    with contextlib.suppress(BusUnavailable), translate_errors("closing"):
        async with asyncio.timeout(CLOSE_SECONDS):
            await connection.close()


@contextlib.contextmanager
def translate_errors(doing: str) -> Iterator[None]:
    """Context manager that turns errors of the client library and the network, and time-outs, into
    :class:`BusUnavailable`. ``doing``: the attempted action, which begins the error's text. A cancellation
    of the current task passes unchanged.
    """
    try:
        yield
    except asyncio.CancelledError as error:
        # the library cancels waiters of a lost connection; that does not cancel the caller's task
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise BusUnavailable(f"{doing}: the connection to the message broker was lost") from error
    except TimeoutError as error:
        raise BusUnavailable(f"{doing}: the message broker did not answer in time") from error
    # aio_pika raises plain RuntimeErrors for connections and channels that are not open.
    except (AMQPError, OSError, ChannelInvalidStateError, RuntimeError) as error:
        raise BusUnavailable(f"{doing}: {_error_text(error)}") from error
    except Exception as error:
        # aiormq ends requests by a bare Exception if their connection closes while it has no error to name: when it is
        # closed here, in a race with its reader.
        if type(error) is not Exception:
            raise
        raise BusUnavailable(f"{doing}: the connection to the message broker was closed") from error


def _error_text(error: BaseException) -> str:
    """Return the class and text of an error, cut to 300 characters, without memory addresses. Texts of the
    broker and the system contain no credentials.
    """
    text = re.sub(r" object at 0x[0-9a-f]+", "", str(error))  # differs in every text of the same reason
    return f"{type(error).__name__}: {text}"[:300]
