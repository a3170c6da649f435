"""Whether conditions hold: what each operand looks at, and the comparisons."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from icontrol_emulator.config.names import strip_domain
from icontrol_emulator.config.policies.vocabulary import Kind
from icontrol_emulator.dataplane.policies.program import Condition
from icontrol_emulator.irules.state import Flow, Message, cookies


@dataclass(frozen=True, slots=True)
class Sight:
    """The values that conditions compare."""

    flow: Flow
    request: Message | None = None
    response: Message | None = None


Observe = Callable[[Sight, Condition], list[str]]
TEXTS: Mapping[str, Callable[[str, str], bool]] = {
    "equals": operator.eq, "startsWith": str.startswith, "endsWith": str.endswith,
    "contains": lambda seen, wanted: wanted in seen,
}  # fmt: skip
NUMBERS: Mapping[str, Callable[[int, int], bool]] = {
    "equals": operator.eq, "less": operator.lt, "greater": operator.gt, "lessOrEqual": operator.le,
    "greaterOrEqual": operator.ge,
}  # fmt: skip


def holds(condition: Condition, view: Sight) -> bool:
    """Whether the condition holds. Without a value of the operand only a negated one does."""
    seen = OBSERVERS[condition.operand](view, condition)
    if condition.operator == "exists":
        return bool(seen) is not condition.negated
    wanted = condition.values
    if condition.group:
        group = view.flow.group(condition.group)
        wanted = tuple(group.records) if group is not None else ()
    return any(_compared(condition, each, wanted) for each in seen) is not condition.negated


def _compared(condition: Condition, seen: str, wanted: tuple[str, ...]) -> bool:
    if condition.kind is Kind.ADDRESS:
        return any(within(seen, each) for each in wanted)
    if condition.kind is Kind.NUMBER:
        compare = NUMBERS[condition.operator]
        return seen.isdigit() and any(compare(int(seen), int(each)) for each in wanted if each.isdigit())
    like = TEXTS[condition.operator]
    if condition.sensitive:
        return any(like(seen, each) for each in wanted)
    return any(like(seen.lower(), each.lower()) for each in wanted)


def within(address: str, network: str) -> bool:
    """Whether the address is in the network, which may be a single address."""
    place, slash, length = network.partition("/")
    try:
        known = ipaddress.ip_network(f"{strip_domain(place)}{slash}{length}", strict=False)
        return ipaddress.ip_address(strip_domain(address)) in known
    except ValueError:
        return False


# -- operands


def _message(view: Sight, condition: Condition) -> Message | None:
    return view.response if condition.event == "response" else view.request


def _none_or_one(text: str) -> list[str]:
    return [text] if text else []


def url_part(text: str, condition: Condition) -> list[str]:
    """A part of a URI, as none or one value; parameters may have several."""
    url = urlsplit(text) if "://" in text else urlsplit(f"//{text}" if not text.startswith("/") else text)
    path, query = url.path, url.query
    if text.startswith("/"):
        path, _, query = text.partition("?")
    match condition.selector:
        case "all":
            return [text]
        case "path":
            return [path]
        case "queryString":
            return _none_or_one(query)
        case "extension":
            dot = path.rpartition("/")[2].rpartition(".")
            return _none_or_one(dot[2] if dot[1] else "")
        case "pathSegment":
            return _segment(path, condition.index)
        case "queryParameter":
            return [value for name, value in parse_qsl(query, keep_blank_values=True) if name == condition.name]
        case "unnamedQueryParameter":
            return _at([each for each in query.split("&") if each and "=" not in each], condition.index)
        case "port":
            return [str(url.port)] if url.port else []
        case selector:
            return _none_or_one({"scheme": url.scheme, "host": url.hostname or ""}[selector])


def _segment(path: str, index: int) -> list[str]:
    """Segments are counted from 1, or from -1 backwards."""
    return _at(path.strip("/").split("/"), index)


def _at(values: list[str], index: int) -> list[str]:
    if index > 0:
        return values[index - 1 : index]
    return values[index:][:1] if index and -index <= len(values) else values[:1] if not index else []


def _uri(view: Sight, condition: Condition) -> list[str]:
    return url_part(view.request.start[1], condition) if view.request is not None else []


def _referer(view: Sight, condition: Condition) -> list[str]:
    found = view.request.values("Referer") if view.request is not None else []
    return [part for value in found for part in url_part(value, condition)]


def _host(view: Sight, condition: Condition) -> list[str]:
    found = (view.request.values("Host") if view.request is not None else [])[-1:]
    if condition.selector == "all" or not found:
        return found
    url = urlsplit(f"//{found[0]}")
    if condition.selector == "host":
        return [url.netloc.rpartition(":")[0] if _has_port(found[0]) else found[0]]
    return [found[0].rpartition(":")[2]] if _has_port(found[0]) else []


def _has_port(host: str) -> bool:
    name, colon, port = host.rpartition(":")
    return bool(colon) and port.isdigit() and (not name.startswith("[") or name.endswith("]"))


def _method(view: Sight, condition: Condition) -> list[str]:
    return [view.request.start[0]] if view.request is not None else []


def _header(view: Sight, condition: Condition) -> list[str]:
    message = _message(view, condition)
    return message.values(condition.name) if message is not None else []


def _cookie(view: Sight, condition: Condition) -> list[str]:
    found = cookies(view.request) if view.request is not None else []
    return [value for name, value in found if name == condition.name]


def _version(view: Sight, condition: Condition) -> list[str]:
    message = _message(view, condition)
    if message is None:
        return []
    whole = message.start[0 if condition.event == "response" else 2]
    protocol, _, number = whole.partition("/")
    major, _, minor = number.partition(".")
    return _none_or_one({"all": whole, "protocol": protocol, "major": major, "minor": minor}[condition.selector])


def _status(view: Sight, condition: Condition) -> list[str]:
    if view.response is None:
        return []
    code, text = view.response.start[1:3]
    return _none_or_one({"all": f"{code} {text}".strip(), "code": code, "text": text}[condition.selector])


def _set_cookie(view: Sight, condition: Condition) -> list[str]:
    found = view.response.values("Set-Cookie") if view.response is not None else []
    values: list[str] = []
    for each in found:
        first, *attributes = each.split(";")
        name, _, value = first.partition("=")
        pairs = (attribute.strip().partition("=") for attribute in attributes)
        known = {"value": value, **{key.lower(): given for key, _, given in pairs}}
        wanted = {"expiry": "expires"}.get(condition.selector, condition.selector)
        if name.strip() == condition.name and wanted in known:
            values.append(known[wanted])
    return values


def _basic_auth(view: Sight, condition: Condition) -> list[str]:
    found = view.request.values("Authorization") if view.request is not None else []
    for each in found:
        scheme, _, text = each.partition(" ")
        if scheme.lower() != "basic":
            continue
        try:
            user, _, password = base64.b64decode(text, validate=True).decode("latin-1").partition(":")
        except (ValueError, binascii.Error):
            return []
        return [user if condition.selector == "username" else password]
    return []


def _tcp(view: Sight, condition: Condition) -> list[str]:
    address, port = view.flow.local if condition.local else view.flow.client
    return [strip_domain(address) if condition.selector == "address" else str(port)]


def _client_ssl(view: Sight, condition: Condition) -> list[str]:
    known = {"protocol": "version", "cipher": "name", "cipherBits": "bits"}[condition.selector]
    return _none_or_one(view.flow.cipher.get(known, ""))


def _ssl_extension(view: Sight, condition: Condition) -> list[str]:
    return _none_or_one(view.flow.server_name if condition.selector == "serverName" else view.flow.application_protocol)


OBSERVERS: Mapping[str, Observe] = {
    "httpUri": _uri, "httpReferer": _referer, "httpHost": _host, "httpMethod": _method, "httpHeader": _header,
    "httpCookie": _cookie, "httpBasicAuth": _basic_auth, "httpVersion": _version, "httpStatus": _status,
    "httpSetCookie": _set_cookie, "tcp": _tcp, "clientSsl": _client_ssl, "sslExtension": _ssl_extension,
}  # fmt: skip
