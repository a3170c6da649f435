"""Health monitors. All kinds share one name space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icontrol_emulator.config.rules.monitor import TIMES, MonitorRules
from icontrol_emulator.config.schema import Ref, TypeSpec, names

_TIMES = {"interval": 5, "manualResume": "disabled", "timeUntilUp": 0, "timeout": 16, "upInterval": 0}
_BASE = {**_TIMES, "destination": "*:*", "transparent": "disabled"}
_ADAPTIVE = {
    "adaptive": "disabled", "adaptiveDivergenceType": "relative", "adaptiveDivergenceValue": 25,
    "adaptiveLimit": 200, "adaptiveSamplingTimespan": 300,
}  # fmt: skip
_STREAM = {**_BASE, **_ADAPTIVE, "ipDscp": 0, "reverse": "disabled"}
_ON_OFF = names("enabled disabled")
_CHOICES = {
    "adaptive": _ON_OFF, "manualResume": _ON_OFF, "reverse": _ON_OFF, "transparent": _ON_OFF,
    "compatibility": _ON_OFF,
}  # fmt: skip
_OPTIONAL = "recv recvDisable username password cert key sslProfile send"
_MORE = (
    "cipherlist compatibility debug secret mandatoryAttributes accountingNode authRealm filter filterNeg "
    "mode newsgroup request headers folder domain security count database base acctApplicationId framed nasIpAddress "
    "program protocol response responseTime retryTime failureInterval failures url getFields apiRawValues service "
    "snmpPort community version agentType cpuCoefficient cpuThreshold diskCoefficient diskThreshold memoryCoefficient "
    "memoryThreshold userDefined urlPath run args failureBehavior recvColumn recvRow"
)


def _monitor(path: str, root: str, defaults: Mapping[str, Any], *, more: bool = True) -> TypeSpec:
    optional = names(f"{_OPTIONAL} {_MORE}" if more else "") | names("destination")
    return TypeSpec(
        path=f"ltm/monitor/{path}", word="monitor", family="monitor", rules=MonitorRules(), defaults=defaults,
        optional=optional - defaults.keys(), inherits=True, root=f"/Common/{root}",
        refs=(Ref(name="sslProfile", family="profile"),),
        ranges={name: limits for name, limits in TIMES.items() if name in defaults}, choices=_CHOICES,
    )  # fmt: skip


_SEND = "GET /\\r\\n"

SPECS = [
    _monitor("http", "http", {**_STREAM, "send": _SEND}),
    _monitor(
        "https",
        "https",
        {**_STREAM, "send": _SEND, "cipherlist": "DEFAULT:+SHA:+3DES:+kEDH", "compatibility": "enabled"},
    ),
    _monitor("http2", "http2", {**_STREAM, "send": _SEND}),
    _monitor("tcp", "tcp", _STREAM),
    _monitor("tcp-half-open", "tcp_half_open", _BASE, more=False),
    _monitor("tcp-echo", "tcp_echo", {**_BASE, **_ADAPTIVE, "destination": "*"}, more=False),
    _monitor("udp", "udp", {**_BASE, **_ADAPTIVE, "reverse": "disabled", "debug": "no", "send": "default send string"}),
    _monitor("icmp", "icmp", {**_BASE, **_ADAPTIVE, "destination": "*"}, more=False),
    _monitor("gateway-icmp", "gateway_icmp", {**_BASE, **_ADAPTIVE}, more=False),
    _monitor("inband", "inband", {"failureInterval": 30, "failures": 3, "responseTime": 10, "retryTime": 300}),
    _monitor("real-server", "real_server", {**_TIMES, "metrics": "ServerBandwidth:1.5, CPUPercentUsage, MemoryUsage"}),
    _monitor("external", "external", {**_BASE}),
    _monitor("ldap", "ldap", {**_BASE, "chaseReferrals": "yes", "debug": "no", "mandatoryAttributes": "no",
                              "security": "none"}),
    _monitor("ftp", "ftp", {**_TIMES, "destination": "*:*", "debug": "no", "mode": "passive"}),
    _monitor("sip", "sip", {**_BASE, "cipherlist": "DEFAULT:+SHA:+3DES:+kEDH", "compatibility": "enabled",
                            "debug": "no", "filter": "any", "filterNeg": "any", "mode": "udp"}),
    _monitor("dns", "dns", {**_BASE, **_ADAPTIVE, "acceptRcode": "no-error", "answerContains": "query-type",
                            "qname": "none", "qtype": "a", "reverse": "disabled", "ipDscp": 0}),
    _monitor("mysql", "mysql", {**_TIMES, "destination": "*:*", "count": "0", "debug": "no"}),
    _monitor("postgresql", "postgresql", {**_TIMES, "destination": "*:*", "count": "0", "debug": "no"}),
    _monitor("radius", "radius", {**_BASE, "debug": "no"}),
    _monitor("smtp", "smtp", {**_BASE, "debug": "no"}),
]  # fmt: skip

ROOTS = {spec.root: spec.path for spec in SPECS}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "/Common/http_head_f5": ("ltm/monitor/http", {"send": "HEAD / HTTP/1.0\\r\\n\\r\\n", "recv": "Server\\:"}),
    "/Common/https_head_f5": ("ltm/monitor/https", {"send": "HEAD / HTTP/1.0\\r\\n\\r\\n", "recv": "Server\\:"}),
    "/Common/https_443": ("ltm/monitor/https", {"destination": "*:443"}),
}
