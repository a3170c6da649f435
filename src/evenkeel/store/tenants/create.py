"""Creates load balancers: the most frequent write, so it takes one query, further ones only for quotas and
shared monitors, and then inserts the rows of all tables together.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from random import Random
from typing import Any, NamedTuple

from msgspec.structs import replace
from sqlalchemy import Connection, select

from evenkeel.core.control.shards import ShardWithCapacity
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.ids import ShardId
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.limits import check_limits
from evenkeel.core.resources.model import Child, L7Policy, Listener, LoadBalancer, LoadBalancerTree, Pool, Vip
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.core.tls.certificates import CheckedCertificate
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.database import Op
from evenkeel.store.engine.inserting import TableRows, insert_into_tables
from evenkeel.store.engine.variants import join_values
from evenkeel.store.networks.claims import set_claim_holder, store_adopted_port_claim, store_tenant_port_claim
from evenkeel.store.options import StoreOptions
from evenkeel.store.ownership.shard_with_capacity import (
    PROJECT_ID,
    shard_with_capacity_from_row,
    shards_with_capacity_query,
)
from evenkeel.store.records import schema
from evenkeel.store.records.child_ids import listeners_by_policies
from evenkeel.store.records.rows import KINDS, NO_NETWORK_ID, row_from_resource
from evenkeel.store.vips.addresses import ALLOCATED_AMONG_CANDIDATES, address_rows
from evenkeel.store.vips.port_changes import store_pending_change
from evenkeel.store.vips.selection import candidate_addresses, choose_free_address
from evenkeel.store.writing.certificates import add_certificate_uses
from evenkeel.store.writing.changes import new_change_parameter
from evenkeel.store.writing.conflicts import check_new_tree
from evenkeel.store.writing.quota_check import check_quota, count_new_objects, has_own_quotas
from evenkeel.store.writing.revision_lock import LockedLoadBalancer
from evenkeel.store.writing.revisions import first_revision_rows
from evenkeel.store.writing.shared_monitor_lock import resolve_shared_monitor
from evenkeel.store.writing.steps import with_pending_create_status
from evenkeel.store.writing.tags import tag_rows

_load_balancer = schema.load_balancer


def create_load_balancer(
    options: StoreOptions,
    tree: LoadBalancerTree,
    plan: VipPlan | None,
    random: Random,
    certificates: Sequence[CheckedCertificate] = (),
    *,
    mirrored: bool = False,
    checks_quota: bool = True,
) -> Op[Change]:
    """Return an operation that stores a whole tree at revision 1, placed at once if its project has a shard
    that has room and no capacity policy.

    ``plan``: how to allocate the VIPs; None: none is allocated. ``random`` chooses free addresses.
    ``certificates``: checked contents of the references in the tree. ``mirrored``: the load balancer mirrors
    another system's. No quota is checked then, nor without ``checks_quota``.

    Raises :class:`Invalid` for one without a project or with an unknown environment; :class:`NotFound`,
    :class:`Conflict` and :class:`Invalid` for a tree that contradicts itself; :class:`Conflict` without a
    free address; :class:`QuotaReached`, :class:`ObjectLimitReached`; :class:`NetworkUnavailable` if its port is being
    deleted; ``IntegrityError`` for an id or address that is taken.
    """
    if not tree.load_balancer.project_id:
        raise Invalid("project_id: a load balancer needs a project")
    check_new_tree(tree)
    quota = checks_quota and not mirrored
    return lambda connection: _create_tree(
        connection, tree, plan, random, options, certificates, mirrored=mirrored, checks_quota=quota
    )


def _create_tree(
    connection: Connection,
    tree: LoadBalancerTree,
    plan: VipPlan | None,
    random: Random,
    options: StoreOptions,
    certificates: Sequence[CheckedCertificate],
    *,
    mirrored: bool,
    checks_quota: bool,
) -> Change:
    root = tree.load_balancer
    rows = (root, *tree.listeners, *tree.pools, *tree.members, *tree.l7policies, *tree.l7rules)
    # Before any statement: nothing is stored yet, so the request alone decides.
    check_limits(root.id, options.load_balancer_limits, {}, count_new_objects(rows))
    # before all other locks: shared monitors are locked first
    monitors = [resolve_shared_monitor(connection, row, root.project_id) for row in tree.health_monitors]
    tree = replace(tree, health_monitors=tuple(monitors))
    wanted = count_new_objects((*rows, *tree.health_monitors))
    plans = () if plan is None else (plan, *plan.additional)
    some = {each.subnet_id: candidate_addresses(each, random) for each in plans if each.address is None}
    # The candidates are chosen before the query, so that one round trip shows which of them are free.
    around = _read_state_before_creation(connection, root, plan, list(chain(*some.values())))
    now, shard = around.now, around.shard
    shard_id = None if shard is None else shard.shard_id
    if checks_quota:
        check_quota(connection, root.project_id, wanted, defaults=options.default_quotas, has_quota=around.has_quota)
    vips = [_allocate_vip(connection, each, plans[0], some, around.held, random) for each in plans]
    stored = _tree_as_stored(tree, vips, shard_id, now)
    row = row_from_resource(stored.load_balancer) | {
        "pending_deadline": None if shard_id is None else now + options.pending_deadline_seconds,
        "mirrored": mirrored,
    }
    about = (
        TableRows(_load_balancer, [row]),
        tag_rows(root.id, root.tags),
        first_revision_rows(root.id, now),
        address_rows(root.id, vips),
    )
    # The unique constraint on addresses decides here; whoever loses tries another address in a new transaction.
    insert_into_tables(connection, [*about, *_child_rows(stored)])
    # After the rows, because a claim's foreign key names the load balancer.
    tell_network = False if plan is None else _set_port_claim_holder(connection, stored.load_balancer, plan)
    locked = LockedLoadBalancer(root.id, root.project_id, 1, shard_id is not None, now)
    add_certificate_uses(connection, options, locked, (*stored.listeners, *stored.pools), certificates)
    return Change(
        load_balancer_id=root.id,
        revision=stored.load_balancer.revision,
        environment=root.provider,
        owner=None if shard is None else shard.owner,
        placed=shard_id is not None,
        resources=(stored.load_balancer,),
        tell_network=tell_network,
        tree=stored,
        self_contained=not (options.bare_esd_tags and any(listener.tags for listener in stored.listeners)),
        term=None if shard is None else shard.term,
    )


def _child_rows(stored: LoadBalancerTree) -> Iterator[TableRows]:
    children: tuple[tuple[Child, ...], ...] = (stored.listeners, stored.pools, stored.members, stored.health_monitors)
    limits: tuple[tuple[Child, ...], ...] = (stored.rate_limit_policies, stored.rate_limit_rules)
    for values in (*children, stored.l7policies, stored.l7rules, *limits):
        if values:
            yield TableRows(KINDS[type(values[0])].table, [row_from_resource(value) for value in values])


def _set_port_claim_holder(connection: Connection, root: LoadBalancer, plan: VipPlan) -> bool:
    """Let the load balancer hold the claim on its VIP's port: created for it, the tenant's own, or another
    program's. Return whether the port has to be updated at the network service: it is bound now if the
    load balancer is placed, otherwise by the placement. Raises :class:`NetworkUnavailable` if deleting the
    port has begun.
    """
    if plan.claim is not None and plan.claim.borrowed:
        store_tenant_port_claim(connection, plan.claim)
    elif plan.claim is not None and plan.takes_over:
        store_adopted_port_claim(connection, plan.claim, table=schema.vip_claim)
    elif plan.claim is not None:
        set_claim_holder(connection, plan.claim, plan.port_id)
    binding = plan.claim is not None and root.shard_id is not None and not root.held
    if not binding and not plan.tell_network:
        return False
    store_pending_change(
        connection, root.id, 1, security_groups=bool(root.vip_sg_ids) and plan.tell_network, binding=binding
    )
    return True


_TAKEN_ADDRESSES_QUERY = ALLOCATED_AMONG_CANDIDATES.subquery()
_TAKEN_ADDRESSES = select(join_values(_TAKEN_ADDRESSES_QUERY.c.address)).scalar_subquery()


_STATE_BEFORE_CREATION_QUERY = shards_with_capacity_query(
    db_now().label("now"), _TAKEN_ADDRESSES.label("held"), has_own_quotas(PROJECT_ID)
)


class _StateBeforeCreation(NamedTuple):
    """State around a new load balancer, which one query reads before it is created."""

    now: float
    shard: ShardWithCapacity | None
    """The project's shard in this environment that the load balancer may join at once; None if there is none."""
    held: frozenset[str]
    """Addresses out of those looked up that are allocated already."""
    has_quota: bool
    """Whether the project has quotas of its own."""


