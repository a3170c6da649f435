"""Devices that go, come back otherwise, or are edited by hand, under real processes: everything is put right by
attributes, and what is served meanwhile says what is missing."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from evenkeel.cli.client import API_PATH, ApiRefused
from evenkeel.demo.cluster import Cluster, agent_name
from evenkeel.demo.devices import EmulatedDevice
from evenkeel.demo.processes import ProcessFailed
from tests.acceptance.devices import call, change, content, segment
from tests.acceptance.tenant import LBAAS, LIMIT_SECONDS, Tenant, session, settled
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

ENVIRONMENT = "dev"
HOST = "host-1"
MANY = 200
AUDIT_SECONDS = 5.0
NOT_IN_THIS_TEST_SECONDS = 3600.0


@pytest.fixture
async def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    """``param``: another ``service_resync_interval``."""
    made = Cluster(
        tmp_path,
        environment=ENVIRONMENT,
        emulator_arguments=["--no-data-plane"],
        # what devices are to hold has its owner's epoch in it: nobody may be taken for dead meanwhile
        controller_options={"DEFAULT": {"session_ttl": 60.0}},
        agent_options={
            "DEFAULT": {
                "report_interval": 1.0,
                "status_interval": 0.5,
                "service_resync_interval": getattr(request, "param", AUDIT_SECONDS),
            }
        },
    )
    try:
        await made.start_devices()
        await made.start_controller(1)
        await made.start_agent(HOST)
        yield made
    finally:
        made.close()


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with session() as made:
        yield made


async def subnet(cluster: Cluster) -> str:
    body = {"subnet": {"name": "vips", "cidr": "203.0.113.0/24"}}
    return str((await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", body))["subnet"]["id"])


@pytest.fixture
async def tenant(cluster: Cluster, http: aiohttp.ClientSession) -> Tenant:
    made = Tenant(http, cluster.controllers, "a3f1c2")
    await made.create(await subnet(cluster))
    await settled(made)
    return made


def partition(tenant: Tenant) -> str:
    return f"{ENVIRONMENT}_{tenant.project_id}"


async def operating(cluster: Cluster, tenant: Tenant) -> tuple[str, str]:
    """Operating status as tenants see it, and its reason as operators do."""
    root = (await tenant.surely("GET", f"{LBAAS}/loadbalancers/{tenant.load_balancer_id}"))["loadbalancer"]
    hosting = (await cluster.get_json(f"/loadbalancers/{tenant.load_balancer_id}/agent"))["hosting"]
    return root["operating_status"], hosting["operating_reason"]


async def online(cluster: Cluster, tenant: Tenant) -> None:
    async def seen() -> bool:
        return await operating(cluster, tenant) == ("ONLINE", "")

    await eventually(seen, within_seconds=LIMIT_SECONDS, every_seconds=0.2)


async def holds(cluster: Cluster, device: EmulatedDevice, tenant: Tenant, wanted: Any) -> None:
    """Wait until the device holds exactly this in the tenant's partition."""

    async def same() -> bool:
        return await content(cluster, device, partition(tenant)) == wanted

    await eventually(same, within_seconds=LIMIT_SECONDS, every_seconds=0.2)


async def member_change(tenant: Tenant, number: int) -> None:
    await tenant.add_member(number)
    assert not tenant.refused
    await settled(tenant)


async def test_missing_device_of_a_pair_is_named_and_gets_everything_when_it_is_back(
    cluster: Cluster, tenant: Tenant
) -> None:
    await online(cluster, tenant)
    first, second = cluster.emulator.devices
    # it stays away until everything has been seen, however long it takes to boot
    cluster.emulator.control("POST", "/faults", {"kind": "refuse", "device": second.name})
    cluster.emulator.control("POST", "/reboot", {"device": second.name, "seconds": 5, "lose_unsaved": True})

    async def degraded() -> bool:
        return await operating(cluster, tenant) == ("DEGRADED", f"device {second.address} is out of reach")

    await eventually(degraded, within_seconds=LIMIT_SECONDS, every_seconds=0.1)
    await member_change(tenant, 1)

    async def agent_says() -> bool:
        (agent,) = (await cluster.get_json("/agents"))["agents"]
        return {one["name"]: one["reachable"] for one in agent["devices"]} == {
            first.address: True,
            second.address: False,
        }

    await eventually(agent_says, within_seconds=LIMIT_SECONDS, every_seconds=0.1)
    cluster.emulator.control("DELETE", "/faults")
    await online(cluster, tenant)
    await holds(cluster, second, tenant, await content(cluster, first, partition(tenant)))
    pool = (await asyncio.to_thread(cluster.emulator.members, second))[f"/{partition(tenant)}/dev_{tenant.pool_id}"]
    assert pool == {f"{address}:{port}" for address, port in tenant.acknowledged}


