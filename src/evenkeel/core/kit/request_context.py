"""Context of the current API request. The request's id goes from the API through the database and the agent to the
device.

The id of a request is also the identity of the change that it makes (:mod:`evenkeel.core.status.changes`), so it
travels with every definition. An agent sends the ids of the changes that it writes to the device, and both log them.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple
from uuid import uuid4

from evenkeel.core.kit.tracing import tracer

PREFIX = "req-"
"""Prefix of a request id, like that of OpenStack's ``x-openstack-request-id``."""
HEADER = "X-Request-Id"
"""Header of requests to devices: one or more request ids, separated by commas."""
REQUEST_IDS_MAX = 20
"""Maximum number of request ids in one header and in one line of a log."""
USER_MAX = 255
"""Maximum number of characters of a user's name or id that are stored."""
ADDRESS_MAX = 64
"""Maximum number of characters of a client's address that are stored."""

_ID_PATTERN = re.compile(r"req-[0-9a-f-]{36}")


class Requester(NamedTuple):
    """The user and client that sent a request; all attributes are empty outside of a request of the API."""

    user: str = ""
    """The user's name, or the id if there is no name."""
    project_id: str = ""
    request_id: str = ""
    user_id: str = ""
    """The user's id; empty if there is no authentication or it gives users no ids."""
    address: str = ""
    """IP address of the connection's peer, which may be a proxy."""

    @property
    def by_text(self) -> str:
        """Text that names the user, such as ``by alice``; empty outside of a request of the API."""
        return f"by {self.user or 'an unnamed user'}" if self.request_id else ""


NO_REQUESTER = Requester()


class _Request:
    """State of the current request. ``change_id``: id of the request, until a change uses it; empty
    afterwards. ``statements``: number of SQL statements so far.
    """

    __slots__ = ("change_id", "requester", "statements")

    def __init__(self, change_id: str) -> None:
        self.change_id = change_id
        self.statements = 0
        self.requester = Requester(request_id=PREFIX + change_id)


_request: ContextVar[_Request | None] = ContextVar("request", default=None)
_device_write_request_ids: ContextVar[str] = ContextVar("written_request_ids", default="")


def begin_request() -> str:
    """Begin the context of a new request in this task; return the request's id, for answers and logs."""
    change_id = str(uuid4())
    # Never reset: the server handles each request in a task, and thus in a context, of its own.
    _request.set(_Request(change_id))
    return PREFIX + change_id


def record_request_user(*, name: str, user_id: str, project_id: str, address: str) -> None:
    """Record the user and client of the current request, after authentication; long texts are cut. Does
    nothing outside of a request.
    """
    request = _request.get()
    if request is not None:
        request.requester = request.requester._replace(
            user=_storable_text(name or user_id, USER_MAX),
            user_id=_storable_text(user_id, USER_MAX),
            project_id=project_id,
            address=_storable_text(address, ADDRESS_MAX),
        )


def _storable_text(text: str, characters_max: int) -> str:
    # PostgreSQL stores no NUL
    return text.replace("\0", "")[:characters_max]


def requester() -> Requester:
    """Return the user who sent the current request; outside of a request :data:`NO_REQUESTER`."""
    request = _request.get()
    return NO_REQUESTER if request is None else request.requester


def new_change_id() -> str:
    """Return the id of the current request (without :data:`PREFIX`) at the first call, and a random id at
    later calls and outside of requests.

    A transaction that runs again, or a second change of one request, must not have the identity of another
    change that a database may have stored and lost.
    """
    request = _request.get()
    if request is None:
        return str(uuid4())
    if not request.change_id:
        another = str(uuid4())
        tracer().start_linked_trace(another)
        return another
    change_id, request.change_id = request.change_id, ""
    return change_id


def count_sql_statement() -> None:
    """Count one SQL statement of the current request; nothing outside of a request."""
    request = _request.get()
    if request is not None:
        request.statements += 1


def sql_statement_count() -> int:
    """Return the number of SQL statements of the current request; 0 outside of a request."""
    request = _request.get()
    return 0 if request is None else request.statements


def request_ids_text(change_ids: Iterable[str]) -> str:
    """Return the ids of the requests that made these changes, sorted, at most :data:`REQUEST_IDS_MAX`,
    separated by commas for a log or a header. Empty change ids are left out.

    A change without a request (a certificate was renewed, for example) has an id, too.
    """
    # sorted, so that equal changes give equal texts
    named = sorted({PREFIX + change_id for change_id in change_ids if change_id})
    return ",".join(named[:REQUEST_IDS_MAX])


@contextmanager
def request_ids_for_devices(ids: str) -> Iterator[None]:
    """Set the text of request ids (see :func:`request_ids_text`) that accompanies requests to devices, for
    this task and tasks that it starts, until the block ends.
    """
    token = _device_write_request_ids.set(ids)
    try:
        yield
    finally:
        _device_write_request_ids.reset(token)


def request_ids_of_device_write() -> str:
    """Return the text set by :func:`request_ids_for_devices`; empty outside of its block."""
    return _device_write_request_ids.get()


def parse_request_ids(text: str) -> tuple[str, ...]:
    """Return the request ids in a client's header, in order, at most :data:`REQUEST_IDS_MAX`; entries that
    are no valid ids are left out.
    """
    # cut first: a client may send a header of any length
    return tuple(_ID_PATTERN.findall(text[: (len(PREFIX) + 37) * REQUEST_IDS_MAX]))
