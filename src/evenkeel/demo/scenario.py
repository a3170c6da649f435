"""The steps of the demo, with checks of the guarantees.

A load balancer is created and carries traffic, over TLS too; the agent that serves it is killed; another agent takes
over while a tenant changes the load balancer; the killed agent comes back and gets its work back. Where a daemon stands
beside the device, it is killed too. In the end the certificate is renewed. Traffic runs all the time.
"""

import asyncio
import time

from evenkeel.cli.client import API_PATH
from evenkeel.demo.addresses import VipAddress
from evenkeel.demo.authority import CertificateAuthority
from evenkeel.demo.certificate_sources import AcmeCertificates
from evenkeel.demo.cluster import Cluster, agent_name
from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from evenkeel.demo.https import HttpsWebsite
from evenkeel.demo.narration import ProgressPrinter
from evenkeel.demo.outcome import DemoResult
from evenkeel.demo.survival import kill_and_restart_daemon
from evenkeel.demo.tenant import Tenant
from evenkeel.demo.traffic import RequestFailed, TrafficConnection, TrafficGenerator
from evenkeel.demo.views import member_differences, ownership_violations, unsettled_object_texts
from evenkeel.demo.waiting import wait_until, wait_until_settled

AGENT_HOSTS = ("host-1", "host-2", "host-3")
BACKEND_COUNT = 3
LOAD_BALANCER_NAME = "website"


