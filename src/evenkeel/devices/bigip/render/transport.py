"""The transport profile of a virtual server, and its time-outs: child profiles only where a value differs from the
built-in profile. Pure.

======================  ============  ================================================================================
listener                profile       because
======================  ============  ================================================================================
HTTP, TERMINATED_HTTPS  tcp           requests are read
TCP, HTTPS              fastL4        packets are passed on; tcp where members get TLS or the PROXY protocol
UDP, SCTP               udp, sctp
======================  ============  ================================================================================

``timeout_client_data`` and ``timeout_member_data`` become ``idleTimeout``, in whole seconds. The device has one idle
timer per connection, so the longer of both is used, and no connection ends earlier than configured. With both at the
API's default of 50 s the built-in profile is used, whose timer is 300 s (udp: 60 s).

The part ``timeouts.tunnel`` of an enhanced service is this timer's time, too. With TCP it takes the place of both. With
HTTP the same timer ends connections that were not upgraded, so a ``tunnel`` shorter than one of both is refused.

``timeout_member_connect``, unless it is the API's default of 5 s: of tcp, the first interval and number of SYNs in a
profile for the members' side, so that the device gives up after that time; of fastL4, the handshake of client and
member together (5 s in the built-in profile, too). A datagram needs no connection, and an SCTP association with a
member has the device's own time-outs. 0 is the longest possible; so is more than the longest possible.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener, ServicePool
from evenkeel.core.resources.model import DATAGRAM_PROTOCOLS, L7_PROTOCOLS
from evenkeel.devices.bigip.capabilities import PROXY_PROTOCOLS
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import Key, WantedObject
from evenkeel.devices.errors import Unrenderable

MEMBER_SIDE = "tcp-member"
"""Kind, in the name, of a tcp profile for the members' side."""
SYN_INTERVAL_MILLISECONDS_MAX = 5_000
"""Highest value of ``synRtoBase``; not confirmed on a device."""
SYN_REPEATS_MIN, SYN_REPEATS_MAX = 2, 12
"""Range of ``synMaxRetrans``: from 2, so that one lost packet fails no connection; the maximum is not confirmed."""
SCTP_SECONDS_MAX = 2_147_483_647
_BUILT_IN = {"tcp": "/Common/tcp", "fastl4": "/Common/fastL4", "udp": "/Common/udp", "sctp": "/Common/sctp"}
_BUILT_IN_VALUES: dict[str, dict[str, Any]] = {
    "tcp": {"idleTimeout": "300"},
    MEMBER_SIDE: {"idleTimeout": "300", "synRtoBase": 3_000, "synMaxRetrans": 3},
    "fastl4": {"idleTimeout": "300", "tcpHandshakeTimeout": "5"},
    "udp": {"idleTimeout": "60"},
    "sctp": {"idleTimeout": "300"},
}
"""``{kind: {attribute: value}}`` in the built-in profiles, of the attributes that Even Keel sets.

A child profile always has all of these attributes, so that one that is no longer needed is set back.
"""
_DEFAULT_LISTENER = ServiceListener(id="", protocol="TCP", protocol_port=1)


def transport_kind(listener: ServiceListener, pool: ServicePool | None) -> str:
    """Return the kind of the transport profile: ``tcp``, ``fastl4``, ``udp`` or ``sctp``."""
    if listener.protocol in DATAGRAM_PROTOCOLS:
        return listener.protocol.lower()
    return "tcp" if is_full_proxy(listener, pool) else "fastl4"


def ip_protocol(listener: ServiceListener) -> str:
    """Return the value of the virtual server's ``ipProtocol``."""
    return listener.protocol.lower() if listener.protocol in DATAGRAM_PROTOCOLS else "tcp"


def is_full_proxy(listener: ServiceListener, pool: ServicePool | None) -> bool:
    """Whether TCP ends at the device: needed to read requests, and for TLS or the PROXY protocol with members."""
    return listener.protocol in L7_PROTOCOLS or (pool is not None and (pool.tls_enabled or sends_proxy_header(pool)))


def sends_proxy_header(pool: ServicePool) -> bool:
    """Whether members of the pool get the client's address in a PROXY protocol header."""
    return pool.protocol in PROXY_PROTOCOLS


def transport_profiles(
    service: ServiceDefinition,
    listener: ServiceListener,
    pool: ServicePool | None,
    names: BigIpNames,
    tunnel: int | None = None,
) -> list[WantedObject]:
    """Build the transport profiles of a listener whose time-outs are not the defaults; empty for other
    listeners. ``tunnel``: time-out of tunnels in seconds, from its enhanced services.

    Raises :class:`Unrenderable` for a ``tunnel`` that ends idle HTTP connections too early, and for
    ``timeout_member_connect`` with SCTP.
    """
    kind = transport_kind(listener, pool)
    idle, connect = idle_settings(listener, kind, tunnel), connect_settings(listener, kind)
    if kind != "tcp":
        return _transport_profiles(service, listener, kind, kind, idle | connect, names)
    return [
        *_transport_profiles(service, listener, kind, kind, idle, names),
        *_transport_profiles(service, listener, kind, MEMBER_SIDE, idle | connect if connect else {}, names),
    ]


