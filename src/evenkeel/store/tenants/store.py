"""Implements :class:`evenkeel.core.ports.TenantStore` in SQL."""

from collections.abc import Sequence
from random import Random
from typing import Any

from sqlalchemy.exc import IntegrityError

from evenkeel.core.control.environments import LoadBalancerProviderFacts
from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import NotFound, RequestError
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.networking.chaining import ChainQuery
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.networking.vip_room import first_with_free_address
from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancerTree,
    Member,
    NewPool,
    Pool,
    RateLimitPolicy,
    RateLimitRule,
)
from evenkeel.core.tls.certificate_references import ChangedReferences
from evenkeel.core.tls.certificates import CheckedCertificate
from evenkeel.store.engine.database import Database, Op
from evenkeel.store.engine.operations import query_operation, read_operation
from evenkeel.store.options import StoreOptions
from evenkeel.store.records.child_ids import columns_with_child_ids, object_with_child_ids
from evenkeel.store.records.loading import load_trees
from evenkeel.store.records.rows import KINDS, LOAD_BALANCER
from evenkeel.store.tenants import (
    chaining,
    children,
    create,
    l7,
    load_balancers,
    operator_irules,
    rate_limits,
    reads,
    updates,
)
from evenkeel.store.tenants import members as member_sets
from evenkeel.store.vips.selection import plan_with_canonical_addresses, write_with_vip
from evenkeel.store.writing.conflicts import (
    child_constraint_error,
    deleted_reference_error,
    duplicate_id_error,
    duplicate_listener_error,
    duplicate_members_error,
    duplicate_monitor_error,
)
from evenkeel.store.writing.revision_lock import WriteTarget, read_target_row
from evenkeel.store.writing.tenant_writes import TenantWrites, tenant_write_operation


