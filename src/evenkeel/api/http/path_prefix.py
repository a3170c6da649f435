"""The path below which clients reach the API behind a proxy that removes it, such as ``/load-balancer``."""

import re
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

from evenkeel.api.identity.caller import peer_of
from evenkeel.serving.peers import Network, is_in_networks

STATE = "path_prefix"
"""Key, in a request's ``state``, of the path prefix below which the client reaches the API."""
HEADER = b"x-forwarded-prefix"
CHARACTERS_MAX = 128
# "." alone and ".." would be resolved by clients
_PREFIX_PATTERN = re.compile(r"(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~-]+)+")


def checked_prefix(text: str) -> str:
    """Return the prefix without a slash at its end; empty for none. Raises :class:`ValueError` for a text
    that is no path like ``/name/name``, or has more than :data:`CHARACTERS_MAX` characters.
    """
    prefix = text.rstrip("/")
    if prefix and (len(prefix) > CHARACTERS_MAX or _PREFIX_PATTERN.fullmatch(prefix) is None):
        raise ValueError(
            f"{text[:CHARACTERS_MAX]!r} is not a path prefix. Allowed: /name or /name/name of letters, digits, . _ ~ -,"
            f" at most {CHARACTERS_MAX} characters."
        )
    return prefix


class PathPrefix:
    """ASGI application that adds the prefix to requests' state.

    ``default``: the configured prefix; a header X-Forwarded-Prefix of a connection from ``proxies`` takes its place. An
    invalid header is ignored: it must not refuse requests, nor become part of a link.
    """

    def __init__(self, app: Callable[..., Any], *, default: str, proxies: Iterable[Network]) -> None:
        self._app = app
        self._default = default
        self._proxies = tuple(proxies)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope.setdefault("state", {})[STATE] = self._request_prefix(scope)
        await self._app(scope, receive, send)

    def _request_prefix(self, scope: MutableMapping[str, Any]) -> str:
        given = [value for name, value in scope["headers"] if name == HEADER]
        if len(given) != 1 or not is_in_networks(peer_of(scope).host, self._proxies):
            return self._default
        try:
            return checked_prefix(given[0].decode("latin-1"))
        except ValueError:
            return self._default
