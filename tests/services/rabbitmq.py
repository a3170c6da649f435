"""A RabbitMQ of our own: one node, its own epmd, no plugins; nothing of the machine's own installation is touched."""

import shutil
import signal
import socket
import subprocess
from pathlib import Path

from tests.services.process import (
    free_port,
    kill_group,
    spawn,
    temporary_home,
    terminate,
    wait_until_ready,
)

SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
START_SECONDS = 90.0
STOP_SECONDS = 30.0


def missing() -> str:
    """Why RabbitMQ cannot be started here; empty if it can."""
    if not SERVER.exists() or not shutil.which("epmd"):
        return "RabbitMQ is not installed (Debian: rabbitmq-server)"
    return ""


class RabbitMQ:
    """One broker node. ``url`` stays the same over restarts; durable content survives them, unless wiped."""

    def __init__(self) -> None:
        self._home = temporary_home("evenkeel-rabbitmq-")
        self.port = free_port()
        self._epmd_port = free_port()
        self._dist_port = free_port()
        self._log = self._home / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._epmd: subprocess.Popen[bytes] | None = None
        (self._home / "enabled_plugins").write_text("[].\n")
        (self._home / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\n"
            "vm_memory_high_watermark.absolute = 1GB\n"
            "disk_free_limit.absolute = 10MB\n"
            "raft.wal_max_size_bytes = 16777216\n"
            "log.console = true\nlog.console.level = warning\nlog.file = false\n"
        )
        (self._home / "env.conf").write_text("")

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}/"

    @property
    def running(self) -> bool:
        """Is the server process there?"""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start and wait until clients are served; nothing to do if it runs."""
        if self.running:
            return
        self._start_epmd()
        self._process = spawn([SERVER], log=self._log, env=self._environment(), cwd=self._home)
        wait_until_ready(self._serves, self._process, log=self._log, timeout_seconds=START_SECONDS)

    def stop(self) -> None:
        """Stop it properly."""
        if self._process is not None:
            terminate(self._process, signal.SIGTERM, timeout_seconds=STOP_SECONDS)

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            kill_group(self._process)

    def freeze(self) -> None:
        """Stop it from running without closing its connections, as a dead host would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Undo :meth:`freeze`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()

    def wipe(self) -> None:
        """Forget all queues and messages. Only while it is stopped."""
        assert not self.running
        shutil.rmtree(self._home / "mnesia", ignore_errors=True)

    def close(self) -> None:
        """Stop for good."""
        self.kill()
        if self._epmd is not None:
            kill_group(self._epmd)
        shutil.rmtree(self._home, ignore_errors=True)

    def _start_epmd(self) -> None:
        # started by us: the one that Erlang would start detaches itself and would outlive the tests
        if self._epmd is None or self._epmd.poll() is not None:
            command = ["epmd", "-address", "127.0.0.1", "-port", str(self._epmd_port)]
            self._epmd = spawn(command, log=self._log, env=self._environment(), cwd=self._home)
            wait_until_ready(self._epmd_listens, self._epmd, log=self._log, timeout_seconds=10.0)

    def _environment(self) -> dict[str, str]:
        home = str(self._home)
        return {
            "HOME": home,
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "RUNNING_UNDER_SYSTEMD": "true",  # exec Erlang instead of keeping a shell in front of it
            "ERL_EPMD_PORT": str(self._epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"test{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(self._dist_port),
            "RABBITMQ_CONF_ENV_FILE": f"{home}/env.conf",
            "RABBITMQ_CONFIG_FILE": f"{home}/rabbitmq.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{home}/enabled_plugins",
            "RABBITMQ_MNESIA_BASE": f"{home}/mnesia",
            "RABBITMQ_LOG_BASE": f"{home}/log",
            "RABBITMQ_PID_FILE": f"{home}/pid",
            "RABBITMQ_GENERATED_CONFIG_DIR": f"{home}/config",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none",
        }

    def _epmd_listens(self) -> bool:
        return _connects(self._epmd_port)

    def _serves(self) -> bool:
        """Does it answer the AMQP 0-9-1 protocol header?"""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2.0) as client:
                client.sendall(b"AMQP\x00\x00\x09\x01")
                return client.recv(1) == b"\x01"
        except OSError:
            return False


def _connects(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return True
    except OSError:
        return False
