"""Service definition to wanted objects: which BIG-IP objects one load balancer comes to. Pure.

==================  ==========================================  ================================
LBaaS               iControl REST                               name
==================  ==========================================  ================================
load balancer       ltm/virtual-address, autoDelete off         ``<prefix>_<load balancer id>``
listener            ltm/virtual                                 ``<prefix>_<listener id>``
its headers, times  ltm/profile/http, /tcp, /fastl4             ``<prefix>_<kind>_<listener id>``
pool                ltm/pool                                    ``<prefix>_<pool id>``
member              its member; the device makes the node       ``<address>:<port>``, ``<address>``
monitor             ltm/monitor/http, /tcp, /gateway-icmp       ``<prefix>_<monitor id>``
persistence         built-in, or ltm/persistence/cookie         ``<prefix>_cookie_<pool id>``
==================  ==========================================  ================================

What a BIG-IP cannot do as asked is a ``problem`` that names field and value: nothing is dropped silently. Two
equal definitions render to equal objects. BigIpNames given by users are not put on the device.
"""

from evenkeel.core.addresses import ALLOWED_WORDS, STRICT, AddressRules
from evenkeel.core.capabilities import definition_problems
from evenkeel.core.service import ServiceDefinition, ServiceListener, ServicePool
from evenkeel.devices.bigip.capabilities import CAPABILITIES
from evenkeel.devices.bigip.naming import BigIpNames, address_of
from evenkeel.devices.bigip.objects import VIRTUAL, VIRTUAL_ADDRESS, Key, RenderedObjects, WantedObject
from evenkeel.devices.bigip.render import pool as render_pool
from evenkeel.devices.bigip.render.profiles import client_profiles, transport_profile
from evenkeel.devices.errors import Unrenderable

IPV4_MASK = "255.255.255.255"
IPV6_MASK = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"


def render(service: ServiceDefinition, names: BigIpNames, addresses: AddressRules = STRICT) -> RenderedObjects:
    """All objects of one load balancer, or why there can be none. A deleted one comes to nothing."""
    if service.deleted or service.problem:
        return RenderedObjects(service=service, problem=service.problem)
    try:
        # the API refuses these; controllers of other versions may know more than this agent
        for problem in definition_problems(CAPABILITIES, service):
            raise Unrenderable(problem)
        _check_addresses(service, addresses)
        return RenderedObjects(service=service, objects=tuple(_objects(service, names)))
    except Unrenderable as error:
        return RenderedObjects(service=service, problem=str(error))


def _check_addresses(service: ServiceDefinition, addresses: AddressRules) -> None:
    """Raises :class:`Unrenderable` for those that a device must not be sent to, or have."""
    if problem := addresses.vip_problem(service.vip.address):
        raise Unrenderable(f"vip_address {service.vip.address!r}: {ALLOWED_WORDS} is allowed; {problem}")
    for pool in service.pools:
        for member in pool.members:
            if problem := addresses.member_problem(member.address):
                raise Unrenderable(
                    f"member {member.id}: address {member.address!r}: {ALLOWED_WORDS} is allowed; {problem}"
                )


def _objects(service: ServiceDefinition, names: BigIpNames) -> list[WantedObject]:
    pools = {pool.id: pool for pool in service.pools}
    found: list[WantedObject] = []
    for pool in service.pools:
        found.extend(render_pool.monitor_objects(service, pool, names))
        found.extend(render_pool.persistence_objects(service, pool, names))
    for listener in service.listeners:
        found.extend(client_profiles(service, listener, names))
        found.extend(transport_profile(service, listener, names))
    found.append(_virtual_address(service, names))
    found.extend(render_pool.pool_object(service, pool, names) for pool in service.pools)
    found.extend(
        _virtual(service, listener, pools.get(listener.default_pool_id or ""), names) for listener in service.listeners
    )
    return found


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
    service: ServiceDefinition, listener: ServiceListener, pool: ServicePool | None, names: BigIpNames
) -> WantedObject:
    partition = names.partition(service.project_id)
    live_pool = pool if pool is not None and pool.admin_state_up else None
    persist = render_pool.persistence_of(listener, live_pool, partition, names) if live_pool else []
    up = service.admin_state_up and listener.admin_state_up
    profiles = (
        *client_profiles(service, listener, names),
        *transport_profile(service, listener, names),
    )
    return WantedObject(
        key=Key(type=VIRTUAL, name=names.of(listener.id)),
        owner=service.load_balancer_id,
        attributes={
            # The virtual address is named, not its number: it has a name of its own, and a device that looked for
            # one named like the address would make a second.
            "destination": f"/{partition}/{names.of(service.load_balancer_id)}:{listener.protocol_port}",
            "mask": _mask(vip_address(service)),
            "ipProtocol": "tcp",
            "pool": f"/{partition}/{names.of(live_pool.id)}" if live_pool else "",
            "profiles": _profile_list(listener, tuple(profile.key for profile in profiles), partition),
            "persist": persist,
            "sourceAddressTranslation": {"type": "automap"},
            "connectionLimit": _connection_limit(listener),
            "enabled" if up else "disabled": True,
            "description": names.mark("listener", service.load_balancer_id, listener.id),
        },
    )


def _profile_list(listener: ServiceListener, own: tuple[Key, ...], partition: str) -> list[dict[str, str]]:
    """Our own profile of each kind where there is one, else the built-in. HTTP re-uses server connections."""
    paths = {key.type.rpartition("/")[2]: f"/{partition}/{key.name}" for key in own}
    if listener.protocol == "HTTP":
        wanted = [paths.get("http", "/Common/http"), paths.get("tcp", "/Common/tcp"), "/Common/oneconnect"]
    else:
        wanted = [paths.get("fastl4", "/Common/fastL4")]
    return [{"name": path, "context": "all"} for path in wanted]


def _connection_limit(listener: ServiceListener) -> int:
    if listener.connection_limit == 0:
        raise Unrenderable(f"listener {listener.id}: connection_limit 0 is not possible; -1 means no limit")
    return max(0, listener.connection_limit)
