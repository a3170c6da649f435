"""Parts of enhanced services that are the same on every device type: typed settings in a definition beside F5's tags.

A part states what clients and members see, and each driver renders it for its devices
(:attr:`evenkeel.core.devices.capabilities.Capabilities.service_parts` lists the parts that it can render).
"""

import ipaddress
from collections.abc import Mapping
from hashlib import sha256
from string import Formatter
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

from msgspec import NODEFAULT, Meta, Struct, json, structs, to_builtins

from evenkeel.core.kit.values import Value
from evenkeel.core.networking.addresses import parsed_address

BODY_BYTES_MAX = 16_384
NETWORKS_MAX = 200
HEADERS_MAX = 32
HEADER_VALUE_CHARACTERS_MAX = 1024

Variable = Literal[
    "client_address",  # the address from which the client connected
    "client_port",
    "protocol",  # http or https
    "host",  # the request's Host, with the port if the client gave one
    "tls_version",  # as TLSv1.3; empty without TLS
    "sni",  # the name for which the client asked in its TLS handshake
    "client_certificate_cn",
    "request_id",  # a new UUID for each request
]
"""Variables of header values, written ``{client_address}``. ``{{`` and ``}}`` stand for braces."""
VARIABLES: tuple[str, ...] = get_args(Variable)

ErrorStatus = Literal["400", "403", "408", "413", "429", "500", "502", "503", "504"]
"""Statuses of responses that a device makes itself, for which an error page can be given."""
SecurityHeaders = Literal["basic", "strict"]

_FRAMING_HEADERS = frozenset(
    ("connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
     "upgrade")
)  # fmt: skip
"""Header names that a service may not change: they delimit or route messages."""
_RESERVED_PREFIX = "x-ssl-"
"""Beginning of the names of headers about client certificates, which members trust (``insert_headers``)."""
_NAME = r"\A[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}\Z"
_MEDIA_TYPE = r"\A[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+(; ?charset=[A-Za-z0-9-]+)?\Z"

Seconds = Annotated[int, Meta(ge=1, le=86_400)]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Token = Annotated[str, Meta(pattern=_NAME)]
HeaderName = Token
HeaderValue = Annotated[str, Meta(pattern=r"\A[ -~]+\Z", max_length=HEADER_VALUE_CHARACTERS_MAX)]
CookieName = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_.-]{1,128}\Z")]
HaproxyLine = Annotated[str, Meta(pattern=r"\A[ -~]+\Z", max_length=1024)]
ContentType = Annotated[str, Meta(pattern=_MEDIA_TYPE, max_length=100)]
Network = Annotated[str, Meta(max_length=64)]
Networks = Annotated[tuple[Network, ...], Meta(min_length=1, max_length=NETWORKS_MAX)]

