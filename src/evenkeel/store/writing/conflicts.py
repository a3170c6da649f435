"""Errors of refused writes, in Octavia's words, and the mapping from violated unique constraints to them."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from sqlalchemy.exc import IntegrityError

from evenkeel.core.kit.errors import Conflict, Invalid, NotFound, RequestError
from evenkeel.core.resources.model import (
    L7_RULES_MAX,
    RATE_LIMIT_POLICIES_MAX,
    RATE_LIMIT_RULES_MAX,
    Listener,
    LoadBalancerTree,
    Member,
    port_space,
)
from evenkeel.core.resources.protocol_pairs import check_protocol_pair

K = TypeVar("K", bound=Hashable)


def duplicate_listener_error(protocol: str, port: int) -> Conflict:
    """Return the error for two listeners of one load balancer on the same port."""
    return Conflict(
        f"Another Listener on this Load Balancer is already using protocol {protocol} and protocol_port {port}",
        code="listener_port_taken",
    )


def duplicate_member_error(address: str, port: int) -> Conflict:
    """Return the error for two members of one pool at the same address and port."""
    return Conflict(
        f"Another member on this pool is already using ip {address} on protocol_port {port}", code="member_exists"
    )


def duplicate_members_error(rows: Sequence[Member]) -> Conflict:
    """Return the error for new members of which at least one is in the pool already."""
    if len(rows) == 1:
        return duplicate_member_error(rows[0].address, rows[0].protocol_port)
    return Conflict(
        f"Another member on this pool is already using one of these {len(rows)} addresses and ports",
        code="member_exists",
    )


def duplicate_monitor_error() -> Conflict:
    """Return the error for a second health monitor of a pool."""
    return Conflict("This pool already has a health monitor", code="monitor_exists")


def second_default_pool_error() -> Conflict:
    """Return the error for a default pool of a listener that already has one."""
    return Conflict("This listener already has a default pool", code="default_pool_set")


def duplicate_id_error() -> Conflict:
    """Return the error for a new object whose id, chosen by the caller, exists already."""
    return Conflict("Already an entity with that specified id.")


def deleted_reference_error(
    error: IntegrityError, *, flavor_id: str | None, availability_zone: str | None = None
) -> RequestError | None:
    """Return the error for a load balancer whose new flavor or zone was deleted meanwhile; None for another
    violated constraint.

    SQLite does not report which of the two it is, so the text names both.
    """
    if "foreign key" not in str(error.orig).lower():
        return None
    given = {"flavor_id": flavor_id, "availability_zone": availability_zone}
    named = " or ".join(f"{name} {value}" for name, value in given.items() if value is not None)
    return Invalid(f"Validation failure: {named} was deleted.") if named else None


def mirrored_error(load_balancer_id: str, provider: str) -> Conflict:
    """Return the error for a tenant's change of a load balancer that mirrors another system's."""
    return Conflict(
        f"Load Balancer {load_balancer_id} is managed by the Octavia that uses provider '{provider}': it can only be"
        " changed there.",
        code="mirrored",
    )


def held_error(load_balancer_id: str) -> Conflict:
    """Return the error for a tenant's change of a held load balancer."""
    return Conflict(
        f"Load Balancer {load_balancer_id} is held: it is not switched over yet, and can only be changed in the system"
        " that it comes from.",
        code="held",
    )


def pool_in_use_error(pool_id: str, policy_id: str) -> Conflict:
    """Return the error for the delete of a pool to which an L7 policy redirects."""
    return Conflict(f"Pool {pool_id} is in use by L7 policy {policy_id}", code="in_use")


def object_in_use_error(title: str, object_id: str, by_title: str, by_id: str) -> Conflict:
    """Return the error for the delete of an object with a child, which must be deleted first."""
    return Conflict(f"{title} {object_id} is in use by {by_title} {by_id}", code="in_use")


def too_many_rules_error(policy_id: str) -> Conflict:
    """Return the error for a policy with too many rules."""
    return Conflict(f"Too many rules on L7 policy {policy_id}. At most {L7_RULES_MAX} are allowed.")


def too_many_rate_limit_policies_error(listener_id: str) -> Conflict:
    """Return the error for a listener with too many rate limit policies."""
    return Conflict(
        f"Too many rate limit policies on listener {listener_id}. At most {RATE_LIMIT_POLICIES_MAX} are allowed."
    )


