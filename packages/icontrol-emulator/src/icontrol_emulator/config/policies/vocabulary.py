"""The words of local traffic policies, as properties of iControl REST: events, operands, targets.

The tables follow the grammar of TMOS as F5's AS3 ships it (`ltmPolicySpec.json`). Words of a device that this emulator
cannot carry out are is listed in `NOT_EMULATED`, so that it is refused instead of ignored in traffic.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from icontrol_emulator.config.schema import names


class Kind(Enum):
    """How the values of a condition are compared."""

    TEXT = "text"
    NUMBER = "number"
    ADDRESS = "address"


EVENTS = ("clientAccepted", "sslClientHello", "request", "response")
"""The emulated events, in the order in which they happen."""
EVENTS_NOT_EMULATED = names(
    "classificationDetected proxyConnect proxyRequest proxyResponse serverConnected sslClientServerhelloSend "
    "sslServerHandshake sslServerHello wsRequest wsResponse"
)

OPERATORS: Mapping[Kind, frozenset[str]] = {
    Kind.TEXT: names("equals startsWith endsWith contains exists"),
    Kind.NUMBER: names("equals less greater lessOrEqual greaterOrEqual"),
    Kind.ADDRESS: names("matches"),
}
ALL_OPERATORS = frozenset().union(*OPERATORS.values())


def _kinds(text: str, kind: Kind = Kind.TEXT) -> dict[str, Kind]:
    return dict.fromkeys(text.split(), kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """The subject of a condition. The first event and the first selector are the defaults."""

    events: tuple[str, ...]
    selectors: Mapping[str, Kind]
    named: frozenset[str] = frozenset()
    """Selectors that need `tmName`."""
    needs: tuple[str, ...] = ("http",)
    """Kinds of profiles of which a virtual server needs one."""
    word: str = "http"
    """The `requires` of a policy with this operand."""


_EVERY = ("request", "response", "clientAccepted", "sslClientHello")
_URI = _kinds("all scheme host path extension queryString queryParameter unnamedQueryParameter pathSegment")
_PLACE = {**_URI, "port": Kind.NUMBER}
HTTP = ("http", "fasthttp")
TLS = ("client-ssl", "ssl")
"""`ssl` stands for SSL persistence, with which a device reads the ClientHello of connections that it passes through."""

OPERANDS: Mapping[str, Operand] = {
    "httpUri": Operand(
        events=("request",), selectors=_PLACE, named=names("queryParameter"), needs=HTTP,
    ),
    "httpReferer": Operand(
        events=("request",), selectors=_PLACE, named=names("queryParameter"), needs=HTTP,
    ),
    "httpHost": Operand(events=("request",), selectors={**_kinds("all host"), "port": Kind.NUMBER}, needs=HTTP),
    "httpMethod": Operand(events=("request",), selectors=_kinds("all"), needs=HTTP),
    "httpHeader": Operand(events=("request", "response"), selectors=_kinds("all"), named=names("all"), needs=HTTP),
    "httpCookie": Operand(events=("request",), selectors=_kinds("all"), named=names("all"), needs=HTTP),
    "httpBasicAuth": Operand(events=("request",), selectors=_kinds("username password"), needs=HTTP),
    "httpVersion": Operand(
        events=("request", "response"), needs=HTTP,
        selectors={**_kinds("all protocol"), **_kinds("major minor", Kind.NUMBER)},
    ),
    "httpStatus": Operand(events=("response",), selectors={**_kinds("all text"), "code": Kind.NUMBER}, needs=HTTP),
    "httpSetCookie": Operand(
        events=("response",), selectors=_kinds("value version path domain expiry"), needs=HTTP,
        named=names("value version path domain expiry"),
    ),
    "tcp": Operand(
        events=_EVERY, selectors={"address": Kind.ADDRESS, "port": Kind.NUMBER}, needs=("tcp",), word="tcp",
    ),
    "clientSsl": Operand(
        events=("request", "response"), needs=("client-ssl",), word="client-ssl",
        selectors={**_kinds("protocol cipher"), "cipherBits": Kind.NUMBER},
    ),
    "sslExtension": Operand(
        events=("sslClientHello",), selectors=_kinds("serverName alpn"), needs=TLS, word="ssl-persistence",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionTarget:
    """The object of an action. The first event and the first verb are the defaults."""

    events: tuple[str, ...]
    verbs: Mapping[str, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)
    """Verb -> the properties it needs (one of them, if there are several), the properties it may have."""
    controls: str = "forwarding"
    needs: tuple[str, ...] = HTTP
    word: str = "http"


def _verb(one_of: str = "", optional: str = "") -> tuple[frozenset[str], frozenset[str]]:
    return names(one_of), names(optional)


_NAMED = {
    "replace": _verb("tmName", "value"), "insert": _verb("tmName", "value"), "remove": _verb("tmName"),
}  # fmt: skip
_KEYED = _verb("key", "timeout")
_SWITCH = {"enable": _verb(), "disable": _verb()}
TARGETS: Mapping[str, ActionTarget] = {
    "forward": ActionTarget(
        events=("request", "clientAccepted", "sslClientHello"), needs=("tcp",), word="tcp",
        verbs={"select": _verb("pool node virtual", "port"), "reset": _verb()},
    ),
    "httpReply": ActionTarget(events=("request", "response"), verbs={"redirect": _verb("location", "code")}),
    "httpHeader": ActionTarget(events=("request", "response"), verbs=_NAMED),
    "httpHost": ActionTarget(events=("request",), verbs={"replace": _verb("value")}),
    "httpUri": ActionTarget(events=("request",), verbs={"replace": _verb("value path queryString")}),
    "httpReferer": ActionTarget(
        events=("request",), verbs={"replace": _verb("", "value"), "insert": _verb("value"), "remove": _verb()},
    ),
    "httpCookie": ActionTarget(
        events=("request",), verbs={"insert": _verb("tmName", "value"), "remove": _verb("tmName")},
    ),
    "httpSetCookie": ActionTarget(
        events=("response",), verbs={"insert": _verb("tmName", "value domain path"), "remove": _verb("tmName")},
    ),
    "persist": ActionTarget(
        events=("request", "clientAccepted"), controls="persistence", needs=("tcp",), word="tcp",
        verbs={
            "sourceAddress": _verb("", "netmask timeout"), "destinationAddress": _verb("", "netmask timeout"),
            "universal": _KEYED, "hash": _KEYED, "carp": _KEYED, "disable": _verb(),
        },
    ),
    "log": ActionTarget(
        events=_EVERY, verbs={"write": _verb("", "message facility priority ipAddress port")}, controls="", word="",
        needs=(),
    ),
    "tcl": ActionTarget(
        events=_EVERY, verbs={"setVariable": _verb("expression", "tmName")}, controls="", word="", needs=(),
    ),
    "ltmPolicy": ActionTarget(events=_EVERY, verbs={"disable": _verb()}, controls="", word="", needs=()),
    "serverSsl": ActionTarget(events=("request",), verbs=_SWITCH, controls="server-ssl", needs=("server-ssl",),
                        word="server-ssl"),
    "tcpNagle": ActionTarget(events=("request",), verbs=_SWITCH, controls="", needs=("tcp",), word="tcp"),
    "shutdown": ActionTarget(
        events=("clientAccepted", "sslClientHello", "request", "response"), verbs={"connection": _verb()},
        controls="", needs=("tcp",), word="tcp",
    ),
}  # fmt: skip

NOT_EMULATED_OPERANDS = names("cpuUsage geoip httpConnect httpProxy httpUserAgent sslCert websocket classification")
NOT_EMULATED_TARGETS = names(
    "asm avr botDefense cache ce classification compress decompress http l7dos pem requestAdapt "
    "responseAdapt wam websocket"
)
NOT_EMULATED_SELECTORS = names("mss rtt vlan vlanId routeDomain npn normalized internal")
NOT_EMULATED_VERBS = names("cookieInsert cookieRewrite cookiePassive cookieHash classify drop reject")
NOT_EMULATED_PARAMETERS = names("clonePool member netmask nexthop rateclass vlan snat snatpool")

SELECTORS = frozenset(name for operand in OPERANDS.values() for name in operand.selectors)
VERBS = frozenset(verb for target in TARGETS.values() for verb in target.verbs)
CONDITION_PAIRS = (
    ("caseInsensitive", "caseSensitive"), ("external", "internal"), ("remote", "local"), ("present", "missing"),
)  # fmt: skip
"""Pairs of presence flags, the default first."""
CONDITION_FLAGS = (
    SELECTORS | ALL_OPERATORS | {"not"} | frozenset(OPERANDS) | frozenset(EVENTS) | EVENTS_NOT_EMULATED
    | NOT_EMULATED_OPERANDS | NOT_EMULATED_SELECTORS
) - {name for pair in CONDITION_PAIRS for name in pair}  # fmt: skip
CONDITION_PROPERTIES = CONDITION_FLAGS | names("tmName values datagroup appService")
ACTION_NUMBERS = {
    "code": 0, "expirySecs": 0, "length": 0, "offset": 0, "port": 0, "status": 0, "timeout": 0, "vlanId": 0,
}  # fmt: skip
ACTION_FLAGS = (
    frozenset(TARGETS) | NOT_EMULATED_TARGETS | VERBS | NOT_EMULATED_VERBS | frozenset(EVENTS) | EVENTS_NOT_EMULATED
)
ACTION_TEXTS = names(
    "application category clonePool content domain expiry expression extension facility fromProfile host "
    "internalVirtual ipAddress key location member message netmask nexthop node path policy pool priority protocol "
    "queryString rateclass resource scheme snat snatpool template text tmName uri value virtual vlan"
)
_CAPITAL = re.compile(r"([A-Z])")


def tmsh(name: str) -> str:
    """`httpUri` as tmsh spells it: `http-uri`."""
    return _CAPITAL.sub(lambda match: f"-{match.group().lower()}", name)
