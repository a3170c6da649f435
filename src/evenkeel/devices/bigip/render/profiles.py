"""A listener's headers and time-outs: child profiles, created only where a value differs from the built-in profile.
Pure.

``timeout_client_data`` and ``timeout_member_data`` become the ``idleTimeout`` of the transport profile, in whole
seconds. The device has one idle timer per connection, so the longer of both is used, and no connection ends earlier
than configured. With both at the API's default of 50 s the built-in profile is used, whose timer is 300 s.
"""

from collections.abc import Mapping

from evenkeel.core.model import L7_PROTOCOLS, TLS_PROTOCOL
from evenkeel.core.service import ServiceDefinition, ServiceListener, ServicePool
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import Key, WantedObject
from evenkeel.devices.bigip.render.headers import header_plan
from evenkeel.devices.errors import Unrenderable

_USUAL = ServiceListener(id="", protocol="TCP", protocol_port=1)
_NO_HSTS: dict[str, str | int] = {
    "mode": "disabled",
    "maximumAge": 16_070_400,
    "includeSubdomains": "enabled",
    "preload": "disabled",
}
"""The values of the built-in profile."""


def http_profile(service: ServiceDefinition, listener: ServiceListener, names: BigIpNames) -> list[WantedObject]:
    """The http profile of a listener that inserts headers without an iRule, or sends Strict-Transport-Security."""
    plan = header_plan(listener, service.listeners)
    if not (plan.forwarded_for or plan.profile_header or listener.hsts_max_age is not None):
        return []
    return [
        WantedObject(
            key=Key(type="ltm/profile/http", name=names.helper("http", listener.id)),
            owner=service.load_balancer_id,
            attributes={
                "defaultsFrom": "/Common/http",
                "insertXforwardedFor": "enabled" if plan.forwarded_for else "disabled",
                "headerInsert": plan.profile_header or "none",
                **({"hsts": _hsts(listener)} if listener.protocol == TLS_PROTOCOL else {}),
                "description": names.mark("http", service.load_balancer_id, listener.id),
            },
            immutables=frozenset({"defaultsFrom"}),
        )
    ]


def _hsts(listener: ServiceListener) -> dict[str, str | int]:
    if listener.hsts_max_age is None:
        return dict(_NO_HSTS)
    return {
        "mode": "enabled",
        "maximumAge": listener.hsts_max_age,
        "includeSubdomains": "enabled" if listener.hsts_include_subdomains else "disabled",
        "preload": "enabled" if listener.hsts_preload else "disabled",
    }


def transport_profile(
    service: ServiceDefinition, listener: ServiceListener, pool: ServicePool | None, names: BigIpNames
) -> list[WantedObject]:
    """The tcp or fastL4 profile of a listener whose time-outs are not the defaults."""
    _refuse_other_times(listener)
    if (listener.timeout_client_data, listener.timeout_member_data) == (
        _USUAL.timeout_client_data,
        _USUAL.timeout_member_data,
    ):
        return []
    kind, parent = ("tcp", "/Common/tcp") if is_full_proxy(listener, pool) else ("fastl4", "/Common/fastL4")
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


def is_full_proxy(listener: ServiceListener, pool: ServicePool | None) -> bool:
    """Whether the virtual server is a full proxy: needed to read requests, and for TLS on either side."""
    return listener.protocol in L7_PROTOCOLS or (pool is not None and pool.tls_enabled)


def idle_timeout(listener: ServiceListener) -> str:
    """Seconds as text, rounded up; 0 ms means no idle time-out."""
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
