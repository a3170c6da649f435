"""Store port for the pool-rooted objects of LBaaS v1: see :mod:`evenkeel.core.resources.pool_rooted`."""

from collections.abc import Mapping
from typing import Any, Protocol

from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import AgentId, ProjectId
from evenkeel.core.networking.chaining import ChainQuery
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import Listener, ListenerStatistics, SessionPersistence
from evenkeel.core.resources.pool_rooted import SharedMonitor


class LbaasV1Store(Protocol):
    """Store port for reads and writes that only the LBaaS v1 API needs.

    Every write is one transaction, and ``project_id`` None means any project, as in
    :class:`~evenkeel.core.ports.tenants.TenantStore`. Every method may raise :class:`StoreUnavailable`.
    """

    async def add_vip(
        self,
        row: Listener,
        vip: VipPlan,
        persistence: SessionPersistence | None,
        *,
        project_id: ProjectId | None,
        unchained: ChainQuery | None = None,
    ) -> Change:
        """Add a listener with a default pool, and the VIP of that pool's load balancer by the plan ``vip``. The pool
        gets the persistence (None: none). ``unchained``: addresses that must not chain load balancers; None: no check.

        Raises :class:`NotFound`, :class:`Conflict` if the load balancer has a VIP, even one that its device has not
        released yet, if the address is in use, or none is free; :class:`QuotaReached`, :class:`ObjectLimitReached`,
        :class:`Invalid` for an address that is none; :class:`Unsupported` for an address in ``unchained``;
        :class:`NetworkUnavailable` if the VIP's port is being deleted.
        """
        ...

    async def update_vip(
        self,
        listener_id: str,
        changes: Mapping[str, Any],
        persistence: SessionPersistence | None,
        *,
        project_id: ProjectId | None,
    ) -> Change:
        """Change attributes of a listener ({attribute: new value}), and set the session persistence (None:
        none) of the default pool that the listener then has, if any, as one change. ``project_id``: the
        project that must have the listener; None: any.

        Raises :class:`NotFound`, also for a pool of another load balancer; :class:`Invalid` for an attribute
        that cannot be changed, or a pool with the wrong protocol; :class:`Conflict` if the listener or its
        load balancer is marked deleted, held or mirrored.
        """
        ...

    async def delete_v1_pool(self, pool_id: str, *, project_id: ProjectId | None) -> Change:
        """Mark a pool deleted, with its members and monitor, and, if nothing else is left in the load
        balancer that was made for the pool, that load balancer, too. A repetition changes nothing.
        ``project_id``: the project that must have the pool; None: any.

        Raises :class:`NotFound`; :class:`Conflict` while a listener has the pool as its default pool, or an
        L7 policy redirects to it.
        """
        ...

    async def vips(self, query: ListQuery) -> Page:
        """Return a page of :class:`LbaasV1Vip`, of listeners that have a default pool; the query is a query for
        listeners that may also filter by ``vip_address``, ``vip_subnet_id`` and ``vip_port_id``. Constant number of
        queries. Raises :class:`Invalid` like :meth:`~evenkeel.core.ports.tenants.TenantStore.list`.
        """
        ...

    async def list_v1_pools(self, query: ListQuery, *, agent_id: AgentId | None = None) -> Page:
        """Return a page of :class:`LbaasV1Pool`; the query is a query for pools that may also filter by
        ``vip_id``. ``agent_id``: only pools of load balancers that the agent acts for or is home to; None:
        all.

        Raises :class:`Invalid` like :meth:`~evenkeel.core.ports.tenants.TenantStore.list`.
        """
        ...

    async def pool_statistics(self, pool_id: str) -> ListenerStatistics:
        """Return the sum of the traffic totals of the listeners whose default pool is ``pool_id``; zeros if
        there are none. One query.
        """
        ...

    async def providers_of_monitor(self, monitor_id: str) -> tuple[str, ...]:
        """Return the names of the environments that have pools with this shared monitor, sorted, each once;
        empty if no pool has it. One query.
        """
        ...

    async def add_shared_monitor(self, row: SharedMonitor) -> SharedMonitor:
        """Store a shared monitor that no pool has yet, and return it with its time of creation. Raises
        :class:`QuotaReached` for the project's quota of health monitors.
        """
        ...

    async def update_shared_monitor(
        self, monitor_id: str, changes: Mapping[str, Any], *, project_id: ProjectId | None
    ) -> tuple[Change, ...]:
        """Change attributes of a shared monitor ({attribute: new value}) and of its copy in each pool, in one
        transaction; return one change for each load balancer with such a pool. ``project_id``: the project that must
        have the monitor; None: any. Raises :class:`NotFound`, :class:`Invalid` for an attribute that cannot be changed.
        """
        ...

    async def delete_shared_monitor(self, monitor_id: str, *, project_id: ProjectId | None) -> None:
        """Delete a shared monitor. ``project_id``: the project that must have the monitor; None: any. Raises
        :class:`NotFound`, also for a monitor that was made in a pool; :class:`Conflict` while it is
        associated with a pool.
        """
        ...

    async def shared_monitors(self, query: ListQuery) -> Page:
        """Return a page of :class:`SharedMonitor`: shared monitors, and monitors that were made in a pool.
        Raises :class:`Invalid` like :meth:`~evenkeel.core.ports.tenants.TenantStore.list`.
        """
        ...

    async def associate_monitor(
        self, pool_id: str, monitor_id: str, *, new_id: str, project_id: ProjectId | None
    ) -> Change:
        """Associate a shared monitor of the same project with the pool. ``new_id``: id of the monitor's copy
        in the pool. ``project_id``: the project that must have both; None: any.

        Raises :class:`NotFound` for the pool and for a monitor that is not of the pool's project,
        :class:`Conflict` if the pool has a monitor, or the monitor has as many pools as it may.
        """
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
        """Replace the monitor of a pool by a shared one (``monitor_id`` None: only remove it), and change attributes of
        the pool ({attribute: new value}), as one change. ``new_id``: id of the monitor's copy in the pool.
        ``project_id``: the project that must have both; None: any. Raises :class:`NotFound`, :class:`Invalid` for an
        attribute that cannot be changed, :class:`Conflict` if the monitor has as many pools as it may.
        """
        ...
