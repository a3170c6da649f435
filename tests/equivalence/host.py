"""One host with the real ``evenkeel-haproxyd`` and its HAProxys, driven through the device driver.

Checks of members are ten times as often as monitors say; what they are is not changed.
"""

import asyncio
import contextlib
import functools
import itertools
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from evenkeel.core.devices.device import Observation, PartitionBatch, PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.kit.ids import ProjectId, SessionId
from evenkeel.demo.device_kinds.leftovers import haproxy_pids
from evenkeel.devices.haproxy import open_group
from evenkeel.devices.haproxy.capabilities import CAPABILITIES
from evenkeel.devices.haproxy.client import DaemonClient as Client
from evenkeel.devices.haproxy.driver import HaproxyGroup
from evenkeel.devices.haproxy.render.load_balancer import render_load_balancer
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.haproxy.config.layout import partition_layout
from evenkeel.haproxyd.haproxy.runtime.master_cli import MasterCli
from evenkeel.haproxyd.settings import DaemonSettings
from tests.devices.owner import Owner
from tests.equivalence.daemon import DIES_AFTER, SILENT
from tests.equivalence.definitions import CONTENTS
from tests.equivalence.history import Device
from tests.equivalence.riders import possible, rules
from tests.equivalence.site import Site
from tests.haproxyd.daemonworld import PASSWORD, Daemon
from tests.services.process import free_port
from tests.waiting import eventually

ENVIRONMENT = "equal"
EPOCH = 1
HAPROXY = Device(
    table=CAPABILITIES,
    render=lambda tree: render_load_balancer(tree, CONTENTS).problem,
    happens=(
        ("change", 11),
        ("interrupted_change", 2),
        ("member_dies", 4),
        ("member_returns", 2),
        ("daemon_dies", 1),
        ("state_lost", 1),
        ("worker_dies", 1),
        ("reload", 3),
        ("unbindable", 2),
    ),
    riders=True,
    challenges=True,
)
_projects = itertools.count(1)


@functools.cache
def possible_here() -> Device:
    """The device type; without what the kernel forwards where it cannot. The rest of histories is the same."""
    return HAPROXY._replace(riders=not possible())


class TrialDaemon(Daemon):
    """The daemon of :mod:`.daemon`."""

    def __init__(self, folder: Path, control: Path, fault: str) -> None:
        # the two daemons of a rig, and those of other processes, share this host's kernel
        self.table = f"equal_{folder.name}_{os.getpid()}"
        super().__init__(folder, bind_port=free_port(), nftables_table=self.table)
        self.program = ("-m", "tests.equivalence.daemon", str(control), fault or "-")

    def stop_haproxy(self) -> None:
        program = (sys.executable, "-m", "evenkeel.cmd.haproxyd")
        self._stop_haproxy([*program, "--config-file", str(self.config), "--stop-haproxy"])
        for pid in haproxy_pids(str(self.run_dir)):  # of a partition that a daemon without its state does not know
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Host:
    """``folder``: its own. ``fault``: one of :data:`.faults.FAULTS`, or nothing."""

    def __init__(self, folder: Path, fault: str = "") -> None:
        self._control = folder / "control"
        self._control.mkdir()
        self.daemon = TrialDaemon(folder, self._control, fault)
        self._group: HaproxyGroup | None = None
        self._settings = DaemonSettings(name="host-1", state_dir=self.daemon.state_dir, run_dir=self.daemon.run_dir)

    async def start(self) -> None:
        await self.daemon.start()

    async def stop(self) -> None:
        if self._group is not None:
            await self._group.close()
        await asyncio.to_thread(self.daemon.clean_up)

    def partition(self) -> "Partition":
        """A HAProxy of its own, of a project that there was not before."""
        return Partition(self, f"p{next(_projects)}")

    async def kill(self, *, state_lost: bool = False) -> None:
        """Kill the daemon if it lives, and start another one."""
        self._control.joinpath(DIES_AFTER).unlink(missing_ok=True)
        await asyncio.to_thread(self.daemon.kill)
        if state_lost:
            shutil.rmtree(self.daemon.state_dir)
        await self.daemon.start()

    async def revive(self) -> None:
        """Start a daemon if there is none."""
        self._control.joinpath(DIES_AFTER).unlink(missing_ok=True)
        if self.daemon.process is None or self.daemon.process.poll() is not None:
            await self.kill()

    def dies_after(self, effects: int) -> None:
        """The daemon kills itself before the last of so many effects, from now on."""
        self._control.joinpath(DIES_AFTER).write_text(str(effects))

    def silence(self, addresses: Iterable[str]) -> None:
        """Pings of these addresses are not answered."""
        written = self._control / f".{SILENT}"
        written.write_text(" ".join(addresses))
        written.rename(self._control / SILENT)

    def group(self) -> HaproxyGroup:
        """The driver of an agent."""
        if self._group is None:
            options = {
                "haproxyd_url": self.daemon.endpoint_file.read_text().strip(),
                "haproxyd_username": "agent-1",
                "haproxyd_password": PASSWORD,
                "ca_file": str(self.daemon.files.authority),
                "request_timeout": "120",
            }
            made = open_group(options, environment=ENVIRONMENT, group_number=1, host="host-1")
            assert isinstance(made, HaproxyGroup)
            for device in made._devices:
                device.daemon.__class__ = QuickDaemon
            self._group = made
        return self._group

    def cli(self, project: str) -> MasterCli:
        """The runtime API of a project's HAProxy."""
        name = f"{ENVIRONMENT}_{project}"
        layout = partition_layout(name, PartitionStorage(self.daemon.state_dir, self.daemon.state_dir), self._settings)
        return MasterCli(layout.master_socket, timeout_seconds=60.0, answer_bytes_max=10_000_000)


