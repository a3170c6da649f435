"""Service definition -> the BIG-IP objects of one load balancer. Pure.

==================  ==========================================  ================================
LBaaS               iControl REST                               name
==================  ==========================================  ================================
load balancer       ltm/virtual-address, autoDelete off         ``<prefix>_<load balancer id>``
listener            ltm/virtual                                 ``<prefix>_<listener id>``
its headers, times  ltm/profile/http, /tcp, /fastl4; ltm/rule   ``<prefix>_<kind>_<listener id>``
its certificates    ltm/profile/client-ssl                      ``<prefix>_clientssl-<digest>_<listener id>``
HTTP/2              built-in, or ltm/profile/http2              ``<prefix>_http2_<listener id>``
pool                ltm/pool                                    ``<prefix>_<pool id>``
member              its member; the device creates the node     ``<address>:<port>``, ``<address>``
TLS to members      ltm/profile/server-ssl                      ``<prefix>_serverssl_<pool id>``
ciphers             ltm/cipher/rule, /group                     ``<prefix>_ciphers_<listener or pool id>``
contents            sys/file/ssl-cert, /ssl-key, /ssl-crl       ``<prefix>_<sha256>.crt`` and the like
monitor             ltm/monitor/http, /https, /tcp,             ``<prefix>_<monitor id>``
                    /gateway-icmp
persistence         built-in, or ltm/persistence/cookie         ``<prefix>_cookie_<pool id>``
==================  ==========================================  ================================

A setting that a BIG-IP cannot implement is a ``problem`` that names field and value; nothing is dropped silently. Equal
definitions render to equal objects. Names and descriptions given by users are not put on the device.
"""

from collections.abc import Sequence

from evenkeel.core.addresses import ALLOWED_WORDS, STRICT, AddressRules
from evenkeel.core.capabilities import definition_problems
from evenkeel.core.model import L7_PROTOCOLS, TLS_PROTOCOL
from evenkeel.core.service import ServiceDefinition, ServiceListener, ServicePool
from evenkeel.devices.bigip.capabilities import CAPABILITIES
from evenkeel.devices.bigip.naming import BigIpNames, address_of
from evenkeel.devices.bigip.objects import (
    CLIENT_SSL,
    HTTP2_PROFILE,
    RULE,
    VIRTUAL,
    VIRTUAL_ADDRESS,
    Key,
    RenderedObjects,
    WantedObject,
)
from evenkeel.devices.bigip.render import pool as render_pool
from evenkeel.devices.bigip.render.certificates import References
from evenkeel.devices.bigip.render.client_ssl import (
    DEFAULT_PARENT,
    HTTP2,
    client_ssl_profiles,
    http2_profiles,
    speaks_http2,
)
from evenkeel.devices.bigip.render.handshake import passes_name_on
from evenkeel.devices.bigip.render.profiles import http_profile, is_full_proxy, transport_profile
from evenkeel.devices.bigip.render.rules import listener_rules
from evenkeel.devices.bigip.render.server_ssl import server_ssl_path, server_ssl_profiles
from evenkeel.devices.bigip.render.tls import cipher_objects
from evenkeel.devices.errors import Unrenderable

IPV4_MASK = "255.255.255.255"
IPV6_MASK = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"


def render(
    service: ServiceDefinition,
    names: BigIpNames,
    addresses: AddressRules = STRICT,
    parent_ssl_profile: str = DEFAULT_PARENT,
) -> RenderedObjects:
    """Render all objects of one load balancer except files, or state the problem. A deleted one has no objects."""
    if service.deleted or service.problem:
        return RenderedObjects(service=service, problem=service.problem)
    try:
        # the API refuses these, but a controller of another version may accept more than this agent supports
        for problem in definition_problems(CAPABILITIES, service):
            raise Unrenderable(problem)
        _check_addresses(service, addresses)
        references = References(service, names)
        objects = tuple(_objects(service, names, references, parent_ssl_profile))
        return RenderedObjects(service=service, objects=objects, needs=references.needs)
    except Unrenderable as error:
        return RenderedObjects(service=service, problem=str(error))


def _check_addresses(service: ServiceDefinition, addresses: AddressRules) -> None:
    """Raises :class:`Unrenderable` for addresses that load balancers must not have or send to."""
    if problem := addresses.vip_problem(service.vip.address):
        raise Unrenderable(f"vip_address {service.vip.address!r}: {ALLOWED_WORDS} is allowed; {problem}")
    for pool in service.pools:
        for member in pool.members:
            if problem := addresses.member_problem(member.address):
                raise Unrenderable(
                    f"member {member.id}: address {member.address!r}: {ALLOWED_WORDS} is allowed; {problem}"
                )


def _objects(
    service: ServiceDefinition, names: BigIpNames, references: References, parent_ssl_profile: str
) -> list[WantedObject]:
    pools = {pool.id: pool for pool in service.pools}
    found: list[WantedObject] = []
    for pool in service.pools:
        found.extend(cipher_objects(service, pool, names) if pool.tls_enabled else ())
        found.extend(server_ssl_profiles(service, pool, names, references))
        found.extend(render_pool.monitor_objects(service, pool, names))
        found.extend(render_pool.persistence_objects(service, pool, names))
    virtuals: list[WantedObject] = []
    for listener in service.listeners:
        default_pool = pools.get(listener.default_pool_id or "")
        own = _listener_objects(service, listener, default_pool, names)
        client_ssl = client_ssl_profiles(service, listener, names, references, parent_ssl_profile)
        found.extend((*own, *client_ssl))
        virtuals.append(_virtual(service, listener, default_pool, (*own, *client_ssl), names))
    found.append(_virtual_address(service, names))
    found.extend(render_pool.pool_object(service, pool, names) for pool in service.pools)
    return [*found, *virtuals]


