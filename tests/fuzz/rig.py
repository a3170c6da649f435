"""Real processes, honest clients beside the strangers, and what is to be said of both in the end."""

import asyncio
import random
import resource
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp

from evenkeel.cli.client import API_PATH
from evenkeel.core.kit.values import Value
from evenkeel.demo.addresses import choose_vip_address
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.processes import DemoProcess
from tests.acceptance.tenant import LBAAS, Tenant, session, settled
from tests.acceptance.websites import create, website
from tests.waiting import eventually

HOSTS = ("host-1", "host-2", "host-3")
SERVERS = ("controller-1", "devices")
HONEST_SECONDS = 20.0
"""For an honest request to be answered, on a machine that is busy with all of this."""
GROWTH_BYTES_MAX = 200_000_000
"""By which a server's memory may grow."""
FILES_LEFT_MAX = 12
"""More files than before: connections of honest clients and to the database that were not there yet."""
LAPSES = ("agent_silent", "agent_vanished")


class Outcome(Value):
    """What was seen."""

    seconds: float
    strangers: str
    """How many of what, as their process says."""
    asked: int
    unanswered: tuple[str, ...]
    slowest_seconds: float
    keepalives_missed: int
    lapses: tuple[str, ...]
    """Sessions that expired."""
    memory_before: Mapping[str, int]
    memory_most: Mapping[str, int]
    files_before: Mapping[str, int]
    files_after: Mapping[str, int]

    def problems(self) -> list[str]:
        """Promises that were not kept."""
        found = [f"not answered: {text}" for text in self.unanswered[:5]]
        if self.keepalives_missed:
            found.append(f"{self.keepalives_missed} keepalives missed")
        found += [f"session lapsed: {text}" for text in self.lapses]
        for name in SERVERS:
            if self.memory_most[name] - self.memory_before[name] > GROWTH_BYTES_MAX:
                found.append(f"{name}: {self.memory_most[name]} bytes of memory, {self.memory_before[name]} before")
            if self.files_after[name] > self.files_before[name] + FILES_LEFT_MAX:
                found.append(f"{name}: {self.files_after[name]} files open, {self.files_before[name]} before")
        return found


