"""The store port for the pool-rooted objects of LBaaS v1: see :mod:`evenkeel.core.pool_rooted`."""

from collections.abc import Mapping
from typing import Any, Protocol

from evenkeel.core.control import Change, ListQuery, Page, VipPlan
from evenkeel.core.ids import AgentId, ProjectId
from evenkeel.core.model import Listener, ListenerStatistics, SessionPersistence
from evenkeel.core.pool_rooted import SharedMonitor


class LbaasV1Store(Protocol):
    """What the API reads and writes of LBaaS v1, besides what it shares with the others. As in
    :class:`~evenkeel.core.ports.tenants.TenantStore` every write is one transaction, and ``project_id`` None means any
    project."""

    async def add_vip(
        self, row: Listener, vip: VipPlan, persistence: SessionPersistence | None, *, project_id: ProjectId | None
    ) -> Change:
        """A listener that sends to its default pool and brings the VIP of that pool's load balancer. The pool gets
        the persistence. :class:`Conflict` if the load balancer has a VIP, also while its device has not let go of it
        yet; or if the address is in use."""
        ...

    async def update_vip(
        self,
        listener_id: str,
        changes: Mapping[str, Any],
        persistence: SessionPersistence | None,
        *,
        project_id: ProjectId | None,
    ) -> Change:
        """Change attributes of the listener, and the persistence of its pool, as one change."""
        ...

    async def delete_rooted_pool(self, pool_id: str, *, project_id: ProjectId | None) -> Change:
        """Mark the pool deleted, and with it the load balancer that was made for it. :class:`Conflict` while a listener
        sends to it. Repeating it is harmless."""
        ...

    async def vips(self, query: ListQuery) -> Page:
        """A page of :class:`PoolVip`; the query is one of listeners, and may filter by ``vip_address``,
        ``vip_subnet_id`` and ``vip_port_id`` too. Constant number of queries, as of the others."""
        ...

    async def rooted_pools(self, query: ListQuery, *, agent_id: AgentId | None = None) -> Page:
        """A page of :class:`RootedPool`; the query is one of pools, and may filter by ``vip_id`` too. ``agent_id``:
        only those that the agent acts for or is home to."""
        ...

    async def pool_statistics(self, pool_id: str) -> ListenerStatistics:
        """Totals of the listeners that send to the pool."""
        ...

    async def providers_of_monitor(self, monitor_id: str) -> tuple[str, ...]:
        """The environments that pools of a monitor that stands alone are in; one query."""
        ...

    async def add_shared_monitor(self, row: SharedMonitor) -> SharedMonitor:
        """Store a monitor that no pool has yet."""
        ...

    async def update_shared_monitor(
        self, monitor_id: str, changes: Mapping[str, Any], *, project_id: ProjectId | None
    ) -> tuple[Change, ...]:
        """Change attributes of a monitor that stands alone, and of that in each of its pools: a change each, accepted
        together."""
        ...

    async def delete_shared_monitor(self, monitor_id: str, *, project_id: ProjectId | None) -> None:
        """:class:`Conflict` while a pool has it, as every one has that was made in its pool."""
        ...

    async def shared_monitors(self, query: ListQuery) -> Page:
        """A page of :class:`SharedMonitor`, both those that stand alone and those made in a pool."""
        ...

    async def associate_monitor(
        self, pool_id: str, monitor_id: str, *, new_id: str, project_id: ProjectId | None
    ) -> Change:
        """Give the pool the monitor, one of its project; ``new_id`` is that of the health monitor in the pool.
        :class:`Conflict` if it has this or another one."""
        ...

    async def set_pool_monitor(
        self,
        pool_id: str,
        monitor_id: str | None,
        changes: Mapping[str, Any],
        *,
        new_id: str,
        project_id: ProjectId | None,
    ) -> Change:
        """Give the pool the monitor in the place of the one it has; None: none. Attributes of the pool are changed with
        it."""
        ...
