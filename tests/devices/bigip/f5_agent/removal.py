"""The agent's own deletion of a load balancer's objects, in the order of the calls that the API demands."""

from collections.abc import Container, Iterator

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener, ServicePool
from tests.devices.bigip.f5_agent import l7, tls
from tests.devices.bigip.f5_agent.links import Attachment
from tests.devices.bigip.f5_agent.requests import Request, change, path_of, remove
from tests.devices.bigip.f5_agent.services import (
    MONITORS,
    PERSISTENCE,
    has_http_profile,
    has_own_persistence,
    http_profile,
    member_name,
    method_of,
    persistence_name,
    persistence_type,
    rules_of_all,
)
from tests.devices.bigip.f5_agent.tenants import Tenant


def remove_rest(tenant: Tenant, wanted: ServiceDefinition, at: Attachment) -> Iterator[Request]:
    """Everything but the virtual address."""
    for listener in wanted.listeners:
        yield from l7.remove_policies(tenant, listener, rules_of_all(tenant, wanted))
    for place, pool in enumerate(wanted.pools):
        later = {member.address for other in wanted.pools[place + 1 :] for member in other.members}
        yield from _remove_members(tenant, pool, at, later)
        if pool.monitor is not None:
            yield change("ltm/pool", tenant.partition, tenant.named(pool.id), monitor="")
            yield remove(MONITORS[pool.monitor.type], tenant.partition, tenant.named(pool.monitor.id))
        yield from _remove_pool(tenant, wanted, pool)
    for listener in wanted.listeners:
        yield from _remove_listener(tenant, wanted, listener)


def remove_balancer(tenant: Tenant, wanted: ServiceDefinition) -> Iterator[Request]:
    if tenant.bandwidth_mbps:
        yield remove("ltm/rule", tenant.partition, f"bwc_irule_{wanted.load_balancer_id}")
        yield remove("net/bwc/policy", tenant.partition, f"bwc_policy_{wanted.load_balancer_id}")
    yield remove("ltm/virtual-address", tenant.partition, tenant.named(wanted.load_balancer_id))


def _remove_members(tenant: Tenant, pool: ServicePool, at: Attachment, used: Container[str]) -> Iterator[Request]:
    """``used``: addresses of members of other pools. The agent tries to remove their nodes, too, and passes over the
    device's refusal.
    """
    for member in pool.members:
        name = f"~{tenant.partition}~{member_name(member, at)}".replace("%", "%25")
        yield Request("DELETE", path_of("ltm/pool", tenant.partition, tenant.named(pool.id), f"members/{name}"))
        if member.address not in used:
            yield remove("ltm/node", tenant.partition, at.at(member.address))
        yield method_of(tenant, pool, ())


def _remove_pool(tenant: Tenant, wanted: ServiceDefinition, pool: ServicePool) -> Iterator[Request]:
    for listener in wanted.listeners:
        if listener.default_pool_id == pool.id:
            nothing = {"pool": "", "persist": [], "fallbackPersistence": ""}
            yield change("ltm/virtual", tenant.partition, tenant.named(listener.id), **nothing)
    yield remove("ltm/pool", tenant.partition, tenant.named(pool.id))


def _remove_listener(tenant: Tenant, wanted: ServiceDefinition, listener: ServiceListener) -> Iterator[Request]:
    name = tenant.named(listener.id)
    yield remove("ltm/virtual", tenant.partition, name)
    for pool in wanted.pools:
        if pool.id == listener.default_pool_id and has_own_persistence(tenant, pool):
            found = persistence_type(pool)
            yield remove(PERSISTENCE[found][0], tenant.partition, persistence_name(tenant, pool, name))
            if found == "APP_COOKIE":
                yield remove("ltm/rule", tenant.partition, persistence_name(tenant, pool, name))
    if listener.protocol == "TERMINATED_HTTPS":
        yield from tls.remove_profiles(tenant, listener)
    if has_http_profile(tenant, listener):
        yield remove("ltm/profile/http", tenant.partition, http_profile(name))
