"""One thread that owns the connection to the queue file. Operations that arrive while it is busy share the next
transaction, so that throughput grows with load instead of waiting for a commit each."""

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from evenkeel.bus.embedded.queries import QueueFull
from evenkeel.bus.embedded.schema import open_file
from evenkeel.core.kit.errors import BusUnavailable

T = TypeVar("T")
Op = Callable[[sqlite3.Connection], T]

MAX_BATCH = 64

_Job = tuple[Op[Any], "asyncio.Future[Any]"]
_Result = tuple["asyncio.Future[Any]", Any, BaseException | None]


class FileThread:
    """Runs operations on the queue file in a thread, in transactions that several operations may share. An
    operation must have no effect but its SQL.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> None:
        """Start the thread and open the file. Raises :class:`BusUnavailable` if the file cannot be used."""
        self._loop = asyncio.get_running_loop()
        opened: asyncio.Future[None] = self._loop.create_future()
        # A daemon: a process that does not close the bus must still be able to end.
        self._thread = threading.Thread(
            target=self._run_batches, args=(self._loop, opened), name="embedded-bus", daemon=True
        )
        self._thread.start()
        try:
            await opened
        except BusUnavailable:
            self._thread = None
            raise

    async def run(self, op: Op[T]) -> T:
        """Run ``op`` in a transaction; returns its result after the commit. Raises :class:`BusUnavailable` if
        the file is not open, is busy, or cannot be written, or another operation of the same transaction
        fails; and :class:`QueueFull`. Then ``op`` had no effect. A cancelled caller does not stop ``op``.
        """
        if self._thread is None or self._loop is None:
            raise BusUnavailable("the bus is not open")
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put((op, future))
        return await future

    async def stop(self) -> None:
        """Wait until the operations under way and queued have run and the file is closed. Does nothing if it
        is not open.
        """
        thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
            # Joining here would block the event loop for as long as the waiting operations take.
            await asyncio.get_running_loop().run_in_executor(None, thread.join)

    def _run_batches(self, loop: asyncio.AbstractEventLoop, opened: "asyncio.Future[None]") -> None:
        try:
            connection = open_file(self._path)
        except BusUnavailable as error:
            _deliver_in_loop(loop, [(opened, None, error)])
            return
        _deliver_in_loop(loop, [(opened, None, None)])
        with contextlib.closing(connection):
            while (batch := self._next_batch()) is not None:
                _deliver_in_loop(loop, _run_transaction(connection, batch))

    def _next_batch(self) -> list[_Job] | None:
        # Blocks only here; a batch takes what has gathered and never waits to grow.
        first = self._jobs.get()
        if first is None:
            return None
        batch = [first]
        while len(batch) < MAX_BATCH:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._jobs.put(None)  # the end, once more, after this batch
                break
            batch.append(job)
        return batch


def _deliver_in_loop(loop: asyncio.AbstractEventLoop, results: list[_Result]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits
        # Futures belong to the event loop's thread; all results of a batch cross over in one call.
        loop.call_soon_threadsafe(_deliver_results, results)


def _run_transaction(connection: sqlite3.Connection, batch: list[_Job]) -> list[_Result]:
    """Run a batch in one transaction, and return (future, result, error) of each operation. If one fails, all
    are rolled back and fail with :class:`BusUnavailable`; only a full queue fails its own operation alone.
    """
    results: list[_Result] = []
    try:
        # Takes the write lock at once and waits for it, as every operation may write.
        connection.execute("BEGIN IMMEDIATE")
        for op, future in batch:
            try:
                results.append((future, op(connection), None))
            # A full queue is found before anything was written, so the others of the batch need not be rolled back.
            except QueueFull as error:
                results.append((future, None, error))
        connection.execute("COMMIT")
    except Exception as error:
        # SQLite rolls back by itself after some errors, and a second ROLLBACK would fail.
        if connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        return [(future, None, _sqlite_error_as_bus_error(error)) for _, future in batch]
    return results


def _sqlite_error_as_bus_error(error: Exception) -> BusUnavailable:
    translated = BusUnavailable("the queue file is busy or cannot be written")
    translated.__cause__ = error
    return translated


def _deliver_results(results: list[_Result]) -> None:
    for future, result, error in results:
        # The caller was cancelled; its operation was committed all the same.
        if future.done():
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)
