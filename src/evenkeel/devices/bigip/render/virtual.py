"""Listeners as virtual servers, one at each VIP. Pure.

A virtual server is a full proxy only where something needs one: HTTP, TLS, the PROXY protocol. Else it passes packets
(fastL4). It is disabled where it must not accept connections: admin down, or ``connection_limit`` 0, which on a device
means "no limit". A limit counts at each VIP by itself.
"""

from collections.abc import Sequence

from evenkeel.core.model import L7_PROTOCOLS
from evenkeel.core.service import ServiceDefinition, ServiceListener, ServicePool
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import CLIENT_SSL, HTTP2_PROFILE, RULE, VIRTUAL, Key, WantedObject
from evenkeel.devices.bigip.render import pool as render_pool
from evenkeel.devices.bigip.render.addresses import VirtualIp
from evenkeel.devices.bigip.render.client_ssl import HTTP2, speaks_http2
from evenkeel.devices.bigip.render.handshake import passes_name_on
from evenkeel.devices.bigip.render.profiles import is_full_proxy
from evenkeel.devices.bigip.render.server_ssl import server_ssl_path


def virtual_server(
    service: ServiceDefinition,
    vip: VirtualIp,
    listener: ServiceListener,
    pool: ServicePool | None,
    own: Sequence[WantedObject],
    names: BigIpNames,
) -> WantedObject:
    """The listener's virtual server at one VIP. ``own``: the listener's objects, of which it refers to profiles and
    iRules."""
    partition = names.partition(service.project_id)
    live_pool = pool if pool is not None and pool.admin_state_up else None
    persist = render_pool.persistence_of(listener, live_pool, partition, names) if live_pool else []
    up = service.admin_state_up and listener.admin_state_up
    address_name = vip.name(service.load_balancer_id, names)
    return WantedObject(
        key=Key(type=VIRTUAL, name=vip.name(listener.id, names)),
        owner=service.load_balancer_id,
        attributes={
            # The destination is the name of the virtual address, not its number: our virtual address has a name of its
            # own, and for a number the device would create a second one.
            "destination": f"/{partition}/{address_name}:{listener.protocol_port}",
            "mask": vip.mask,
            "ipProtocol": "tcp",
            "pool": f"/{partition}/{names.of(live_pool.id)}" if live_pool else "",
            "profiles": _profile_list(service, listener, pool, own, names),
            "rules": [f"/{partition}/{item.key.name}" for item in own if item.key.type == RULE],
            "persist": persist,
            "sourceAddressTranslation": {"type": "automap"},
            "connectionLimit": max(0, listener.connection_limit),
            "enabled" if up and listener.connection_limit != 0 else "disabled": True,
            "description": names.mark(vip.kind("listener"), service.load_balancer_id, listener.id),
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
