"""The demo's steps through the API of a stock Octavia, which forwards tenants' requests to Even Keel."""

import asyncio
import time

from evenkeel.demo.addresses import VipAddress
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.narration import ProgressPrinter
from evenkeel.demo.octavia.host import PROJECT_ID, PROVIDER_NAME, OctaviaHost
from evenkeel.demo.outcome import DemoResult
from evenkeel.demo.scenario import Scenario, is_answered
from evenkeel.demo.tenant import Tenant
from evenkeel.demo.waiting import wait_until, wait_until_settled

SHORT_LIVED_NAME = "short-lived"


class OctaviaScenario(Scenario):
    """The demo's scenario with Octavia in front, without HTTPS. A second load balancer is created and deleted
    at the end. ``host``: Octavia's processes, which the scenario starts.
    """

    provider = PROVIDER_NAME
    creates_at = accepts_at = "Octavia"

    def __init__(self, cluster: Cluster, place: VipAddress, narrator: ProgressPrinter, host: OctaviaHost) -> None:
        super().__init__(cluster, place, narrator)
        self._host = host

    @property
    def endpoint(self) -> str:
        """Root URL of Octavia's API."""
        return self._host.url

    async def run(self) -> DemoResult:
        await self._start_cluster()
        began = time.monotonic()
        await self._create_load_balancer()
        self.outcome.more.append(("seconds from create at Octavia to ACTIVE", f"{time.monotonic() - began:.2f}"))
        await self._start_traffic()
        home = await self._acting_host()
        self._say(f"{home} serves it; the other agents stand by")
        await self._kill_agent(home)
        await self._restart_agent(home)
        await self._verify_agreement()
        await self._create_and_delete()
        await self._verify_agreement()
        return self.outcome

    async def _open_tenants(self) -> dict[int, Tenant]:
        host = self._host
        await host.start_database()
        self._say("MariaDB has Octavia's tables")
        await host.start_api()
        self._say(f"a stock Octavia answers at {host.url}; its provider {PROVIDER_NAME} is this Even Keel")
        await host.start_driver_agent()
        self._say("octavia-driver-agent runs the provider agent")
        tenant = await asyncio.to_thread(Tenant, host.url, PROJECT_ID)
        return {1: tenant, 2: tenant}

    async def _create_and_delete(self) -> None:
        place, tenant = self.place, self._tenants[1]
        port = place.https_port
        made = await asyncio.to_thread(
            tenant.create_website,
            name=SHORT_LIVED_NAME,
            provider=PROVIDER_NAME,
            subnet_id=self._subnet_id,
            address=place.second_address,
            port=port,
            backends=self._backends,
        )
        address = made.vip_address
        await asyncio.to_thread(tenant.wait_until_active, made.id)
        await wait_until(lambda: is_answered(address, port), f"an answer at {address}:{port}")
        self._say(f"a second load balancer, {made.id}, serves at {address}:{port}")
        began = time.monotonic()
        await asyncio.to_thread(tenant.delete, made.id)

        async def is_gone() -> bool:
            return not await asyncio.to_thread(tenant.exists, made.id)

        async def remaining_objects() -> list[str]:
            return [f"{address}:{port} still answers"] if await is_answered(address, port) else []

        await wait_until(is_gone, "the deletion to be reported to Octavia")
        seconds = time.monotonic() - began
        await wait_until_settled(remaining_objects)
        self._say(f"deleted at Octavia, it is gone after {seconds:.2f} s, and its address answers no more")
        self.outcome.more.append(("seconds from delete at Octavia to its end", f"{seconds:.2f}"))
