"""Each alert fires when its cause is made: real processes, PostgreSQL, RabbitMQ, an emulated BIG-IP, a HAProxy daemon,
and a real Prometheus with the rules as they are, but for their waiting times.
"""

import asyncio
import datetime
import itertools
import json
import shutil
import signal
import uuid
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest
import yaml

from evenkeel.cli.client import API_PATH
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from evenkeel.demo.workspace import Workspace
from tests.acceptance.conftest import patient as patient
from tests.acceptance.tenant import LBAAS, Tenant, session, settled
from tests.acceptance.test_outages import set_read_only
from tests.key_managers import authority
from tests.packaging.metric_names import ROOT
from tests.services import prometheus as prometheus_server
from tests.services.postgres import PostgreSQL
from tests.services.process import free_port
from tests.services.prometheus import Prometheus
from tests.services.rabbitmq import RabbitMQ
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.acceptance, pytest.mark.timeout(1200)]

RULES = ROOT / "packaging" / "prometheus" / "alerts.yml"
LIMIT_SECONDS = 300.0
LOAD_BALANCERS = 11
BY_SERIES = {
    "EvenKeelApiSlow",
    "EvenKeelBackgroundWorkFails",
    "EvenKeelCertificateRenewalsFail",
    "EvenKeelPartitionProblems",
    "EvenKeelConnectionTableFull",
    "EvenKeelFlowsDropped",
    "EvenKeelOwnCertificateExpiring",
    "EvenKeelNotificationsLate",
    "EvenKeelNotificationsDropped",
}
"""Tried in :mod:`tests.packaging.test_alert_series`: their causes are defects, or take long."""

OF_SLOW_MACHINES = {"EvenKeelApiSlow", "EvenKeelAgentLeaseShort", "EvenKeelChangesPendingLong"}
"""May fire for a moment where processes stand still."""


class World:
    """All processes, and what has fired."""

    def __init__(self, folder: Path, database: PostgreSQL, broker: RabbitMQ) -> None:
        self.database, self.broker = database, broker
        self.ports = {name: free_port() for name in ("controller", "host-1", "host-2", "haproxyd")}
        self.cluster = Cluster(
            folder / "cluster",
            environment="alerts",
            device="bigip",
            database=database.create_database(),
            transport_url=broker.url,
            controller_options={"DEFAULT": {"pending_deadline": 100.0}, "metrics": self.metrics("controller")},
            agent_options={"DEFAULT": {"service_resync_interval": 5.0, "status_interval": 2.0}},
        )
        self.haproxy = folder / "haproxy"
        self.haproxy.write_text(f'#!/bin/sh\nexec {shutil.which("haproxy")} "$@"\n')
        self.haproxy.chmod(0o755)
        self.daemons = Workspace(folder / "haproxyd")
        options = {"haproxyd": {"haproxy": self.haproxy}, "metrics": self.metrics("haproxyd")}
        self.side = HaproxyDevices(self.daemons, options=options)
        jobs = {"controller": ["controller"], "agent": ["host-1", "host-2"], "haproxyd": ["haproxyd"]}
        self.prometheus = Prometheus(
            {f"evenkeel-{job}": [self.address(name) for name in names] for job, names in jobs.items()}, RULES
        )
        self.fired: set[str] = set()

    def metrics(self, name: str) -> dict[str, Any]:
        return {"bind_port": self.ports[name]}

    def address(self, name: str) -> str:
        return f"127.0.0.1:{self.ports[name]}"

    async def start(self) -> None:
        await self.cluster.start_devices()
        await self.cluster.start_controller(1)
        hosts = ("host-1", "host-2")
        await asyncio.gather(
            self.cluster.start_backend(1),
            *(self.cluster.start_agent(host, options={"metrics": self.metrics(host)}) for host in hosts),
        )
        await self.side.start()
        await asyncio.to_thread(self.prometheus.start)
        await eventually(self.all_up, within_seconds=LIMIT_SECONDS, every_seconds=0.5)

    async def all_up(self) -> bool:
        return await asyncio.to_thread(self.prometheus.up) == set(map(self.address, self.ports))

    async def look(self) -> set[str]:
        firing = await asyncio.to_thread(self.prometheus.firing)
        self.fired |= firing
        return firing

    async def fires(self, *names: str) -> None:
        """Wait until all of them have fired since this was called."""
        waiting = {f"EvenKeel{name}" for name in names}

        async def all_fired() -> bool:
            waiting.difference_update(await self.look())
            return not waiting

        try:
            await eventually(all_fired, within_seconds=LIMIT_SECONDS, every_seconds=0.5)
        except AssertionError:
            pytest.fail(f"not fired: {sorted(waiting)}; firing: {sorted(await self.look())}")

    async def is_quiet(self) -> None:
        """Wait until nothing fires, as there is no cause: what a late scrape made fire on a slow machine ends."""

        async def nothing_fires() -> bool:
            return await self.look() <= OF_SLOW_MACHINES

        await eventually(nothing_fires, within_seconds=LIMIT_SECONDS, every_seconds=0.5)

    async def ends(self, *names: str) -> None:
        async def none_fires() -> bool:
            return not {f"EvenKeel{name}" for name in names} & await self.look()

        await eventually(none_fires, within_seconds=LIMIT_SECONDS, every_seconds=0.5)

    def close(self) -> None:
        self.prometheus.close()
        self.cluster.close()
        for process in self.daemons.processes.values():
            process.stop()
        self.side.close()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    if reason := prometheus_server.missing():
        pytest.skip(reason)
    database, broker = PostgreSQL(), RabbitMQ()
    await asyncio.gather(asyncio.to_thread(database.start), asyncio.to_thread(broker.start))
    made = World(tmp_path, database, broker)
    try:
        await made.start()
        yield made
    finally:
        await asyncio.to_thread(made.close)
        for server in (database, broker):
            await asyncio.to_thread(server.close)