def _read_state_before_creation(
    connection: Connection, root: LoadBalancer, plan: VipPlan | None, candidates: list[str]
) -> _StateBeforeCreation:
    """Read the state around a new load balancer by one query. ``candidates``: addresses to look up. Raises
    :class:`Invalid` if the load balancer's environment does not exist.
    """
    parameters: dict[str, Any] = {
        "provider": root.provider,
        "project_id": root.project_id,
        "zone_group_number": root.zone_group_number,
        "network_id": NO_NETWORK_ID if plan is None else plan.network_id,
        "some": candidates,
    }
    row = connection.execute(_STATE_BEFORE_CREATION_QUERY, parameters).first()
    if row is None:
        raise Invalid(f"Provider '{root.provider}' is not enabled.")
    return _StateBeforeCreation(
        row.now, shard_with_capacity_from_row(row), frozenset((row.held or "").split(",")), row.has_quota
    )


def _allocate_vip(
    connection: Connection,
    each: VipPlan,
    plan: VipPlan,
    candidates: dict[str, list[str]],
    allocated: frozenset[str],
    random: Random,
) -> Vip:
    """Return the VIP by ``each``: the plan, or one of its additional addresses, which are all on the plan's
    port. Raises :class:`Conflict` if no address is free, :class:`Invalid` if the range is empty.
    """
    address = each.address or choose_free_address(connection, each, candidates[each.subnet_id], allocated, random)
    return Vip(address=address, subnet_id=each.subnet_id, network_id=each.network_id, port_id=plan.port_id)