SECURITY_HEADERS: Mapping[SecurityHeaders, Mapping[str, str]] = MappingProxyType(
    {
        "basic": {
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "SAMEORIGIN",
            "Referrer-Policy": "strict-origin-when-cross-origin",
        },
        "strict": {
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; object-src 'none'; base-uri 'self'",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        },
    }
)
"""Headers of each named set, as in OWASP's Secure Headers Project."""


class HttpsRedirect(Value):
    """Redirects requests without TLS to the same host and path with https."""

    code: Literal[301, 302, 307, 308] = 301
    port: Annotated[int, Meta(ge=1, le=65_535)] = 443


class HeaderChanges(Value):
    """Changes of the headers of requests or responses: first ``remove``, then ``set``, then ``add``."""

    remove: Annotated[tuple[HeaderName, ...], Meta(max_length=HEADERS_MAX)] = ()
    set: Annotated[dict[HeaderName, HeaderValue], Meta(max_length=HEADERS_MAX)] = {}
    add: Annotated[dict[HeaderName, HeaderValue], Meta(max_length=HEADERS_MAX)] = {}

    def __post_init__(self) -> None:
        """Raise :class:`ValueError` for a header that may not be changed, and for a value with an unknown
        variable or a single brace.
        """
        for name in (*self.remove, *self.set, *self.add):
            if name.lower() in _FRAMING_HEADERS or name.lower().startswith(_RESERVED_PREFIX):
                raise ValueError(
                    f"header {name!r}: any but {', '.join(sorted(_FRAMING_HEADERS))} and {_RESERVED_PREFIX}* is allowed"
                )
        _ = self.variables  # raises for an invalid value

    @property
    def variables(self) -> frozenset[str]:
        """Names of the variables in the values to set and to add. Raises :class:`ValueError` for an unknown
        variable or a single brace.
        """
        values = (*self.set.values(), *self.add.values())
        return frozenset(name for value in values for _, name in template_words(value) if name)


class RequestRate(Value):
    """At most ``requests`` in any ``interval`` seconds with the same key: the client's address, or the value
    of the header ``header`` or the cookie ``cookie``. Each device counts for itself, except that a pair of
    HAProxys shares its counts.

    Requests beyond the limit are answered with ``status`` and ``Retry-After``. Requests without the header or
    cookie are not limited.
    """

    requests: Count
    interval: Annotated[int, Meta(ge=1, le=3600)] = 10
    header: Token | None = None
    cookie: Token | None = None
    status: Literal[429, 503] = 429

    def __post_init__(self) -> None:
        """Raise :class:`ValueError` if both a header and a cookie are given as the key."""
        if self.header is not None and self.cookie is not None:
            raise ValueError("header and cookie: one of both is allowed")


class ResponsePage(Value):
    """Body of a response that the device makes itself, at most :data:`BODY_BYTES_MAX` bytes in UTF-8."""

    body: Annotated[str, Meta(min_length=1, max_length=BODY_BYTES_MAX)]
    content_type: ContentType = "text/html; charset=utf-8"

    def __post_init__(self) -> None:
        """Raise :class:`ValueError` for a body that is too large or holds a zero byte."""
        if len(self.body.encode()) > BODY_BYTES_MAX:
            raise ValueError(f"body: {len(self.body.encode())} bytes; at most {BODY_BYTES_MAX} are allowed")
        if "\0" in self.body:
            raise ValueError("body: text without zero bytes is allowed")


class Maintenance(ResponsePage):
    """Answers every request with 503, the page and ``Retry-After`` (``retry_after`` seconds); no request
    reaches a member.
    """

    retry_after: Seconds = 300


class Compression(Value):
    """Compresses responses of the content types ``types`` with gzip for clients that accept it, if they have
    at least ``minimum_size`` bytes (None: the device type's own minimum).
    """

    types: Annotated[tuple[ContentType, ...], Meta(min_length=1, max_length=32)] = (
        "text/html",
        "text/plain",
        "text/css",
        "text/javascript",
        "application/javascript",
        "application/json",
        "application/xml",
        "image/svg+xml",
    )
    minimum_size: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None


class MemberConnectionLimit(Value):
    """Limits each member to ``connections`` at the same time; further requests (with TCP: connections) wait.

    At most ``queue`` of a pool wait, each at most ``wait`` seconds; others are answered with 503 (with TCP: refused).
    """

    connections: Count
    queue: Annotated[int, Meta(ge=1, le=100_000)] = 100
    wait: Annotated[int, Meta(ge=1, le=3600)] = 10


class Timeouts(Value):
    """Time-outs in seconds; None: not set here. ``request``: until a request's headers are complete;
    ``keep_alive``: between requests of a connection; ``tunnel``: without data in either direction after an
    upgrade (WebSocket) or, with TCP, at any time.
    """

    request: Seconds | None = None
    keep_alive: Seconds | None = None
    tunnel: Seconds | None = None


LOGGED_PATH_BYTES_MAX, LOGGED_VALUE_BYTES_MAX = 1024, 256
"""Lengths to which a path, and another value that a client gave, are shortened in a line of an access log."""


class AccessLog(Value):
    """Logs each request as one line of JSON to a syslog server (RFC 5424), at most ``lines_per_second``.

    ``target``: ``address:port``, an IPv6 address in brackets; no name, because the devices' hosts would
    resolve it later, and the result could not be checked. ``query``: whether the path includes its query,
    which often holds secrets.
    """

    target: Annotated[str, Meta(max_length=64)]
    protocol: Literal["udp", "tcp"] = "udp"
    lines_per_second: Annotated[int, Meta(ge=1, le=10_000)] = 1000
    query: bool = False

    def __post_init__(self) -> None:
        """Raise :class:`ValueError` for a target that is no address and port."""
        _ = self.address, self.port

    @property
    def address(self) -> str:
        """IP address of the target in canonical form. Raises :class:`ValueError` if the target has none."""
        host, _, _ = self.target.rpartition(":")
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        try:
            # an IPv6 address without brackets would have its last group taken for the port
            if (":" in bare) != (bare != host):
                raise ValueError
            return str(parsed_address(bare))
        except ValueError:
            raise self._target_error() from None

    @property
    def port(self) -> int:
        """Port of the target. Raises :class:`ValueError` if the target has none from 1 to 65535."""
        _, _, text = self.target.rpartition(":")
        if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 65_535):
            raise self._target_error()
        return int(text)

    def _target_error(self) -> ValueError:
        return ValueError(f"target: {self.target!r}: ADDRESS:PORT, as 192.0.2.1:514 or [2001:db8::1]:514, is allowed")


