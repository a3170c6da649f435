"""LBaaS v2 listeners: create and change."""

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.neutron.errors import NeutronRefusal, bad_request
from evenkeel.api.neutron.v2 import change_requests, requests
from evenkeel.api.neutron.v2.resources import convert_body
from evenkeel.api.usecases import change_requests as octavia_changes
from evenkeel.api.usecases import requests as octavia
from evenkeel.api.usecases.listeners import change_listener, make_listener
from evenkeel.api.usecases.tls_rules import UNUSED_REFERENCES_ALLOWED
from evenkeel.core.resources.model import TLS_PROTOCOL, Listener, Pool


async def make_listener_of_v2(services: Services, call: Call, wanted: requests.V2ListenerNew) -> Listener:
    """Create a listener, without ``loadbalancer_id`` of its pool's load balancer; returns the stored
    listener. Raises :class:`NotFound`, :class:`NeutronRefusal`, and the errors of :func:`make_listener`.
    """
    load_balancer_id = wanted.loadbalancer_id
    if wanted.default_pool_id is not None:
        pool = await _pool_for_listener(services, call, wanted.default_pool_id, load_balancer_id)
        check_protocol_pair(wanted.protocol, pool.protocol)
        load_balancer_id = pool.load_balancer_id
    if load_balancer_id is None:
        raise bad_request(
            "Must specify a loadbalancer_id or a default_pool_id for the listener.", "ListenerMustHaveLoadbalancer"
        )
    check_tls_container(wanted)
    asked = convert_body(octavia.ListenerNew, wanted, loadbalancer_id=load_balancer_id)
    return await make_listener(services, call, asked, idle=UNUSED_REFERENCES_ALLOWED)


def check_tls_container(wanted: requests.V2ListenerParts) -> None:
    """Check that a TLS listener has a certificate reference. Raises :class:`NeutronRefusal` (400)."""
    if wanted.protocol == TLS_PROTOCOL and not wanted.default_tls_container_ref:
        raise bad_request("Default TLS container was not specified", "TLSDefaultContainerNotSpecified")


_POOL_PROTOCOLS = {"HTTP": "HTTP", "TCP": "TCP", "HTTPS": "HTTPS", TLS_PROTOCOL: "HTTP"}
"""``{protocol of a listener: protocol of the pools that it may send to}``, in LBaaS v2."""


def check_protocol_pair(listener_protocol: str, pool_protocol: str) -> None:
    """Check that LBaaS v2 allows a pool of this protocol behind a listener of that protocol. Raises
    :class:`NeutronRefusal` (409).
    """
    wanted = _POOL_PROTOCOLS.get(listener_protocol)
    # Protocols that only Octavia's API has are left to Octavia's rules.
    if wanted is not None and pool_protocol in _POOL_PROTOCOLS.values() and wanted != pool_protocol:
        raise NeutronRefusal(
            409,
            "ListenerPoolProtocolMismatch",
            f"Listener protocol {listener_protocol} and pool protocol {pool_protocol} are not compatible.",
        )


async def _pool_for_listener(services: Services, call: Call, pool_id: str, named: str | None) -> Pool:
    """Return the pool. ``named``: load balancer that the request names, which must be the pool's; None: any.
    Raises :class:`NotFound`, :class:`NeutronRefusal` (400) for a pool elsewhere.
    """
    pool: Pool = await services.tenants.get(Pool, pool_id, project_id=call.caller.scope)
    if named not in (None, pool.load_balancer_id):
        raise different_load_balancers_error()
    return pool


def different_load_balancers_error() -> NeutronRefusal:
    """Build the error (400) for a listener and a pool of different load balancers."""
    return bad_request("Listener and pool must be on the same loadbalancer.", "ListenerAndPoolMustBeOnSameLoadbalancer")


async def change_listener_of_v2(
    services: Services, call: Call, listener_id: str, changes: change_requests.V2ListenerChange
) -> Listener:
    if isinstance(changes.default_pool_id, str):
        row: Listener = await services.tenants.get(Listener, listener_id, project_id=call.caller.scope)
        pool = await _pool_for_listener(services, call, changes.default_pool_id, row.load_balancer_id)
        check_protocol_pair(row.protocol, pool.protocol)
    wanted = convert_body(octavia_changes.ListenerChange, changes)
    return await change_listener(services, call, listener_id, wanted, idle=UNUSED_REFERENCES_ALLOWED)
