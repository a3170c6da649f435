"""Forwarding of one request to the first controller that can be reached."""

import json
import logging
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

import requests
from urllib3.exceptions import NewConnectionError

LOG = logging.getLogger(__name__)

API_ROOT = "/neutron/v2.0"
"""Path of the controllers' API in Neutron's style."""
BYTES_MAX = 8 * 1024 * 1024
"""Largest body of a request, and of an answer."""
_REQUEST_HEADERS = ("X-Auth-Token", "Content-Type", "Accept", "X-Openstack-Request-Id")
_RESPONSE_HEADERS = ("Content-Type", "Location", "Retry-After", "X-Openstack-Request-Id")
_READ_METHODS = ("GET", "HEAD", "OPTIONS")
_RETRY_ELSEWHERE_STATUSES = (502, 503, 504)
"""Statuses of a controller that is ill; another one is asked if the request reads."""
_PIECE_BYTES = 64 * 1024


class ForwarderSettings(NamedTuple):
    """The controllers, and how long they may take, in seconds. ``ca_file``: None for the system's CAs."""

    urls: tuple[str, ...]
    ca_file: str | None = None
    connect_seconds: float = 2.0
    read_seconds: float = 60.0


class ForwardedRequest(NamedTuple):
    """A request for a load balancer. ``path``: below ``/v2.0``, quoted, with its leading slash."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    root: str
    """The URL under which the caller sees ``/v2.0``, for links in answers."""


class ForwardedReply(NamedTuple):
    """An answer to the caller."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _AnswerTooLarge(Exception):
    """A controller's response is larger than :data:`BYTES_MAX`."""


class Forwarder:
    """Forwards requests. Connections belong to the process that opened them: Neutron forks its workers."""

    def __init__(self, settings: ForwarderSettings) -> None:
        self._settings = settings
        self._sessions: dict[int, requests.Session] = {}
        self._preferred = 0

    def forward(self, inquiry: ForwardedRequest) -> ForwardedReply:
        """Return a controller's response; 503 if there is none, 413 or 502 if a body is too large, 404 for a
        path with ``..``, by which another API would be reached. Does not raise. Writes are sent to a
        second controller only if the first got no connection.
        """
        if any(unquote(part) in (".", "..") for part in inquiry.path.split("/")):
            return _error_reply(404, "NotFound", "There is no such path.")
        if len(inquiry.body) > BYTES_MAX:
            return _error_reply(413, "RequestTooLarge", f"The request has more than {BYTES_MAX} bytes.")
        problems = []
        for url in self._order():
            try:
                reply = self._exchange(url, inquiry)
            except _AnswerTooLarge:
                return _error_reply(
                    502, "BadGateway", f"The answer has more than {BYTES_MAX} bytes: ask for fewer objects."
                )
            except requests.RequestException as error:
                problems.append(f"{url}: {type(error).__name__}")
                if inquiry.method in _READ_METHODS or _was_not_sent(error):
                    continue
                break
            if reply.status in _RETRY_ELSEWHERE_STATUSES and inquiry.method in _READ_METHODS:
                problems.append(f"{url}: {reply.status}")
                continue
            self._preferred = self._settings.urls.index(url)
            return reply
        LOG.error("no controller of load balancers answered: %s", "; ".join(problems))
        return _error_reply(
            503, "ServiceUnavailable", "The service for load balancers cannot be reached; try again later."
        )

    def _order(self) -> Iterator[str]:
        urls, first = self._settings.urls, self._preferred
        yield from (*urls[first:], *urls[:first])

    def _exchange(self, url: str, inquiry: ForwardedRequest) -> ForwardedReply:
        headers = {name: value for name in _REQUEST_HEADERS if (value := inquiry.headers.get(name))}
        query = f"?{inquiry.query}" if inquiry.query else ""
        with self._session().request(
            inquiry.method,
            f"{url}{API_ROOT}{inquiry.path}{query}",
            data=inquiry.body or None,
            headers=headers,
            timeout=(self._settings.connect_seconds, self._settings.read_seconds),
            allow_redirects=False,
            stream=True,
        ) as answer:
            body = b""
            for piece in answer.iter_content(_PIECE_BYTES):
                body += piece
                if len(body) > BYTES_MAX:
                    raise _AnswerTooLarge
            kept = {name: value for name in _RESPONSE_HEADERS if (value := answer.headers.get(name))}
            return ForwardedReply(answer.status_code, kept, replace_links(body, f"{url}{API_ROOT}", inquiry.root))

    def _session(self) -> requests.Session:
        session = self._sessions.get(os.getpid())
        if session is None:
            session = requests.Session()
            session.trust_env = False
            session.verify = self._settings.ca_file or True
            self._sessions = {os.getpid(): session}
        return session


def replace_links(body: bytes, root: str, wanted_root: str) -> bytes:
    """Return the body of a list with links to further pages below ``wanted_root`` in place of ``root``; any other
    body unchanged.
    """
    if b'_links"' not in body:
        return body
    try:
        document: Any = json.loads(body)
    except ValueError:
        return body
    if not isinstance(document, dict):
        return body
    for name, links in document.items():
        for link in links if name.endswith("_links") and isinstance(links, list) else ():
            if isinstance(link, dict) and str(link.get("href", "")).startswith(f"{root}/"):
                link["href"] = wanted_root + link["href"].removeprefix(root)
    return json.dumps(document).encode()


def _was_not_sent(error: requests.RequestException) -> bool:
    """Whether the request failed because no connection could be made."""
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    return isinstance(error, requests.ConnectTimeout) or isinstance(reason, NewConnectionError)


def _error_reply(status: int, kind: str, message: str) -> ForwardedReply:
    body = {"NeutronError": {"type": kind, "message": message, "detail": ""}}
    return ForwardedReply(status, {"Content-Type": "application/json"}, json.dumps(body).encode())
