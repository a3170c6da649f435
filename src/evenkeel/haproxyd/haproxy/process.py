"""One HAProxy, master and workers, as processes that are independent of the daemon.

The processes keep running when the daemon ends, even if it crashes. The next daemon finds them through the
master's socket. The master's exit is detected through a pidfd, which works for processes that are not
children and is immune to pid reuse.
"""

import asyncio
import contextlib
import functools
import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import structlog

from evenkeel.haproxyd.disk import run_dir
from evenkeel.haproxyd.errors import HaproxyDown, HaproxyRefused
from evenkeel.haproxyd.haproxy.alerts import extract_alerts
from evenkeel.haproxyd.haproxy.binary import FindBinary, HaproxyBinary
from evenkeel.haproxyd.haproxy.launch import launch_haproxy, socket_takeover_arguments
from evenkeel.haproxyd.haproxy.master_socket import MasterSocketWatch
from evenkeel.haproxyd.haproxy.old_workers import OldWorkers
from evenkeel.haproxyd.haproxy.output_log import OutputLog
from evenkeel.haproxyd.haproxy.processes import execution_marker, parent_pid, start_ticks, terminate_process
from evenkeel.haproxyd.haproxy.runtime.master_cli import HaproxyProcesses, MasterCli
from evenkeel.haproxyd.haproxy.worker_users import ProcessPrivileges, read_privileges
from evenkeel.haproxyd.ports import OnEvent
from evenkeel.haproxyd.settings import DaemonSettings

log = structlog.get_logger(__name__)

POLL_SECONDS = 0.005
FIRST_ANSWER_SECONDS, LAST_ANSWER_SECONDS = 0.1, 5.0
"""Initial and maximum time-out of a command to a worker that may be reading its configuration.

HAProxy 3.2 never answers a command that arrives at the wrong moment, so it has to be repeated."""


