"""HAProxy with its daemon, for one host only: two HAProxys with the same load balancers would have to bind the same
address and port.
"""

import asyncio
import hashlib
import secrets
import signal
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from evenkeel.demo.configuration import Sections, merge_sections
from evenkeel.demo.device_kinds import leftovers
from evenkeel.demo.device_kinds.daemon import DaemonProbe, member_addresses
from evenkeel.demo.device_kinds.guard import ProcessGuard
from evenkeel.demo.processes import ProcessFailed
from evenkeel.demo.workspace import Workspace, written_file_condition
from evenkeel.haproxyd.api.credentials import add_agent
from evenkeel.haproxyd.api.tls import CertificateFiles, make_certificates

DAEMON_NAMES = ("haproxy-1",)
DAEMON_PROCESS = "devices"
DEMO_AGENT_NAME = "demo"
"""The agent's name under which the cluster itself reads from the daemon."""
DAEMON_ADDRESS = "127.0.0.1"
SHARED_MEMORY_DIR = Path("/dev/shm")  # noqa: S108 - what is made in it is its maker's alone


class HaproxyDevices:
    """The daemon and its HAProxys as the demo's device.

    The daemon keeps its port and its state when it is restarted, and finds its running HAProxys. ``options``: ini
    sections that override the daemon's.
    """

    driver = "haproxy"
    create_writes_promised = 2

    def __init__(
        self, workspace: Workspace, *, names: Sequence[str] = DAEMON_NAMES, options: Sections | None = None
    ) -> None:
        if len(names) != 1:
            raise ValueError(f"device_names: {', '.join(names)}: one HAProxy fits on a machine, see {__name__}")
        self.names = tuple(names)
        self._workshop = workspace
        self._options = options or {}
        self._directory = workspace.directory / "devices"
        self._certificates = CertificateFiles(folder=workspace.directory / "etc" / DAEMON_PROCESS)
        # the same when the demo is started again there, and no other demo's
        self.table = f"evenkeel_{hashlib.sha256(str(self._directory.resolve()).encode()).hexdigest()[:16]}"
        self._credentials = workspace.directory / "etc" / f"{DAEMON_PROCESS}-credentials"
        self._passwords: dict[str, str] = {}
        self._lock = threading.Lock()
        self._sockets: Path | None = None
        self._guard: ProcessGuard | None = None
        self._daemon: DaemonProbe | None = None

    @property
    def daemon(self) -> DaemonProbe:
        """Client of the daemon. Raises :class:`ProcessFailed` before :meth:`start`."""
        if self._daemon is None:
            raise ProcessFailed("the devices have not been started")
        return self._daemon

    def haproxy_pids(self) -> list[int]:
        """Return the process ids of the masters and workers of this cluster's HAProxys, sorted."""
        return sorted(leftovers.haproxy_pids(str(self._directory)))

    def kill_daemon(self) -> None:
        """Kill the daemon (SIGKILL) without its HAProxys."""
        self._workshop.processes[DAEMON_PROCESS].kill()

    def cut_off(self) -> None:
        """Cut the device off from all agents; HAProxy continues."""
        # A frozen daemon answers no agent, and HAProxy does not need it to serve clients.
        self._workshop.processes[DAEMON_PROCESS].send(signal.SIGSTOP)

    def reconnect(self) -> None:
        """Undo :meth:`cut_off`, so that agents reach the device again."""
        self._workshop.processes[DAEMON_PROCESS].send(signal.SIGCONT)

    # -- starting

    async def start(self) -> None:
        """Start the daemon, which starts the HAProxys of its partitions, and wait until it answers. Raises
        :class:`ProcessFailed`, also if it has no usable HAProxy.
        """
        if self._guard is None:
            await asyncio.to_thread(self._prepare_directory)
        file = self._workshop.announcement_path(f"{DAEMON_PROCESS}.url")
        process = self._workshop.create_process(
            DAEMON_PROCESS, leftovers.DAEMON_MODULE, merge_sections(self._daemon_sections(file), self._options)
        )
        await self._workshop.run(process, written_file_condition(file), "its URL")
        self._daemon = DaemonProbe(
            name=self.names[0],
            url=file.read_text().strip(),
            ca_file=str(self._certificates.authority),
            user=DEMO_AGENT_NAME,
            password=self._agent_password(DEMO_AGENT_NAME),
        )
        if problem := (await asyncio.to_thread(self._daemon.read_versions)).problem:
            raise process.failure(problem)

    def _prepare_directory(self) -> None:
        # paths of sockets must be short, and a test's directory may be long; in memory, because keys lie there too
        memory = SHARED_MEMORY_DIR if SHARED_MEMORY_DIR.is_dir() else None
        self._sockets = Path(tempfile.mkdtemp(prefix="evenkeel-", dir=memory))
        log = self._workshop.directory / "logs" / "guard.log"
        self._guard = ProcessGuard(self._workshop.directory, removed=[self._sockets], table=self.table, log=log)
        self._guard.start()  # before any process that it has to stop
        make_certificates(self._certificates.folder, [DAEMON_ADDRESS])
        self._agent_password(DEMO_AGENT_NAME)

    def _daemon_sections(self, endpoint_file: Path) -> Sections:
        port = self._daemon.url.rpartition(":")[2] if self._daemon else 0
        return {
            "haproxyd": {
                "name": self.names[0],
                "state_dir": self._directory,
                "run_dir": self._sockets,
                "bind_host": DAEMON_ADDRESS,
                "bind_port": port,
                "tls_certificate": self._certificates.certificate,
                "tls_key": self._certificates.key,
                "credentials_file": self._credentials,
                "endpoint_file": endpoint_file,
                "nftables_table": self.table,
                "allow_loopback_addresses": True,  # everything is on this machine
            }
        }

    def _agent_password(self, name: str) -> str:
        """Return an agent's password; creates it and adds it to the daemon's credentials at the first call."""
        with self._lock:  # agents are started at the same time, and share one file
            if name not in self._passwords:
                password = secrets.token_urlsafe(12)
                add_agent(self._credentials, name, password)
                self._passwords[name] = password
            return self._passwords[name]

    # -- observation

    def describe_devices(self) -> str:
        """Return a text that names the device and its HAProxy's version."""
        about = self.daemon.read_versions()
        return f"{self.names[0]}: HAProxy {about.haproxy_version}, with the daemon that makes it a device for agents"

    def experiment_hints(self) -> list[str]:
        """Return hints: how to kill the daemon, and to read the partitions' configuration."""
        pid = self._workshop.processes[DAEMON_PROCESS].pid
        return [
            f"kill -9 {pid} is the end of HAProxy's daemon; HAProxy goes on",
            f"cat {self._directory}/partitions/*/conf/haproxy.cfg",
        ]

    def agent_sections(self, host: str) -> Sections:
        """Return the section ``[haproxy]`` for the agent on ``host``; every agent has its own credential,
        which is created at the first call.
        """
        password = self._agent_password(host)
        return {
            "haproxy": {
                "haproxyd_url": self.daemon.url,
                "haproxyd_username": host,
                "haproxyd_password_file": self._workshop.write_secret(f"haproxyd-password-{host}", password + "\n"),
                "ca_file": self.daemon.ca_file,
                "ha_type": "standalone",
            }
        }

    def last_write(self) -> int:
        """Return the number of the newest write in the daemon's journal."""
        return self.daemon.last_write()

    def writes_after(self, number: int) -> Mapping[str, int]:
        """Return the number of writes that were requested from the daemon after journal entry ``number``, by
        device.
        """
        return {self.names[0]: len(self.daemon.journal_entries(number))}

    def first_write_time(self, host: str, after: int) -> float | None:
        """Return the time, in seconds since the epoch, of the first write of the agent on ``host`` that the
        daemon accepted after entry ``after``; None: not yet.
        """
        entry = self.daemon.first_write_by(host, after)
        return None if entry is None else entry.time

    def members(self) -> Mapping[str, set[str]]:
        """Return the members of all pools in the daemon's partitions, as ``address:port``, by device."""
        return {self.names[0]: {one for item in self.daemon.partitions() for one in member_addresses(item)}}

    def close(self) -> None:
        """Stop the HAProxys, which outlive the daemon. Raises :class:`ProcessFailed` if some could not be
        ended.
        """
        if self._guard is not None:
            self._guard.close()
