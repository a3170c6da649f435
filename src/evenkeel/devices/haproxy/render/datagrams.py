"""UDP and SCTP listeners and pools, which the kernel of the daemon's host serves beside HAProxy. Pure.

With the data path "kernel" of a flavor, the kernel forwards TCP as well, and HTTPS, which is passed through.

==========================  =================================================================================
Octavia                     the daemon
==========================  =================================================================================
listener                    datagram listener: addresses, pool, allowed CIDRs, ``connection_limit`` as flows
pool                        backend with ``datagrams``; HAProxy has its members too, but only for health checks
ROUND_ROBIN                 at random, in proportion to the weights
SOURCE_IP, SOURCE_IP_PORT   by a hash
persistence SOURCE_IP       bound clients: ``persistence_timeout`` (default 360 s), ``persistence_granularity``
==========================  =================================================================================
"""

from collections.abc import Collection, Mapping
from typing import Literal

from evenkeel.core.devices.service import ServiceListener, ServicePool
from evenkeel.core.resources.model import DataPath
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.haproxy.naming import object_name
from evenkeel.devices.haproxy.render.listener import connection_limit, listener_binds
from evenkeel.devices.listeners import allowed_networks
from evenkeel.haproxyd import wire

DATAGRAM_PROTOCOLS: dict[str, wire.DatagramProtocol] = {"UDP": "udp", "SCTP": "sctp"}
"""``{protocol of listeners and pools: the daemon's protocol}``."""
ForwardedProtocols = Mapping[str, wire.DatagramProtocol]
ServerChoice = Literal["weight", "source", "source_port"]
SERVER_CHOICES: dict[str, ServerChoice] = {
    "ROUND_ROBIN": "weight",
    "SOURCE_IP": "source",
    "SOURCE_IP_PORT": "source_port",
}
STICKY_SECONDS = 360
"""Default time, in seconds, for which a client stays bound to a member, as in Octavia's amphorae."""
STICKY_SECONDS_MAX = 7 * 86_400


def forwarded_protocols(data_path: DataPath) -> ForwardedProtocols:
    """Return ``{listener protocol: kernel's protocol}`` for the protocols that the kernel forwards
    on this data path.
    """
    return {**DATAGRAM_PROTOCOLS, "TCP": "tcp", "HTTPS": "tcp"} if data_path == "kernel" else DATAGRAM_PROTOCOLS


def datagram_listener(
    listener: ServiceListener, addresses: Collection[str], pools: Collection[ServicePool], forwarded: ForwardedProtocols
) -> wire.DatagramListener:
    """Render a listener that the kernel serves. ``forwarded``: ``{listener protocol: kernel's protocol}``.

    Raises :class:`Unrenderable` for an impossible port, connection limit or allowed CIDR.
    """
    binds, flows_max = listener_binds(listener, addresses), connection_limit(listener)
    pool = next((pool for pool in pools if pool.id == listener.default_pool_id), None)
    return wire.DatagramListener(
        name=object_name("listener", listener.id),
        binds=binds,
        protocol=forwarded[listener.protocol],
        backend="" if pool is None else object_name("pool", pool.id),
        flows_max=flows_max,
        allowed_cidrs=tuple(allowed_networks(listener)),
    )


def datagram_balance(pool: ServicePool, forwarded: ForwardedProtocols) -> wire.DatagramBalance | None:
    """Return the kernel's balancing rules for a pool; None for a pool that HAProxy serves. Raises
    :class:`Unrenderable` for an algorithm or session persistence that the kernel does not have.
    """
    if pool.protocol not in forwarded:
        return None
    if pool.lb_algorithm not in SERVER_CHOICES:
        raise Unrenderable(f"pool {pool.id}: lb_algorithm {pool.lb_algorithm} is not possible for {pool.protocol}")
    bound = pool.session_persistence
    if bound is not None and bound.type != "SOURCE_IP":
        raise Unrenderable(f"pool {pool.id}: session_persistence {bound.type} is not possible for {pool.protocol}")
    seconds = 0 if bound is None else bound.persistence_timeout or STICKY_SECONDS
    if not 0 <= seconds <= STICKY_SECONDS_MAX:
        raise Unrenderable(f"pool {pool.id}: persistence_timeout {seconds}: 1 to {STICKY_SECONDS_MAX} are possible")
    return wire.DatagramBalance(
        protocol=forwarded[pool.protocol],
        choice=SERVER_CHOICES[pool.lb_algorithm],
        sticky_seconds=seconds,
        sticky_netmask="" if bound is None else bound.persistence_granularity or "",
    )


def refuse_mixed_pool(pool: ServicePool, listeners: Collection[ServiceListener], forwarded: ForwardedProtocols) -> None:
    """Raise :class:`Unrenderable` if the kernel would serve the pool for one listener and HAProxy for
    another.
    """
    of_datagrams = pool.protocol in forwarded
    for listener in listeners:
        if (listener.protocol in forwarded) != of_datagrams:
            raise Unrenderable(
                f"listener {listener.id}: protocol {listener.protocol} is not possible with pools of {pool.protocol}"
            )