class SqlTenants:
    """Stores load balancers and their children in SQL; implements the port ``TenantStore``. ``in_error``:
    with the option ``strict_immutability``, accept changes of load balancers in ERROR, too.
    """

    def __init__(self, database: Database, options: StoreOptions, random: Random, *, in_error: bool = False) -> None:
        self._db = database
        self._writes = TenantWrites(options, in_error=in_error)
        self._random = random

    # -- load balancers

    async def create_load_balancer(
        self,
        tree: LoadBalancerTree,
        vip: VipPlan | None,
        certificates: Sequence[CheckedCertificate] = (),
        *,
        unchained: ChainQuery | None = None,
    ) -> Change:
        async def write(plan: VipPlan | None) -> Change:
            op = create.create_load_balancer(self._writes.options, tree, plan, self._random, certificates)
            return await write_with_vip(
                self._db,
                chaining.operation_with_chain_check(unchained, op),
                plan,
                lambda error: (
                    deleted_reference_error(
                        error,
                        flavor_id=tree.load_balancer.flavor_id,
                        availability_zone=tree.load_balancer.availability_zone,
                    )
                    or duplicate_id_error()
                ),
            )

        if vip is None:
            return await write(None)
        return await first_with_free_address((plan_with_canonical_addresses(vip), *vip.elsewhere), write)

    update_load_balancer = tenant_write_operation(load_balancers.update_load_balancer)

    async def resize_load_balancer(
        self,
        load_balancer_id: LoadBalancerId,
        *,
        flavor_id: str,
        enhanced_services: Sequence[str],
        listeners: Sequence[ChangedReferences] = (),
        certificates: Sequence[CheckedCertificate] = (),
        project_id: ProjectId | None,
    ) -> Change:
        write = load_balancers.resize_load_balancer(
            self._writes,
            load_balancer_id,
            flavor_id=flavor_id,
            enhanced_services=enhanced_services,
            listeners=listeners,
            certificates=certificates,
            project_id=project_id,
        )
        try:
            return await self._db.write(write)
        except IntegrityError as error:
            raise deleted_reference_error(error, flavor_id=flavor_id) or error from error

    fail_over_load_balancer = tenant_write_operation(load_balancers.fail_over_load_balancer)

    delete_load_balancer = tenant_write_operation(load_balancers.delete_load_balancer)

    # -- children

    async def add_listener(
        self,
        row: Listener,
        l7policies: Sequence[L7Policy] = (),
        l7rules: Sequence[L7Rule] = (),
        *,
        new_pools: Sequence[NewPool] = (),
        certificates: Sequence[CheckedCertificate] = (),
        project_id: ProjectId | None,
        unchained: ChainQuery | None = None,
    ) -> Change:
        op = children.add_listener(
            self._writes,
            row,
            l7policies,
            l7rules,
            new_pools=new_pools,
            certificates=certificates,
            project_id=project_id,
        )
        return await self._add_child(
            chaining.operation_with_chain_check(unchained, op),
            duplicate_listener_error(row.protocol, row.protocol_port),
        )

    async def add_l7policy(
        self,
        row: L7Policy,
        rules: Sequence[L7Rule],
        *,
        new_pool: NewPool | None = None,
        certificates: Sequence[CheckedCertificate] = (),
        project_id: ProjectId | None,
        unchained: ChainQuery | None = None,
    ) -> Change:
        op = l7.add_l7policy(
            self._writes, row, rules, new_pool=new_pool, certificates=certificates, project_id=project_id
        )
        return await self._add_child(chaining.operation_with_chain_check(unchained, op))

    async def add_l7rule(self, row: L7Rule, *, project_id: ProjectId | None) -> Change:
        return await self._add_child(l7.add_l7rule(self._writes, row, project_id=project_id))

    async def add_rate_limit_policy(self, row: RateLimitPolicy, *, project_id: ProjectId | None) -> Change:
        return await self._add_child(rate_limits.add_rate_limit_policy(self._writes, row, project_id=project_id))

    async def add_rate_limit_rule(self, row: RateLimitRule, *, project_id: ProjectId | None) -> Change:
        return await self._add_child(rate_limits.add_rate_limit_rule(self._writes, row, project_id=project_id))

    async def add_pool(
        self,
        row: Pool,
        members: Sequence[Member],
        monitor: HealthMonitor | None,
        *,
        listener_id: str | None,
        certificates: Sequence[CheckedCertificate] = (),
        project_id: ProjectId | None,
        unchained: ChainQuery | None = None,
    ) -> Change:
        op = children.add_pool(
            self._writes,
            row,
            members,
            monitor,
            listener_id=listener_id,
            certificates=certificates,
            project_id=project_id,
        )
        return await self._add_child(chaining.operation_with_chain_check(unchained, op))

    async def add_members(
        self, rows: Sequence[Member], *, project_id: ProjectId | None, unchained: ChainQuery | None = None
    ) -> Change:
        op = children.add_members(self._writes, rows, project_id=project_id)
        return await self._add_child(chaining.operation_with_chain_check(unchained, op), duplicate_members_error(rows))

    async def add_health_monitor(self, row: HealthMonitor, *, project_id: ProjectId | None) -> Change:
        return await self._add_child(
            children.add_health_monitor(self._writes, row, project_id=project_id), duplicate_monitor_error()
        )

    async def _add_child(self, op: Op[Change], duplicate: RequestError | None = None) -> Change:
        """Run a write that adds a child. Raises ``duplicate`` if a child with the same unique values exists,
        :class:`Conflict` for an id that exists, and what ``op`` raises.
        """
        try:
            return await self._db.write(op)
        except IntegrityError as error:
            raise child_constraint_error(error, duplicate) from error

    async def replace_members(
        self,
        pool_id: str,
        members: Sequence[Member],
        *,
        additive_only: bool,
        project_id: ProjectId | None,
        unchained: ChainQuery | None = None,
    ) -> Change:
        op = member_sets.replace_members(
            self._writes, pool_id, members, additive_only=additive_only, project_id=project_id
        )
        return await self._add_child(chaining.operation_with_chain_check(unchained, op))

    update_child = tenant_write_operation(updates.update_child)

    keep_irules = tenant_write_operation(operator_irules.keep_irules)

    delete_child = tenant_write_operation(updates.delete_child)

    # -- reading

    async def get(
        self, kind: type[Any], object_id: str, *, parent_id: str | None = None, project_id: ProjectId | None
    ) -> Any:
        target = WriteTarget(KINDS[kind], object_id, project_id, parent_id)
        columns = columns_with_child_ids(target.kind)
        return object_with_child_ids(
            target.kind, await self._db.query(lambda connection: read_target_row(connection, target, columns))
        )

    async def served_by(
        self, kind: type[Any], object_id: str, *, project_id: ProjectId | None
    ) -> LoadBalancerProviderFacts:
        served = await self._db.query(
            lambda connection: reads.read_serving_environment(connection, KINDS[kind], object_id)
        )
        # An object of another project is reported exactly like one that does not exist.
        if served is None or project_id not in (None, served.project_id):
            raise NotFound(KINDS[kind].title, object_id)
        return served

    async def list(self, kind: type[Any], query: ListQuery, *, parent_id: str | None = None) -> Page:
        op = reads.list_objects(KINDS[kind], query, parent_id)
        if query.marker is not None or query.tags is not None:
            return await self._db.read(op)
        if parent_id is None:
            return await self._db.query(op)
        # Almost every list below a parent is one statement, too, which needs no transaction.
        page = await self._db.query(reads.list_objects(KINDS[kind], query, parent_id, checks_parent=False))
        return page if page.items else await self._db.read(op)

    async def tree(
        self, load_balancer_id: LoadBalancerId, *, project_id: ProjectId | None, statuses_only: bool = False
    ) -> LoadBalancerTree:
        trees = await self._db.read(lambda connection: load_trees(connection, [load_balancer_id], brief=statuses_only))
        tree = trees.get(load_balancer_id)
        if tree is None or project_id not in (None, tree.load_balancer.project_id):
            raise NotFound(LOAD_BALANCER.title, load_balancer_id)
        return tree

    find_chained = read_operation(chaining.read_chained_addresses)

    find_pending = query_operation(reads.filter_pending_load_balancers)

    statistics = read_operation(reads.read_statistics)
