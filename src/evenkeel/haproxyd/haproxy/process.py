"""One HAProxy, master and workers, as processes that owe nothing to the daemon.

It is started in a session of its own by a shell that ends at once, so the daemon is not its parent, and it writes to a
file: it goes on when the daemon ends, however that happens. A later daemon finds it through the master's socket. Its
end is seen through a pidfd, which needs no parent either and never means another process.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

from evenkeel.haproxyd.disk import run_dir
from evenkeel.haproxyd.haproxy.alerts import alerts
from evenkeel.haproxyd.haproxy.binary import FindBinary
from evenkeel.haproxyd.haproxy.master_cli import MasterCli, Processes
from evenkeel.haproxyd.haproxy.worker_users import privileges_of
from evenkeel.haproxyd.ports import HaproxyDown, HaproxyRefused
from evenkeel.haproxyd.settings import DaemonSettings

log = structlog.get_logger(__name__)

LOOK_AGAIN_SECONDS = 0.005
STOP_TIMEOUT_SECONDS = 10.0
LEAVING_TIMEOUT_SECONDS = 10.0
"""How long a reload waits for a worker that it would end."""
LEAVING_LOOK_SECONDS = 0.1
LOG_TAIL_BYTES = 64 * 1024
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"}
"""Nothing of the daemon's own: configuration may expand variables."""

LOG_BLOCKS_MAX = 131_072
"""Of 512 bytes: how far HAProxy's log may grow before it is begun anew, should a worker write nothing else. It is not
ended for it."""
_START = f"""umask 077; ulimit -c 0; trap '' XFSZ; ulimit -f {LOG_BLOCKS_MAX}
log=$1; shift; "$@" >>"$log" 2>&1 </dev/null & echo $!"""


