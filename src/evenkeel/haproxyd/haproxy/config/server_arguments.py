"""Extracts the settings of health checks and TLS from the arguments of a ``server`` line. Pure.

Source of the words: HAProxy configuration manual, 5.2.
"""

import functools
from collections.abc import Collection, Iterator

import msgspec

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.network.destinations import server_argument_words

SERVER_ADDRESS_FOR_CHECKS = "-"
"""Check address of a server that is checked at its own address, as the runtime API shows it."""
UNSET_ADDRESS = "0.0.0.0"  # noqa: S104 - nothing is bound
"""Check address with which the runtime API lets a server be checked at its own address again."""
SERVER_PORT_FOR_CHECKS = 0
"""Check port of a server that is checked at its own port, as the runtime API shows it."""
_ARGUMENTS_WITH_VALUE = frozenset(
    (
        "addr", "agent-addr", "agent-inter", "agent-port", "agent-send", "alpn", "ca-file", "check-alpn",
        "check-pool-conn-name", "check-proto", "check-sni", "ciphers", "ciphersuites", "client-sigalgs", "cookie",
        "crl-file", "crt", "curves", "downinter", "ech", "error-limit", "fall", "fastinter", "guid", "hash-key", "id",
        "init-addr", "init-state", "inter", "log-bufsize", "log-proto", "max-reuse", "maxconn", "maxqueue", "minconn",
        "namespace", "npn", "observe", "on-error", "on-marked-down", "on-marked-up", "pool-conn-name",
        "pool-low-conn", "pool-max-conn", "pool-purge-delay", "port", "proto", "proxy-v2-options", "redir",
        "resolve-net", "resolve-opts", "resolve-prefer", "resolvers", "rise", "shard", "sigalgs", "slowstart", "sni",
        "socks4", "source", "ssl-max-ver", "ssl-min-ver", "tcp-ut", "track", "usesrc", "verify", "verifyhost",
        "weight", "ws",
    )
)  # fmt: skip
"""Arguments followed by a value, which may be spelled as another argument: ``check-sni ssl`` checks a host ``ssl``."""


_CHECK_ARGUMENTS = frozenset(
    {"check", "inter", "rise", "fall", "check-ssl", "check-sni", "check-alpn", "check-send-proxy", "verify"}
)
"""Arguments that affect only health checks, on a server without TLS; with TLS, all of them but ``verify``."""
_CHECK_LINES = ("timeout check ", "option httpchk", "http-check ")


class ServerArguments(Value):
    """Parsed arguments of a HAProxy ``server`` line, as far as they decide how the server's health is
    checked.

    ``tracks``: whether the server takes over the health of another server. ``check_address``, ``check_port``:
    :data:`SERVER_ADDRESS_FOR_CHECKS`, :data:`SERVER_PORT_FOR_CHECKS` if not given. ``implied_in_checks``: arguments
    that HAProxy derives for the server's checks when it reads the file, but not when a server is added at runtime (2.6
    to 3.4).
    """

    tls: bool = False
    checked: bool = False
    checked_over_tls: bool = False
    tracks: bool = False
    check_address: str = SERVER_ADDRESS_FOR_CHECKS
    check_port: int = SERVER_PORT_FOR_CHECKS
    implied_in_checks: tuple[str, ...] = ()


def parse_server_arguments(server: wire.BackendServer) -> ServerArguments:
    """Parse the arguments of a ``server`` line; the last 4096 results are cached."""
    return _parse_arguments(server_argument_words(server))


@functools.lru_cache(maxsize=4096)
def _parse_arguments(words: tuple[str, ...]) -> ServerArguments:
    found = dict(_argument_pairs(words))
    port = found.get("port", "")
    return ServerArguments(
        tls="ssl" in found,
        checked="check" in found,
        checked_over_tls="check" in found and ("ssl" in found or "check-ssl" in found),
        tracks="track" in found,
        check_address=found.get("addr", SERVER_ADDRESS_FOR_CHECKS).removeprefix("[").removesuffix("]"),
        # isdigit() alone accepts characters that int() refuses, such as superscript digits.
        check_port=int(port) if port.isascii() and port.isdigit() else SERVER_PORT_FOR_CHECKS,
        implied_in_checks=tuple(_arguments_implied_in_checks(found.keys())),
    )


def _arguments_implied_in_checks(names: Collection[str]) -> Iterator[str]:
    """Yield the arguments that HAProxy derives for the checks of a server with the arguments ``names`` in the
    file.

    Checks use TLS and the PROXY header as traffic does, unless they go to another address or port.
    """
    if "check" not in names or "addr" in names or "port" in names:
        return
    if "ssl" in names and "check-ssl" not in names:
        yield "check-ssl"
    if any(name.startswith("send-proxy") for name in names) and "check-send-proxy" not in names:
        yield "check-send-proxy"


def only_check_address_differs(old: wire.BackendServer, new: wire.BackendServer) -> bool:
    """Whether the servers' arguments differ at most in address and port of health checks, and these change
    nothing else about the checks.

    Checks use TLS and the PROXY header as traffic does only where they go to its address and port.
    """
    words = _without_check_address(old)
    found = _parse_arguments(words)
    return words == _without_check_address(new) and found.checked and not found.implied_in_checks


def _without_check_address(server: wire.BackendServer) -> tuple[str, ...]:
    pairs = (pair for pair in _argument_pairs(server_argument_words(server)) if pair[0] not in ("addr", "port"))
    return tuple(word for pair in pairs for word in pair if word)


def remove_health_checks(backend: wire.Backend) -> wire.Backend | None:
    """Return the backend without its health checks; None if it has no check lines, or the runtime API cannot
    end its checks so that nothing differs.

    The runtime API cannot do so if the checks' arguments are not the server's last arguments, or the checks
    go to another address or port, which the process would continue to show.
    """
    servers = tuple(map(_remove_server_checks, backend.servers))
    lines = tuple(line for line in backend.lines if not line.startswith(_CHECK_LINES))
    if lines == backend.lines or None in servers:
        return None
    return msgspec.structs.replace(backend, lines=lines, servers=tuple(one for one in servers if one is not None))


def _remove_server_checks(server: wire.BackendServer) -> wire.BackendServer | None:
    words = server.arguments
    if "check" not in words:
        return server
    place = words.index("check")
    of_checks = dict(_argument_pairs(words[place:])).keys()
    if not of_checks <= _CHECK_ARGUMENTS or ("ssl" in words[:place] and "verify" in of_checks):
        return None
    return msgspec.structs.replace(server, arguments=words[:place])


def _argument_pairs(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield each argument with its value; the value is empty for an argument without one."""
    rest = iter(words)
    for word in rest:
        yield word, next(rest, "") if word in _ARGUMENTS_WITH_VALUE else ""
