"""A whole system for clients: real controller and agent processes, their message bus and database, no-op devices."""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import httpx
import msgspec

from evenkeel.core.resources.model import Subnet
from evenkeel.demo.configuration import NO_QUOTAS, merge_sections
from evenkeel.demo.processes import stop_all
from evenkeel.demo.workspace import Workspace, written_file_condition
from tests.api.subnet import SUBNET
from tests.waiting import eventually

START_SECONDS = 120.0
SESSION_SECONDS = 120.0
"""The agent lives on when the machine stands still: clients are tested here, not how agents are lost."""
PROVIDER = "dev"
HOST = "host-1"
GREEN = msgspec.structs.replace(
    SUBNET,
    id="0d1e2f3a-0000-4000-8000-00000000000c",
    name="green",
    cidr="10.11.0.0/16",
    gateway_ip="10.11.0.1",
    allocation_start="10.11.0.10",
    allocation_end="10.11.255.200",
)
"""More addresses on the same network."""


class Stack:
    """Controllers over one database, and an agent. Use :meth:`started`."""

    def __init__(
        self, directory: Path, options: Mapping[str, Mapping[str, object]], provider: str, headers: Mapping[str, str]
    ) -> None:
        self._workshop = Workspace(directory, start_seconds=START_SECONDS)
        self._bus = f"embedded://{self._workshop.directory}/bus.db"
        self._options = options
        self._provider = provider
        self._headers = headers
        self.urls: tuple[str, ...] = ()

    @classmethod
    @contextlib.contextmanager
    def started(
        cls,
        directory: Path,
        *,
        controllers: int = 1,
        options: Mapping[str, Mapping[str, object]] | None = None,
        provider: str = PROVIDER,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[Self]:
        """Run until the block ends, with subnets ``blue`` and ``green``. ``options``: more of the controllers' ini;
        ``headers``: by which an operator is known, where somebody asks."""
        stack = cls(directory, options or {}, provider, headers or {})
        try:
            asyncio.run(stack._start(controllers))
            yield stack
        finally:
            stack._close()

    @property
    def url(self) -> str:
        """Root URL of the first controller."""
        return self.urls[0]

    async def _start(self, controllers: int) -> None:
        for number in range(1, controllers + 1):
            await self._start_controller(f"controller-{number}")
        async with httpx.AsyncClient(base_url=self.url, headers=self._headers, timeout=60.0) as client:
            for subnet in (SUBNET, GREEN):
                answer = await client.post("/evenkeel/v1/subnets", json={"subnet": subnet_body(subnet)})
                assert answer.status_code == 201, answer.text
            self._start_agent()
            await eventually(lambda: agent_is_up(client), within_seconds=START_SECONDS)

    async def _start_controller(self, name: str) -> None:
        file = self._workshop.announcement_path(f"{name}.url")
        own: dict[str, dict[str, object]] = {
            "DEFAULT": {
                "transport_url": self._bus,
                "environments": f"{self._provider}:noop",
                "schedule_interval": 0.1,
                "session_ttl": SESSION_SECONDS,
                "suspicion_interval": 0.0,
            },
            "database": {"connection": f"sqlite:///{self._workshop.directory}/evenkeel.db"},
            "api": {"bind_port": 0, "endpoint_file": file},
        }
        process = self._workshop.create_process(
            name, "evenkeel.cmd.controller", merge_sections(own, NO_QUOTAS, self._options)
        )
        await self._workshop.run(process, written_file_condition(file), "its URL")
        self.urls = (*self.urls, file.read_text().strip())

    def kill_controller(self, number: int) -> None:
        """Kill a controller, as if its host was lost; ``number``: from 1."""
        self._workshop.processes[f"controller-{number}"].kill()

    def _start_agent(self) -> None:
        sections: dict[str, dict[str, object]] = {
            "DEFAULT": {
                "transport_url": self._bus,
                "host": HOST,
                "environment_prefix": self._provider,
                "device_driver": "noop",
                "status_interval": 0.5,
            }
        }
        self._workshop.create_process("agent", "evenkeel.cmd.agent", sections).start()

    def _close(self) -> None:
        stop_all(tuple(self._workshop.processes.values()))


def subnet_body(subnet: Subnet) -> dict[str, Any]:
    """An address pool, as an operator makes it."""
    names = ("id", "network_id", "name", "cidr", "gateway_ip", "allocation_start", "allocation_end")
    return {name: getattr(subnet, name) for name in names}


async def agent_is_up(client: httpx.AsyncClient) -> bool:
    """Do the controllers see an agent alive?"""
    answer = await client.get("/evenkeel/v1/agents")
    return any(agent["alive"] for agent in answer.json()["agents"])