class QuickDaemon(Client):
    """A driver's connection to the daemon, on which the intervals of checks are a tenth."""

    async def held_load_balancers(self, partition: str) -> tuple[wire.LoadBalancerConfig, ...]:
        return tuple(_with_intervals(one, r"(\d+)00ms", r"\1s") for one in await super().held_load_balancers(partition))

    async def put(self, partition: str, change: wire.PartitionChange) -> wire.Receipt:
        return await super().put(partition, _quick(change))

    async def patch(self, partition: str, change: wire.PartitionChange) -> wire.Receipt:
        return await super().patch(partition, _quick(change))


def _quick(change: wire.PartitionChange) -> wire.PartitionChange:
    balancers = tuple(_with_intervals(one, r"(\d+)s", r"\g<1>00ms") for one in change.load_balancers)
    return msgspec.structs.replace(change, load_balancers=balancers)


def _with_intervals(one: wire.LoadBalancerConfig, form: str, other: str) -> wire.LoadBalancerConfig:
    """The load balancer with the times after ``inter`` in another form."""

    def server(each: wire.BackendServer) -> wire.BackendServer:
        words = list(each.arguments)
        for place, word in enumerate(words[:-1]):
            if word == "inter":
                words[place + 1] = re.sub(f"^{form}$", other, words[place + 1])
        return msgspec.structs.replace(each, arguments=tuple(words))

    backends = (msgspec.structs.replace(each, servers=tuple(map(server, each.servers))) for each in one.backends)
    return msgspec.structs.replace(one, backends=tuple(backends))


class Partition:
    """One project's HAProxy on the host."""

    def __init__(self, host: Host, project: str) -> None:
        self.host = host
        self.project = project
        self._revision = itertools.count(1)

    async def apply(self, *trees: ServiceDefinition, complete: bool = False) -> dict[str, str]:
        """Make it so; the errors by load balancer. Raises :class:`DeviceUnavailable` if the daemon dies."""
        revision = next(self._revision)
        services = (
            msgspec.structs.replace(tree, project_id=ProjectId(self.project), revision=revision) for tree in trees
        )
        batch = PartitionBatch(
            project_id=ProjectId(self.project),
            epoch=EPOCH,
            session_id=SessionId("session"),
            services=tuple(services),
            complete=complete,
            certificates=CONTENTS,
        )
        outcome: PartitionOutcome = await Owner(self.host.group()).apply(batch)
        if outcome.lagging:
            raise DeviceUnavailable("haproxyd", "it does not answer")
        return {one.load_balancer_id: one.error for one in outcome.outcomes if one.error}

    async def statuses(self) -> Mapping[str, str]:
        """Operating status of everything on the host, by id, as the agent reports them."""
        seen: Observation = await self.host.group().observe()
        return {one.id: one.status.value for one in seen.statuses}

    def rules(self, site: Site) -> dict[str, str]:
        """What the kernel holds for the project."""
        return rules(self.host.daemon.table, f"{ENVIRONMENT}_{self.project}", site)

    async def ask(self, command: str) -> str:
        """The worker's answer."""
        return await self.host.cli(self.project).command(command)

    async def kill_worker(self) -> None:
        """SIGKILL, and wait until another one serves."""
        before = (await self.host.cli(self.project).processes()).worker_pid
        assert before is not None
        os.kill(before, signal.SIGKILL)

        async def another() -> bool:
            with contextlib.suppress(Exception):
                return (await self.host.cli(self.project).processes()).worker_pid not in (None, before)
            return False

        await eventually(another)

    async def remove(self) -> None:
        """It runs nothing any more."""
        await self.apply(complete=True)


@asynccontextmanager
async def host(folder: Path, fault: str = "") -> AsyncIterator[Host]:
    """A host with a running daemon."""
    made = Host(folder, fault)
    try:
        await made.start()
        yield made
    finally:
        await made.stop()
