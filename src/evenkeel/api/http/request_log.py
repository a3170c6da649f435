"""The log of requests that reach an endpoint. Its entries about writes are the audit trail: for every request
that may change something, the user, the address and the outcome. At debug level every request is logged,
with the number of its SQL statements. Bodies are not logged.
"""

import time

import structlog
from litestar.types import HTTPScope

from evenkeel.api.identity.caller import Caller
from evenkeel.core.kit.request_context import sql_statement_count
from evenkeel.metrics.api import count_request

log = structlog.get_logger(__name__)

READS = frozenset({"GET", "HEAD", "OPTIONS"})
FORBIDDEN = (401, 403)
CALLER = "evenkeel.caller"
"""Key of the admitted caller in the scope's state."""
REASON_MAX = 300


class RequestLog:
    """Log of one request. Create it when the request arrives."""

    __slots__ = ("_audited", "_begun", "_route", "_scope")

    def __init__(self, scope: HTTPScope, route: str, *, audited: bool = True) -> None:
        """Start the log of a request. ``route``: the path with its parameters as placeholders. ``audited``: False if
        the request changes nothing, whatever its method.
        """
        self._scope = scope
        self._route = route
        self._audited = audited
        self._begun = time.monotonic()

    def log_end(self, status: int, error: Exception | None = None) -> None:
        """Log the end of the request with its response's status, and count it in the metrics. ``error``:
        exception that the status stands for; None: none.
        """
        scope = self._scope
        seconds = time.monotonic() - self._begun
        milliseconds = round(seconds * 1000)
        count_request(scope["method"], self._route, status, seconds)
        log.debug(
            "request answered",
            method=scope["method"],
            path=scope["path"],
            status=status,
            statements=sql_statement_count(),
            milliseconds=milliseconds,
            request_id=scope["state"]["request_id"],
        )
        # an attempt without permission belongs to the audit trail, whatever the request would have done
        if scope["method"] in READS or not (self._audited or status in FORBIDDEN):
            return
        # There is none if the request was refused before the caller was known.
        caller: Caller | None = scope["state"].get(CALLER)
        client = scope.get("client")
        fields = {
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "user": "" if caller is None else caller.user_name or caller.user_id,
            "project": "" if caller is None else caller.project_id,
            "roles": "" if caller is None else ",".join(caller.roles),
            "address": client[0] if client else "",
            "request_id": scope["state"]["request_id"],
            "milliseconds": milliseconds,
        }
        if status < 400:
            log.info("write accepted", **fields)
        else:
            log.warning("write refused", **fields, reason=str(error or "")[:REASON_MAX])
