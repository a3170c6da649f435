"""A daemon as its own process, with real HAProxys, and those who talk to it."""

import asyncio
import contextlib
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.api.tls import make_certificates
from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY_DIR
from tests.devices.services import session_of
from tests.haproxyd.quick_credentials import write_agent
from tests.haproxyd.world import Member
from tests.services import forking
from tests.services.haproxy import configured_binary
from tests.waiting import eventually

PASSWORD = "correct horse battery"


class Daemon:
    """``evenkeel-haproxyd`` in a folder."""

    def __init__(self, folder: Path, **options: object) -> None:
        self.folder = folder
        self.state_dir = folder / "state"
        self.run_dir = Path(tempfile.mkdtemp(prefix="ek", dir=SHARED_MEMORY_DIR))
        self.endpoint_file = folder / "endpoint"
        self.credentials = folder / "credentials"
        self.program = ("-m", "evenkeel.cmd.haproxyd")
        self.process: subprocess.Popen[bytes] | None = None
        self.prefix: tuple[str, ...] = ()
        """Of its command line: what it is started by."""
        self.files = make_certificates(folder / "tls", ["127.0.0.1", "localhost"])
        write_agent(self.credentials, "agent-1", PASSWORD)
        self._context = ssl.create_default_context(cafile=self.files.authority)
        self._write_config(options)

    def _write_config(self, options: dict[str, object]) -> None:
        settings = {
            "name": "host-1",
            "bind_host": "127.0.0.1",
            "bind_port": 0,
            "tls_certificate": self.files.certificate,
            "tls_key": self.files.key,
            "credentials_file": self.credentials,
            "endpoint_file": self.endpoint_file,
            "state_dir": self.state_dir,
            "run_dir": self.run_dir,
            "allow_loopback_addresses": True,
            "maxconn": 2000,
            **({"haproxy": configured_binary()} if configured_binary() else {}),
            **options,
        }
        lines = [f"{key} = {value}" for key, value in settings.items()]
        self.config = self.folder / "haproxyd.ini"
        self.config.write_text("\n".join(["[haproxyd]", *lines, ""]))

    def command(self, *arguments: str) -> list[str]:
        return [
            *self.prefix,
            sys.executable,
            *self.program,
            "--config-file",
            str(self.config),
            *arguments,
        ]

    async def start(self) -> None:
        self.endpoint_file.unlink(missing_ok=True)
        self._launch()
        await eventually(self._answers)

    def _launch(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = forking.start(self.command(), log.fileno())

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "log").read_text()
        return self.endpoint_file.exists() and self.endpoint_file.read_text().endswith("\n")

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(60)
            self.process = None

    def clean_up(self) -> None:
        self.kill()
        self.stop_haproxy()
        shutil.rmtree(self.run_dir)

    def stop_haproxy(self) -> None:
        """Of a daemon that does not run."""
        self._stop_haproxy(self.command("--stop-haproxy"))

    def _stop_haproxy(self, command: list[str]) -> None:
        with (self.folder / "stop-log").open("ab") as log:
            forking.start(command, log.fileno()).wait(120)

    def client(self, name: str = "agent-1", password: str = PASSWORD) -> "Client":
        return Client(self.endpoint_file.read_text().strip(), self._context, name, password)


class Client:
    """Speaks the wire format. Use as an async context manager."""

    def __init__(self, url: str, context: ssl.SSLContext, name: str, password: str) -> None:
        self._url = url
        self._context = context
        self._headers = {"Authorization": aiohttp.encode_basic_auth(name, password)}

    async def __aenter__(self) -> "Client":
        self._http = aiohttp.ClientSession(headers=self._headers, connector=aiohttp.TCPConnector(ssl=self._context))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()

    async def raw(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        data = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
        async with self._http.request(method, self._url + path, data=data) as answer:
            return answer.status, await answer.read()

    async def refused(self, method: str, path: str, body: object = None) -> tuple[int, wire.DaemonRefusal]:
        status, content = await self.raw(method, path, body)
        return status, msgspec.json.decode(content, type=wire.DaemonRefusal)

    async def ask(self, kind: type[Any], method: str, path: str, body: object = None) -> Any:
        status, content = await self.raw(method, path, body)
        assert status == 200, (status, content)
        return msgspec.json.decode(content, type=kind)

    async def patch(self, partition: str, change: wire.PartitionChange) -> wire.Receipt:
        """All of it is taken."""
        receipt = await self.sent(partition, change)
        assert all(not outcome.error for outcome in receipt.outcomes), receipt
        return receipt

    async def sent(self, partition: str, change: wire.PartitionChange) -> wire.Receipt:
        """As an owner does, who takes over first."""
        guard = wire.GuardState(epoch=change.epoch, session_id=session_of(change.epoch))
        taken = await self.ask(wire.GuardState, "POST", f"/v1/partitions/{partition}/guard", guard)
        owned = msgspec.structs.replace(change, session_id=taken.session_id, state_id=taken.state_id)
        receipt: wire.Receipt = await self.ask(wire.Receipt, "PATCH", f"/v1/partitions/{partition}", owned)
        return receipt

    async def observe(self, partition: str) -> wire.PartitionStatus:
        seen = await self.ask(wire.DaemonObservation, "GET", "/v1/observation")
        return next(status for status in seen.partitions if status.name == partition)


def balancer(port: int, *members: Member, revision: int = 1, **backend: Any) -> wire.LoadBalancerConfig:
    """HTTP on 127.0.0.1, checked every second; a check fails that takes longer."""
    arguments = () if backend.get("ping") else ("check", "inter", "1s", "fastinter", "200", "fall", "2", "rise", "1")
    return wire.LoadBalancerConfig(
        id="lb1",
        revision=revision,
        frontends=(
            wire.Frontend(
                name="front1",
                binds=(wire.Bind(address="127.0.0.1", port=port),),
                lines=("mode http", "default_backend back1"),
            ),
        ),
        backends=(
            wire.Backend(
                name="back1",
                lines=("mode http", "balance roundrobin"),
                servers=tuple(
                    wire.BackendServer(name=member.name, address="127.0.0.1", port=member.port, arguments=arguments)
                    for member in members
                ),
                **backend,
            ),
        ),
    )


PAUSE_SECONDS = 0.003
"""Between two requests of one of :class:`Traffic`'s four clients: together they send one about each millisecond."""


class Traffic:
    """Requests one after the other on one-shot and on kept connections; counts what failed and why."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/"
        self.answered = 0
        self.failed: list[str] = []
        self._stopping = False

    @contextlib.asynccontextmanager
    async def flowing(self) -> AsyncIterator["Traffic"]:
        tasks = [asyncio.create_task(self._loop(keep)) for keep in (True, True, False, False)]
        try:
            yield self
        finally:
            self._stopping = True
            await asyncio.gather(*tasks)

    async def _loop(self, keep: bool) -> None:
        connector = aiohttp.TCPConnector(force_close=not keep)
        async with aiohttp.ClientSession(connector=connector) as http:
            while not self._stopping:
                try:
                    async with http.get(self._url) as answer:
                        await answer.read()
                        if answer.status == 200:
                            self.answered += 1
                        else:
                            self.failed.append(str(answer.status))
                except (aiohttp.ClientError, OSError) as error:
                    self.failed.append(repr(error))
                await asyncio.sleep(PAUSE_SECONDS)  # else clients take a whole core from the daemon