def _listener_objects(
    service: ServiceDefinition, listener: ServiceListener, pool: ServicePool | None, names: BigIpNames
) -> list[WantedObject]:
    """The virtual server's auxiliary objects, except client-ssl profiles."""
    return [
        *(cipher_objects(service, listener, names) if listener.protocol == TLS_PROTOCOL else ()),
        *http_profile(service, listener, names),
        *transport_profile(service, listener, pool, names),
        *http2_profiles(service, listener, names),
        *listener_rules(service, listener, pool, names),
    ]


def _virtual_address(service: ServiceDefinition, names: BigIpNames) -> WantedObject:
    address = vip_address(service)
    return WantedObject(
        key=Key(type=VIRTUAL_ADDRESS, name=names.of(service.load_balancer_id)),
        owner=service.load_balancer_id,
        attributes={
            "address": address,
            "mask": _mask(address),
            "autoDelete": "false",
            "enabled": "yes" if service.admin_state_up else "no",
            "description": names.mark("loadbalancer", service.load_balancer_id, service.load_balancer_id),
        },
        immutables=frozenset({"address"}),
    )


def vip_address(service: ServiceDefinition) -> str:
    """The VIP in canonical form."""
    try:
        return address_of(service.vip.address)
    except ValueError as error:
        raise Unrenderable(f"vip_address {service.vip.address!r} is no IP address") from error


def _mask(address: str) -> str:
    return IPV6_MASK if ":" in address else IPV4_MASK


def _virtual(
    service: ServiceDefinition,
    listener: ServiceListener,
    pool: ServicePool | None,
    own: Sequence[WantedObject],
    names: BigIpNames,
) -> WantedObject:
    """The listener's virtual server. ``own``: the listener's objects, of which it refers to profiles and iRules."""
    partition = names.partition(service.project_id)
    live_pool = pool if pool is not None and pool.admin_state_up else None
    persist = render_pool.persistence_of(listener, live_pool, partition, names) if live_pool else []
    up = service.admin_state_up and listener.admin_state_up
    return WantedObject(
        key=Key(type=VIRTUAL, name=names.of(listener.id)),
        owner=service.load_balancer_id,
        attributes={
            # The destination is the name of the virtual address, not its number: our virtual address has a name of its
            # own, and for a number the device would create a second one.
            "destination": f"/{partition}/{names.of(service.load_balancer_id)}:{listener.protocol_port}",
            "mask": _mask(vip_address(service)),
            "ipProtocol": "tcp",
            "pool": f"/{partition}/{names.of(live_pool.id)}" if live_pool else "",
            "profiles": _profile_list(service, listener, pool, own, names),
            "rules": [f"/{partition}/{item.key.name}" for item in own if item.key.type == RULE],
            "persist": persist,
            "sourceAddressTranslation": {"type": "automap"},
            "connectionLimit": _connection_limit(listener),
            "enabled" if up else "disabled": True,
            "description": names.mark("listener", service.load_balancer_id, listener.id),
        },
    )


def _profile_list(
    service: ServiceDefinition,
    listener: ServiceListener,
    pool: ServicePool | None,
    own: Sequence[WantedObject],
    names: BigIpNames,
) -> list[dict[str, str]]:
    """Our own profile of each kind if there is one, else the built-in. HTTP gets OneConnect, unless server-side
    connections must not be shared between clients."""
    partition = names.partition(service.project_id)
    paths = {item.key.type: f"/{partition}/{item.key.name}" for item in own}
    wanted = []
    if listener.protocol in L7_PROTOCOLS:
        wanted.append(paths.get("ltm/profile/http", "/Common/http"))
    if is_full_proxy(listener, pool):
        wanted.append(paths.get("ltm/profile/tcp", "/Common/tcp"))
    else:
        wanted.append(paths.get("ltm/profile/fastl4", "/Common/fastL4"))
    if listener.protocol in L7_PROTOCOLS and not passes_name_on(listener, pool):
        wanted.append("/Common/oneconnect")
    found = [{"name": path, "context": "all"} for path in wanted]
    clients = [f"/{partition}/{item.key.name}" for item in own if item.key.type == CLIENT_SSL]
    if speaks_http2(listener):
        clients.append(paths.get(HTTP2_PROFILE, HTTP2))
    found.extend({"name": path, "context": "clientside"} for path in clients)
    if pool is not None and pool.tls_enabled:
        found.append({"name": server_ssl_path(service, pool, names), "context": "serverside"})
    return found


def _connection_limit(listener: ServiceListener) -> int:
    if listener.connection_limit == 0:
        raise Unrenderable(f"listener {listener.id}: connection_limit 0 is not possible; -1 means no limit")
    return max(0, listener.connection_limit)
