"""Converts a service definition to the BIG-IP objects of one load balancer. Pure.

====================  ========================================  =====================================
LBaaS                 iControl REST                             name
====================  ========================================  =====================================
load balancer         ltm/virtual-address, autoDelete off       ``<prefix>_<load balancer id>``
listener              ltm/virtual                               ``<prefix>_<listener id>``
additional VIP        one more of each                          ``<prefix>_vip-<digest>_<id>``
its headers, times,   ltm/profile/http, /tcp, /fastl4, /udp,    ``<prefix>_<kind>_<listener id>``
cookies               /sctp; ltm/rule
its allowed CIDRs     ltm/data-group/internal                   ``<prefix>_cidrs_<listener id>``
challenges            the same, with a part of its ltm/rule     ``<prefix>_challenges_<listener id>``
without a listener    ltm/virtual and these                     ``<prefix>_challenges_<load balancer id>``
on port 80
its certificates      ltm/profile/client-ssl                    ``<prefix>_clientssl-<digest>_<listener id>``
compression           ltm/profile/http-compression              ``<prefix>_compression_<listener id>``
HTTP/2                built-in, or ltm/profile/http2            ``<prefix>_http2_<listener id>``
pool                  ltm/pool                                  ``<prefix>_<pool id>``
member                its member; the device creates the node   ``<address>:<port>``, ``<address>``
TLS to members        ltm/profile/server-ssl                    ``<prefix>_serverssl_<pool id>``
ciphers               ltm/cipher/rule, /group                   ``<prefix>_ciphers_<listener or pool id>``
contents              sys/file/ssl-cert, /ssl-key, /ssl-crl     ``<prefix>_<sha256>.crt`` and the like
monitor               ltm/monitor/http, /https, /tcp, /udp,     ``<prefix>_<monitor id>``
                      /gateway-icmp
of members elsewhere  one more of it for each destination       ``<prefix>_monitor-<digest>_<monitor id>``
persistence           built-in, or ltm/persistence/cookie,      ``<prefix>_<kind>_<pool id>``
                      /source-addr, /universal with ltm/rule
                      and ltm/data-group/internal
====================  ========================================  =====================================

A setting that a BIG-IP cannot implement is a ``problem`` that names it; only ciphers of the API's default that no
BIG-IP has are left out silently. An error of the renderer's own is the load balancer's problem, too, and stops no other
one. Equal definitions render to equal objects. Names and descriptions given by users are not put on the device.
"""

from types import MappingProxyType

from evenkeel.config.esd.parts import Parts
from evenkeel.core.devices.capabilities import definition_problems
from evenkeel.core.devices.service import ServiceDefinition, ServicePool
from evenkeel.core.networking.addresses import STRICT, AddressRules
from evenkeel.core.resources.model import TLS_PROTOCOL
from evenkeel.devices.bigip.attachment import ROUTED_NETWORK_LAYOUT, AttachmentOptions
from evenkeel.devices.bigip.capabilities import CAPABILITIES
from evenkeel.devices.bigip.cookie_secret import CookieSecret, EncryptedCookies
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import RenderedObjects, WantedObject
from evenkeel.devices.bigip.render.addresses import check_addresses, virtual_address, virtual_ips
from evenkeel.devices.bigip.render.admission import allowed_cidrs_data_groups
from evenkeel.devices.bigip.render.certificates import CertificateReferences
from evenkeel.devices.bigip.render.challenges import challenge_objects, challenge_rule_parts, challenge_virtual_servers
from evenkeel.devices.bigip.render.client_ssl import DEFAULT_PARENT_PROFILE, client_ssl_profiles, http2_profiles
from evenkeel.devices.bigip.render.cookies import cookie_encryption
from evenkeel.devices.bigip.render.enhanced import apply_enhanced_services, enhanced_services_digest
from evenkeel.devices.bigip.render.l7.effective import Routing, effective_routing
from evenkeel.devices.bigip.render.l7.rendered import render_l7
from evenkeel.devices.bigip.render.monitor import monitor_objects
from evenkeel.devices.bigip.render.network.addresses import place_in_route_domain
from evenkeel.devices.bigip.render.network.translation import add_source_translation
from evenkeel.devices.bigip.render.persistence import persistence_objects, read_cookies_over_http
from evenkeel.devices.bigip.render.pool import pool_object
from evenkeel.devices.bigip.render.profiles import compression_profile, http_profile
from evenkeel.devices.bigip.render.rules import listener_rules
from evenkeel.devices.bigip.render.server_ssl import server_ssl_profiles
from evenkeel.devices.bigip.render.services.rule import enhanced_service_objects, listener_responses
from evenkeel.devices.bigip.render.tls import cipher_objects
from evenkeel.devices.bigip.render.transport import transport_profiles
from evenkeel.devices.bigip.render.virtual import virtual_server
from evenkeel.devices.errors import Unrenderable, render_problem
from evenkeel.devices.esd.selection import Definitions, enhanced_service_parts, member_limit


