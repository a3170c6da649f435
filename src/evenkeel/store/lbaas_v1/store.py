"""Implements :class:`evenkeel.core.ports.LbaasV1Store` in SQL."""

from random import Random

from sqlalchemy.exc import IntegrityError

from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import AgentId, ProjectId
from evenkeel.core.networking.chaining import ChainQuery
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import Listener, SessionPersistence
from evenkeel.store.engine.database import Database
from evenkeel.store.engine.operations import query_operation, read_operation, write_operation
from evenkeel.store.lbaas_v1 import reads, shared_monitors, vips
from evenkeel.store.options import StoreOptions
from evenkeel.store.tenants.chaining import operation_with_chain_check
from evenkeel.store.vips.selection import plan_with_canonical_addresses, write_with_vip
from evenkeel.store.writing.conflicts import child_constraint_error, duplicate_listener_error, duplicate_monitor_error
from evenkeel.store.writing.tenant_writes import TenantWrites, tenant_write_operation


class SqlLbaasV1:
    """Stores vips, pools and health monitors of LBaaS v1 in SQL; implements the port ``LbaasV1Store``."""

    def __init__(self, database: Database, options: StoreOptions, random: Random) -> None:
        self._db = database
        self._writes = TenantWrites(options, in_error=True)
        self._random = random

    # -- vips and pools

    async def add_vip(
        self,
        row: Listener,
        vip: VipPlan,
        persistence: SessionPersistence | None,
        *,
        project_id: ProjectId | None,
        unchained: ChainQuery | None = None,
    ) -> Change:
        plan = plan_with_canonical_addresses(vip)
        op = vips.add_vip(self._writes, row, plan, persistence, self._random, project_id=project_id)
        return await write_with_vip(
            self._db,
            operation_with_chain_check(unchained, op),
            plan,
            lambda error: child_constraint_error(error, duplicate_listener_error(row.protocol, row.protocol_port)),
        )

    update_vip = tenant_write_operation(vips.update_vip)

    delete_v1_pool = tenant_write_operation(vips.delete_v1_pool)

    async def vips(self, query: ListQuery) -> Page:
        return await self._db.read(reads.list_vips(query))

    async def list_v1_pools(self, query: ListQuery, *, agent_id: AgentId | None = None) -> Page:
        return await self._db.read(reads.list_v1_pools(query, agent_id))

    pool_statistics = query_operation(reads.read_pool_statistics)

    # -- health monitors

    providers_of_monitor = query_operation(reads.read_providers_of_monitor)

    add_shared_monitor = tenant_write_operation(shared_monitors.add_shared_monitor)

    update_shared_monitor = tenant_write_operation(shared_monitors.update_shared_monitor)

    delete_shared_monitor = write_operation(shared_monitors.delete_shared_monitor)

    async def associate_monitor(
        self, pool_id: str, monitor_id: str, *, new_id: str, project_id: ProjectId | None
    ) -> Change:
        try:
            return await self._db.write(
                shared_monitors.associate_monitor(
                    self._writes, pool_id, monitor_id, new_id=new_id, project_id=project_id
                )
            )
        except IntegrityError as error:
            raise child_constraint_error(error, duplicate_monitor_error()) from error

    set_pool_monitor = tenant_write_operation(shared_monitors.set_pool_monitor)

    # last, because the name hides the module from declarations that follow
    shared_monitors = read_operation(reads.list_shared_monitors)
