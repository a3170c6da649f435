"""The classes of declarations with the properties of each that have an effect here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from icontrol_as3.schema.checks import (
    LABEL_LENGTH_MAX,
    Check,
    address,
    boolean,
    existing,
    fields,
    integer,
    listed,
    one_of,
    reference,
    text,
    word_or_reference,
)

PEM_LENGTH_MAX = 1024 * 1024
SCRIPT_LENGTH_MAX = 65_536
PORT = integer(0, 65_535)
CONNECTIONS = integer(0, 2**31 - 1)
SECONDS = integer(0, 604_800)
TEXTS: Mapping[str, Check] = {"label": text(LABEL_LENGTH_MAX), "remark": text()}


def _class(properties: Mapping[str, Check], required: tuple[str, ...] = ()) -> Check:
    return fields({"class": text(), **TEXTS, **properties}, required)


PERSISTENCE = (
    "cookie", "destination-address", "hash", "msrdp", "sip-info", "source-address", "tls-session-id", "universal",
)  # fmt: skip
_TCP_WORDS = ("lan", "mobile", "normal", "wan")
_TCP_SIDES = fields(
    {"ingress": word_or_reference(*_TCP_WORDS), "egress": word_or_reference(*_TCP_WORDS)}, ("ingress", "egress")
)


def _tcp(value: Any, path: str) -> Iterator[str]:
    sides = isinstance(value, dict) and not {"use", "bigip"} & value.keys()
    yield from (_TCP_SIDES if sides else word_or_reference(*_TCP_WORDS))(value, path)


SERVICE: Mapping[str, Check] = {
    "virtualAddresses": listed(address, 1, 100),
    "virtualPort": PORT,
    "pool": reference,
    "enable": boolean,
    "adminState": one_of("enable", "disable"),
    "iRules": listed(reference),
    "policyEndpoint": listed(reference),
    "persistenceMethods": listed(word_or_reference(*PERSISTENCE)),
    "fallbackPersistenceMethod": word_or_reference(*PERSISTENCE),
    "maxConnections": CONNECTIONS,
    "snat": word_or_reference("auto", "none"),
    "translateServerAddress": boolean,
    "translateServerPort": boolean,
    "mirroring": one_of("none", "L4"),
    "allowVlans": listed(reference),
    "rejectVlans": listed(reference),
    "addressStatus": boolean,
    "lastHop": one_of("default", "auto", "disable"),
}
_TLS_SIDES: Mapping[str, Check] = {"clientTLS": reference, "serverTLS": reference}
_HTTP: Mapping[str, Check] = {
    "profileTCP": _tcp,
    "profileHTTP": word_or_reference("basic"),
    "profileMultiplex": word_or_reference("basic"),
    "profileHTTPCompression": word_or_reference("basic"),
}
_L4: Mapping[str, Check] = {"profileL4": word_or_reference("basic")}
_ADDRESSED = ("virtualAddresses",)

SERVICES: Mapping[str, Check] = {
    "Service_HTTP": _class({**SERVICE, **_HTTP, "clientTLS": reference}, _ADDRESSED),
    "Service_HTTPS": _class(
        {**SERVICE, **_HTTP, **_TLS_SIDES, "redirect80": boolean}, (*_ADDRESSED, "serverTLS")
    ),
    "Service_TCP": _class({**SERVICE, **_TLS_SIDES, "profileTCP": _tcp}, (*_ADDRESSED, "virtualPort")),
    "Service_UDP": _class(
        {**SERVICE, "profileUDP": word_or_reference("normal")}, (*_ADDRESSED, "virtualPort")
    ),
    "Service_L4": _class({**SERVICE, **_L4, "layer4": one_of("tcp", "udp", "any")}, (*_ADDRESSED, "virtualPort")),
    "Service_Generic": _class(
        {
            **SERVICE, **_TLS_SIDES, **_L4, "layer4": one_of("tcp", "udp"), "profileTCP": _tcp,
            "profileUDP": word_or_reference("normal"),
        },
        (*_ADDRESSED, "virtualPort"),
    ),
}  # fmt: skip

BALANCING = (
    "dynamic-ratio-member", "dynamic-ratio-node", "fastest-app-response", "fastest-node", "least-connections-member",
    "least-connections-node", "least-sessions", "observed-member", "observed-node", "predictive-member",
    "predictive-node", "ratio-least-connections-member", "ratio-least-connections-node", "ratio-member", "ratio-node",
    "ratio-session", "round-robin", "weighted-least-connections-member", "weighted-least-connections-node",
)  # fmt: skip
MONITORS_WORDS = ("http", "https", "icmp", "tcp", "tcp-half-open", "udp")
_MONITORS = listed(word_or_reference(*MONITORS_WORDS), most=64)
MEMBER = fields(
    {
        "servicePort": PORT, "serverAddresses": listed(address, 1), "addressDiscovery": one_of("static"),
        "enable": boolean, "adminState": one_of("enable", "disable", "offline"), "ratio": integer(0, 100),
        "priorityGroup": integer(0, 65_535), "connectionLimit": CONNECTIONS, "monitors": _MONITORS,
        "minimumMonitors": integer(1, 64), "shareNodes": boolean, "remark": text(), "routeDomain": PORT,
    },
    ("servicePort", "serverAddresses"),
)  # fmt: skip
POOL = _class(
    {
        "loadBalancingMode": one_of(*BALANCING), "members": listed(MEMBER), "monitors": _MONITORS,
        "minimumMonitors": integer(1, 64), "minimumMembersActive": integer(0, 65_535),
        "reselectTries": integer(0, 65_535), "slowRampTime": integer(0, 900),
        "serviceDownAction": one_of("none", "drop", "reselect", "reset"),
    }
)  # fmt: skip

MONITOR_TYPES = (
    "dns", "http", "https", "icmp", "ldap", "sip", "smtp", "tcp", "tcp-half-open", "udp",
)  # fmt: skip
MONITOR = _class(
    {
        "monitorType": one_of(*MONITOR_TYPES), "interval": integer(1, 3600), "timeout": integer(0, 900),
        "timeUntilUp": integer(0, 1000), "upInterval": integer(0, 3600), "targetAddress": address, "targetPort": PORT,
        "send": text(SCRIPT_LENGTH_MAX), "receive": text(5000), "receiveDown": text(5000), "reverse": boolean,
        "transparent": boolean, "queryName": text(255),
    },
    ("monitorType",),
)  # fmt: skip

PERSIST = _class(
    {
        "persistenceMethod": one_of(*PERSISTENCE), "duration": SECONDS, "addressMask": address,
        "iRule": reference, "cookieName": text(255, 1), "cookieMethod": one_of("hash", "insert", "passive", "rewrite"),
        "matchAcrossPools": boolean, "matchAcrossVirtualAddresses": boolean, "matchAcrossVirtualPorts": boolean,
        "overrideConnectionLimit": boolean,
    },
    ("persistenceMethod",),
)  # fmt: skip

_VERSIONS = {
    f"{name}Enabled": boolean for name in ("ssl", "ssl3", "tls1_0", "tls1_1", "tls1_2", "tls1_3", "singleUseDh")
}
_TLS: Mapping[str, Check] = {
    **_VERSIONS, "insertEmptyFragmentsEnabled": boolean, "ciphers": text(), "cipherGroup": existing,
    "renegotiationEnabled": boolean, "forwardProxyEnabled": one_of(False), "forwardProxyBypassEnabled": one_of(False),
    "cacheCertificateEnabled": boolean, "authenticationFrequency": one_of("one-time", "every-time"),
}  # fmt: skip
TLS_SERVER = _class(
    {
        **_TLS, "authenticationMode": one_of("ignore", "request", "require"), "authenticationTrustCA": reference,
        "authenticationInviteCA": reference, "requireSNI": boolean, "staplerOCSPEnabled": one_of(False),
        "certificates": listed(
            fields(
                {"certificate": reference, "enabled": boolean, "matchToSNI": text(255), "sniDefault": boolean},
                ("certificate",),
            ),
            least=1,
        ),
    },
    ("certificates",),
)  # fmt: skip
TLS_CLIENT = _class(
    {
        **_TLS, "clientCertificate": reference, "trustCA": word_or_reference("generic"), "validateCertificate": boolean,
        "ignoreExpired": boolean, "ignoreUntrusted": boolean, "sendSNI": text(255), "serverName": text(255),
    }
)  # fmt: skip
_PEM = text(PEM_LENGTH_MAX, 1)
_SECRET = fields(
    {"ciphertext": text(4096), "protected": text(4096), "ignoreChanges": boolean, "allowReuse": boolean},
    ("ciphertext",),
)
CERTIFICATE = _class(
    {"certificate": _PEM, "privateKey": _PEM, "chainCA": _PEM, "passphrase": _SECRET}, ("certificate",)
)
CA_BUNDLE = _class({"bundle": _PEM}, ("bundle",))

COMPARISONS = (
    "contains", "does-not-contain", "does-not-end-with", "does-not-equal", "does-not-exist", "does-not-start-with",
    "ends-with", "equals", "exists", "starts-with",
)  # fmt: skip
COMPARE = fields(
    {
        "operand": one_of(*COMPARISONS), "values": listed(text(SCRIPT_LENGTH_MAX)), "caseSensitive": boolean,
    }
)  # fmt: skip
_EVENT = one_of("client-accepted", "request", "response", "ssl-client-hello")
CONDITIONS: Mapping[str, Check] = {
    "httpHeader": fields(
        {"type": text(), "event": _EVENT, "name": text(255, 1), "all": COMPARE}, ("name", "all")
    ),
    "httpCookie": fields(
        {"type": text(), "event": _EVENT, "name": text(255, 1), "all": COMPARE}, ("name", "all")
    ),
    "httpUri": fields(
        {
            "type": text(), "event": _EVENT, "all": COMPARE, "scheme": COMPARE, "host": COMPARE, "path": COMPARE,
            "extension": COMPARE, "queryString": COMPARE,
        }
    ),
    "httpMethod": fields({"type": text(), "event": _EVENT, "all": COMPARE}, ("all",)),
    "sslExtension": fields({"type": text(), "event": _EVENT, "serverName": COMPARE, "alpn": COMPARE}),
}  # fmt: skip
_POOL_TARGET = fields({"pool": existing, "virtual": existing})
_INSERT = fields({"name": text(255, 1), "value": text()}, ("name",))
ACTIONS: Mapping[str, Check] = {
    "forward": fields({"type": text(), "event": _EVENT, "select": _POOL_TARGET}, ("select",)),
    "httpRedirect": fields(
        {"type": text(), "event": _EVENT, "location": text(least=1), "code": integer(300, 399)}, ("location",)
    ),
    "drop": fields({"type": text(), "event": _EVENT}),
    "httpHeader": fields(
        {"type": text(), "event": _EVENT, "insert": _INSERT, "replace": _INSERT,
         "remove": fields({"name": text(255, 1)}, ("name",))},
    ),
}  # fmt: skip


def _typed(kinds: Mapping[str, Check]) -> Check:
    def check(value: Any, path: str) -> Iterator[str]:
        kind = str(value.get("type")) if isinstance(value, dict) else ""
        if kind in kinds:
            yield from kinds[kind](value, path)
        else:
            yield f"{path}/type: should be equal to one of the allowed values ({', '.join(kinds)})"

    return check


ENDPOINT_POLICY = _class(
    {
        "strategy": one_of("all-match", "best-match", "first-match"),
        "rules": listed(
            fields(
                {
                    "name": text(255, 1), **TEXTS, "conditions": listed(_typed(CONDITIONS)),
                    "actions": listed(_typed(ACTIONS)),
                },
                ("name",),
            )
        ),
    },
    ("rules",),
)  # fmt: skip

IRULE = _class({"iRule": text(SCRIPT_LENGTH_MAX, 1), "expand": one_of(False)}, ("iRule",))


def _key(value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, str | int) or isinstance(value, bool):
        yield f"{path}: should be string or integer"


DATA_GROUP = _class(
    {
        "storageType": one_of("internal"), "name": text(), "keyDataType": one_of("integer", "ip", "string"),
        "records": listed(
            fields({"key": _key, "value": text(SCRIPT_LENGTH_MAX)}, ("key",)), most=100_000
        ),
    },
    ("keyDataType",),
)  # fmt: skip
HTTP_PROFILE = _class({"fallbackRedirect": text(), "xForwardedFor": boolean})
CIPHER_RULE = _class({"cipherSuites": listed(text(255, 1), 1)}, ("cipherSuites",))
CIPHER_GROUP = _class(
    {
        "allowCipherRules": listed(existing),
        "excludeCipherRules": listed(existing),
        "requireCipherRules": listed(existing),
    }
)

CLASSES: Mapping[str, Check] = {
    **SERVICES, "Pool": POOL, "Monitor": MONITOR, "Persist": PERSIST, "TLS_Server": TLS_SERVER,
    "TLS_Client": TLS_CLIENT, "Certificate": CERTIFICATE, "CA_Bundle": CA_BUNDLE, "Endpoint_Policy": ENDPOINT_POLICY,
    "iRule": IRULE, "Data_Group": DATA_GROUP, "HTTP_Profile": HTTP_PROFILE, "Cipher_Rule": CIPHER_RULE,
    "Cipher_Group": CIPHER_GROUP,
}  # fmt: skip
