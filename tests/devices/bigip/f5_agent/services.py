"""Load balancers, listeners, pools, members and monitors as the agent sends them, call by call."""

from collections.abc import Iterator, Sequence
from typing import Any

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener, ServiceMember, ServiceMonitor, ServicePool
from tests.devices.bigip.f5_agent.links import Attachment
from tests.devices.bigip.f5_agent.requests import COMMON, Request, change, create, path_of
from tests.devices.bigip.f5_agent.tenants import Generation, Tenant
from tests.devices.bigip.f5_agent.tls import client_ssl_names

REQUEST_LOG = f"/{COMMON}/request-log"
"""The option ``f5_request_logging_profile``."""
HTTP = ("HTTP", "TERMINATED_HTTPS")
MONITORS = {
    "HTTP": "ltm/monitor/http",
    "HTTPS": "ltm/monitor/https",
    "TCP": "ltm/monitor/tcp",
    "PING": "ltm/monitor/gateway-icmp",
    "UDP-CONNECT": "ltm/monitor/udp",
}
METHODS = {
    "ROUND_ROBIN": "round-robin",
    "LEAST_CONNECTIONS": "least-connections-member",
    "SOURCE_IP": "least-connections-member",
}
WEIGHTED = {"ROUND_ROBIN": "ratio-member", "LEAST_CONNECTIONS": "ratio-least-connections-member"}
PERSISTENCE = {
    "SOURCE_IP": ("ltm/persistence/source-addr", "source_addr"),
    "HTTP_COOKIE": ("ltm/persistence/cookie", "http_cookie"),
    "APP_COOKIE": ("ltm/persistence/universal", "app_cookie"),
}
SHARED_PERSISTENCE = {"SOURCE_IP": f"/{COMMON}/source_addr", "HTTP_COOKIE": f"/{COMMON}/cookie"}
FLAVOR_LIMITS = {"connectionLimit": 5000, "rateLimit": 3000, "rateLimitMode": "destination", "rateLimitDstMask": 32}
"""Of a load balancer that was given flavor 1."""


def create_balancer(tenant: Tenant, wanted: ServiceDefinition, at: Attachment) -> Iterator[Request]:
    """The load balancer's virtual address, and what limits its bandwidth."""
    if tenant.bandwidth_mbps:
        name = f"bwc_policy_{wanted.load_balancer_id}"
        yield create("net/bwc/policy", tenant.partition, name, maxRate=tenant.bandwidth_mbps * 1000 * 1000)
        code = f"when SERVER_CONNECTED {{ BWC::policy attach /{tenant.partition}/{name} }}"
        yield create("ltm/rule", tenant.partition, f"bwc_irule_{wanted.load_balancer_id}", apiAnonymous=code)
    yield create(
        "ltm/virtual-address",
        tenant.partition,
        tenant.named(wanted.load_balancer_id),
        address=at.at(vip_of(wanted)),
        description="web:",
        trafficGroup=tenant.traffic_group,
        autoDelete=False,
    )


def create_rest(tenant: Tenant, wanted: ServiceDefinition, at: Attachment) -> Iterator[Request]:
    """All listeners and pools of a load balancer, in the order in which the API demands them."""
    for listener in wanted.listeners:
        yield from create_listener(tenant, wanted, listener, at)
    for pool in wanted.pools:
        yield from create_pool(tenant, wanted, pool)
        if pool.monitor is not None:
            yield from create_monitor(tenant, pool, pool.monitor)
        for member in pool.members:
            yield from create_member(tenant, pool, member, at)


def vip_of(wanted: ServiceDefinition) -> str:
    assert wanted.vip is not None
    return wanted.vip.address


# -- listeners


def has_http_profile(tenant: Tenant, listener: ServiceListener) -> bool:
    """Whether the listener has one of its own; until 9.6 it is the device's."""
    return tenant.generation is Generation.NETWORK and listener.protocol in HTTP


def http_profile(virtual: str) -> str:
    return f"http_profile_{virtual}"


