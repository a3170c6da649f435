"""Validates a load balancer before HAProxy reads any of it.

Configuration arrives as lines. A line must be a single line of bounded length, and contain only what belongs into its
section. A load balancer that breaks a rule is refused; the others are accepted.
"""

import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from evenkeel.core.networking.addresses import ALLOWED_WORDS
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.lines.file_references import FileKinds, forbidden_file_in_expressions
from evenkeel.haproxyd.lines.rules import KEYWORDS_BY_SECTION, line_problem
from evenkeel.haproxyd.network.binds import bind_address
from evenkeel.haproxyd.network.destinations import load_balancer_destinations, server_argument_words
from evenkeel.haproxyd.partition.certificate_references import OUTSIDE_PATH_PATTERN, argument_problems, list_problems
from evenkeel.haproxyd.partition.contents import is_content_missing
from evenkeel.haproxyd.settings import DaemonSettings

NAME_PATTERN = re.compile(wire.NAME_REGEX)
# HAProxy refuses larger weights.
WEIGHT_MAX = 256
MAXCONN_MAX = 2**31 - 1
STICKY_SECONDS_MAX = 7 * 86_400
"""Longest time that clients of datagrams stay bound to a server."""

DRAIN_SECONDS_MAX = 86_400

CONTROL_CHARACTER_PATTERN = re.compile(r"[\x00-\x1f\x7f]")
_QUOTING_CHARACTER_PATTERN = re.compile(r"[\"'\\$#]")
_ADDRESS_ARGUMENTS = frozenset(
    ("agent-addr", "agent-check", "agent-port", "init-addr", "namespace", "resolvers", "socks4", "source", "usesrc")
)
"""Server arguments that set another address, port or network namespace for HAProxy's connections, or let another party
set the server's address or state.
"""


def load_balancer_problem(load_balancer: wire.LoadBalancerConfig, settings: DaemonSettings) -> str:
    """Return the first reason found to refuse this load balancer; empty if it is accepted."""
    return next(filter(None, _load_balancer_problems(load_balancer, settings)), "")


def _load_balancer_problems(load_balancer: wire.LoadBalancerConfig, settings: DaemonSettings) -> Iterator[str]:
    named: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("frontend", tuple(item.name for item in load_balancer.listeners)),
        ("backend", tuple(item.name for item in load_balancer.backends)),
        ("file", tuple(item.name for item in load_balancer.files)),
    )
    for kind, names in named:
        yield from _name_problems(kind, names)
    kinds = {file.name: file.kind for file in load_balancer.files}
    for frontend in load_balancer.frontends:
        yield from _frontend_problems(frontend, settings, kinds)
    for backend in load_balancer.backends:
        yield from _backend_problems(backend, settings, kinds)
    yield from datagram_problems(load_balancer, settings)
    for what, address, port in load_balancer_destinations(load_balancer):
        yield address_problem(what, address, port)
        if problem := settings.addresses.member_problem(address):
            yield f"{what}: address is {address[:100]!r}; {ALLOWED_WORDS} is allowed: {problem}"
    if len(load_balancer.note) > wire.NOTE_CHARS_MAX:
        yield f"note: {len(load_balancer.note)} characters given; at most {wire.NOTE_CHARS_MAX} are allowed"
    yield from _file_problems(load_balancer.files, settings)


def _file_problems(files: tuple[wire.File, ...], settings: DaemonSettings) -> Iterator[str]:
    if len(files) > settings.files_max:
        yield f"files: {len(files)} given; at most {settings.files_max} are allowed"
    kinds = {file.name: file.kind for file in files}
    total = 0
    for file in files:
        # Limits are in bytes, and a content need not be ASCII.
        size = len(file.content.encode())
        total += size
        most = settings.certificate_bytes_max if file.kind == "certificate" else settings.file_bytes_max
        if size > most:
            yield f"file {file.name}: {size} bytes given; at most {most} are allowed"
        if file.sha256 and not NAME_PATTERN.fullmatch(file.sha256):
            yield name_problem(f"file {file.name}: sha256", file.sha256)
        if is_content_missing(file):
            what = "no certificate is held under that name" if not file.sha256 else "none is held of that sha256"
            yield f"file {file.name}: content is empty, and {what}; PEM is allowed"
        if "\0" in file.content:
            yield f"file {file.name}: holds a zero byte; only text is allowed"
        if file.kind == "crt_list":
            yield from list_problems(file, kinds, lines_max=settings.lines_max, line_chars_max=settings.line_chars_max)
    if total > settings.files_bytes_max:
        yield f"files: {total} bytes given; at most {settings.files_bytes_max} are allowed"