def render_load_balancer(
    service: ServiceDefinition,
    names: BigIpNames,
    addresses: AddressRules = STRICT,
    parent_ssl_profile: str = DEFAULT_PARENT_PROFILE,
    enhanced: Definitions = MappingProxyType({}),
    attachment: AttachmentOptions = ROUTED_NETWORK_LAYOUT,
    cookie_secret: CookieSecret | None = None,
) -> RenderedObjects:
    """Render all objects of one load balancer except files and networks, or return the problem; never raises
    because of a definition.

    A deleted load balancer has no objects. ``enhanced``: the agent's enhanced services by name.
    ``parent_ssl_profile``: path of the profile from which client-ssl profiles inherit. ``cookie_secret``: the
    agent's, for encrypted cookies.
    """
    if service.deleted or service.problem:
        return RenderedObjects(service=service, problem=service.problem)
    try:
        # the API refuses these, but a controller of another version may accept more than this agent supports
        for problem in definition_problems(CAPABILITIES, service):
            raise Unrenderable(problem)
        # Before the addresses get their route domains, with which they are no IP addresses.
        check_addresses(service, addresses)
        references = CertificateReferences(service, names)
        found = _load_balancer_objects(
            place_in_route_domain(read_cookies_over_http(service)),
            names,
            references,
            parent_ssl_profile,
            enhanced,
            cookie_secret,
        )
        objects = tuple(add_source_translation(item, service, attachment, names) for item in found)
        settings = enhanced_services_digest(service.listeners, enhanced)
        return RenderedObjects(service=service, objects=objects, needs=references.needs, settings=settings)
    except Exception as error:
        return RenderedObjects(service=service, problem=render_problem(error, service.load_balancer_id))


def _load_balancer_objects(
    service: ServiceDefinition,
    names: BigIpNames,
    references: CertificateReferences,
    parent_ssl_profile: str,
    enhanced: Definitions,
    cookie_secret: CookieSecret | None,
) -> list[WantedObject]:
    pools = {pool.id: pool for pool in service.pools}
    vips = virtual_ips(service)
    found: list[WantedObject] = []
    for pool in service.pools:
        found.extend(cipher_objects(service, pool, names) if pool.tls_enabled else ())
        found.extend(server_ssl_profiles(service, pool, names, references))
        found.extend(monitor_objects(service, pool, names))
    virtuals: list[WantedObject] = []
    chosen: dict[str, list[Parts]] = {}
    encrypted: dict[str, EncryptedCookies] = {}
    for listener in service.listeners:
        default_pool = pools.get(listener.default_pool_id or "")
        routes = effective_routing(listener, pools)
        parts = enhanced_service_parts(listener, enhanced)
        for pool in routes.named:
            chosen.setdefault(pool.id, []).append(parts)
        encryption = cookie_encryption(service, routes, parts, cookie_secret)
        if encryption is not None:
            encrypted.update(dict.fromkeys((pool.id for pool in routes.pools), encryption))
        own = _listener_objects(service, routes, default_pool, names, parts, encryption)
        client_ssl = client_ssl_profiles(service, listener, names, references, parent_ssl_profile)
        own = [*own, *client_ssl]
        made = (virtual_server(service, vip, default_pool, routes, own, names, encryption=encryption) for vip in vips)
        changed, servers = apply_enhanced_services(made, own, listener, default_pool, enhanced, parts.tunnel)
        found.extend(changed)
        virtuals.extend(servers)
    own, servers = challenge_virtual_servers(service, vips, names)
    found.extend(own)
    virtuals.extend(servers)
    found.extend(virtual_address(service, vip, names) for vip in vips)
    for pool in service.pools:
        found.extend(persistence_objects(service, pool, names, encrypted.get(pool.id)))
        found.append(pool_object(service, pool, names, member_limit(chosen.get(pool.id, ()))))
    return [*found, *virtuals]


def _listener_objects(
    service: ServiceDefinition,
    routes: Routing,
    pool: ServicePool | None,
    names: BigIpNames,
    parts: Parts,
    encryption: EncryptedCookies | None,
) -> list[WantedObject]:
    """Build the objects that the listener's virtual servers refer to, except client-ssl profiles. ``pool``:
    the default pool; ``parts``: settings from enhanced services; ``encryption``: that of the listener's
    cookies.

    Raises :class:`Unrenderable` for values that a BIG-IP cannot implement.
    """
    listener = routes.listener
    responses = listener_responses(service, listener, parts, names)
    l7 = render_l7(service, routes, names, responses)
    groups, rule_parts = enhanced_service_objects(service, listener, parts, names, responses, l7.parts)
    return [
        *(cipher_objects(service, listener, names) if listener.protocol == TLS_PROTOCOL else ()),
        *http_profile(service, listener, names, encryption),
        *compression_profile(service, listener, parts.compression, names),
        *transport_profiles(service, listener, pool, names, parts.tunnel),
        *http2_profiles(service, listener, names),
        *allowed_cidrs_data_groups(service, listener, names),
        *challenge_objects(service, listener, names),
        *l7.objects,
        *groups,
        *listener_rules(service, routes, [*challenge_rule_parts(service, listener, names), *rule_parts], names),
    ]
