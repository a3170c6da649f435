"""What devices hold after a history, compared with what they hold once agents have configured them from nothing.

The devices are the HAProxy of a :class:`~tests.octavia.world.World`, and a no-op device of an agent of its own. Each is
lost with everything on it, and configured again by its agent from what the controllers have.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.config.layout import partition_layout
from evenkeel.haproxyd.haproxy.runtime.master_cli import MasterCli
from evenkeel.haproxyd.settings import DaemonSettings
from tests.equivalence import runtime
from tests.equivalence.traffic import different
from tests.octavia.recorded_noop import SUFFIX
from tests.octavia.world import World

NOOP_HOST = "recorded-1"
SETTLE_SECONDS = 180.0
"""Within this time members' checks have run, and a device that was lost is configured again."""
Content = Mapping[str, Any]
"""Everything on a device, by name, in plain values."""


class Comparison(NamedTuple):
    """Differences of devices from devices that are configured from nothing, and the number of entries compared."""

    differences: list[str]
    entries: int


class _Places:
    """Addresses of a device as they are."""

    @staticmethod
    def named(text: str) -> str:
        return text


@contextlib.contextmanager
def recorded_noop(world: World) -> Iterator[None]:
    """Run the agent of a no-op device until the block ends."""
    options = {"DEFAULT": {"environment_prefix": "none", "device_driver": "noop"}}
    start = world.cluster.start_agent(NOOP_HOST, options=options, module="tests.octavia.recorded_noop")
    asyncio.run(start)
    try:
        yield
    finally:
        world.cluster.processes[f"agent-{NOOP_HOST}"].stop()


def compare_devices(world: World, wanted: Mapping[str, set[str]]) -> Comparison:
    """Compare both devices with devices that are configured from nothing.

    ``wanted``: ids of the load balancers that each must hold, by provider. Both devices are new afterwards.
    """
    before = {"evenkeel": _settled_haproxy(world), "evenkeel-noop": _noop_content(world)}
    found = [
        f"the device of {provider} holds {sorted(held)}, wanted: {sorted(wanted[provider])}"
        for provider, content in before.items()
        if (held := _load_balancers(content)) != wanted[provider]
    ]
    _lose_haproxy(world)
    _lose_noop(world)
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        after = {"evenkeel": _haproxy_content(world), "evenkeel-noop": _noop_content(world)}
        others = [text for provider in before for text in different(before[provider], after[provider])]
        if not others or time.monotonic() > deadline:
            return Comparison([*found, *others], sum(map(len, before.values())))
        time.sleep(0.5)


def _load_balancers(content: Content) -> set[str]:
    return {name.removeprefix("held ") for name in content if name.startswith("held ")}


def _lose_haproxy(world: World) -> None:
    side = _side(world)
    side.kill_daemon()
    for pid in side.haproxy_pids():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(world.cluster.directory / "devices")
    asyncio.run(side.start())


def _lose_noop(world: World) -> None:
    world.cluster.kill(f"agent-{NOOP_HOST}")
    (world.cluster.directory / "etc" / f"agent-{NOOP_HOST}{SUFFIX}").unlink(missing_ok=True)
    asyncio.run(world.cluster.start_again(f"agent-{NOOP_HOST}"))


def _noop_content(world: World) -> Content:
    file = world.cluster.directory / "etc" / f"agent-{NOOP_HOST}{SUFFIX}"
    held = json.loads(file.read_text()) if file.exists() else {}
    return {f"held {id}": service for id, service in held.items()}


def _side(world: World) -> HaproxyDevices:
    side = world.cluster.side
    assert isinstance(side, HaproxyDevices)
    return side


def _settled_haproxy(world: World) -> Content:
    """What HAProxy has when no further check of a member changes anything, or the time is over."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        content = _haproxy_content(world)
        if "unsettled" not in content or time.monotonic() > deadline:
            return content
        time.sleep(0.5)


def _haproxy_content(world: World) -> Content:
    """The daemon's configuration of each load balancer, and what the running workers show."""
    side = _side(world)
    content: dict[str, Any] = {}
    for partition in side.daemon.partitions():
        content |= {f"held {each.id}": each for each in partition.load_balancers}
        members = frozenset(
            server.name for each in partition.load_balancers for backend in each.backends for server in backend.servers
        )
        content |= asyncio.run(_running(_cli(world, side, partition.name), members))
    return content


async def _running(cli: MasterCli, members: frozenset[str]) -> Content:
    try:
        states, statistics = await cli.command(runtime.STATES), await cli.command(runtime.STATISTICS)
    except HaproxyDown:
        return {"unsettled": "it does not run"}
    rows = runtime.servers(_Places(), states, statistics)
    content = {**runtime.compared(rows, members), **runtime.backends(statistics)}
    return content if runtime.settled(rows) else {**content, "unsettled": "checks of members"}


def _cli(world: World, side: HaproxyDevices, partition: str) -> MasterCli:
    state, sockets = world.cluster.directory / "devices", side._sockets
    assert sockets is not None
    settings = DaemonSettings(name=side.names[0], state_dir=state, run_dir=sockets)
    layout = partition_layout(partition, PartitionStorage(state, state), settings)
    return MasterCli(layout.master_socket, timeout_seconds=60.0, answer_bytes_max=10_000_000)
