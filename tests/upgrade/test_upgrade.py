"""An upgrade from the last release, and one step back: one process at a time in the documented order, under load."""

import asyncio
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from evenkeel.cli.client import API_PATH
from evenkeel.demo import cluster as clusters
from evenkeel.demo.addresses import choose_vip_address
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.traffic import TrafficGenerator
from tests.acceptance.tenant import Tenant, session, settled
from tests.acceptance.websites import create, website
from tests.upgrade.last_release import MixedWorkspace, NotThere, environment_of, installed, version_and_commit
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

HOSTS = ("host-1", "host-2")
ORDER = ("controller-1", "controller-2", "devices", *(f"agent-{host}" for host in HOSTS))
"""The order of ``docs/how-to/upgrade.md``: controllers, daemons beside HAProxy, agents."""
WRITES_BETWEEN = 3
"""Number of writes of each tenant that are acknowledged before the next process is replaced."""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the last release."""
    try:
        return installed(tmp_path_factory.mktemp("release"))
    except NotThere as error:
        pytest.skip(str(error))


@pytest.fixture
def workspace(release: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[MixedWorkspace]]:
    """The class of the cluster's workspace; all processes begin as the release."""

    class Chosen(MixedWorkspace):
        pass

    Chosen.release, Chosen.new = release, set()
    monkeypatch.setattr(clusters, "Workspace", Chosen)
    yield Chosen


class Writer:
    """A tenant's changes, one after the other: members come and go."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.number = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            self.number += 1
            await self.tenant.add_member(self.number)
            if self.number % 4 == 0:
                await self.tenant.remove_member()
            await asyncio.sleep(0.2)

    @property
    def acknowledged(self) -> int:
        return len(self.tenant.acknowledged) + len(self.tenant.removed)

    async def stop(self) -> None:
        assert self._task is not None and not self._task.done()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def replace(cluster: Cluster, name: str) -> None:
    """Stop a process, and start it with the version that the workspace has for it now."""
    await asyncio.to_thread(cluster.stop, name)
    if name.startswith("agent-"):
        await cluster.start_agent(name.removeprefix("agent-"))
    else:
        await cluster.start_again(name)


@asynccontextmanager
async def started(directory: Path, **servers: Any) -> AsyncIterator[Cluster]:
    cluster = Cluster(directory, environment="upgrade", device="haproxy", **servers)
    try:
        await cluster.start_devices()
        for number in (1, 2):
            await cluster.start_controller(number)
        await asyncio.gather(cluster.start_backend(1), *(cluster.start_agent(host) for host in HOSTS))
        yield cluster
    finally:
        await asyncio.to_thread(cluster.close)


async def change_versions(
    cluster: Cluster, workspace: type[MixedWorkspace], writers: Sequence[Writer], names: Sequence[str], *, new: bool
) -> None:
    """Replace the processes one at a time; each tenant's writes are acknowledged after each."""
    for name in names:
        (workspace.new.add if new else workspace.new.discard)(name)
        await replace(cluster, name)
        wanted = [writer.acknowledged + WRITES_BETWEEN for writer in writers]

        def are_acknowledged(wanted: list[int] = wanted) -> bool:
            return all(writer.acknowledged >= least for writer, least in zip(writers, wanted, strict=True))

        await eventually(are_acknowledged, within_seconds=180.0)


async def loses_nothing(cluster: Cluster, workspace: type[MixedWorkspace]) -> None:
    """Upgrade everything and take it back, while tenants write and clients send requests."""
    place = choose_vip_address(random.Random())
    body = {"subnet": {"name": "vips", "cidr": place.cidr}}
    subnet = (await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", body))["subnet"]
    async with session() as http:
        site, *tenants = (Tenant(http, cluster.controllers, f"tenant-{number}") for number in range(3))
        address = str(ip_address(place.address))
        await create(site, website(subnet["id"], address, {"HTTP": place.port}, cluster.backend_ports))
        for tenant in tenants:
            await tenant.create(subnet["id"])
        await settled(site, *tenants)
        traffic, writers = TrafficGenerator(address, place.port, clients=2), [Writer(tenant) for tenant in tenants]
        traffic.start()
        for writer in writers:
            writer.start()

        await change_versions(cluster, workspace, writers, ORDER, new=True)
        await change_versions(cluster, workspace, writers, ORDER[::-1], new=False)

        for writer in writers:
            await writer.stop()
        await settled(site, *tenants)
        counts = await traffic.stop()
        assert (counts.failed, counts.first_failure) == (0, "") and counts.sent > 0
        held = set().union(*cluster.side.members().values())
        for tenant in tenants:
            assert tenant.refused == []
            kept = await tenant.members()
            assert tenant.acknowledged <= kept and not tenant.removed & kept
            assert {f"{member}:{port}" for member, port in tenant.acknowledged} <= held
    assert cluster.ended_processes() == []


def test_the_release_is_imported_before_what_is_installed(release: Path) -> None:
    code = "import evenkeel, importlib.metadata as m; print(evenkeel.__file__, m.version('evenkeel-lbaas'))"
    command, environment = [sys.executable, "-c", code], environment_of(release)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    version, _ = version_and_commit((Path(__file__).parents[2] / "CHANGELOG.md").read_text())
    assert done.stdout.split() == [str(release / "evenkeel" / "__init__.py"), version]


async def test_an_upgrade_and_a_step_back_lose_nothing(tmp_path: Path, workspace: type[MixedWorkspace]) -> None:
    async with started(tmp_path) as cluster:
        await loses_nothing(cluster, workspace)


@pytest.mark.services
async def test_an_upgrade_and_a_step_back_with_servers_lose_nothing(
    tmp_path: Path, workspace: type[MixedWorkspace], postgresql_database: str, rabbitmq: Any
) -> None:
    async with started(tmp_path, database=postgresql_database, transport_url=rabbitmq.url) as cluster:
        await loses_nothing(cluster, workspace)
