"""The log of writes, which is the audit trail: for every request that may change something who sent it, from where, and
what became of it. Bodies are not logged.
"""

import time

import structlog
from litestar.types import HTTPScope

from evenkeel.api.identity.caller import Caller

log = structlog.get_logger(__name__)

READS = frozenset({"GET", "HEAD", "OPTIONS"})
CALLER = "evenkeel.caller"
"""Where the admitted caller is, in the scope's state."""
REASON_MAX = 300


class WriteLog:
    """One request. Create it when the request arrives."""

    __slots__ = ("_begun", "_scope")

    def __init__(self, scope: HTTPScope) -> None:
        self._scope = scope
        self._begun = time.monotonic()

    def end(self, status: int, error: Exception | None = None) -> None:
        """Log the answer, unless nothing was to be written."""
        scope = self._scope
        if scope["method"] in READS:
            return
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
            "milliseconds": round((time.monotonic() - self._begun) * 1000),
        }
        if status < 400:
            log.info("write accepted", **fields)
        else:
            log.warning("write refused", **fields, reason=str(error or "")[:REASON_MAX])
