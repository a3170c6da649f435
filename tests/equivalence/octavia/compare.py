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

from evenkeel.core.service import ServiceDefinition
from tests.compat.octavia.stock import installed
from tests.devices.haproxy.configuration import HAPROXY
from tests.equivalence import definitions as d
from tests.equivalence.host import Host, host
from tests.equivalence.site import Site
from tests.equivalence.traffic import check_differences, traffic_differences, within

RENDER = Path(__file__).with_name("render.py")
START_SECONDS, SETTLE_SECONDS = 30.0, 1.0
_NOT_HERE = re.compile(
    r"^ *(daemon|user nobody|log /\S+ .*|server-state-file .*|load-server-state-from-file .*)\n", re.M
)
"""Lines about the amphora's host."""
_PEERS = re.compile(r"^peers .*\n(?:    .*\n)*", re.MULTILINE)


class Renderer:
    """Octavia's templates in a process of their own."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._process = subprocess.Popen(
            [installed() / "bin" / "python", RENDER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)

    def text(self, tree: ServiceDefinition) -> str:
        """The configuration of an amphora, for this host; checks are ten times as often as they say."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({**_whole(tree), "haproxy_version": self._version}) + "\n")
        self._process.stdin.flush()
        text: str = json.loads(self._process.stdout.readline())
        text = _PEERS.sub("", _NOT_HERE.sub("", text))
        text = re.sub(r"\bmaxconn \d{5,}", "maxconn 2000", text)  # more than a test may have open
        return re.sub(r"\binter (\d+)s", r"inter \g<1>00ms", text)


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
                await asyncio.sleep(SETTLE_SECONDS)
                checks = await check_differences(self._site, self._octavias)
                return [*checks, *await traffic_differences([tree], self._site, self._octavias, self._folder)]
        finally:
            await ours.remove()

    @asynccontextmanager
    async def _running(self, tree: ServiceDefinition) -> AsyncIterator[None]:
        """HAProxy with Octavia's configuration."""
        assert HAPROXY is not None
        file, socket = self._folder / "octavia.cfg", self._folder / "s"
        text = self._renderer.text(self._octavias.moved(tree))
        file.write_text(re.sub(r"stats socket \S+", f"stats socket {socket}", text))
        with (self._folder / "octavia.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(HAPROXY, "-db", "-f", file, stdout=log, stderr=log)
        try:
            answers = await within(START_SECONDS, lambda: _answers(socket))
            assert answers, (self._folder / "octavia.log").read_text()
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _answers(socket: Path) -> bool:
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_unix_connection(str(socket))
        writer.close()
        return True
    return False


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
        yield Pair((running, sites[0]), sites[1], stack.enter_context(Renderer(version[1])), folder)
