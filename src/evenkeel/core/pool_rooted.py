"""The pool-rooted objects of LBaaS v1, and what the store does for them. They are mapped onto the same model:

* a pool is a pool in a load balancer made for it, which has no VIP at first;
* a vip is a listener of that load balancer, with the same id, and brings the VIP;
* a member is a member;
* a health monitor stands alone, and is a health monitor in each pool that it is associated with. One made in a pool
  through another API is one that only this pool can have.

So each listener with a default pool is a vip, and each pool a pool, whichever API they were made through.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from evenkeel.core.control import Change, ListQuery, Page, VipPlan
from evenkeel.core.ids import AgentId
from evenkeel.core.model import (
    HealthMonitor,
    Listener,
    ListenerStatistics,
    LoadBalancer,
    Pool,
    SessionPersistence,
)
from evenkeel.core.statuses import ProvisioningStatus
from evenkeel.core.values import Value

SharedMonitorType = Literal["PING", "TCP", "HTTP", "HTTPS"]

MONITOR_ATTRIBUTES = (
    *("type", "delay", "timeout", "max_retries"),
    *("http_method", "url_path", "expected_codes", "admin_state_up"),
)
"""What the health monitor in a pool has of the shared one."""
POOLS_OF_MONITOR_MAX = 200
"""Pools that share one monitor: a change of it changes all of them in one transaction."""


class MonitorUse(Value):
    """A pool that a monitor is associated with."""

    pool_id: str
    provisioning_status: ProvisioningStatus


class SharedMonitor(Value):
    """A health monitor of its own. Times in seconds."""

    id: str
    project_id: str
    type: str
    delay: int
    timeout: int
    max_retries: int
    http_method: str | None = None
    url_path: str | None = None
    expected_codes: str | None = None
    admin_state_up: bool = True
    created_at: float = 0.0
    updated_at: float | None = None
    in_pool: bool = False
    """It was made in its pool through another API, and no other pool can have it."""
    uses: tuple[MonitorUse, ...] = ()


class PoolVip(Value):
    """A vip: the listener, the load balancer whose VIP it is at, and the pool that it sends to."""

    listener: Listener
    load_balancer: LoadBalancer
    pool: Pool

    @property
    def id(self) -> str:
        """What lists are continued after."""
        return self.listener.id


class RootedPool(Value):
    """A pool with what LBaaS v1 shows of its surroundings."""

    pool: Pool
    load_balancer: LoadBalancer
    monitor: HealthMonitor | None = None
    """The live one."""

    @property
    def id(self) -> str:
        """What lists are continued after."""
        return self.pool.id


class PoolRootedStore(Protocol):
    """What the API reads and writes of LBaaS v1, besides what it shares with the others. As
    :class:`evenkeel.core.ports.TenantStore`: every write is one transaction; ``project_id`` None: any project."""

    async def add_vip(
        self, row: Listener, vip: VipPlan, persistence: SessionPersistence | None, *, project_id: str | None
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
        project_id: str | None,
    ) -> Change:
        """Change attributes of the listener, and the persistence of its pool, as one change."""
        ...

    async def delete_rooted_pool(self, pool_id: str, *, project_id: str | None) -> Change:
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
        self, monitor_id: str, changes: Mapping[str, Any], *, project_id: str | None
    ) -> tuple[Change, ...]:
        """Change attributes of a monitor that stands alone, and of that in each of its pools: a change each, accepted
        together."""
        ...

    async def delete_shared_monitor(self, monitor_id: str, *, project_id: str | None) -> None:
        """:class:`Conflict` while a pool has it, as every one has that was made in its pool."""
        ...

    async def shared_monitors(self, query: ListQuery) -> Page:
        """A page of :class:`SharedMonitor`, both those that stand alone and those made in a pool."""
        ...

    async def associate_monitor(self, pool_id: str, monitor_id: str, *, new_id: str, project_id: str | None) -> Change:
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
        project_id: str | None,
    ) -> Change:
        """Give the pool the monitor in the place of the one it has; None: none. Attributes of the pool are changed with
        it."""
        ...