async def test_each_alert_fires_when_its_cause_is_made(world: World) -> None:
    async with session() as http:
        await world.is_quiet()
        tenants = await websites(world, http)
        await world.is_quiet()
        await drift(world, http)
        await lost_guards(world, http, tenants[0])
        await certificates(world, tenants[0])
        await lost_devices(world)
        await replaced_database(world)
        await read_only_database(world)
        await frozen_controller(world)
        await no_haproxy(world)
        await lost_broker(world)
        await lost_agents(world, tenants[0])
        await lost_database(world, http)
    rules = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
    assert world.fired >= {rule["alert"] for rule in rules} - BY_SERIES


async def replaced_database(world: World) -> None:
    """The database says that it is another one than agents knew, until an operator says that it is right."""
    own = (await operate(world, "GET", "/database", None))["database"]["history_id"]
    connection = await asyncpg.connect(world.cluster.database.replace("+asyncpg", ""))
    try:
        await connection.execute("UPDATE history SET id = $1", str(uuid.uuid4()))
    finally:
        await connection.close()
    await world.fires("DatabaseUnknown")
    await operate(world, "POST", f"/database/histories/{own}/accept", None)
    await world.ends("DatabaseUnknown")


async def read_only_database(world: World) -> None:
    """As a standby after a fail-over: it answers, and takes no writes."""
    database = world.cluster.database.replace("+asyncpg", "")
    await set_read_only(database, "on")
    await world.fires("DatabaseReadOnly")
    await set_read_only(database, "off")
    await world.ends("DatabaseReadOnly", "AgentSilent", "ShardsUnserved", "EnvironmentHalted", "ChangesPendingLong")


async def operate(world: World, method: str, path: str, body: Any) -> Any:
    """A request to the operators' API."""
    return await asyncio.to_thread(world.cluster.client().request, method, f"{API_PATH}{path}", body=body)


async def websites(world: World, http: aiohttp.ClientSession) -> Sequence[Tenant]:
    subnet = (await operate(world, "POST", "/subnets", {"subnet": {"name": "vips", "cidr": "127.77.0.0/24"}}))["subnet"]
    tenants = [Tenant(http, world.cluster.controllers, "tenant-1") for _ in range(LOAD_BALANCERS)]
    await asyncio.gather(*(tenant.create(subnet["id"]) for tenant in tenants))
    await settled(*tenants)
    return tenants


async def icontrol(
    world: World, http: aiohttp.ClientSession, method: str, path: str, body: Any = None, device: int = 0
) -> Any:
    """By hand, as root would."""
    emulator = world.cluster.emulator
    url = f"{emulator.devices[device].url}/mgmt/tm/{path}"
    headers = {"Authorization": emulator._authorization}
    async with http.request(method, url, json=body, headers=headers, ssl=False) as answer:
        text = await answer.text()
        is_gone = method == "DELETE" and answer.status == 404  # its owner has just replaced it
        assert answer.status == 200 or is_gone, f"{method} {path}: {answer.status} {text}"
        return json.loads(text) if text else {}


async def drift(world: World, http: aiohttp.ClientSession) -> None:
    """Somebody changes what is ours."""
    for device in range(len(world.cluster.emulator.devices)):
        virtuals = (await icontrol(world, http, "GET", "ltm/virtual", device=device))["items"]
        for virtual in virtuals:
            name = virtual["fullPath"].replace("/", "~")
            await icontrol(world, http, "PATCH", f"ltm/virtual/{name}", {"connectionLimit": 7}, device=device)
    await world.fires("DriftRepaired")