def transport_entries(
    service: ServiceDefinition,
    listener: ServiceListener,
    pool: ServicePool | None,
    own: Iterable[WantedObject],
    names: BigIpNames,
) -> list[dict[str, str]]:
    """Return the entries for the virtual server's list of profiles: the listener's own transport profiles among
    ``own``, or else the built-in one.
    """
    kind = transport_kind(listener, pool)
    found = {item.key.name for item in own}
    partition = names.partition_name(service.project_id)
    of_both, of_members = (
        names.auxiliary_object_name(kind, listener.id),
        names.auxiliary_object_name(MEMBER_SIDE, listener.id),
    )
    path = f"/{partition}/{of_both}" if of_both in found else _BUILT_IN[kind]
    if of_members not in found:
        return [{"name": path, "context": "all"}]
    return [
        {"name": path, "context": "clientside"},
        {"name": f"/{partition}/{of_members}", "context": "serverside"},
    ]


def _transport_profiles(
    service: ServiceDefinition,
    listener: ServiceListener,
    kind: str,
    name: str,
    settings: dict[str, Any],
    names: BigIpNames,
) -> list[WantedObject]:
    if not settings:
        return []
    return [
        WantedObject(
            key=Key(type=f"ltm/profile/{kind}", name=names.auxiliary_object_name(name, listener.id)),
            owner=service.load_balancer_id,
            attributes={
                **profile_attributes(name, settings),
                "description": names.marked_description(name, service.load_balancer_id, listener.id),
            },
            immutables=frozenset({"defaultsFrom"}),
        )
    ]


def profile_attributes(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a child of the built-in profile with these settings, and the built-in values
    of all others that Even Keel sets; ``name`` is the kind, or :data:`MEMBER_SIDE`.
    """
    parent = _BUILT_IN["tcp" if name == MEMBER_SIDE else name]
    return {"defaultsFrom": parent, **_BUILT_IN_VALUES[name], **settings}


def idle_settings(listener: ServiceListener, kind: str, tunnel: int | None = None) -> dict[str, Any]:
    """Return the attributes by which idle time-outs differ from the built-in profile of that kind; empty:
    none do. ``tunnel``: time-out of tunnels in seconds. Raises :class:`Unrenderable` if ``tunnel`` ends
    idle HTTP connections too early.
    """
    times = (listener.timeout_client_data, listener.timeout_member_data)
    if tunnel is not None:
        _check_tunnel(listener, tunnel)
        return {"idleTimeout": str(tunnel)}
    if times == (_DEFAULT_LISTENER.timeout_client_data, _DEFAULT_LISTENER.timeout_member_data):
        return {}
    longest = str(SCTP_SECONDS_MAX) if kind == "sctp" else "indefinite"  # the sctp profile takes numbers only
    return {"idleTimeout": longest if 0 in times else str(_seconds_rounded_up(max(times)))}


def _check_tunnel(listener: ServiceListener, tunnel: int) -> None:
    """Raise :class:`Unrenderable` if the time-out of tunnels (seconds) would end idle HTTP connections too early."""
    if listener.protocol not in L7_PROTOCOLS:
        return
    for name in ("timeout_client_data", "timeout_member_data"):
        time = getattr(listener, name)
        if time == 0 or _seconds_rounded_up(time) > tunnel:
            allowed = f"at least {_seconds_rounded_up(time)} is" if time else "none is"
            raise Unrenderable(
                f"listener {listener.id}: timeouts.tunnel {tunnel}: {allowed} allowed on BIG-IPs beside {name} {time},"
                f" because a connection has one idle time, whether it was upgraded or not"
            )


def connect_settings(listener: ServiceListener, kind: str) -> dict[str, Any]:
    """Return the attributes that differ from the built-in profile because of the time-out of connections with
    members; empty: none do.

    Raises :class:`Unrenderable` for another time-out than the default with SCTP.
    """
    time = listener.timeout_member_connect
    if time == _DEFAULT_LISTENER.timeout_member_connect or kind == "udp":
        return {}
    if kind == "sctp":
        raise Unrenderable(
            f"listener {listener.id}: timeout_member_connect {time}: only {_DEFAULT_LISTENER.timeout_member_connect} is"
            " possible with SCTP on a BIG-IP"
        )
    if kind == "fastl4":
        return {"tcpHandshakeTimeout": str(_seconds_rounded_up(time)) if time else "indefinite"}
    first, repeats = syn_intervals(time)
    return {"synRtoBase": first, "synMaxRetrans": repeats}


def syn_intervals(milliseconds: int) -> tuple[int, int]:
    """Return first interval in milliseconds, and number of repeats, of SYNs. The interval doubles each time,
    so the device gives up after ``first * (2 ** (repeats + 1) - 1)``; 0 gives the longest possible.
    """
    for repeats in range(SYN_REPEATS_MIN, SYN_REPEATS_MAX + 1):
        first = -(-milliseconds // (2 ** (repeats + 1) - 1))
        if 0 < first <= SYN_INTERVAL_MILLISECONDS_MAX:
            return first, repeats
    return SYN_INTERVAL_MILLISECONDS_MAX, SYN_REPEATS_MAX


def _seconds_rounded_up(milliseconds: int) -> int:
    # Rounded up, so that no connection ends earlier than configured.
    return -(-milliseconds // 1000)
