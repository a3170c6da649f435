"""Converts a service definition to one load balancer's HAProxy configuration. Pure.

==================  ==========================================  ============================
LBaaS               HAProxy                                     name
==================  ==========================================  ============================
listener            frontend                                    listener id
allowed CIDRs       ACL file                                    ``<listener id>:cidrs``
certificates        files, see :mod:`.certificates`             ``<listener or pool id>.<kind>.<digits>``
challenges          map, see :mod:`.challenges`                 ``<load balancer id>:challenges``
of no listener's    frontend                                    the same
a listener's        ``crt-list`` of these files                 ``<listener id>:crt_list``
pool                backend                                     pool id
L7 policies         lines of the frontend, see :mod:`.l7`       ``l7.<n>.<m>`` for ACLs
the same as TCP     backend, where listeners of TCP and HTTP    ``<pool id>:tcp``
                    use one pool, see :mod:`.modes`
member              server                                      member id
monitor             checks of the backend's servers             none
==================  ==========================================  ============================

A setting that HAProxy cannot implement is a ``problem`` that gives the tenant the reason. An error of the
renderer's own is the load balancer's problem, too, and stops no other one. Equal definitions render to equal
objects. Names and descriptions given by users are not put on the device.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from evenkeel.core.devices.capabilities import definition_problems
from evenkeel.core.devices.service import ServiceDefinition, ServiceListener, ServicePool
from evenkeel.core.kit.values import Value
from evenkeel.core.tls.certificates import CertificateContent
from evenkeel.devices.errors import Unrenderable, render_problem
from evenkeel.devices.esd.selection import Definitions, enhanced_service_parts
from evenkeel.devices.haproxy.capabilities import CAPABILITIES
from evenkeel.devices.haproxy.naming import object_name
from evenkeel.devices.haproxy.note import LoadBalancerNote, pack_note
from evenkeel.devices.haproxy.render.certificates import ReferencedFiles
from evenkeel.devices.haproxy.render.challenges import challenge_files, challenge_frontend, challenge_lines
from evenkeel.devices.haproxy.render.datagrams import datagram_listener, forwarded_protocols
from evenkeel.devices.haproxy.render.headers import inserted_headers
from evenkeel.devices.haproxy.render.l7 import policy_lines, pools_in_use, redirect_pools
from evenkeel.devices.haproxy.render.listener import build_frontend, cidr_files
from evenkeel.devices.haproxy.render.modes import backend_name, listener_mode, pool_modes
from evenkeel.devices.haproxy.render.pool import build_backends
from evenkeel.devices.haproxy.render.services.lines import service_lines
from evenkeel.devices.haproxy.render.termination import certificate_list_files, tls_bind_arguments
from evenkeel.haproxyd import wire


class RenderedConfig(Value):
    """One load balancer of a batch: its configuration, or the reason why it cannot be rendered. ``problem``:
    that reason; empty if there is none.
    """

    service: ServiceDefinition
    load_balancer: wire.LoadBalancerConfig | None = None
    """Configuration of the load balancer; None if it should be removed, or there is a ``problem``."""
    problem: str = ""


def render_load_balancer(
    service: ServiceDefinition,
    contents: Mapping[str, CertificateContent] = MappingProxyType({}),
    enhanced: Definitions = MappingProxyType({}),
) -> RenderedConfig:
    """Render one load balancer, or return the problem; never raises because of a definition. A deleted load
    balancer has no configuration.

    ``contents``: certificates and revocation lists by sha256; the daemon must already hold those that are
    missing here. ``enhanced``: the agent's enhanced services by name.
    """
    if service.deleted or service.problem:
        return RenderedConfig(service=service, problem=service.problem)
    try:
        rendered = _build_config(service, ReferencedFiles(service, contents), enhanced)
        # the renderers below do not check what the configuration has no place for
        for problem in definition_problems(CAPABILITIES, service):
            raise Unrenderable(problem)
        return RenderedConfig(service=service, load_balancer=rendered)
    except Exception as error:
        return RenderedConfig(service=service, problem=render_problem(error, service.load_balancer_id))


def _build_config(
    service: ServiceDefinition, certificates: ReferencedFiles, enhanced: Definitions
) -> wire.LoadBalancerConfig:
    address, *more = vip_addresses(service)
    parts = {listener.id: enhanced_service_parts(listener, enhanced) for listener in service.listeners}
    listening = tuple(listener for listener in service.listeners if service.admin_state_up and listener.admin_state_up)
    targets = {
        (pool.id, mode): backend_name(pool, mode, modes)
        for pool in service.pools
        for modes in (pool_modes(pool, _listeners_using_pool(service.listeners, pool)),)
        for mode in modes
    }
    up = {
        pool.id: targets[pool.id, "http"]
        for pool in service.pools
        if pool.admin_state_up and (pool.id, "http") in targets
    }
    forwarded = forwarded_protocols(service.data_path)
    inserted = inserted_headers(service.listeners)
    carried = tuple(listener for listener in listening if listener.protocol not in forwarded)
    services = {each.id: service_lines(each, parts[each.id], service.load_balancer_id) for each in carried}
    frontends = tuple(
        build_frontend(
            listener,
            targets.get((listener.default_pool_id or "", listener_mode(listener))),
            (address, *more),
            policy_lines(listener, up),
            bind_arguments=tls_bind_arguments(listener, certificates),
            inserted=inserted,
            services=services[listener.id],
            challenges=challenge_lines(service, listener),
        )
        for listener in carried
    )
    rendered_pools = tuple(
        backend
        for pool in service.pools
        for backend in build_backends(
            pool, _listeners_using_pool(service.listeners, pool), address, certificates, parts, forwarded
        )
    )
    lists = [file for each in carried for file in (*cidr_files(each), *certificate_list_files(each, certificates))]
    lists += challenge_files(service, carried)
    return wire.LoadBalancerConfig(
        id=object_name("load balancer", service.load_balancer_id),
        revision=service.revision,
        frontends=(*frontends, *challenge_frontend(service, (address, *more))),
        backends=(*rendered_pools, *(table for each in services.values() for table in each.tables)),
        # Last, because rendering collects the files that it refers to.
        files=(*lists, *(file for each in services.values() for file in each.files), *certificates.files),
        note=pack_note(_load_balancer_note(service, listening)),
        datagram_listeners=tuple(
            datagram_listener(listener, (address, *more), service.pools, forwarded)
            for listener in listening
            if listener.protocol in forwarded
        ),
    )


def vip_addresses(service: ServiceDefinition) -> tuple[str, ...]:
    """Return the VIP and then the additional VIPs in canonical form. Raises :class:`Unrenderable` for a text
    that is no IP address.
    """
    return tuple(_canonical_address(vip.address) for vip in (service.vip, *service.additional_vips))


def _canonical_address(address: str) -> str:
    try:
        return str(ipaddress.ip_address(address))
    except ValueError as error:
        raise Unrenderable(f"vip_address {address!r} is no IP address") from error


def _listeners_using_pool(listeners: Iterable[ServiceListener], pool: ServicePool) -> tuple[ServiceListener, ...]:
    """Return the listeners that use the pool, disabled ones included, so that enabling a listener does not change the
    pool.
    """
    return tuple(
        listener for listener in listeners if listener.default_pool_id == pool.id or pool.id in redirect_pools(listener)
    )


def _load_balancer_note(service: ServiceDefinition, listening: tuple[ServiceListener, ...]) -> LoadBalancerNote:
    used = {listener.default_pool_id for listener in listening}.union(*map(pools_in_use, listening))
    return LoadBalancerNote(
        admin_state_up=service.admin_state_up,
        listeners_down=tuple(listener.id for listener in service.listeners if listener not in listening),
        pools_idle=tuple(pool.id for pool in service.pools if pool.id not in used or not pool.admin_state_up),
        connection_limits={each.id: each.connection_limit for each in listening if each.connection_limit > 0},
        addresses=len({member.address for pool in service.pools for member in pool.members}),
    )
