"""A listener's headers and time-outs: child profiles, made only where something is not as built in. Pure.

``timeout_client_data`` and ``timeout_member_data`` become the ``idleTimeout`` of the transport profile, in whole
seconds. The device has one idle timer a connection, so the longer of both is taken: nothing ends earlier than
was asked. With both at the API's default of 50 s the built-in profile stays, whose timer is 300 s.
"""

from collections.abc import Mapping

from evenkeel.core.service import ServiceDefinition, ServiceListener
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import Key, WantedObject
from evenkeel.devices.errors import Unrenderable

_USUAL = ServiceListener(id="", protocol="TCP", protocol_port=1)
FORWARDED_FOR, FORWARDED_PORT, FORWARDED_PROTO = "X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto"


def client_profiles(service: ServiceDefinition, listener: ServiceListener, names: BigIpNames) -> list[WantedObject]:
    """The http profile of a listener that inserts headers."""
    wanted = _wanted_headers(listener)
    if not wanted:
        return []
    fixed = [f"{name}: {value}" for name, value in wanted.items() if name != FORWARDED_FOR]
    if len(fixed) > 1:
        raise Unrenderable(
            f"listener {listener.id}: insert_headers: a BIG-IP inserts one of {FORWARDED_PORT} and {FORWARDED_PROTO}"
        )
    return [
        WantedObject(
            key=Key(type="ltm/profile/http", name=names.helper("http", listener.id)),
            owner=service.load_balancer_id,
            attributes={
                "defaultsFrom": "/Common/http",
                "insertXforwardedFor": "enabled" if FORWARDED_FOR in wanted else "disabled",
                "headerInsert": fixed[0] if fixed else "none",
                "description": names.mark("http", service.load_balancer_id, listener.id),
            },
            immutables=frozenset({"defaultsFrom"}),
        )
    ]


def _wanted_headers(listener: ServiceListener) -> dict[str, str]:
    values = {FORWARDED_FOR: "", FORWARDED_PORT: str(listener.protocol_port), FORWARDED_PROTO: "http"}
    wanted = {}
    for name, switch in listener.insert_headers.items():
        if name not in values or switch.lower() not in ("true", "false"):
            raise Unrenderable(f"listener {listener.id}: insert_headers: {name}={switch} is not possible on a BIG-IP")
        if switch.lower() == "true":
            wanted[name] = values[name]
    if wanted and listener.protocol != "HTTP":
        raise Unrenderable(f"listener {listener.id}: insert_headers needs protocol HTTP, not {listener.protocol}")
    return wanted


def transport_profile(service: ServiceDefinition, listener: ServiceListener, names: BigIpNames) -> list[WantedObject]:
    """The tcp or fastL4 profile of a listener whose time-outs are not the usual ones."""
    _refuse_other_times(listener)
    if (listener.timeout_client_data, listener.timeout_member_data) == (
        _USUAL.timeout_client_data,
        _USUAL.timeout_member_data,
    ):
        return []
    kind, parent = ("tcp", "/Common/tcp") if listener.protocol == "HTTP" else ("fastl4", "/Common/fastL4")
    return [
        WantedObject(
            key=Key(type=f"ltm/profile/{kind}", name=names.helper(kind, listener.id)),
            owner=service.load_balancer_id,
            attributes={
                "defaultsFrom": parent,
                "idleTimeout": idle_timeout(listener),
                "description": names.mark(kind, service.load_balancer_id, listener.id),
            },
            immutables=frozenset({"defaultsFrom"}),
        )
    ]


def idle_timeout(listener: ServiceListener) -> str:
    """Seconds as text, rounded up; 0 ms means that a connection may be idle for ever."""
    times = (listener.timeout_client_data, listener.timeout_member_data)
    return "indefinite" if 0 in times else str(-(-max(times) // 1000))


def _refuse_other_times(listener: ServiceListener) -> None:
    times: Mapping[str, tuple[int, int]] = {
        "timeout_member_connect": (listener.timeout_member_connect, _USUAL.timeout_member_connect),
        "timeout_tcp_inspect": (listener.timeout_tcp_inspect, _USUAL.timeout_tcp_inspect),
    }
    for name, (asked, possible) in times.items():
        if asked != possible:
            raise Unrenderable(f"listener {listener.id}: {name} {asked}: only {possible} is possible on a BIG-IP")