class HaproxyProcess:
    """One HAProxy. ``on_exit`` is called once for each that ended without being told to."""

    def __init__(
        self,
        binary: FindBinary,
        settings: DaemonSettings,
        *,
        directory: Path,
        config_dir: Path,
        log_path: Path,
        master_socket: Path,
        on_exit: Callable[[], None],
    ) -> None:
        self._binary = binary
        self._settings = settings
        self._directory = directory
        self._config_dir = config_dir
        self._log_path = log_path
        self._master_socket = master_socket
        self._on_exit = on_exit
        self._pidfd: int | None = None
        self._privileges = privileges_of(os.getpid())
        self._starting = False
        self._log = log.bind(partition=directory.name)
        self.master_pid = 0
        self.worker_pid: int | None = None
        self.cli = MasterCli(
            master_socket,
            timeout_seconds=settings.command_timeout_seconds,
            answer_bytes_max=settings.answer_bytes_max,
        )

    @property
    def up(self) -> bool:
        """Has the master not ended, as far as is known?"""
        return self._pidfd is not None

    # -- beginning and end

    async def find(self, pid: int, started: int) -> bool:
        """Take over one that runs already. ``pid``, ``started``: the master that was there. As long as it is, it may
        be in the middle of a reload, and is given time to answer; then it is ended."""
        deadline = time.monotonic() + self._settings.start_timeout_seconds
        while not await self._found():
            if not pid or start_ticks(pid) != started:
                return False
            if time.monotonic() >= deadline:
                await self._end_stray(pid)
                return False
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        return True

    async def _found(self) -> bool:
        try:
            found = await self.cli.processes()
            self._watch(found.master_pid)
        except (HaproxyDown, ProcessLookupError):
            return False
        self.worker_pid = found.worker_pid
        return True

    async def start(self, *arguments: str) -> None:
        """Returns when the worker serves. Raises :class:`HaproxyRefused`, :class:`HaproxyDown`."""
        self._starting = True
        try:
            await self._start(arguments)
        finally:
            self._starting = False

    async def _start(self, arguments: Sequence[str]) -> None:
        await asyncio.to_thread(run_dir.prepare, self._settings)
        mark = self._log_mark()
        pid = await self._spawn(arguments)
        try:
            self._watch(pid)
        except ProcessLookupError:
            raise HaproxyRefused(self._said_since(mark)) from None
        try:
            found = await self._look_until(
                lambda seen: seen.master_pid == pid and seen.worker_pid is not None,
                self._settings.start_timeout_seconds,
            )
        except HaproxyDown as error:
            ended = not self.up
            await self.stop()
            raise (HaproxyRefused(self._said_since(mark)) if ended else error) from None
        self.worker_pid = found.worker_pid
        self._log.info("haproxy started", master=self.master_pid, worker=self.worker_pid)

    async def reload(self) -> None:
        """Returns when a new worker has taken over. Raises :class:`HaproxyRefused` (the old one serves on),
        :class:`HaproxyDown`."""
        await asyncio.to_thread(run_dir.prepare, self._settings)
        mark = self._log_mark()
        binary = await self._binary()
        async with self.cli.alone():
            before = await self.cli.processes()
            answer = ""
            with contextlib.suppress(HaproxyDown):  # before 2.7 it closes the connection; the list of processes tells
                answer = await self.cli.ask("reload", timeout_seconds=self._settings.reload_timeout_seconds)
            after = await self._look_until(
                lambda seen: seen.reloads != before.reloads and seen.worker_pid is not None,
                self._settings.reload_timeout_seconds,
            )
        self.worker_pid = after.worker_pid
        refused = binary.reload_answers and answer.startswith("Success=0")
        if refused or after.worker_pid == before.worker_pid:
            raise HaproxyRefused(alerts(answer) or self._said_since(mark))

    def adrift(self) -> str:
        """Why it can be reloaded no more, because somebody took away what it needs for that, or it cannot read or do
        what this daemon can; empty: it can be. Blocks shortly."""
        if not self.up:
            return ""
        if not self._master_socket.exists():
            return "its socket is gone"
        with contextlib.suppress(OSError):  # it has just ended
            if privileges_of(self.master_pid) != self._privileges:
                return "it was started by a daemon of another user or with other capabilities"
            if str(Path(f"/proc/{self.master_pid:d}/cwd").readlink()).endswith(" (deleted)"):
                return "its folder is gone"
        return ""

    async def replace(self, worker_socket: Path) -> None:
        """Start another one in the place of one that is adrift. It takes over the listeners by the old worker's own
        socket; if that is gone, the old worker lets go of them when it is told that somebody else wants them. It then
        ends its connections. Raises as :meth:`start`, and then the old one goes on."""
        loop = asyncio.get_running_loop()
        old, pids = self._pidfd, (self.master_pid, self.worker_pid)
        assert old is not None
        loop.remove_reader(old)
        self._pidfd = None
        try:
            await self.start(*_in_the_place_of(pids[1], worker_socket))
        except BaseException:
            self._pidfd, (self.master_pid, self.worker_pid) = old, pids
            loop.add_reader(old, self._ended)
            raise
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(old, signal.SIGUSR1)
        os.close(old)

    async def let_workers_leave(self) -> None:
        """Wait, before a reload, for a worker that it would cut: the master ends one that saw too many reloads. Not
        for long. Raises :class:`HaproxyDown`."""
        deadline = time.monotonic() + LEAVING_TIMEOUT_SECONDS
        while (await self.cli.processes()).reloads_leaving >= self._settings.worker_max_reloads:
            if time.monotonic() >= deadline:
                self._log.warning("requests of an old worker are cut", master=self.master_pid)
                return
            await asyncio.sleep(LEAVING_LOOK_SECONDS)

    async def stop(self) -> None:
        """End it, with its connections."""
        descriptor, self._pidfd = self._pidfd, None
        self.worker_pid = None
        if descriptor is None:
            return
        asyncio.get_running_loop().remove_reader(descriptor)
        try:
            await _end(descriptor)
        finally:
            os.close(descriptor)

    def leave(self) -> None:
        """Stop watching it; it goes on."""
        descriptor, self._pidfd = self._pidfd, None
        if descriptor is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)

    async def _spawn(self, arguments: Sequence[str]) -> int:
        binary = await self._binary()
        shell = await asyncio.create_subprocess_exec(
            "/bin/sh", "-c", _START, "sh", self._log_path, binary.path, "-W",
            "-S", f"{self._master_socket},mode,600", "-m", str(self._settings.address_space_mib),
            "-f", self._config_dir,
            *arguments,
            cwd=self._directory, env=ENVIRONMENT, start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            output, _ = await shell.communicate()
        finally:
            await shell.wait()  # it ends at once, also where nobody waits for HAProxy any more
        if not output.strip().isdigit():
            raise HaproxyDown("HAProxy could not be started: /bin/sh failed")
        return int(output)

    async def _look_until(self, right: Callable[[Processes], bool], limit_seconds: float) -> Processes:
        """The processes, once they are right. Raises :class:`HaproxyDown`."""
        deadline = time.monotonic() + limit_seconds
        while self.up and time.monotonic() < deadline:
            with contextlib.suppress(HaproxyDown):  # it is just beginning, or between two lives
                seen = await self.cli.processes()
                if right(seen):
                    return seen
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        raise HaproxyDown(f"HAProxy's master did not say within {limit_seconds:g} s that its worker serves")

    # -- seeing its end

    def _watch(self, pid: int) -> None:
        """Raises :class:`ProcessLookupError` if there is no such process."""
        self._pidfd = os.pidfd_open(pid)
        self.master_pid = pid
        asyncio.get_running_loop().add_reader(self._pidfd, self._ended)

    def _ended(self) -> None:
        self.leave()
        self.worker_pid = None
        if self._starting:
            return  # whoever starts it sees it and says why
        self._log.warning("haproxy ended", master=self.master_pid, said=self.last_words())
        self._on_exit()

    def last_words(self) -> str:
        """The last reason that it gave for anything."""
        said = alerts(_tail(self._log_path, 0)).split("; ")
        return said[-1]

    async def _end_stray(self, pid: int) -> None:
        """One that cannot be talked to (its socket was removed, or it hangs) would be in the way of the next."""
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            self._log.warning("haproxy does not answer and is ended", master=pid)
            try:
                await _end(descriptor)
            finally:
                os.close(descriptor)

    # -- its words

    def _log_mark(self) -> int:
        """Where its next words begin."""
        try:
            return self._log_path.stat().st_size
        except FileNotFoundError:
            return 0

    def _said_since(self, mark: int) -> str:
        return alerts(_tail(self._log_path, mark)) or "HAProxy gave no reason"


def _in_the_place_of(worker_pid: int | None, worker_socket: Path) -> list[str]:
    arguments = ["-x", str(worker_socket)] if worker_socket.exists() else []
    return [*arguments, "-sf", str(worker_pid)] if worker_pid else arguments


def start_ticks(pid: int) -> int:
    """When a process was started, in clock ticks after boot; 0 if there is none."""
    try:
        fields = Path(f"/proc/{pid:d}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[19])


def _tail(path: Path, mark: int) -> str:
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(mark if mark <= end else 0, end - LOG_TAIL_BYTES))  # it may have begun anew meanwhile
            return file.read(LOG_TAIL_BYTES).decode(errors="replace")
    except OSError:
        return ""


async def _end(pidfd: int) -> None:
    """Ask; then make it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            signal.pidfd_send_signal(pidfd, number)
        except ProcessLookupError:
            return
        if await _gone(pidfd):
            return


async def _gone(pidfd: int) -> bool:
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()
    loop.add_reader(pidfd, gone.set)
    try:
        await asyncio.wait_for(gone.wait(), STOP_TIMEOUT_SECONDS)
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(pidfd)
    return True
