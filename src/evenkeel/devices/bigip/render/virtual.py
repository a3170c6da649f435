"""Renders listeners as virtual servers, one at each VIP. Pure.

A virtual server is disabled where it must not accept connections: admin down, or ``connection_limit`` 0,
which on a device means "no limit". A connection limit counts at each VIP separately.
"""

from collections.abc import Sequence

from evenkeel.core.devices.service import ServiceDefinition, ServicePool
from evenkeel.core.resources.model import L7_PROTOCOLS
from evenkeel.devices.bigip.cookie_secret import EncryptedCookies
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import (
    CLIENT_SSL,
    COMPRESSION_PROFILE,
    HTTP2_PROFILE,
    POLICY,
    RULE,
    VIRTUAL,
    Key,
    WantedObject,
)
from evenkeel.devices.bigip.render.addresses import VirtualIp
from evenkeel.devices.bigip.render.client_ssl import HTTP2_PROFILE_PATH, speaks_http2
from evenkeel.devices.bigip.render.l7.effective import Routing
from evenkeel.devices.bigip.render.l7.persistence import sets_app_cookies
from evenkeel.devices.bigip.render.l7.sharing import shares_connections
from evenkeel.devices.bigip.render.persistence import persistence_attributes
from evenkeel.devices.bigip.render.server_ssl import server_ssl_path
from evenkeel.devices.bigip.render.transport import ip_protocol, transport_entries


def virtual_server(
    service: ServiceDefinition,
    vip: VirtualIp,
    pool: ServicePool | None,
    routes: Routing,
    own: Sequence[WantedObject],
    names: BigIpNames,
    *,
    kind: str = "listener",
    encryption: EncryptedCookies | None = None,
) -> WantedObject:
    """Build the listener's virtual server at one VIP.

    ``own``: the listener's objects; the virtual server refers to the profiles, policies and iRules among
    them. ``kind``: kind in its mark; with another kind than ``listener``, observations do not count it as a
    listener. ``encryption``: that of the listener's cookies. Raises :class:`Unrenderable` for impossible
    session persistence.
    """
    partition = names.partition_name(service.project_id)
    listener, live_pool = routes.listener, routes.default
    # where pools have different persistence, the iRule sets it for each request
    chosen = None if sets_app_cookies(routes.pools) else next(iter(routes.pools), None)
    persistence = persistence_attributes(service, listener, chosen, names, encryption)
    up = service.admin_state_up and listener.admin_state_up
    address_name = vip.object_name(service.load_balancer_id, names)
    return WantedObject(
        key=Key(type=VIRTUAL, name=vip.object_name(listener.id, names)),
        owner=service.load_balancer_id,
        attributes={
            # The destination is the name of the virtual address, not its number: our virtual address has a name of its
            # own, and for a number the device would create a second one.
            "destination": f"/{partition}/{address_name}:{listener.protocol_port}",
            "mask": vip.mask,
            "ipProtocol": ip_protocol(listener),
            "pool": f"/{partition}/{names.object_name(live_pool.id)}" if live_pool else "",
            "profiles": _profile_list(service, pool, routes, own, names),
            "rules": [
                *(f"/{partition}/{item.key.name}" for item in own if item.key.type == RULE),
                *listener.operator_irules,
            ],
            "policies": [{"name": f"/{partition}/{item.key.name}"} for item in own if item.key.type == POLICY],
            **persistence,
            "sourceAddressTranslation": {"type": "automap"},
            "connectionLimit": max(0, listener.connection_limit),
            "enabled" if up and listener.connection_limit != 0 else "disabled": True,
            "description": names.marked_description(vip.mark_kind(kind), service.load_balancer_id, listener.id),
        },
    )


def _profile_list(
    service: ServiceDefinition,
    pool: ServicePool | None,
    routes: Routing,
    own: Sequence[WantedObject],
    names: BigIpNames,
) -> list[dict[str, str]]:
    """List the virtual server's profiles: the listener's own of each kind, else the built-in one.

    HTTP gets OneConnect, unless clients must not share connections with members.
    """
    partition, listener = names.partition_name(service.project_id), routes.listener
    paths = {item.key.type: f"/{partition}/{item.key.name}" for item in own}
    over_http = listener.protocol in L7_PROTOCOLS
    found = [_profile_in_all_contexts(paths.get("ltm/profile/http", "/Common/http"))] if over_http else []
    found.extend(transport_entries(service, listener, pool, own, names))
    if over_http and shares_connections(routes):
        found.append(_profile_in_all_contexts("/Common/oneconnect"))
    if over_http and COMPRESSION_PROFILE in paths:
        found.append(_profile_in_all_contexts(paths[COMPRESSION_PROFILE]))
    clients = [f"/{partition}/{item.key.name}" for item in own if item.key.type == CLIENT_SSL]
    if speaks_http2(listener):
        clients.append(paths.get(HTTP2_PROFILE, HTTP2_PROFILE_PATH))
    found.extend({"name": path, "context": "clientside"} for path in clients)
    # of several, all have the same settings
    with_tls = [server_ssl_path(service, each, names) for each in routes.named if each.tls_enabled]
    found.extend({"name": path, "context": "serverside"} for path in with_tls[:1])
    return found


def _profile_in_all_contexts(path: str) -> dict[str, str]:
    return {"name": path, "context": "all"}