class Scenario:
    """One run of the demo. The steps depend on each other and run in the order of their definition.
    ``authority`` signs the website's certificates (None: one of its own), which the controllers request;
    ``proof``: text about how the website's name is proven.
    """

    provider = ""
    """Provider of the load balancer; empty: the cluster's environment."""
    creates_at = "controller 1"
    accepts_at = "controller 2"

    def __init__(
        self,
        cluster: Cluster,
        place: VipAddress,
        narrator: ProgressPrinter,
        *,
        authority: CertificateAuthority | None = None,
        proof: str = "",
    ) -> None:
        self.outcome = DemoResult(
            create_writes_promised=cluster.side.create_writes_promised,
        )
        self.traffic = TrafficGenerator(place.address, place.port)
        self._cluster = cluster
        self._side = cluster.side
        self.place = place
        self._narrator = narrator
        self._say = narrator.say
        self._tenants: dict[int, Tenant] = {}
        self._authority = authority or CertificateAuthority()
        self._proof = proof
        self._load_balancer_id = self._project_id = self._subnet_id = ""
        self._https: HttpsWebsite | None = None

    async def run(self) -> DemoResult:
        """Run all steps and return the measurements. Raises :class:`StepFailed`, :class:`ProcessFailed`, and
        the errors of openstacksdk and of the API client.
        """
        await self._start_cluster()
        await self._create_load_balancer()
        await self._start_traffic()
        https = await self._serve_https()
        home = await self._acting_host()
        self._say(f"{home} serves it; the other agents stand by")
        await self._kill_agent(home)
        await self._restart_agent(home)
        if isinstance(self._side, HaproxyDevices):
            await kill_and_restart_daemon(self._side, self._tenants[1], self._load_balancer_id, self.outcome, self._say)
        await https.renew_certificate()
        await self._verify_agreement()
        https.check_shown_certificates()
        return self.outcome

    @property
    def endpoint(self) -> str:
        """URL of the API that tenants use."""
        return self._cluster.url(1)

    # -- steps

    async def _start_cluster(self) -> None:
        cluster = self._cluster
        await cluster.start_devices()
        self._say(await asyncio.to_thread(self._side.describe_devices))
        for number in (1, 2):
            self._say(f"controller {number} answers at {await cluster.start_controller(number)}")
        await asyncio.gather(*(cluster.start_agent(host) for host in AGENT_HOSTS))
        self._say("three agents are alive: " + ", ".join(AGENT_HOSTS))
        self._backends = [await cluster.start_backend(number) for number in range(1, BACKEND_COUNT + 1)]
        self._say(f"{BACKEND_COUNT} web servers answer their names")
        self._tenants = await self._open_tenants()
        await wait_until_settled(self._ownership_problems)

    async def _open_tenants(self) -> dict[int, Tenant]:
        """Return two tenants by number, each of which uses the API of the controller with that number."""
        return {number: await asyncio.to_thread(Tenant, self._cluster.url(number)) for number in (1, 2)}

    async def _create_load_balancer(self) -> None:
        place = self.place
        body = {"subnet": {"name": "demo", "cidr": place.cidr}}
        subnet = (await asyncio.to_thread(self._cluster.client(1).post, f"{API_PATH}/subnets", body))["subnet"]
        self._subnet_id = subnet["id"]
        self._say(f"subnet demo, {place.cidr}, is the pool of addresses")
        await asyncio.to_thread(self._tenants[1].load_api)
        before = await asyncio.to_thread(self._side.last_write)
        made = await asyncio.to_thread(
            self._tenants[1].create_website,
            name=LOAD_BALANCER_NAME,
            provider=self.provider or self._cluster.environment,
            subnet_id=self._subnet_id,
            address=place.address,
            port=place.port,
            backends=self._backends,
        )
        self._load_balancer_id, self._project_id = made.id, made.project_id
        self._say(
            f"openstacksdk requested load balancer {made.id} from {self.creates_at}: "
            f"listener, pool, monitor, {BACKEND_COUNT} members"
        )
        await asyncio.to_thread(self._tenants[1].wait_until_active, made.id)
        self.outcome.create_writes = counted = dict(await asyncio.to_thread(self._side.writes_after, before))
        self._say(f"it is ACTIVE; writes to a device: {counted}")

    async def _start_traffic(self) -> None:
        await wait_until(self._vip_answers, f"an answer at {self.place.url}")
        self.traffic.start()
        self.outcome.counts = self._narrator.picture.counts = self.traffic.counts
        self._say(f"requests flow through {self.place.url} from now on")
        await wait_until(self._all_backends_answer, "answers from every backend")

    async def _serve_https(self) -> HttpsWebsite:
        source = AcmeCertificates(self._cluster.client(1), self._say, proof=self._proof)
        self._https = HttpsWebsite(self.place, self._authority, source, self._tenants[1], self.outcome, self._say)
        await self._https.serve(self._load_balancer_id, self._project_id, LOAD_BALANCER_NAME)
        return self._https

    async def _kill_agent(self, victim: str) -> None:
        side, cluster = self._side, self._cluster
        backend = await cluster.start_backend(BACKEND_COUNT + 1)
        # Before the kill, so that the first write after it is found.
        seen = await asyncio.to_thread(side.last_write)
        killed_at = time.time()
        cluster.kill(agent_name(victim))
        self._say(f"kill -9 of the agent on {victim}")
        member = await asyncio.to_thread(
            self._tenants[2].add_member, self._load_balancer_id, BACKEND_COUNT + 1, backend
        )
        self._say(f"while no agent serves it, {self.accepts_at} accepts a member: {member.provisioning_status}")
        await wait_until(lambda: self._is_served_by_other(victim), "another agent to take over")
        successor = await self._acting_host()
        written_at = await wait_until(
            lambda: asyncio.to_thread(side.first_write_time, successor, seen), f"a device write by {successor}"
        )
        self.outcome.takeover_seconds = written_at - killed_at
        self._say(f"{successor} took over; its first write came {self.outcome.takeover_seconds:.2f} s after the kill")
        await asyncio.to_thread(self._tenants[2].wait_for_member, self._load_balancer_id, member)
        self._say("the member is ACTIVE")

    async def _restart_agent(self, host: str) -> None:
        await self._cluster.start_agent(host)
        self._say(f"the agent on {host} is started again; once it has settled it gets its work back")

        async def is_home() -> bool:
            return await self._acting_host() == host

        await wait_until(is_home, f"{host} to serve again")
        self._say(f"{host} serves again, handed over without a gap")

    async def _verify_agreement(self) -> None:
        await wait_until_settled(self._ownership_problems)
        await wait_until_settled(self._status_problems)
        await wait_until_settled(self._content_problems)
        devices = "both devices hold" if len(self._side.names) == 2 else "the device holds"
        self._say(f"every agent's view agrees with the database, and {devices} what the API says")

    # -- conditions

    async def _ownership_problems(self) -> list[str]:
        agents, shards = (
            (await self._cluster.get_json("/agents"))["agents"],
            (await self._cluster.get_json("/shards"))["shards"],
        )
        return ownership_violations(agents, shards) if shards else ["there are no shards"]

    async def _status_problems(self) -> list[str]:
        return unsettled_object_texts(await asyncio.to_thread(self._tenants[1].objects, self._load_balancer_id))

    async def _content_problems(self) -> list[str]:
        wanted = await asyncio.to_thread(self._tenants[1].member_addresses, self._load_balancer_id)
        return member_differences(await asyncio.to_thread(self._side.members), wanted)

    async def _vip_answers(self) -> bool:
        return await is_answered(self.place.address, self.place.port)

    async def _all_backends_answer(self) -> bool:
        # A failed request ends the wait, too: the outcome reports it.
        return len(self.traffic.counts.answers) >= BACKEND_COUNT or self.traffic.counts.failed > 0

    async def _is_served_by_other(self, victim: str) -> bool:
        return await self._acting_host() not in ("", victim)

    # -- observation

    async def _acting_host(self) -> str:
        """Return the host of the live agent that serves the load balancer; empty if there is none now."""
        hosting = (await self._cluster.get_json(f"/loadbalancers/{self._load_balancer_id}/agent"))["hosting"]
        acting = hosting["acting"]
        return str(acting["host"]) if acting and acting["alive"] else ""

    async def stop_traffic(self) -> None:
        """Stop the traffic's clients after the requests that are in progress."""
        await self.traffic.stop()
        if self._https is not None:
            await self._https.traffic.stop()

    def close(self) -> None:
        """Close the connections of all tenants."""
        for tenant in self._tenants.values():
            tenant.close()


async def is_answered(address: str, port: int) -> bool:
    """Whether a request to this address and port of a VIP is answered with 200 within a second."""
    try:
        async with asyncio.timeout(1.0):
            connection = await TrafficConnection.open(address, port)
            try:
                await connection.get(keep=False)
            finally:
                connection.close()
    except (OSError, EOFError, TimeoutError, RequestFailed):
        return False
    return True