class HaproxyProcess:
    """Master and workers of one partition's HAProxy. ``on_exit`` is called once for each master that ended by
    itself, unless :meth:`start` is still waiting for it.
    """

    def __init__(
        self,
        partition: str,
        binary: FindBinary,
        settings: DaemonSettings,
        *,
        directory: Path,
        config_dir: Path,
        log_path: Path,
        master_socket: Path,
        worker_socket: Path,
        on_exit: Callable[[], None],
        on_event: OnEvent,
    ) -> None:
        self._binary = binary
        self._settings = settings
        self._directory = directory
        self._config_dir = config_dir
        self._output = OutputLog(log_path)
        self._master_socket = master_socket
        self._worker_socket = worker_socket
        self._on_exit = on_exit
        self._pidfd: int | None = None
        self._privileges = _privileges_of_daemon(os.getpid())
        self._master_privileges: tuple[int, ProcessPrivileges] | None = None
        self._starting = False
        self._transitions = 0
        """Number of starts and reloads in progress: meanwhile the process may not have its sockets yet."""
        self._execution = b""
        """Marker of the master's execution that had the current worker, as in :func:`execution_marker`;
        empty: not known.
        """
        self._log = log.bind(partition=partition)
        self.master_pid = 0
        self.worker_pid: int | None = None
        self.cli = MasterCli(
            master_socket,
            timeout_seconds=settings.command_timeout_seconds,
            answer_bytes_max=settings.answer_bytes_max,
            worker_socket=worker_socket,
        )
        self.old_workers = OldWorkers(partition, self.cli, on_event)

    @property
    def is_running(self) -> bool:
        """Whether a master runs, as far as is known: False once its end was noticed."""
        return self._pidfd is not None

    def is_worker(self, pid: int) -> bool:
        """Whether the process is the current worker, or another child of the master that is no known old
        worker, such as a worker that was just started (read from ``/proc``).
        """
        if pid == self.worker_pid:
            return True
        return self.is_running and pid not in self.old_workers and parent_pid(pid) == self.master_pid

    def _set_workers(self, processes: HaproxyProcesses, execution: bytes) -> None:
        self._execution = execution
        self.worker_pid = processes.worker_pid
        self.old_workers.add(processes.workers_leaving, self.worker_pid)

    def last_alert(self) -> str:
        """Return the last error message in HAProxy's log; empty if there is none. Blocks shortly."""
        return self._output.last_alert()

    # -- adoption

    async def adopt(self, pid: int, started_ticks: int) -> bool:
        """Adopt a HAProxy that answers at the master's socket, as one that an earlier daemon started. Returns
        whether one was adopted.

        ``pid`` (0: none) and ``started_ticks`` (clock ticks after boot) identify the last recorded master. If
        that process still runs, it may be reloading: it gets ``start_timeout_seconds`` to answer and is then
        terminated.
        """
        deadline = time.monotonic() + self._settings.start_timeout_seconds
        while not await self._find_master(pid):
            if not pid or start_ticks(pid) != started_ticks:
                return False
            if time.monotonic() >= deadline:
                await self._end_unresponsive(pid)
                return False
            await asyncio.sleep(POLL_SECONDS)
        return True

    async def _find_master(self, recorded_pid: int) -> bool:
        execution = execution_marker(recorded_pid) if recorded_pid else b""
        try:
            found = await self.cli.processes()
            self._watch_master(found.master_pid)
        except (HaproxyDown, ProcessLookupError):
            # The master may have ended right after its answer.
            return False
        self._set_workers(found, execution if found.master_pid == recorded_pid else b"")
        return True

    async def was_reloaded_by_others(self) -> bool:
        """Whether another program has reloaded HAProxy, so that there is another worker. Raises
        :class:`HaproxyDown` if the master does not answer.
        """
        # The master executes itself at each reload, and only then has to be queried. Read before the query: a reload in
        # between shows in either.
        execution = execution_marker(self.master_pid)
        if execution and execution == self._execution:
            return False
        worker = (await self.cli.processes()).worker_pid
        if worker == self.worker_pid:
            self._execution = execution
        return worker != self.worker_pid

    async def _end_unresponsive(self, pid: int) -> None:
        """Terminate the process with this pid, which does not answer (its socket was removed, or it hangs),
        because it would conflict with the HAProxy that is started next.
        """
        # The process may have ended by itself meanwhile.
        with contextlib.suppress(ProcessLookupError):
            # a pidfd stays bound to this process, so that a reused pid cannot be signalled
            descriptor = os.pidfd_open(pid)
            self._log.warning("haproxy does not answer; ending it", master=pid)
            try:
                await terminate_process(descriptor)
            finally:
                os.close(descriptor)

    # -- start

    async def start(self, *arguments: str) -> None:
        """Start a master with further ``arguments``, and return when its worker serves.

        Raises :class:`HaproxyRefused` if it ended, with its reason; :class:`HaproxyDown` if there is no
        usable HAProxy, or it does not serve within ``start_timeout_seconds``, and then it is terminated;
        :class:`OSError`.
        """
        self._starting = True
        try:
            with self._transition_in_progress():
                await self._start_master(arguments)
        finally:
            self._starting = False

    @contextlib.contextmanager
    def _transition_in_progress(self) -> Iterator[None]:
        self._transitions += 1
        try:
            yield
        finally:
            self._transitions -= 1

    async def _start_master(self, arguments: Sequence[str]) -> None:
        binary = await self._binary()
        socket = MasterSocketWatch(self._master_socket)
        pid, position = await asyncio.to_thread(self._launch_master, binary, arguments)
        try:
            self._watch_master(pid)
        except ProcessLookupError:
            raise HaproxyRefused(self._output.alerts_since(position)) from None
        try:
            found, execution = await self._wait_for_processes(
                lambda seen: seen.master_pid == pid and seen.worker_pid is not None,
                self._settings.start_timeout_seconds,
                socket,
            )
        except HaproxyDown as error:
            # before stop(), which closes the pidfd: a master that ended by itself refused its configuration
            ended = not self.is_running
            await self.stop()
            raise (HaproxyRefused(self._output.alerts_since(position)) if ended else error) from None
        self._set_workers(found, execution)
        self._log.info("haproxy started", master=self.master_pid, worker=self.worker_pid)

    def _launch_master(self, binary: HaproxyBinary, arguments: Sequence[str]) -> tuple[int, int]:
        """Start a master. Returns its pid, and the position in the log (bytes) where its messages begin.
        Blocks. Raises :class:`HaproxyDown`, :class:`OSError`.
        """
        # The directories of the sockets may have been removed since the last start.
        run_dir.create_run_dirs(self._settings)
        # The position is taken before the start, so that only messages of this attempt are read.
        position = self._output.end_offset()
        pid = launch_haproxy(
            binary,
            directory=self._directory,
            config_dir=self._config_dir,
            log_path=self._output.writable_path(),
            master_socket=self._master_socket,
            memory_mib=self._settings.address_space_mib,
            arguments=arguments,
        )
        return pid, position

    async def _wait_for_processes(
        self, are_expected: Callable[[HaproxyProcesses], bool], limit_seconds: float, socket: MasterSocketWatch
    ) -> tuple[HaproxyProcesses, bytes]:
        """Wait until ``are_expected`` holds for the processes and the worker answers; return the processes, and the
        execution marker of the master that listed them. Raises :class:`HaproxyDown` after
        ``limit_seconds``, or if the master ends.

        The worker's answer is needed because from HAProxy 3.1 on the master lists a worker before the worker
        has read its configuration, which it may refuse.
        """
        deadline = time.monotonic() + limit_seconds
        answer_seconds = FIRST_ANSWER_SECONDS
        while self.is_running and time.monotonic() < deadline:
            if socket.should_query():
                # before the query, as in was_reloaded_by_others()
                execution = execution_marker(self.master_pid)
                with contextlib.suppress(HaproxyDown):  # it is starting, or re-executing itself
                    seen = await self.cli.processes()
                    socket.record_answer()
                    if are_expected(seen):
                        answer_seconds = min(2 * answer_seconds, LAST_ANSWER_SECONDS)
                        await self.cli.master_command(f"@!{seen.worker_pid} show info", timeout_seconds=answer_seconds)
                        return seen, execution
            await asyncio.sleep(POLL_SECONDS)
        raise HaproxyDown(f"HAProxy's master did not report within {limit_seconds:g} s that its worker serves")

    # -- reload

    async def reload(self) -> None:
        """Reload the configuration, and return when a new worker has taken over. Surplus old workers are
        ended before.

        Raises :class:`HaproxyRefused` with HAProxy's reason, and then the old worker keeps serving;
        :class:`HaproxyDown` if the master does not answer in time or there is no usable HAProxy;
        :class:`OSError`.
        """
        await asyncio.to_thread(run_dir.create_run_dirs, self._settings)
        position = self._output.end_offset()
        binary = await self._binary()
        # one less than the limit, because this reload adds one
        await self.old_workers.end_surplus_workers(self._settings.worker_max_reloads - 1)
        # commands of others would be answered by the old worker, or get no answer while the master re-executes itself
        async with self.cli.exclusive():
            with self._transition_in_progress():
                before, socket = await self.cli.processes(), MasterSocketWatch(self._master_socket)
                answer = ""
                with contextlib.suppress(HaproxyDown):  # before 2.7 the connection just closes
                    answer = await self.cli.master_command(
                        "reload", timeout_seconds=self._settings.reload_timeout_seconds
                    )
                after, execution = await self._wait_for_processes(
                    # The master's count shows the reload, because the command's connection may close without an answer.
                    lambda seen: seen.reloads != before.reloads and seen.worker_pid is not None,
                    self._settings.reload_timeout_seconds,
                    socket,
                )
        self._set_workers(after, execution)
        # Before 2.7 the command has no result: there the refusal shows in the worker, which is the same as before.
        refused = binary.reports_reload_result and answer.startswith("Success=0")
        if refused or after.worker_pid == before.worker_pid:
            raise HaproxyRefused(extract_alerts(answer) or self._output.alerts_since(position))

    def reload_blocker(self) -> str:
        """Return the reason why this process cannot be reloaded; empty if it can, or if that is unknown, as during a
        start.

        Reasons are a removed socket or working directory, and a process that a daemon with other privileges or of
        another version started. Blocks shortly; may be called from any thread.
        """
        pid = self.master_pid
        if not self._is_steady_master(pid):
            return ""
        obstacle = self._find_reload_blocker(pid)
        # a start may have begun meanwhile, or the process may have ended and taken its socket with it
        return obstacle if obstacle and self._is_steady_master(pid) and not self._has_exited() else ""

    def _is_steady_master(self, pid: int) -> bool:
        """Whether ``pid`` is that of the master, which is not known to have ended, and no start or reload is
        in progress.
        """
        return self._pidfd is not None and not self._transitions and self.master_pid == pid

    def _has_exited(self) -> bool:
        """Whether the master has ended, which the event loop may not have noticed yet."""
        # Read once: this may run in a thread, while the event loop sets the attribute to None.
        descriptor = self._pidfd
        if descriptor is None:
            return True
        exited = select.poll()
        exited.register(descriptor, select.POLLIN)
        return bool(exited.poll(0))

    def _find_reload_blocker(self, pid: int) -> str:
        if not self._master_socket.exists():
            return "HAProxy's socket is gone"
        with contextlib.suppress(OSError):  # it has just ended
            if self._privileges_of_master(pid) != self._privileges:
                return "HAProxy was started by a daemon of another user or with other capabilities"
            if not _is_directory(f"/proc/{pid:d}/cwd", self._directory):
                return "HAProxy's working directory is gone, or is that of a daemon of another version"
        return ""

    def _privileges_of_master(self, pid: int) -> ProcessPrivileges:
        """Return the privileges of the master with this pid, which never change. Raises :class:`OSError` if
        there is no such process.
        """
        known = self._master_privileges
        if known is None or known[0] != pid:
            # one assignment: this may run in several threads
            known = self._master_privileges = (pid, read_privileges(pid))
        return known[1]

    async def replace(self) -> None:
        """Start another HAProxy in place of one that cannot be reloaded.

        The new process takes over the listening sockets through the old worker's own socket; if that was
        removed, the old worker releases them on a signal. The old worker then finishes its connections.
        Raises :class:`HaproxyRefused`, :class:`HaproxyDown` or :class:`OSError` if the new process does not
        serve, and then the old one keeps running.
        """
        loop = asyncio.get_running_loop()
        old, pids = self._pidfd, (self.master_pid, self.worker_pid)
        if old is None:
            raise RuntimeError("HAProxy does not run, so there is nothing to replace")
        # while the new process starts, the end of the old one is not the end of this HAProxy
        loop.remove_reader(old)
        self._pidfd = None
        self.cli.close()
        try:
            await self.start(*socket_takeover_arguments(pids[1], self._worker_socket))
        except BaseException:
            # A start that is cancelled, too, leaves the old process as it was, watched for its end.
            self._pidfd, (self.master_pid, self.worker_pid) = old, pids
            loop.add_reader(old, self._on_master_exit)
            raise
        if pids[1]:
            self.old_workers.add([pids[1]], self.worker_pid)
        # The old process may have ended already.
        with contextlib.suppress(ProcessLookupError):
            # SIGUSR1 is a soft stop: the old process closes its listeners and finishes its connections
            signal.pidfd_send_signal(old, signal.SIGUSR1)
        os.close(old)

    # -- end

    async def stop(self) -> None:
        """Terminate HAProxy, and with it all connections; without a process, nothing happens."""
        # Reset first: the end of the process is expected from here on, and is not reported.
        descriptor, self._pidfd = self._pidfd, None
        self.worker_pid = None
        self.cli.close()
        if descriptor is None:
            return
        asyncio.get_running_loop().remove_reader(descriptor)
        try:
            await terminate_process(descriptor)
        finally:
            os.close(descriptor)

    def detach(self) -> None:
        """Stop watching HAProxy, which keeps running, and close the connection to its worker."""
        self.cli.close()
        descriptor, self._pidfd = self._pidfd, None
        if descriptor is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)

    def _watch_master(self, pid: int) -> None:
        """Record this process as the master, and watch for its end. Raises :class:`ProcessLookupError` if it
        does not exist.
        """
        self._pidfd = os.pidfd_open(pid)
        self.master_pid = pid
        self._master_privileges = None  # the kernel reuses pids
        asyncio.get_running_loop().add_reader(self._pidfd, self._on_master_exit)

    def _on_master_exit(self) -> None:
        self.detach()
        self.worker_pid = None
        if self._starting:
            return  # the caller that starts it detects this and reports the cause
        self._log.warning("haproxy exited", master=self.master_pid, last_alert=self.last_alert())
        self._on_exit()


@functools.lru_cache(maxsize=1)
def _privileges_of_daemon(pid: int) -> ProcessPrivileges:
    """Return the privileges of this process, which never change; ``pid`` is its own, for the cache."""
    return read_privileges(pid)


def _is_directory(link: str, directory: Path) -> bool:
    """Whether a link leads to the directory that has the path ``directory`` now. Raises :class:`OSError` if
    the link leads nowhere.
    """
    seen = Path(link).stat()
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(seen, directory.stat())
    return False