class Rig:
    """A controller, three agents, the daemon with HAProxy, one tenant's load balancer. ``session_ttl``: of agents, in
    seconds."""

    def __init__(self, directory: Path, *, session_ttl: float = 5.0) -> None:
        limited = {"connections_max": 300, "connections_per_address_max": 60}
        self.cluster = Cluster(
            directory,
            environment="fuzz",
            device="haproxy",
            controller_options={
                "DEFAULT": {"session_ttl": session_ttl},
                "api": {**limited, "proxies": "127.0.0.1"},
            },
            device_options={"haproxyd": limited},
        )
        self._asked = 0
        self._unanswered: list[str] = []
        self._slowest_seconds = 0.0
        self._most: dict[str, int] = {}

    async def start(self) -> None:
        """Everything, and a load balancer that is served."""
        cluster = self.cluster
        await cluster.start_devices()
        await cluster.start_controller(1)
        await asyncio.gather(*(cluster.start_agent(host) for host in HOSTS), cluster.start_backend(1))
        place = choose_vip_address(random.Random())
        body = {"subnet": {"name": "vips", "cidr": place.cidr}}
        subnet = (await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", body))["subnet"]
        self._http = session()
        self._tenant = Tenant(self._http, cluster.controllers, "honest")
        await create(self._tenant, website(subnet["id"], place.address, {"HTTP": place.port}, cluster.backend_ports))
        await settled(self._tenant)

    async def close(self) -> None:
        """End everything."""
        if hasattr(self, "_http"):
            await self._http.close()
        await asyncio.to_thread(self.cluster.close)

    async def run(self, *, seconds: float, connections: int, seed: int) -> Outcome:
        """Let the strangers in for so long."""
        self._asked, self._slowest_seconds = 0, 0.0
        self._unanswered.clear()
        missed = await asyncio.to_thread(self._keepalives_missed)
        events = (await self.cluster.get_json("/events"))["events"]
        newest = max((event["id"] for event in events), default=0)
        files, memory = self._files(), self._memory()
        self._most = dict(memory)
        strangers = self._strangers(seconds, connections, seed)
        begun = time.monotonic()
        strangers.start()
        while strangers.running:
            await self._ask_honestly()
            self._most = {name: max(self._most[name], size) for name, size in self._memory().items()}
            assert time.monotonic() < begun + seconds + 120, strangers.failure("does not end")
        await settled(self._tenant)
        await eventually(lambda: self._are_closed(files), within_seconds=120.0, every_seconds=1.0)
        return Outcome(
            seconds=time.monotonic() - begun,
            strangers=strangers.tail(1),
            asked=self._asked,
            unanswered=tuple(self._unanswered),
            slowest_seconds=self._slowest_seconds,
            keepalives_missed=await asyncio.to_thread(self._keepalives_missed) - missed,
            lapses=await self._lapses(newest),
            memory_before=memory,
            memory_most=self._most,
            files_before=files,
            files_after=self._files(),
        )

    def _strangers(self, seconds: float, connections: int, seed: int) -> DemoProcess:
        ports = (self.cluster.url(1), self.cluster.side.daemon.url)  # type: ignore[attr-defined]
        http, https = (url.rpartition(":")[2] for url in ports)
        given = {"http": http, "https": https, "connections": connections, "seconds": seconds, "seed": seed}
        words = [word for name, value in given.items() for word in (f"--{name}", str(value))]
        return self.cluster.workspace.get_process("strangers", "tests.fuzz.clients", words)

    # -- the honest

    async def _ask_honestly(self) -> None:
        """A read over a connection of its own, and now and then a change that has to arrive at the device."""
        self._asked += 1
        begun = time.monotonic()
        try:
            if self._asked % 10 == 0:
                await self._change()
            else:
                await self._read()
        except (aiohttp.ClientError, TimeoutError, AssertionError) as error:
            self._unanswered.append(f"{error!r} after {time.monotonic() - begun:.1f} s")
        self._slowest_seconds = max(self._slowest_seconds, time.monotonic() - begun)
        await asyncio.sleep(0.1)

    async def _read(self) -> None:
        timeout = aiohttp.ClientTimeout(total=HONEST_SECONDS)
        async with (
            aiohttp.ClientSession(timeout=timeout) as http,
            http.get(f"{self.cluster.url(1)}{LBAAS}/loadbalancers/{self._tenant.load_balancer_id}") as answer,
        ):
            assert answer.status == 200, await answer.text()

    async def _change(self) -> None:
        async with asyncio.timeout(HONEST_SECONDS):
            body = {"loadbalancer": {"description": f"change {self._asked}"}}
            path = f"{LBAAS}/loadbalancers/{self._tenant.load_balancer_id}"
            status, answer = await self._tenant.once("PUT", path, body)
            assert status == 200, answer

    # -- what is seen

    def _pids(self) -> dict[str, int]:
        return {name: self.cluster.processes[name].pid for name in SERVERS}

    def _memory(self) -> dict[str, int]:
        sizes = {}
        for name, pid in self._pids().items():
            pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
            sizes[name] = int(pages) * resource.getpagesize()
        return sizes

    def _files(self) -> dict[str, int]:
        return {name: sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()) for name, pid in self._pids().items()}

    def _are_closed(self, before: Mapping[str, int]) -> bool:
        return all(count <= before[name] + FILES_LEFT_MAX for name, count in self._files().items())

    def _keepalives_missed(self) -> int:
        logs = (self.cluster.processes[f"agent-{host}"].log.read_text(errors="replace") for host in HOSTS)
        return sum(text.count("keepalive failed") + text.count("no answer to a keepalive") for text in logs)

    async def _lapses(self, newest: int) -> tuple[str, ...]:
        found: dict[str, Any] = await self.cluster.get_json("/events")
        return tuple(
            str(event["text"]) for event in found["events"] if event["id"] > newest and event["kind"] in LAPSES
        )
