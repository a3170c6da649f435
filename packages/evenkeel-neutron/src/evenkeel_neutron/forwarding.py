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

ROOT = "/neutron/v2.0"
"""Path of the controllers' API in Neutron's style."""
BYTES_MAX = 8 * 1024 * 1024
"""Largest body of a request, and of an answer."""
_TO_CONTROLLER = ("X-Auth-Token", "Content-Type", "Accept", "X-Openstack-Request-Id")
_TO_CALLER = ("Content-Type", "Location", "Retry-After", "X-Openstack-Request-Id")
_READS = ("GET", "HEAD", "OPTIONS")
_ANOTHER_MAY_DO = (502, 503, 504)
"""Statuses of a controller that is ill; another one is asked if the request reads."""
_PIECE_BYTES = 64 * 1024


class Settings(NamedTuple):
    """The controllers, and how long they may take, in seconds. ``ca_file``: None for the system's CAs."""

    urls: tuple[str, ...]
    ca_file: str | None = None
    connect_seconds: float = 2.0
    read_seconds: float = 60.0


class Inquiry(NamedTuple):
    """A request for a load balancer. ``path``: below ``/v2.0``, quoted, with its leading slash."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    root: str
    """The URL under which the caller sees ``/v2.0``, for links in answers."""


class Reply(NamedTuple):
    """An answer to the caller."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _AnswerTooLarge(Exception):
    """A controller's response is larger than :data:`BYTES_MAX`."""


class Forwarder:
    """Forwards requests. Connections belong to the process that opened them: Neutron forks its workers."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._sessions: dict[int, requests.Session] = {}
        self._preferred = 0

    def forward(self, inquiry: Inquiry) -> Reply:
        """Return a controller's response; 503 if there is none, 413 or 502 if a body is too large, 404 for a
        path with ``..``, by which another API would be reached. Does not raise. Writes are sent to a
        second controller only if the first got no connection.
        """
        if any(unquote(part) in (".", "..") for part in inquiry.path.split("/")):
            return _error(404, "NotFound", "There is no such path.")
        if len(inquiry.body) > BYTES_MAX:
            return _error(413, "RequestTooLarge", f"The request has more than {BYTES_MAX} bytes.")
        problems = []
        for url in self._order():
            try:
                reply = self._exchange(url, inquiry)
            except _AnswerTooLarge:
                return _error(502, "BadGateway", f"The answer has more than {BYTES_MAX} bytes: ask for fewer objects.")
            except requests.RequestException as error:
                problems.append(f"{url}: {type(error).__name__}")
                if inquiry.method in _READS or _was_not_sent(error):
                    continue
                break
            if reply.status in _ANOTHER_MAY_DO and inquiry.method in _READS:
                problems.append(f"{url}: {reply.status}")
                continue
            self._preferred = self._settings.urls.index(url)
            return reply
        LOG.error("no controller of load balancers answered: %s", "; ".join(problems))
        return _error(503, "ServiceUnavailable", "The service for load balancers cannot be reached; try again later.")

    def _order(self) -> Iterator[str]:
        urls, first = self._settings.urls, self._preferred
        yield from (*urls[first:], *urls[:first])

    def _exchange(self, url: str, inquiry: Inquiry) -> Reply:
        headers = {name: value for name in _TO_CONTROLLER if (value := inquiry.headers.get(name))}
        query = f"?{inquiry.query}" if inquiry.query else ""
        with self._session().request(
            inquiry.method,
            f"{url}{ROOT}{inquiry.path}{query}",
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
            kept = {name: value for name in _TO_CALLER if (value := answer.headers.get(name))}
            return Reply(answer.status_code, kept, with_links(body, f"{url}{ROOT}", inquiry.root))

    def _session(self) -> requests.Session:
        session = self._sessions.get(os.getpid())
        if session is None:
            session = requests.Session()
            session.trust_env = False
            session.verify = self._settings.ca_file or True
            self._sessions = {os.getpid(): session}
        return session


def with_links(body: bytes, root: str, wanted: str) -> bytes:
    """Return the body of a list with links to further pages below ``wanted`` in place of ``root``; any other
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
                link["href"] = wanted + link["href"].removeprefix(root)
    return json.dumps(document).encode()


def _was_not_sent(error: requests.RequestException) -> bool:
    """Whether the request failed because no connection could be made."""
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    return isinstance(error, requests.ConnectTimeout) or isinstance(reason, NewConnectionError)


def _error(status: int, kind: str, message: str) -> Reply:
    body = {"NeutronError": {"type": kind, "message": message, "detail": ""}}
    return Reply(status, {"Content-Type": "application/json"}, json.dumps(body).encode())
