"""What happens to the control plane while requests flow: everything of it dies, and comes back."""

import asyncio
from collections.abc import Callable

from evenkeel.cli.client import ClientError
from evenkeel.demo.cluster import Cluster, agent_name, controller_name
from evenkeel.demo.device_kinds.haproxy import DAEMON_PROCESS
from evenkeel.haproxyd import wire
from tests.acceptance.tenant import LIMIT_SECONDS, Tenant, acting
from tests.waiting import eventually

CHANGES_BETWEEN = 2
AWAY_SECONDS = 1.0


class Faults:
    """Kills every process of the control plane with SIGKILL, one after the other, and starts it again."""

    def __init__(self, cluster: Cluster, tenant: Tenant, *, changes: Callable[[], int]) -> None:
        self.told: list[str] = []
        self.over = False
        """No more changes come: do not wait for them."""
        self._cluster = cluster
        self._tenant = tenant
        self._changes = changes

    async def all(self) -> None:
        """Every process once."""
        victim = await self._acting_agent_dies()
        await self._dies(DAEMON_PROCESS)
        for number in range(1, len(self._cluster.controllers) + 1):
            await self._dies(controller_name(number))
        for name in sorted(self._cluster.processes):
            if name.startswith("agent-") and name != agent_name(victim):
                await self._dies(name)

    async def _acting_agent_dies(self) -> str:
        """Another takes over. The host of the dead one, which is started again."""
        await self._some_changes()
        victim = await eventually(lambda: acting(self._cluster, self._tenant), within_seconds=LIMIT_SECONDS)
        self._cluster.kill(agent_name(victim))
        self.told.append(f"{agent_name(victim)}, which served, is killed")

        async def taken_over() -> bool:
            return await acting(self._cluster, self._tenant) not in ("", victim)

        await eventually(taken_over, within_seconds=LIMIT_SECONDS, every_seconds=0.1)
        self.told.append(f"agent-{await acting(self._cluster, self._tenant)} took over")
        await self._some_changes()
        await self._cluster.start_again(agent_name(victim))
        return victim

    async def _dies(self, name: str) -> None:
        await self._some_changes()
        self._cluster.kill(name)
        self.told.append(f"{name} is killed")
        await asyncio.sleep(AWAY_SECONDS)
        await self._cluster.start_again(name)
        self.told.append(f"{name} is back")

    async def _some_changes(self) -> None:
        before = self._changes()
        await eventually(
            lambda: self.over or self._changes() >= before + CHANGES_BETWEEN,
            within_seconds=2 * LIMIT_SECONDS,
            every_seconds=0.05,
        )


async def full_resync(
    cluster: Cluster, entries: Callable[[int], tuple[wire.JournalEntry, ...]], wanted: set[str]
) -> str:
    """Wait until an agent says all of the partition again, with nothing to be changed; what the journal has of it.

    Only a complete pass names load balancers that nobody changes.
    """
    before = max((entry.number for entry in await asyncio.to_thread(entries, 0)), default=0)

    async def complete() -> list[wire.JournalEntry]:
        try:
            found = await asyncio.to_thread(entries, before)
        except (OSError, ClientError):
            return []
        return [one for one in found if one.accepted and wanted <= set(one.load_balancer_ids)]

    entry = (await eventually(complete, within_seconds=LIMIT_SECONDS, every_seconds=0.2))[0]
    return f"{entry.agent} said all {len(wanted)} load balancers again: {entry.how}"
