"""A connection to the current worker's own runtime API that is kept from one observation to the next.

A command through the master costs a connection to it and another one from it to the worker: several times the cost of
the command itself. The worker's own socket leads to any worker that listens on it, so the pid is compared first. A
worker does not end while a connection to its runtime API is open (:mod:`.held_worker`), so the connection must be
closed before the worker is replaced.
"""

import asyncio
import contextlib
import resource
from collections.abc import Sequence
from pathlib import Path

from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.runtime.held_worker import SHOW_INFO, TIMEOUT_SECONDS, HeldWorkerConnection, worker_pid


class ConnectionQuota:
    """Limits the connections that this process keeps to a quarter of its limit of open files, by counting
    them.
    """

    def __init__(self) -> None:
        self._count = 0

    def reserve_connection(self) -> bool:
        """Count one more connection; returns False, without counting it, if there are too many."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and self._count >= soft // 4:
            return False
        self._count += 1
        return True

    def release_connection(self) -> None:
        """Count one connection less, because it was closed."""
        self._count -= 1


CONNECTION_QUOTA = ConnectionQuota()


class PersistentConnection:
    """Connection to the current worker's runtime API, opened when it is needed and kept for the next query."""

    def __init__(self, worker_socket: Path, quota: ConnectionQuota = CONNECTION_QUOTA) -> None:
        self._worker_socket = worker_socket
        self._kept = quota
        self._worker: HeldWorkerConnection | None = None
        self._pid = 0
        self._lock = asyncio.Lock()

    async def query(self, pid: int, *texts: str) -> tuple[str, ...] | None:
        """Send commands that change nothing to the worker with this pid, and return one answer per command.

        None if the socket leads to another worker, or no connection can be had. Raises :class:`HaproxyDown`
        if the worker is connected but does not answer in time.
        """
        async with self._lock:  # answers come in the order of the commands
            if self._pid != pid:
                self.close()
            if self._worker is not None and (answers := await self._send_commands(texts)) is not None:
                return answers
            # The worker closes a connection that was idle for long.
            return await self._open_connection(pid, texts)

    def connection_to(self, pid: int) -> HeldWorkerConnection | None:
        """Return the connection to the worker with this pid; None if there is none now."""
        return self._worker if self._pid == pid else None

    def close(self) -> None:
        """Close the connection, so that the worker can end. The next query opens it again."""
        worker, self._worker, self._pid = self._worker, None, 0
        if worker is not None:
            worker.close()
            self._kept.release_connection()

    async def _open_connection(self, pid: int, texts: Sequence[str]) -> tuple[str, ...] | None:
        """Connect to the worker, keep the connection, and return the answers of the worker with this pid;
        None if it is another worker, the connection fails, or too many are kept. Raises
        :class:`HaproxyDown` if the worker does not answer in time.
        """
        if not self._kept.reserve_connection():
            return None
        with contextlib.ExitStack() as failed:
            failed.callback(self._kept.release_connection)
            try:
                # One exchange for all: the commands change nothing, whichever worker they reach.
                worker, (info, *answers) = await HeldWorkerConnection.open(self._worker_socket, SHOW_INFO, *texts)
                failed.callback(worker.close)
                if worker_pid(info) != pid:
                    return None
            except HaproxyDown as error:
                _raise_if_timed_out(error)
                return None
            failed.pop_all()
        self._worker, self._pid = worker, pid
        return tuple(answers)

    async def _send_commands(self, texts: Sequence[str]) -> tuple[str, ...] | None:
        """Return the answers to the commands; None, with the connection closed, if the connection failed.
        Raises :class:`HaproxyDown` if the worker does not answer in time.
        """
        worker = self._worker
        if worker is None:
            return None
        answers = None
        try:
            answers = await worker.commands(*texts)
        except HaproxyDown as error:
            _raise_if_timed_out(error)
        finally:
            # Commands that were cancelled are still answered: later answers would belong to earlier commands.
            if answers is None and self._worker is worker:
                self.close()
        return answers


def _raise_if_timed_out(error: HaproxyDown) -> None:
    """Raise :class:`HaproxyDown` if the worker is connected but silent: through the master the wait would be as long
    again.
    """
    if isinstance(error.__cause__, TimeoutError):
        raise HaproxyDown(f"HAProxy did not answer in {TIMEOUT_SECONDS:g} s") from error
