"""Our API in this process, over a real SQLite store, with a device that takes every change before the answer."""

import ipaddress
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from evenkeel.api.app import create_app
from evenkeel.api.identity.headers import TrustedHeaders
from evenkeel.core.control.environments import Environment
from evenkeel.core.control.writes import Change
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.ports import Store
from evenkeel.core.protocol.messages import Register, ReportApplied
from evenkeel.core.resources.model import Subnet
from evenkeel.core.resources.statuses import HaType
from evenkeel.core.status.outcomes import Applied
from evenkeel.devices.noop.capabilities import CAPABILITIES
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.options import StoreOptions
from evenkeel.store.sql_store import open_store
from tests.api.stores import new_file
from tests.compat.replay import OUTCOME


class InstantDevice:
    """A change sink that plays scheduler and agent of a no-op device; :attr:`outcome` is the current request's."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.outcome = "ACTIVE"
        self._left: dict[str, Change] = {}

    async def change_accepted(self, change: Change) -> None:
        """Place it if it is new; report on it at the end of the request."""
        if not change.placed and change.tree is not None:
            project_id = change.tree.load_balancer.project_id
            await self._store.scheduling.place_load_balancer(
                change.load_balancer_id, change.environment, project_id, 1, agent_of(change.environment)
            )
        self._left[change.load_balancer_id] = change

    async def failover_requested(self, change: Change) -> None:
        """The same."""
        await self.change_accepted(change)

    async def request_full_resync(self, owners: Any) -> None:
        """Nobody looks."""

    async def send_inquiry(self, *_: Any, **__: Any) -> None:
        """Nobody asks here."""

    async def settle(self) -> None:
        """Report on what was accepted, unless the device is to say nothing."""
        if self.outcome == "PENDING":
            return
        error = "" if self.outcome == "ACTIVE" else "The device refused it."
        while self._left:
            id_, change = self._left.popitem()
            shard = await self._store.operators.shard_of_load_balancer(id_)
            if shard is None:
                continue
            applied = Applied(load_balancer_id=id_, revision=change.revision, error=error)
            report = ReportApplied(
                agent_id=agent_of(change.environment),
                session_id="session",
                shard_id=shard.id,
                epoch=shard.epoch,
                outcomes=(applied,),
                carries_traffic=False,
            )
            await self._store.reports.record_applied(report)


class _Transport(httpx.ASGITransport):
    """Lets the device report after each request."""

    def __init__(self, app: Any, device: InstantDevice) -> None:
        super().__init__(app=app, raise_app_exceptions=False)
        self._device = device

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._device.outcome = request.headers.pop(OUTCOME, "ACTIVE")
        response = await super().handle_async_request(request)
        await self._device.settle()
        return response


@asynccontextmanager
async def our_api(
    directory: Path,
    subnets: tuple[Subnet, ...],
    providers: tuple[str, ...] = ("noop",),
    store_options: StoreOptions | None = None,
    open_network: Callable[[Store], Any] = lambda store: BuiltinNetwork(store.operators),
    device_of: Callable[[Store], InstantDevice] = InstantDevice,
    **options: Any,
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of it. ``providers``: environments of the no-op driver, the first being the default. ``options``: more
    of :func:`create_app`."""
    store = open_store(f"sqlite:///{await new_file(directory)}", store_options or StoreOptions())
    await store.start()
    try:
        for name in providers:
            await _add_provider(store, name)
        for subnet in subnets:
            await store.operators.add_subnet(subnet)
        device = device_of(store)
        table: dict[str, Capabilities] = {"noop": CAPABILITIES}
        app = create_app(
            store=store,
            network=open_network(store),
            driver=device,
            default_provider=providers[0],
            identity=TrustedHeaders(),
            **{"capabilities": table, **options},
        )
        async with httpx.AsyncClient(transport=_Transport(app, device), base_url="http://api.test") as client:
            yield client
    finally:
        await store.close()


async def _add_provider(store: Store, name: str) -> None:
    await store.operators.add_environment(Environment(name=name, device_driver="noop"))
    call = Register(
        agent_id=agent_of(name),
        session_id="session",
        environment=name,
        group_number=1,
        host="host",
        device_driver="noop",
        ha_type=HaType.STANDALONE,
    )
    await store.ownership.register(call, ttl_seconds=3600.0)


def agent_of(environment: str) -> str:
    """Its only agent."""
    return f"agent-{environment}"


def subnet(id_: str, network_id: str, cidr: str) -> Subnet:
    """An address pool of the whole network but for its gateway, the first host."""
    hosts = ipaddress.ip_network(cidr)
    return Subnet(
        id=id_,
        network_id=network_id,
        name=cidr,
        cidr=cidr,
        gateway_ip=str(hosts[1]),
        allocation_start=str(hosts[2]),
        allocation_end=str(hosts[min(hosts.num_addresses - 2, 60000)]),
    )