def create_listener(
    tenant: Tenant, wanted: ServiceDefinition, listener: ServiceListener, at: Attachment
) -> Iterator[Request]:
    """A listener without its pool, which is created after it."""
    name = tenant.named(listener.id)
    if has_http_profile(tenant, listener):
        yield create("ltm/profile/http", tenant.partition, http_profile(name), insertXforwardedFor="disabled")
    body: dict[str, Any] = {
        "description": "l:",
        "pool": "",
        "connectionLimit": max(0, listener.connection_limit),
        "destination": f"{at.at(vip_of(wanted))}:{listener.protocol_port}",
        "mask": "255.255.255.255",
        "enabled": True,
        "sourceAddressTranslation": _translation(at),
        "vlans": [at.link] if at.link else [],
        "vlansEnabled" if at.link else "vlansDisabled": True,
        "ipProtocol": "udp" if listener.protocol == "UDP" else "tcp",
        "profiles": _profiles(tenant, listener),
        "fallbackPersistence": "",
        "persist": [],
        "rules": rules_of_all(tenant, wanted),
        "policies": [],
    }
    if tenant.bandwidth_mbps:
        body["bwcPolicy"] = f"/{tenant.partition}/bwc_policy_{wanted.load_balancer_id}"
    yield create("ltm/virtual", tenant.partition, name, **body)


def rules_of_all(tenant: Tenant, wanted: ServiceDefinition) -> list[str]:
    """Paths of the iRules that each virtual server of a load balancer has."""
    return [f"/{tenant.partition}/bwc_irule_{wanted.load_balancer_id}"] if tenant.bandwidth_mbps else []


def _translation(at: Attachment) -> dict[str, str]:
    return {"type": "snat", "pool": at.snat_pool} if at.snat_pool else {"type": "automap"}


def _profiles(tenant: Tenant, listener: ServiceListener) -> list[Any]:
    if listener.protocol not in HTTP:
        return [f"/{COMMON}/fastL4"]
    tls = [
        {"name": name, "partition": COMMON, "context": "clientside"}
        for name in (client_ssl_names(tenant, listener) if listener.protocol == "TERMINATED_HTTPS" else ())
    ]
    if not has_http_profile(tenant, listener):
        return [f"/{COMMON}/http", f"/{COMMON}/oneconnect", *tls]
    own = f"/{tenant.partition}/{http_profile(tenant.named(listener.id))}"
    return [f"/{COMMON}/oneconnect", REQUEST_LOG, *tls, own]


def give_flavor(tenant: Tenant, wanted: ServiceDefinition) -> Iterator[Request]:
    """The load balancer's flavor was changed to 1."""
    for listener in wanted.listeners:
        yield change("ltm/virtual", tenant.partition, tenant.named(listener.id), **FLAVOR_LIMITS)


# -- pools


def create_pool(tenant: Tenant, wanted: ServiceDefinition, pool: ServicePool) -> Iterator[Request]:
    """A pool without members and monitor, then its listener's part: its pool and its persistence."""
    yield create(
        "ltm/pool",
        tenant.partition,
        tenant.named(pool.id),
        description=tenant.named(pool.id) + ":",
        loadBalancingMode=METHODS[pool.lb_algorithm],
    )
    for listener in wanted.listeners:
        if listener.default_pool_id == pool.id:
            name = tenant.named(listener.id)
            yield from _persistence(tenant, pool, name)
            persist = [{"name": persistence_name(tenant, pool, name)}] if persistence_type(pool) else []
            yield change("ltm/virtual", tenant.partition, name, pool=tenant.named(pool.id), persist=persist)


def persistence_type(pool: ServicePool) -> str:
    """The pool's, or what the agent gives a pool with the algorithm SOURCE_IP; empty: none."""
    if pool.session_persistence is not None:
        return str(pool.session_persistence.type)
    return "SOURCE_IP" if pool.lb_algorithm == "SOURCE_IP" else ""