def _tree_as_stored(
    tree: LoadBalancerTree, vips: Sequence[Vip], shard_id: ShardId | None, now: float
) -> LoadBalancerTree:
    root = replace(
        tree.load_balancer,
        vip=vips[0] if vips else None,
        additional_vips=tuple(vips[1:]),
        shard_id=shard_id,
        provisioning_status=ProvisioningStatus.PENDING_CREATE,
        status_reason="",
        revision=1,
        change_id=new_change_parameter(),
        applied_revision=0,
        deleted=False,
        created_at=now,
        updated_at=None,
        listener_ids=tuple(listener.id for listener in tree.listeners),
        pool_ids=tuple(pool.id for pool in tree.pools),
    )
    # no lock is needed: no other transaction can see this load balancer yet
    made = LockedLoadBalancer(root.id, root.project_id, 1, shard_id is not None, now)
    return LoadBalancerTree(
        load_balancer=root,
        listeners=tuple(
            _listeners_with_policies([with_pending_create_status(row, made) for row in tree.listeners], tree)
        ),
        pools=tuple(_pools_with_child_ids([with_pending_create_status(row, made) for row in tree.pools], tree)),
        members=tuple(with_pending_create_status(row, made) for row in tree.members),
        health_monitors=tuple(with_pending_create_status(row, made) for row in tree.health_monitors),
        l7policies=tuple(
            _policies_with_rules([with_pending_create_status(row, made) for row in tree.l7policies], tree)
        ),
        l7rules=tuple(with_pending_create_status(row, made) for row in tree.l7rules),
    )


def _listeners_with_policies(listeners: list[Listener], tree: LoadBalancerTree) -> list[Listener]:
    ids: dict[str, list[str]] = {}
    for policy in tree.l7policies:
        ids.setdefault(policy.listener_id, []).append(policy.id)
    return [replace(row, l7policy_ids=tuple(ids[row.id])) if row.id in ids else row for row in listeners]


def _policies_with_rules(policies: list[L7Policy], tree: LoadBalancerTree) -> list[L7Policy]:
    ids: dict[str, list[str]] = {}
    for rule in tree.l7rules:
        ids.setdefault(rule.l7policy_id, []).append(rule.id)
    return [replace(row, rule_ids=tuple(sorted(ids.get(row.id, ())))) for row in policies]


def _pools_with_child_ids(pools: list[Pool], tree: LoadBalancerTree) -> list[Pool]:
    """Return the pools with the ids of their listeners, members and monitors from the tree."""
    listeners: dict[str | None, list[str]] = {}
    for listener in tree.listeners:
        listeners.setdefault(listener.default_pool_id, []).append(listener.id)
    by_policies = listeners_by_policies(tree.l7policies, tree.l7rules)
    members: dict[str, list[str]] = {}
    for member in tree.members:
        members.setdefault(member.pool_id, []).append(member.id)
    monitors = {monitor.pool_id: monitor.id for monitor in tree.health_monitors}
    return [
        replace(
            pool,
            listener_ids=tuple(listeners.get(pool.id, ())),
            l7_listener_ids=by_policies.get(pool.id, ()),
            member_ids=tuple(members.get(pool.id, ())),
            health_monitor_id=monitors.get(pool.id),
        )
        for pool in pools
    ]