class CookieEncryption(Value):
    """Encrypts cookies for clients: those of members named in ``cookies``, and the one that session
    persistence by HTTP_COOKIE sets. Members get the plain values.
    """

    cookies: Annotated[tuple[CookieName, ...], Meta(max_length=32)] = ()


class Parts(Value):
    """The parts of one definition; None or empty: the definition does not have this part.

    ``allow``: networks from which connections are accepted, all others are refused; ``deny``: networks from which they
    are refused. ``drain``: seconds after which the open connections of a member that was removed or disabled are
    closed. ``haproxy_lines``: further lines of HAProxy's configuration, for the listener's frontend.
    """

    allow: Networks | None = None
    deny: Networks | None = None
    connection_limit_per_source: Count | None = None
    rate_limit: RequestRate | None = None
    maintenance: Maintenance | None = None
    https_redirect: HttpsRedirect | None = None
    request_headers: HeaderChanges | None = None
    response_headers: HeaderChanges | None = None
    security_headers: SecurityHeaders | None = None
    error_pages: Annotated[dict[ErrorStatus, ResponsePage], Meta(min_length=1)] | None = None
    compression: Compression | None = None
    timeouts: Timeouts | None = None
    access_log: AccessLog | None = None
    member_connection_limit: MemberConnectionLimit | None = None
    drain: Seconds | None = None
    cookie_encryption: CookieEncryption | None = None
    haproxy_lines: Annotated[tuple[HaproxyLine, ...], Meta(min_length=1, max_length=32)] | None = None

    def __post_init__(self) -> None:
        """Raise :class:`ValueError` for an invalid network."""
        for field, networks in (("allow", self.allow), ("deny", self.deny)):
            for text in networks or ():
                _check_network(field, text)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts that the definition has."""
        return tuple(name for name in PARTS if getattr(self, name) is not None)

    @property
    def tunnel(self) -> int | None:
        """Time-out of tunnels in seconds; None if the definition sets none."""
        return self.timeouts.tunnel if self.timeouts is not None else None

    def changed_settings(self, part: str) -> tuple[str, ...]:
        """Return the names of those settings of a part that differ from their defaults; empty if the
        definition does not have the part, or the part is one value without settings.
        """
        value = getattr(self, part)
        if not isinstance(value, Struct):
            return ()
        return tuple(each.name for each in structs.fields(value) if getattr(value, each.name) != _default_value(each))


def _default_value(field: structs.FieldInfo) -> object:
    # msgspec makes a factory of an empty dictionary as the default.
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


PARTS: tuple[str, ...] = Parts.__struct_fields__
NO_PARTS = Parts()


def parts_report(parts: Parts) -> dict[str, str]:
    """Return ``{part: its settings as JSON}``; for the body of a page its size and digest, because bodies may
    be large.
    """
    return {name: json.encode(_summarize_bodies(to_builtins(getattr(parts, name)))).decode() for name in parts.names}


def _summarize_bodies(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _body_summary(each) if name == "body" else _summarize_bodies(each) for name, each in value.items()}


def _body_summary(body: str) -> str:
    content = body.encode()
    return f"{len(content)} bytes, sha256 {sha256(content).hexdigest()[:12]}"


def template_words(text: str) -> list[tuple[str, str]]:
    """Split a header value into pairs of literal text and the variable that follows it (empty at the end).

    Raises :class:`ValueError` for an unknown variable or a single brace.
    """
    allowed = ", ".join(f"{{{name}}}" for name in VARIABLES)
    try:
        found = list(Formatter().parse(text))
    except ValueError:
        raise ValueError(
            f"{text!r}: a single brace; {{{{ and }}}} stand for braces, and variables are {allowed}"
        ) from None
    words = []
    for literal, name, form, conversion in found:
        if name is not None and (name not in VARIABLES or form or conversion):
            raise ValueError(f"{text!r}: {{{name}}} is no variable; allowed are {allowed}")
        words.append((literal, name or ""))
    return words


def _check_network(field: str, text: str) -> None:
    try:
        ipaddress.ip_network(text, strict=True)
    except ValueError as error:
        raise ValueError(f"{field}: {text!r}: an IPv4 or IPv6 network is allowed ({error})") from None