def too_many_rate_limit_rules_error(policy_id: str) -> Conflict:
    """Return the error for a rate limit policy with too many rules."""
    return Conflict(f"Too many rules on rate limit policy {policy_id}. At most {RATE_LIMIT_RULES_MAX} are allowed.")


def check_rule_count(policy_id: str, count: int) -> None:
    """Check the number of rules of a policy. Raises :class:`Conflict` above the limit."""
    if count > L7_RULES_MAX:
        raise too_many_rules_error(policy_id)


def violated_constraint_text(error: IntegrityError) -> str:
    """Return the database's text about the violated constraint, without the row's values.

    SQLite names the columns; other databases name the constraint, whose name contains its columns.
    """
    said = str(error.orig).partition("\n")[0]
    # MariaDB puts the values before it
    return said.rpartition(" for key ")[2]


def child_constraint_error(error: IntegrityError, duplicate: RequestError | None = None) -> RequestError:
    """Return the error for a child that violates a constraint: ``duplicate`` if it is the unique constraint
    on the child's attributes, else the error for an id that exists already.
    """
    text = violated_constraint_text(error)
    if duplicate is not None and "live_key" in text:
        return duplicate
    return duplicate_id_error()


def check_new_tree(tree: LoadBalancerTree) -> None:
    """Check that the objects of a new tree do not contradict each other. Raises :class:`NotFound` for a
    parent or pool that the tree lacks, :class:`Conflict` for equal ports, members or monitors and for too
    many rules, :class:`Invalid` for incompatible protocols.
    """
    pools = {pool.id: pool for pool in tree.pools}
    check_listener_ports(tree.listeners)
    check_distinct_members(tree.members)
    for listener in tree.listeners:
        if listener.default_pool_id is not None:
            if listener.default_pool_id not in pools:
                raise NotFound("Pool", listener.default_pool_id)
            check_protocol_pair(listener.protocol, pools[listener.default_pool_id].protocol)
    parents = [member.pool_id for member in tree.members] + [monitor.pool_id for monitor in tree.health_monitors]
    for pool_id in parents:
        if pool_id not in pools:
            raise NotFound("Pool", pool_id)
    if _repeated_keys(monitor.pool_id for monitor in tree.health_monitors):
        raise duplicate_monitor_error()
    _check_policies(tree)


def _check_policies(tree: LoadBalancerTree) -> None:
    protocols = {listener.id: listener.protocol for listener in tree.listeners}
    pools = {pool.id: pool.protocol for pool in tree.pools}
    for policy in tree.l7policies:
        if policy.listener_id not in protocols:
            raise NotFound("Listener", policy.listener_id)
        if policy.redirect_pool_id is not None:
            if policy.redirect_pool_id not in pools:
                raise NotFound("Pool", policy.redirect_pool_id)
            check_protocol_pair(protocols[policy.listener_id], pools[policy.redirect_pool_id])
    for policy_id, count in Counter(rule.l7policy_id for rule in tree.l7rules).items():
        if policy_id not in {policy.id for policy in tree.l7policies}:
            raise NotFound("L7 Policy", policy_id)
        check_rule_count(policy_id, count)


def check_listener_ports(listeners: Iterable[Listener]) -> None:
    """Check that the listeners of one load balancer have different ports; UDP and SCTP have port spaces of
    their own. Raises :class:`Conflict` if two have the same.
    """
    taken = {}
    for listener in listeners:
        # Datagram protocols have port spaces of their own.
        place = (port_space(listener.protocol), listener.protocol_port)
        if place in taken:
            raise duplicate_listener_error(listener.protocol, listener.protocol_port)
        taken[place] = listener


def check_distinct_members(members: Iterable[Member]) -> None:
    """Check that no pool has two members with one address and port. Raises :class:`Conflict` if one has."""
    if repeated := _repeated_keys((member.pool_id, member.address, member.protocol_port) for member in members):
        _, address, port = repeated[0]
        raise duplicate_member_error(address, port)


def _repeated_keys(keys: Iterable[K]) -> list[K]:
    return [key for key, count in Counter(keys).items() if count > 1]