async def test_device_restored_from_an_old_backup_is_detected_without_any_change(
    cluster: Cluster, tenant: Tenant
) -> None:
    first, second = cluster.emulator.devices
    stale = guards(await content(cluster, second, partition(tenant)))
    cluster.emulator.control("POST", "/snapshot", {"device": second.name, "name": "backup"})
    cluster.stop(agent_name(HOST))
    await cluster.start_again(agent_name(HOST))
    await member_change(tenant, 1)
    wanted = await content(cluster, first, partition(tenant))
    assert guards(wanted) != stale

    cluster.emulator.control("POST", "/restore", {"device": second.name, "name": "backup"})
    await holds(cluster, second, tenant, wanted)
    (old,) = stale
    path = f"ltm/data-group/internal/{segment(partition(tenant), old)}"
    status, _ = await call(cluster, second, "PATCH", path, {"records": [{"name": "epoch", "data": "1"}]})
    assert status == 404


@pytest.mark.parametrize("cluster", [NOT_IN_THIS_TEST_SECONDS], indirect=True)
async def test_devices_that_lost_everything_or_were_changed_by_hand_are_repaired_at_the_next_observation(
    cluster: Cluster, tenant: Tenant
) -> None:
    """Not by the next complete pass, of which there is none here."""
    await online(cluster, tenant)
    first, second = cluster.emulator.devices
    wanted = await content(cluster, first, partition(tenant))
    for lost in ((second,), (first, second)):
        for device in lost:
            cluster.emulator.control("POST", "/wipe", {"device": device.name})
        for device in (first, second):
            await holds(cluster, device, tenant, wanted)
    pool = f"ltm/pool/{segment(partition(tenant), f'dev_{tenant.pool_id}')}"
    await change(cluster, first, "PATCH", pool, {"loadBalancingMode": "least-connections-member"})
    await holds(cluster, first, tenant, wanted)
    await online(cluster, tenant)

    async def told() -> bool:
        events = (await cluster.get_json("/events"))["events"]
        found = " ".join(str(event) for event in events if "repair" in event["kind"])
        return "was changed (loadBalancingMode); repaired" in found and "nothing of it was left; put back" in found

    await eventually(told, within_seconds=LIMIT_SECONDS, every_seconds=0.2)


async def test_a_second_device_group_that_names_the_same_devices_is_refused_and_touches_nothing(
    cluster: Cluster, tenant: Tenant
) -> None:
    """Once it removed the first one's objects as orphans: both were at epoch 1."""
    wanted = [await content(cluster, device, partition(tenant)) for device in cluster.emulator.devices]
    with pytest.raises(ProcessFailed):
        await cluster.start_agent("host-2", group=2, options={"DEFAULT": {"device_check_timeout": 2.0}})
    last_words = cluster.processes[agent_name("host-2")].tail(20)
    assert "belongs to device group dev/1; this is device group dev/2" in last_words
    assert [await content(cluster, device, partition(tenant)) for device in cluster.emulator.devices] == wanted
    await online(cluster, tenant)


def guards(found: dict[str, Any]) -> list[str]:
    return [name.rpartition(" ")[2] for name in found if "evenkeel_guard_" in name]


async def test_manual_changes_are_repaired_and_foreign_objects_stay(cluster: Cluster, tenant: Tenant) -> None:
    first, second = cluster.emulator.devices
    where = partition(tenant)
    wanted = await content(cluster, first, where)
    names = {kind: name for kind, _, name in (key.partition(" ") for key in wanted)}
    foreign = {"name": "hand-made", "partition": where}
    await change(cluster, second, "POST", "ltm/pool", foreign)
    orphan = {
        **foreign,
        "name": "dev_left-over",
        "description": f"evenkeel:{ENVIRONMENT}/1:pool:no-such-lb:no-such-pool",
    }
    await change(cluster, second, "POST", "ltm/pool", orphan)
    await change(
        cluster, second, "PATCH", f"ltm/monitor/http/{segment(where, names['ltm/monitor/http'])}", {"interval": 99}
    )
    virtual = f"ltm/virtual/{segment(where, names['ltm/virtual'])}"
    await change(cluster, second, "DELETE", virtual)
    await change(cluster, first, "PATCH", virtual, {"connectionLimit": 7, "disabled": True})
    pool = f"ltm/pool/{segment(where, names['ltm/pool'])}"
    await change(cluster, first, "PATCH", pool, {"members": [], "loadBalancingMode": "least-connections-member"})

    await holds(cluster, first, tenant, wanted)

    async def repaired() -> bool:
        found = await content(cluster, second, where)
        return {"ltm/pool hand-made", "ltm/pool dev_left-over"} <= found.keys() and {**found, **wanted} == found

    await eventually(repaired, within_seconds=LIMIT_SECONDS, every_seconds=0.2)

    async def removed() -> bool:
        """The orphan waits for its grace time, or for an operator."""
        with contextlib.suppress(ApiRefused):
            await asyncio.to_thread(cluster.client().delete, f"{API_PATH}/orphans/no-such-lb")
        found = await content(cluster, second, where)
        return found.pop("ltm/pool hand-made", None) is not None and found == wanted

    await eventually(removed, within_seconds=LIMIT_SECONDS, every_seconds=0.5)
    await online(cluster, tenant)