def has_own_persistence(tenant: Tenant, pool: ServicePool) -> bool:
    """Whether the listener has a persistence profile of its own; until 9.6 only for the application's cookies."""
    found = persistence_type(pool)
    return bool(found) and (found == "APP_COOKIE" or tenant.generation is Generation.NETWORK)


def persistence_name(tenant: Tenant, pool: ServicePool, virtual: str) -> str:
    found = persistence_type(pool)
    return f"{PERSISTENCE[found][1]}_{virtual}" if has_own_persistence(tenant, pool) else SHARED_PERSISTENCE[found]


def _persistence(tenant: Tenant, pool: ServicePool, virtual: str) -> Iterator[Request]:
    found = persistence_type(pool)
    if not has_own_persistence(tenant, pool):
        return
    kind, _ = PERSISTENCE[found]
    name, seconds = persistence_name(tenant, pool, virtual), tenant.persistence_timeout_seconds
    if found == "APP_COOKIE":
        assert pool.session_persistence is not None
        code = _cookie_rule(str(pool.session_persistence.cookie_name))
        yield create("ltm/rule", tenant.partition, name, apiAnonymous=code)
        yield create(kind, tenant.partition, name, rule=name)
    elif found == "HTTP_COOKIE":
        expiration = f"0:{seconds // 3600}:{seconds % 3600 // 60}:{seconds % 60}"
        yield create(kind, tenant.partition, name, expiration=expiration, timeout=str(seconds))
    else:
        yield create(kind, tenant.partition, name, timeout=str(seconds))


def _cookie_rule(cookie: str) -> str:
    """Clients with the same value of the application's cookie get the same member, for an hour."""
    value = f'[string tolower [HTTP::cookie "{cookie}"]]'
    return "".join(
        f'when {event} {{\n if {{ [HTTP::cookie "{cookie}"] ne "" }} {{ persist {verb} {value} 3600 }}\n}}\n'
        for event, verb in (("HTTP_REQUEST", "uie"), ("HTTP_RESPONSE", "add uie"))
    )


def create_monitor(tenant: Tenant, pool: ServicePool, monitor: ServiceMonitor) -> Iterator[Request]:
    name = tenant.named(monitor.id)
    body: dict[str, Any] = {"description": "h:", "interval": monitor.delay}
    body["timeout"] = monitor.delay * (monitor.max_retries - 1) + monitor.timeout
    if monitor.type in ("HTTP", "HTTPS"):
        body["send"] = f"GET {monitor.url_path or '/'} HTTP/1.0\\r\\n\\r\\n"
        body["recv"] = "HTTP/1.(0|1) 200"
    yield create(MONITORS[monitor.type], tenant.partition, name, **body)
    yield change("ltm/pool", tenant.partition, tenant.named(pool.id), monitor=name)


def member_name(member: ServiceMember, at: Attachment) -> str:
    separator = "." if ":" in member.address else ":"
    return f"{at.at(member.address)}{separator}{member.protocol_port}"


def create_member(tenant: Tenant, pool: ServicePool, member: ServiceMember, at: Attachment) -> Iterator[Request]:
    """A member, then the pool's method: weights of members change it."""
    path = path_of("ltm/pool", tenant.partition, tenant.named(pool.id), "members")
    enabled = member.admin_state_up and member.weight > 0
    body = {
        "name": member_name(member, at),
        "partition": tenant.partition,
        "address": at.at(member.address),
        "ratio": max(1, member.weight),
        "session": "user-enabled" if enabled else "user-disabled",
        "description": tenant.named(member.id),
    }
    yield Request("POST", path, body)
    yield method_of(tenant, pool, pool.members)


def method_of(tenant: Tenant, pool: ServicePool, members: Sequence[ServiceMember]) -> Request:
    weighted = any(each.weight > 1 for each in members)
    mode = WEIGHTED.get(pool.lb_algorithm) if weighted else None
    return change(
        "ltm/pool", tenant.partition, tenant.named(pool.id), loadBalancingMode=mode or METHODS[pool.lb_algorithm]
    )