def _name_problems(kind: str, names: tuple[str, ...]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if not NAME_PATTERN.fullmatch(name):
            yield name_problem(f"{kind} name", name)
        if count > 1:
            yield f"{kind} {name} is there {count} times; names are unique"


def name_problem(subject: str, name: str) -> str:
    """Return the message for a name that does not match :data:`~evenkeel.haproxyd.wire.NAME_REGEX`; the
    caller has checked that. ``subject``: the named object.
    """
    return f"{subject} is {name[:200]!r}; allowed: {wire.NAME_REGEX}"


def _frontend_problems(frontend: wire.Frontend, settings: DaemonSettings, kinds: FileKinds) -> Iterator[str]:
    what = f"frontend {frontend.name}"
    yield from _bind_problems(what, frontend.binds, settings)
    if frontend.maxconn is not None and not 1 <= frontend.maxconn <= MAXCONN_MAX:
        yield f"{what}: maxconn is {frontend.maxconn}; 1 to {MAXCONN_MAX} is allowed"
    yield from _text_problems(f"{what}: bind_arguments", frontend.bind_arguments, settings)
    words = tuple(word for text in frontend.bind_arguments for word in text.split())
    yield from _argument_problems(f"{what}: bind_arguments", words, kinds)
    if "namespace" in words:
        yield f"{what}: bind_arguments: 'namespace' is not allowed; binds set its addresses"
    yield from _line_problems(what, frontend.lines, KEYWORDS_BY_SECTION["frontend"], settings, kinds)


def _bind_problems(subject: str, binds: tuple[wire.Bind, ...], settings: DaemonSettings) -> Iterator[str]:
    if not binds:
        yield f"{subject}: binds is empty; a frontend listens somewhere"
    for bind in binds:
        yield address_problem(f"{subject}: bind", bind.address, bind.port)
        if problem := settings.addresses.vip_problem(bind.address):
            yield f"{subject}: bind: address is {bind.address[:100]!r}; {ALLOWED_WORDS} is allowed: {problem}"


def datagram_problems(load_balancer: wire.LoadBalancerConfig, settings: DaemonSettings) -> Iterator[str]:
    """Yield reasons to refuse the datagram listeners of a load balancer, and its backends for datagrams:
    their values become parts of kernel rules.
    """
    pools = {backend.name: balance for backend in load_balancer.backends if (balance := backend.datagrams) is not None}
    for listener in load_balancer.datagram_listeners:
        what = f"frontend {listener.name}"
        yield from _bind_problems(what, listener.binds, settings)
        if listener.backend and listener.backend not in pools:
            yield f"{what}: backend is {listener.backend[:100]!r}; a backend with datagrams is allowed"
        elif listener.backend and pools[listener.backend].protocol != listener.protocol:
            served = pools[listener.backend].protocol
            yield f"{what}: protocol is {listener.protocol}; {served}, the backend's, is allowed"
        if listener.flows_max is not None and not 1 <= listener.flows_max <= MAXCONN_MAX:
            yield f"{what}: flows_max is {listener.flows_max}; 1 to {MAXCONN_MAX} is allowed"
        if len(listener.allowed_cidrs) > settings.lines_max:
            yield f"{what}: {len(listener.allowed_cidrs)} allowed_cidrs given; at most {settings.lines_max} are allowed"
        yield from (
            f"{what}: allowed_cidrs has {text[:60]!r}; networks are allowed"
            for text in listener.allowed_cidrs
            if not _is_network(text)
        )
    for backend in load_balancer.backends:
        if backend.datagrams is not None:
            yield from _balance_problems(backend, backend.datagrams)


def _balance_problems(backend: wire.Backend, balance: wire.DatagramBalance) -> Iterator[str]:
    what = f"backend {backend.name}: datagrams"
    if not 0 <= balance.sticky_seconds <= STICKY_SECONDS_MAX:
        yield f"{what}: sticky_seconds is {balance.sticky_seconds}; 0 to {STICKY_SECONDS_MAX} is allowed"
    if balance.sticky_netmask and not _is_address(balance.sticky_netmask):
        yield f"{what}: sticky_netmask is {balance.sticky_netmask[:60]!r}; a netmask is allowed"
    # in one notation, because the kernel compares addresses and not texts
    places = Counter(bind_address(one.address, one.port) for one in backend.servers if _is_address(one.address))
    for (address, port), count in places.items():
        if count > 1:
            yield f"{what}: {count} servers at {address!r} port {port}; one is allowed"


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "%" not in text


def _is_address(text: str) -> bool:
    return not address_problem("", text, 1)


def _backend_problems(backend: wire.Backend, settings: DaemonSettings, kinds: FileKinds) -> Iterator[str]:
    what = f"backend {backend.name}"
    yield from _line_problems(what, backend.lines, KEYWORDS_BY_SECTION["backend"], settings, kinds)
    if len(backend.servers) > settings.servers_max:
        yield f"{what}: {len(backend.servers)} servers given; at most {settings.servers_max} are allowed"
    if not 0 <= backend.drain_seconds <= DRAIN_SECONDS_MAX:
        yield f"{what}: drain_seconds is {backend.drain_seconds}; 0 to {DRAIN_SECONDS_MAX} is allowed"
    yield from _name_problems(f"{what}: server", tuple(server.name for server in backend.servers))
    for server in backend.servers:
        where = f"{what}: server {server.name}"
        if not 0 <= server.weight <= WEIGHT_MAX:
            yield f"{where}: weight is {server.weight}; 0 to {WEIGHT_MAX} is allowed"
        yield from _text_problems(f"{where}: arguments", server.arguments, settings)
        yield from _argument_problems(f"{where}: arguments", server_argument_words(server), kinds)
        for word in server_argument_words(server):
            if word in _ADDRESS_ARGUMENTS:
                yield f"{where}: arguments: {word!r} is not allowed; address, ping_address and addr set its address"


def _line_problems(
    subject: str, lines: tuple[str, ...], keywords: frozenset[str], settings: DaemonSettings, kinds: FileKinds
) -> Iterator[str]:
    if len(lines) > settings.lines_max:
        yield f"{subject}: {len(lines)} lines given; at most {settings.lines_max} are allowed"
    yield from _text_problems(f"{subject}: lines", lines, settings)
    for line in lines:
        if problem := line_problem(line, keywords, kinds):
            yield f"{subject}: {problem}"


def _argument_problems(subject: str, words: tuple[str, ...], kinds: FileKinds) -> Iterator[str]:
    """Yield reasons to refuse arguments: quoting, which could hide a word from validation, and files that are
    not the load balancer's. ``subject``: the object that has the arguments.
    """
    for word in words:
        if _QUOTING_CHARACTER_PATTERN.search(word):
            yield f"{subject}: {word[:60]!r} has a quote, a backslash, a variable or a comment; none is allowed"
        if OUTSIDE_PATH_PATTERN.search(word):
            yield f"{subject}: {word[:60]!r}: files of the load balancer alone, by their names, are allowed"
    if file := forbidden_file_in_expressions(words, kinds):
        yield f"{subject}: {file[:60]!r}: files of the load balancer alone, by their names, are allowed"
    yield from argument_problems(subject, words, kinds)


def _text_problems(subject: str, texts: Iterable[str], settings: DaemonSettings) -> Iterator[str]:
    total = 0
    for text in texts:
        total += len(text)
        if CONTROL_CHARACTER_PATTERN.search(text):
            yield f"{subject}: holds a control character; none is allowed"
        # Arguments become one line of HAProxy's configuration, so their total counts; each of `lines` is a line of its
        # own.
        if len(text) > settings.line_chars_max or (total > settings.line_chars_max and not subject.endswith("lines")):
            yield f"{subject}: {max(len(text), total)} characters; at most {settings.line_chars_max} are allowed"


def address_problem(subject: str, address: str, port: int) -> str:
    """Return the reason why this is not a valid IP address and port from 1 to 65535; empty if it is.
    ``subject``: the object that has the address, for the message.
    """
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return f"{subject}: address is {address[:100]!r}; an IPv4 or IPv6 address is allowed"
    # ip_address() accepts the zone of a link-local address, such as `fe80::1%eth0`.
    if "%" in address:
        return f"{subject}: address is {address[:100]!r}; no zone is allowed"
    return "" if 1 <= port <= 65535 else f"{subject}: port is {port}; 1 to 65535 is allowed"