async def lost_guards(world: World, http: aiohttp.ClientSession, tenant: Tenant) -> None:
    """A script deletes the guards again and again, while a listener changes."""
    query = f"{LBAAS}/listeners?loadbalancer_id={tenant.load_balancer_id}"
    (listener,) = (await tenant.surely("GET", query))["listeners"]

    async def delete_and_change() -> None:
        for limit in itertools.count(100):
            for group in (await icontrol(world, http, "GET", "ltm/data-group/internal"))["items"]:
                if group["name"].startswith("evenkeel_guard_"):
                    path = group["fullPath"].replace("/", "~")
                    await icontrol(world, http, "DELETE", f"ltm/data-group/internal/{path}")
            body = {"listener": {"connection_limit": limit}}
            await tenant.surely("PUT", f"{LBAAS}/listeners/{listener['id']}", body)
            await settled(tenant)

    script = asyncio.create_task(delete_and_change())
    try:
        await world.fires("AgentFenced")
    finally:
        script.cancel()


async def rename(tenant: Tenant, name: str) -> None:
    path = f"{LBAAS}/loadbalancers/{tenant.load_balancer_id}"
    await tenant.surely("PUT", path, {"loadbalancer": {"name": name, "description": name}})


async def certificates(world: World, tenant: Tenant) -> None:
    """One that expires in three days is used, and then taken away."""
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(authority, "NOT_AFTER", soon)
        leaf = authority.Issued("www.example", None, authority.ec_key(), names=("www.example",))
    kept = (
        await operate(
            world,
            "POST",
            "/certificates",
            {
                "certificate": {
                    "project_id": "tenant-1",
                    "name": "www",
                    "kind": "certificate",
                    "pem": leaf.pem.decode(),
                    "private_key": leaf.key_pem().decode(),
                }
            },
        )
    )["certificate"]
    listener = {
        "loadbalancer_id": tenant.load_balancer_id,
        "protocol": "TERMINATED_HTTPS",
        "protocol_port": 8443,
        "default_tls_container_ref": kept["reference"],
    }
    await tenant.surely("POST", f"{LBAAS}/listeners", {"listener": listener})
    await world.fires("CertificatesExpiring")
    shutil.rmtree(world.cluster.directory / "certificates")
    (world.cluster.directory / "certificates").mkdir()
    await operate(world, "POST", "/references/refresh", {"refresh": {"reference": kept["reference"]}})
    await world.fires("CertificatesUnreadable")


async def lost_devices(world: World) -> None:
    world.cluster.kill("devices")
    await world.fires("DevicesOutOfReach")
    await world.cluster.start_again("devices")  # with a new certificate
    for host in ("host-1", "host-2"):
        world.cluster.kill(f"agent-{host}", signal.SIGHUP)
    await world.ends("DevicesOutOfReach")


async def frozen_controller(world: World) -> None:
    """There is only one: agents cannot renew their sessions."""
    process = world.cluster.processes["controller-1"]
    process.send(signal.SIGSTOP)
    try:
        await world.fires("ControllerDown", "AgentLeaseShort")
    finally:
        process.send(signal.SIGCONT)
    await world.ends("ControllerDown", "AgentLeaseShort", "ShardsUnserved")


async def no_haproxy(world: World) -> None:
    world.haproxy.unlink()
    await world.fires("HaproxyUnusable")


async def lost_broker(world: World) -> None:
    await asyncio.to_thread(world.broker.stop)
    await world.fires("MessageBrokerDown")
    await asyncio.to_thread(world.broker.start)
    await world.ends("MessageBrokerDown", "ShardsUnserved", "AgentSilent", "EnvironmentHalted")


async def lost_agents(world: World, tenant: Tenant) -> None:
    """All of them at once: the circuit breaker opens, and what is accepted then waits until it is overdue."""
    changed = {"environment": {"breaker_share": 0.1, "breaker_agents": 1}}
    await operate(world, "PUT", f"/environments/{world.cluster.environment}", changed)
    for host in ("host-1", "host-2"):
        world.cluster.kill(f"agent-{host}")
    await rename(tenant, "waits")
    await world.fires("AgentDown", "AgentSilent", "EnvironmentHalted", "ShardsUnserved", "ChangesPendingLong")
    await world.fires("LoadBalancersInError")


async def lost_database(world: World, http: aiohttp.ClientSession) -> None:
    await asyncio.to_thread(world.database.kill)

    async def errors() -> None:
        while True:
            async with http.get(f"{world.cluster.url(1)}{LBAAS}/loadbalancers") as answer:
                assert answer.status == 503
            await asyncio.sleep(0.05)

    clients = asyncio.create_task(errors())
    try:
        await world.fires("DatabaseUnreadable", "ApiErrors")
    finally:
        clients.cancel()