async def test_changes_without_a_reachable_device_have_a_reason_and_are_applied_when_one_is_back(
    cluster: Cluster, tenant: Tenant
) -> None:
    for device in cluster.emulator.devices:
        cluster.emulator.control("POST", "/faults", {"kind": "refuse", "device": device.name})
    await tenant.add_member(1)

    async def reason() -> str:
        hosting = (await cluster.get_json(f"/loadbalancers/{tenant.load_balancer_id}/agent"))["hosting"]
        return str(hosting["status_reason"])

    async def all_named() -> bool:
        said = await reason()
        return all(device.address in said for device in cluster.emulator.devices)

    await eventually(all_named, within_seconds=LIMIT_SECONDS, every_seconds=0.1)
    root = (await tenant.surely("GET", f"{LBAAS}/loadbalancers/{tenant.load_balancer_id}"))["loadbalancer"]
    assert root["provisioning_status"] == "PENDING_UPDATE"
    cluster.emulator.control("DELETE", "/faults")
    await settled(tenant)
    assert await reason() == ""  # settled: status and reason are written in one transaction


async def test_one_poisoned_load_balancer_of_200_is_the_only_one_in_error(
    cluster: Cluster, http: aiohttp.ClientSession
) -> None:
    """Another virtual server has its address: the API cannot know, the device refuses it."""
    subnet_id = await subnet(cluster)
    for device in cluster.emulator.devices:
        taken = {"name": "somebody-elses", "destination": "203.0.113.250:8080"}
        await change(cluster, device, "POST", "ltm/virtual", taken)
    cluster.stop(agent_name(HOST))  # so that they all wait for it together
    tenants = [Tenant(http, cluster.controllers, "a3f1c2") for _ in range(MANY - 1)]
    root = {"project_id": "a3f1c2", "vip_subnet_id": subnet_id, "vip_address": "203.0.113.250"}
    bad = await tenants[0].surely("POST", f"{LBAAS}/loadbalancers", {"loadbalancer": root})
    for made in tenants:
        await made.create(subnet_id)
    await cluster.start_again(agent_name(HOST))

    async def statuses() -> dict[str, int]:
        counted: dict[str, int] = {}
        answer = await tenants[0].surely("GET", f"{LBAAS}/loadbalancers?fields=provisioning_status&limit=1000")
        for one in answer["loadbalancers"]:
            counted[one["provisioning_status"]] = counted.get(one["provisioning_status"], 0) + 1
        return counted

    async def as_expected() -> bool:
        return await statuses() == {"ACTIVE": MANY - 1, "ERROR": 1}

    await eventually(as_expected, within_seconds=2 * LIMIT_SECONDS, every_seconds=0.5)
    hosting = (await cluster.get_json(f"/loadbalancers/{bad['loadbalancer']['id']}/agent"))["hosting"]
    assert "203.0.113.250 already exists" in hosting["status_reason"]


async def test_a_database_restored_from_a_backup_goes_on_above_the_guards_of_the_devices(
    cluster: Cluster, tenant: Tenant
) -> None:
    file = cluster.directory / "evenkeel.db"
    backup = cluster.directory / "backup.db"

    async def stop() -> None:
        for name in (agent_name(HOST), "controller-1"):
            # one that is killed would leave a part of the database in its log of writes
            await asyncio.to_thread(cluster.processes[name].stop, LIMIT_SECONDS)

    async def start() -> None:
        await cluster.start_controller(1)
        await cluster.start_again(agent_name(HOST))

    await stop()
    shutil.copy(file, backup)  # the last process has put its log of writes into the file
    await start()
    await member_change(tenant, 3)  # a session of which the agent does not know yet it could not end
    for number in range(3):  # each life of the agent is an epoch more
        await asyncio.to_thread(cluster.stop, agent_name(HOST))
        await cluster.start_again(agent_name(HOST))
        await member_change(tenant, number)
    before = max(map(epoch, guards(await content(cluster, cluster.emulator.devices[0], partition(tenant)))))
    await stop()
    for left in cluster.directory.glob("evenkeel.db*"):
        left.unlink()
    shutil.copy(backup, file)
    await start()
    await member_change(tenant, 77)
    for device in cluster.emulator.devices:
        found = await content(cluster, device, partition(tenant))
        assert [epoch(name) > before for name in guards(found)] == [True]
        members = (await asyncio.to_thread(cluster.emulator.members, device)).values()
        assert [{f"{address}:{port}" for address, port in await tenant.members()}] == list(members)


def epoch(guard: str) -> int:
    return int(guard.split("_")[2])
