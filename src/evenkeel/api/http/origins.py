"""The origin rule: a web page of another site may not write here, nor start work of agents.

A browser attaches the credentials that it stores for this address (basic authentication, client certificates) to
requests of any page, and sends POST requests with a plain content type without a CORS preflight. So every request that
may change something is refused if its browser names another origin: by ``Sec-Fetch-Site`` (Fetch Metadata), or, where a
browser sends none (over plain HTTP), by an ``Origin`` whose host is not that of ``Host``. Clients that are no browsers
send neither header.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from evenkeel.api.identity.caller import Headers
from evenkeel.api.responses.errors import Refusal, shorten

_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES = frozenset({b"same-origin", b"none"})
"""Values of ``Sec-Fetch-Site`` that may write. ``none``: the user's own act, for example by a bookmark."""


class OriginRule:
    """Rule about the origins of web pages that may write; pages of the API's own address always may."""

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        """Initialize the rule. ``trusted``: further origins, each ``scheme://host[:port]``. Raises :class:`ValueError`
        naming a wrong one.
        """
        self._trusted = frozenset(_checked_origin(origin).encode() for origin in trusted)

    def check_origin(self, method: str, headers: Headers) -> None:
        """Check the origin of a request. Raises :class:`Refusal` (403) for a writing request from a web page
        of another origin that is not trusted.
        """
        if method in _READING_METHODS:
            return
        origin = headers.get(b"origin", b"")
        if origin.lower() in self._trusted:
            return
        site = headers.get(b"sec-fetch-site", b"")
        if site in _OWN_SITES if site else not origin or _is_host_of_origin(headers.get(b"host", b""), origin):
            return
        raise Refusal(
            403,
            f"A web page of origin '{shorten(origin.decode('latin-1'), 128)}' sent this request. Allowed: pages of this"
            " address, and origins in [api] trusted_origins.",
        )


def _checked_origin(origin: str) -> str:
    parts = urlsplit(origin.lower())
    if (
        parts.scheme not in ("http", "https")
        or not parts.netloc
        or f"{parts.scheme}://{parts.netloc}" != origin.lower()
    ):
        raise ValueError(f"api.trusted_origins: {origin[:128]!r} is not an origin. Allowed: http(s)://host[:port].")
    return origin.lower()


def _is_host_of_origin(host: bytes, origin: bytes) -> bool:
    """Whether an origin has this host and port; an origin without a host (``null``) never has."""
    _, _, named = origin.lower().partition(b"://")
    return bool(named) and named == host.lower()
