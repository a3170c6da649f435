"""Implements :class:`evenkeel.core.ports.ImportStore` in SQL."""

from collections.abc import Sequence
from random import Random

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from evenkeel.core.control.imports import StoredLoadBalancer
from evenkeel.core.control.mirrors import ADDRESS_TAKEN
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict, RequestError
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.chaining import ChainQuery
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.limits import check_limits
from evenkeel.core.resources.model import LoadBalancerTree
from evenkeel.core.resources.tree_changes import all_children
from evenkeel.core.tls.certificates import CheckedCertificate
from evenkeel.store.engine.base import Database, Op
from evenkeel.store.imports.held_load_balancers import (
    discard_held_load_balancer,
    set_load_balancer_held,
    update_held_load_balancer,
)
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.records.loading import load_trees
from evenkeel.store.tenants.chaining import operation_with_chain_check
from evenkeel.store.tenants.create import create_load_balancer
from evenkeel.store.vips.addresses import ALLOCATED_AMONG_CANDIDATES
from evenkeel.store.vips.selection import plan_with_canonical_addresses, write_with_vip
from evenkeel.store.writing.conflicts import check_new_tree
from evenkeel.store.writing.quota_check import count_new_objects
from evenkeel.store.writing.taken_ids import check_ids_free, id_in_use_error

_load_balancer = schema.load_balancer


class SqlImports:
    """Stores imported load balancers in SQL; implements the port ``ImportStore``."""

    def __init__(self, database: Database, options: StoreOptions, random: Random) -> None:
        self._db = database
        self._options = options
        self._random = random

    async def find_stored_load_balancer(self, load_balancer_id: LoadBalancerId) -> StoredLoadBalancer | None:
        return await self._db.read(lambda connection: _find_stored_load_balancer(connection, load_balancer_id))

    async def check_creation(self, tree: LoadBalancerTree, plan: VipPlan) -> None:
        check_new_tree(tree)
        root = tree.load_balancer
        check_limits(root.id, self._options.load_balancer_limits, {}, count_new_objects(all_children(tree)))
        await self._db.read(
            lambda connection: _check_ids_and_addresses_free(connection, tree, plan_with_canonical_addresses(plan))
        )

    async def create_imported(
        self,
        tree: LoadBalancerTree,
        plan: VipPlan,
        certificates: Sequence[CheckedCertificate] = (),
        *,
        unchained: ChainQuery | None = None,
    ) -> Change:
        normal = plan_with_canonical_addresses(plan)
        op = operation_with_chain_check(
            unchained, _create_imported(self._options, tree, normal, self._random, certificates)
        )
        return await write_with_vip(self._db, op, normal, _error_of_concurrent_write)

    async def update_held(
        self, tree: LoadBalancerTree, certificates: Sequence[CheckedCertificate] = ()
    ) -> Change | None:
        try:
            return await self._db.write(update_held_load_balancer(self._options, tree, certificates))
        except IntegrityError as error:
            raise _error_of_concurrent_write(error) from error

    async def set_held(self, load_balancer_id: LoadBalancerId, held: bool) -> Change | None:
        return await self._db.write(set_load_balancer_held(self._options, load_balancer_id, held))

    async def discard_held(self, load_balancer_id: LoadBalancerId) -> Change:
        return await self._db.write(discard_held_load_balancer(self._options, load_balancer_id))


def _find_stored_load_balancer(connection: Connection, load_balancer_id: LoadBalancerId) -> StoredLoadBalancer | None:
    tree = load_trees(connection, [load_balancer_id]).get(load_balancer_id)
    if tree is None:
        return None
    mirrored = connection.scalar(select(_load_balancer.c.mirrored).where(_load_balancer.c.id == load_balancer_id))
    return StoredLoadBalancer(tree=tree, mirrored=bool(mirrored))


def _check_ids_and_addresses_free(connection: Connection, tree: LoadBalancerTree, plan: VipPlan) -> None:
    check_ids_free(connection, _ids_of_tree(tree))
    addresses = [each.address for each in (plan, *plan.additional) if each.address is not None]
    asked = {"network_id": plan.network_id, "some": addresses}
    for address in connection.scalars(ALLOCATED_AMONG_CANDIDATES, asked):
        raise Conflict(f"VIP address {address} is in use on network {plan.network_id}.", code=ADDRESS_TAKEN)


def _create_imported(
    options: StoreOptions,
    tree: LoadBalancerTree,
    plan: VipPlan,
    random: Random,
    certificates: Sequence[CheckedCertificate],
) -> Op[Change]:
    create = create_load_balancer(options, tree, plan, random, certificates, checks_quota=False)

    def run_transaction(connection: Connection) -> Change:
        check_ids_free(connection, _ids_of_tree(tree))
        return create(connection)

    return run_transaction


def _ids_of_tree(tree: LoadBalancerTree) -> list[str]:
    return [tree.load_balancer.id, *(row.id for row in all_children(tree))]


def _error_of_concurrent_write(_error: IntegrityError) -> RequestError:
    """Return the error for a write that failed because a concurrent one stored one of the imported ids elsewhere."""
    return id_in_use_error("An object with one of these ids exists")
