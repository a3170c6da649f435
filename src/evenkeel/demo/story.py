"""What the demo shows, step by step, and whether it was as promised.

A load balancer is created and carries traffic; the agent that serves it is killed; another agent takes over while a
tenant changes the load balancer; the killed agent comes back and gets its work back. Traffic runs all the time.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from evenkeel.cli.client import API
from evenkeel.demo.addresses import VipPlace
from evenkeel.demo.cluster import Cluster, agent_name
from evenkeel.demo.narration import Narrator
from evenkeel.demo.tenant import Tenant
from evenkeel.demo.traffic import Connection, Counts, RequestFailed, Traffic
from evenkeel.demo.views import disagreements, unsettled

HOSTS = ("host-1", "host-2", "host-3")
BACKENDS = 3
NAME = "website"
STEP_SECONDS = 60.0
TAKEOVER_SECONDS = 10.0
CREATE_REQUESTS = 12
QUIET_SECONDS = 0.3


class StepFailed(Exception):
    """Something that the demo waits for did not come."""


@dataclass
class Outcome:
    """What was measured. ``problems`` says in words what was not as promised."""

    counts: Counts = field(default_factory=Counts)
    takeover_seconds: float = 0.0
    create_requests: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def judge(self) -> None:
        """Add what the numbers say to the problems."""
        if self.counts.failed:
            self.problems.append(f"{self.counts.failed} requests failed, the first with: {self.counts.first_failure}")
        if self.takeover_seconds >= TAKEOVER_SECONDS:
            self.problems.append(f"takeover took {self.takeover_seconds:.1f} s, {TAKEOVER_SECONDS:.0f} s are promised")
        for device, count in self.create_requests.items():
            if count > CREATE_REQUESTS:
                self.problems.append(f"{device} saw {count} requests for the create, {CREATE_REQUESTS} are promised")

    def rows(self) -> list[tuple[str, str]]:
        """The closing table."""
        creates = ", ".join(f"{device} {count}" for device, count in self.create_requests.items())
        return [
            ("requests sent", str(self.counts.sent)),
            ("requests failed", str(self.counts.failed)),
            ("seconds from kill to first write by the new agent", f"{self.takeover_seconds:.2f}"),
            ("device requests used to create the load balancer", creates),
        ]


class Story:
    """One telling. The steps build on each other and are told in the order in which they stand here."""

    def __init__(self, cluster: Cluster, place: VipPlace, narrator: Narrator) -> None:
        self.outcome = Outcome()
        self.traffic = Traffic(place.address, place.port)
        self._cluster = cluster
        self.place = place
        self._narrator = narrator
        self._say = narrator.say
        self._tenants: dict[int, Tenant] = {}
        self._load_balancer_id = ""

    async def tell(self) -> Outcome:
        """All of it. Raises :class:`StepFailed` and what the processes and the SDK raise."""
        await self._start()
        await self._create()
        await self._carry_traffic()
        home = await self._acting_host()
        self._say(f"{home} serves it; the other agents stand by")
        await self._kill(home)
        await self._bring_back(home)
        await self._verify()
        return self.outcome

    # -- steps

    async def _start(self) -> None:
        cluster = self._cluster
        devices = await cluster.start_devices()
        self._say("a pair of BIG-IP stand-ins listens: " + ", ".join(item.name for item in devices.devices))
        for number in (1, 2):
            self._say(f"controller {number} answers at {await cluster.start_controller(number)}")
        await asyncio.gather(*(cluster.start_agent(host) for host in HOSTS))
        self._say("three agents are alive: " + ", ".join(HOSTS))
        self._backends = [await cluster.start_backend(number) for number in range(1, BACKENDS + 1)]
        self._say(f"{BACKENDS} web servers answer their names")
        self._tenants = {number: await asyncio.to_thread(Tenant, cluster.url(number)) for number in (1, 2)}
        await self._settle(self._view_problems)

    async def _create(self) -> None:
        place, emulator = self.place, self._cluster.emulator
        body = {"subnet": {"name": "demo", "cidr": place.cidr}}
        subnet = (await asyncio.to_thread(self._cluster.client(1).post, f"{API}/subnets", body))["subnet"]
        self._say(f"subnet demo, {place.cidr}, is the pool of addresses")
        await self._until_observed()
        await asyncio.to_thread(emulator.reset_counters)
        made = await asyncio.to_thread(
            self._tenants[1].create_website,
            name=NAME,
            provider=self._cluster.environment,
            subnet_id=subnet["id"],
            address=place.address,
            port=place.port,
            backends=self._backends,
        )
        self._load_balancer_id = made.id
        self._say(
            f"openstacksdk asked controller 1 for load balancer {made.id}: listener, pool, monitor, {BACKENDS} members"
        )
        await asyncio.to_thread(self._tenants[1].wait_until_active, made.id)
        self.outcome.create_requests = await asyncio.to_thread(emulator.requests)
        self._say(f"it is ACTIVE; device requests: {self.outcome.create_requests}")

    async def _carry_traffic(self) -> None:
        await self._until(self._vip_answers, f"an answer at {self.place.url}")
        self.traffic.start()
        self.outcome.counts = self._narrator.picture.counts = self.traffic.counts
        self._say(f"requests flow through {self.place.url} from now on")
        await self._until(self._all_backends_answer, "answers from every backend")

    async def _kill(self, victim: str) -> None:
        emulator, cluster = self._cluster.emulator, self._cluster
        backend = await cluster.start_backend(BACKENDS + 1)
        seen = await asyncio.to_thread(emulator.last_write)
        killed_at = time.time()
        cluster.kill(agent_name(victim))
        self._say(f"kill -9 of the agent on {victim}")
        member = await asyncio.to_thread(self._tenants[2].add_member, self._load_balancer_id, BACKENDS + 1, backend)
        self._say(f"while nobody serves it, controller 2 accepts a member: {member.provisioning_status}")
        await self._until(lambda: self._served_by_other(victim), "another agent to take over")
        successor = await self._acting_host()
        write = await self._until(
            lambda: asyncio.to_thread(emulator.first_write_by, successor, seen), f"a device write by {successor}"
        )
        self.outcome.takeover_seconds = write["time"] - killed_at
        self._say(f"{successor} took over; its first write came {self.outcome.takeover_seconds:.2f} s after the kill")
        await asyncio.to_thread(self._tenants[2].wait_for_member, self._load_balancer_id, member)
        self._say("the member is ACTIVE")

    async def _bring_back(self, host: str) -> None:
        await self._cluster.start_agent(host)
        self._say(f"the agent on {host} is started again; once it has settled it gets its work back")

        async def is_home() -> bool:
            return await self._acting_host() == host

        await self._until(is_home, f"{host} to serve again")
        self._say(f"{host} serves again, handed over without a gap")

    async def _verify(self) -> None:
        await self._settle(self._view_problems)
        await self._settle(self._status_problems)
        for device in self._cluster.emulator.devices:
            pools = await asyncio.to_thread(self._cluster.emulator.members, device)
            counts = sorted(len(members) for members in pools.values())
            if counts != [BACKENDS + 1]:
                self.outcome.problems.append(f"{device.name} holds pools of {counts} members")
        self._say("every agent's view agrees with the database, and both devices hold all members")

    # -- conditions

    async def _view_problems(self) -> list[str]:
        agents, shards = (await self._cluster.ask("/agents"))["agents"], (await self._cluster.ask("/shards"))["shards"]
        return disagreements(agents, shards) if shards else ["there are no shards"]

    async def _status_problems(self) -> list[str]:
        return unsettled(await asyncio.to_thread(self._tenants[1].objects, self._load_balancer_id))

    async def _vip_answers(self) -> bool:
        try:
            async with asyncio.timeout(1.0):
                connection = await Connection.open(self.place.address, self.place.port)
                try:
                    await connection.get(keep=False)
                finally:
                    connection.close()
        except (OSError, EOFError, TimeoutError, RequestFailed):
            return False
        return True

    async def _all_backends_answer(self) -> bool:
        return len(self.traffic.counts.answers) >= BACKENDS or self.traffic.counts.failed > 0

    async def _served_by_other(self, victim: str) -> bool:
        return await self._acting_host() not in ("", victim)

    async def _until_observed(self) -> None:
        """Wait for the end of a look at the devices' state, so that none falls into what is counted next."""
        emulator = self._cluster.emulator
        looks = await asyncio.to_thread(emulator.looks)

        async def observed() -> bool:
            return await asyncio.to_thread(emulator.looks) > looks

        async def quiet() -> bool:
            before = await asyncio.to_thread(emulator.requests)
            await asyncio.sleep(QUIET_SECONDS)
            return before == await asyncio.to_thread(emulator.requests)

        await self._until(observed, "a look at the devices")
        await self._until(quiet, "the devices to be left alone")

    # -- looking

    async def _acting_host(self) -> str:
        """The host of the live agent that serves the load balancer; empty if there is none now."""
        hosting = (await self._cluster.ask(f"/loadbalancers/{self._load_balancer_id}/agent"))["hosting"]
        acting = hosting["acting"]
        return str(acting["host"]) if acting and acting["alive"] else ""

    async def _until(self, condition: Callable[[], Awaitable[Any]], what: str) -> Any:
        """The condition's first true value."""
        deadline = time.monotonic() + STEP_SECONDS
        while not (value := await condition()):
            if time.monotonic() > deadline:
                raise StepFailed(f"waited {STEP_SECONDS:.0f} s in vain for {what}")
            await asyncio.sleep(0.1)
        return value

    async def _settle(self, problems: Callable[[], Awaitable[list[str]]]) -> None:
        """Wait until there are none; reports travel a moment."""
        deadline = time.monotonic() + STEP_SECONDS
        while found := await problems():
            if time.monotonic() > deadline:
                raise StepFailed(f"after {STEP_SECONDS:.0f} s: " + "; ".join(found))
            await asyncio.sleep(0.1)

    def close(self) -> None:
        """Disconnect the tenants."""
        for tenant in self._tenants.values():
            tenant.close()
