"""Two agents for each of the three environments of a :class:`~tests.octavia.world.World`."""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping

from evenkeel.demo.configuration import Sections, merge_sections
from evenkeel.demo.device_kinds.bigip import BigipDevices
from evenkeel.demo.workspace import Workspace
from tests.octavia.world import ENVIRONMENTS, World

HOSTS: Mapping[str, tuple[str, str]] = {
    "prod": ("host-1", "host-2"),
    "none": ("none-1", "none-2"),
    "big": ("big-1", "big-2"),
}
"""Hosts with an agent by environment; World itself starts the first."""


@contextlib.contextmanager
def all_sites(world: World) -> Iterator[None]:
    """Run the emulated BIG-IP and all agents until the block ends."""
    cluster = world.cluster
    devices = Workspace(cluster.directory / "bigip")
    side = BigipDevices(devices, names=("bigip-1",))
    started = [host for hosts in HOSTS.values() for host in hosts if host != "host-1"]
    try:
        asyncio.run(side.start())
        for environment, hosts in HOSTS.items():
            for host in hosts:
                if host != "host-1":
                    options = _sections(environment, side.agent_sections(host))
                    asyncio.run(cluster.start_agent(host, options=options))
        yield
    finally:
        for host in started:
            if (process := cluster.processes.get(f"agent-{host}")) is not None:
                process.stop()
        for process in devices.processes.values():
            process.stop()


def _sections(environment: str, bigip: Sections) -> Sections:
    own = {"DEFAULT": {"environment_prefix": environment, "device_driver": ENVIRONMENTS[environment]}}
    return merge_sections(own, bigip if environment == "big" else {})
