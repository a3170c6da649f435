"""Runs one load balancer as we configure it and as Octavia's amphora does, in the same HAProxy binary, and compares
what clients and members see."""

import asyncio
import contextlib
import json
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import msgspec

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.tls.certificates import CertificateContent
from tests.canary import expect_in
from tests.compat.octavia.stock import installed
from tests.devices.haproxy.configuration import HAPROXY
from tests.devices.tls_behaviour import NAMED
from tests.equivalence import definitions as d
from tests.equivalence import runtime
from tests.equivalence.host import Host, Partition, host
from tests.equivalence.runtime import STATES, STATISTICS
from tests.equivalence.site import Site
from tests.equivalence.traffic import check_differences, traffic_differences, within

RENDER = Path(__file__).with_name("render.py")
START_SECONDS, SETTLE_SECONDS = 30.0, 10.0
_NOT_HERE = re.compile(
    r"^ *(daemon|user nobody|log /\S+ .*|server-state-file .*|load-server-state-from-file .*)\n", re.M
)
"""Lines about the amphora's host."""
_PEERS = re.compile(r"^peers .*\n(?:    .*\n)*", re.MULTILINE)


NOT_STARTED = "Octavia's HAProxy does not start"


class NotStarted(Exception):
    """What HAProxy says of Octavia's configuration."""


class Renderer:
    """Octavia's templates in a process of their own."""

    def __init__(self, version: str, folder: Path) -> None:
        self._version = version
        certificates = expect_in(folder / "certificates")
        with (folder / "render.log").open("wb") as log:
            self._process = subprocess.Popen(
                [installed() / "bin" / "python", RENDER, certificates],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._log = folder / "render.log"
        self._tell({reference: _plain(content) for reference, content in NAMED.items()})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)

    def text(self, tree: ServiceDefinition) -> str:
        """The configuration of an amphora, for this host; checks are ten times as often as they say."""
        assert self._process.stdout is not None
        self._tell({**_whole(tree), "haproxy_version": self._version})
        line = self._process.stdout.readline()
        assert line, self._log.read_text()
        text: str = json.loads(line)
        text = _PEERS.sub("", _NOT_HERE.sub("", text))
        text = re.sub(r"\bmaxconn \d{5,}", "maxconn 2000", text)  # more than a test may have open
        return re.sub(r"\binter (\d+)s", r"inter \g<1>00ms", text)

    def _tell(self, what: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()


def _plain(content: CertificateContent) -> dict[str, Any]:
    """What a reference names, with its private key."""
    key = content.private_key
    return {
        "certificates": content.certificates,
        "private_key": key.reveal().decode() if key else None,
        "revocation_list": content.revocation_list,
    }


def _whole(one: Any) -> Any:
    """A value with all its attributes, as JSON has it."""
    if isinstance(one, msgspec.Struct):
        return {name: _whole(getattr(one, name)) for name in one.__struct_fields__}
    if isinstance(one, tuple | list):
        return [_whole(each) for each in one]
    return one


class Pair:
    """Our HAProxy and Octavia's, each with a site."""

    def __init__(self, ours: tuple[Host, Site], octavias: Site, renderer: Renderer, folder: Path) -> None:
        self._host, self._site = ours
        self._octavias = octavias
        self._renderer = renderer
        self._folder = folder
        self._socket = folder / "s"

    async def differences(self, tree: ServiceDefinition) -> list[str]:
        """What clients and members see differently of one load balancer; ours first."""
        for site in (self._site, self._octavias):
            site.start()
        ours = self._host.partition()
        errors = await ours.apply(d.certified(self._site.moved(tree)), complete=True)
        if errors:
            return [f"refused: {errors}"]
        try:
            async with self._running(tree):
                await within(SETTLE_SECONDS, lambda: self._agree(ours))
                checks = await check_differences(self._site, self._octavias)
                return [*checks, *await traffic_differences([tree], self._site, self._octavias, self._folder)]
        except NotStarted as problem:
            return [f"{NOT_STARTED}: {problem}"]
        finally:
            await ours.remove()

    async def _agree(self, ours: Partition) -> bool:
        """Whether no further check changes anything, and both take the same members for dead: a busy machine makes
        checks late. If they never do, clients will see it."""
        asked = ((self._site, ours.ask), (self._octavias, lambda command: _answer(self._socket, command)))
        found = [runtime.servers(site, await ask(STATES), await ask(STATISTICS)) for site, ask in asked]
        states = [{_member(name): row["status"] == "DOWN" for name, row in rows.items()} for rows in found]
        return all(map(runtime.settled, found)) and all(states[0][one] == states[1][one] for one in states[1])

    @asynccontextmanager
    async def _running(self, tree: ServiceDefinition) -> AsyncIterator[None]:
        """HAProxy with Octavia's configuration. Raises :class:`NotStarted`."""
        assert HAPROXY is not None
        file = self._folder / "octavia.cfg"
        text = self._renderer.text(self._octavias.moved(tree))
        file.write_text(re.sub(r"stats socket \S+", f"stats socket {self._socket}", text))
        with (self._folder / "octavia.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(HAPROXY, "-db", "-f", file, stdout=log, stderr=log)
        try:

            async def answers_or_ends() -> bool:
                return process.returncode is not None or await _answers(self._socket)

            assert await within(START_SECONDS, answers_or_ends)
            if process.returncode is not None:
                raise NotStarted((self._folder / "octavia.log").read_text())
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _member(server: str) -> str:
    return server.rpartition("/")[2]


async def _answers(socket: Path) -> bool:
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_unix_connection(str(socket))
        writer.close()
        return True
    return False


async def _answer(socket: Path, command: str) -> str:
    """What HAProxy's runtime API says."""
    async with asyncio.timeout(START_SECONDS):
        reader, writer = await asyncio.open_unix_connection(str(socket))
        try:
            writer.write(f"{command}\n".encode())
            return (await reader.read()).decode()
        finally:
            writer.close()


@asynccontextmanager
async def pair(folder: Path) -> AsyncIterator[Pair]:
    """Both, ready."""
    assert HAPROXY is not None
    asking = await asyncio.create_subprocess_exec(HAPROXY, "-v", stdout=subprocess.PIPE)
    shown, _ = await asking.communicate()
    version = re.search(r"version (\d+\.\d+\.\d+)", shown.decode())
    assert version is not None
    async with contextlib.AsyncExitStack() as stack:
        sites = []
        for name in ("old", "new"):
            (folder / name).mkdir()
            site = Site(folder / name)
            stack.push_async_callback(site.stop)
            sites.append(site)
        running = await stack.enter_async_context(host(folder / "old"))
        yield Pair((running, sites[0]), sites[1], stack.enter_context(Renderer(version[1], folder)), folder)
