"""Mapping of errors to responses: the HTTP status, code and text of each kind of error, in one place."""

import structlog
from aiohttp import web

from evenkeel.core.kit.errors import EvenKeelError, StaleOwner
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.api.credentials import TooManyAttempts, WrongCredentials
from evenkeel.haproxyd.api.strict_decoding import BodyRefused
from evenkeel.haproxyd.errors import InvalidChange, PartitionUnknown
from evenkeel.haproxyd.partition.change_queue import PartitionBusy
from evenkeel.haproxyd.partition.guard import EpochJumpTooLarge, ForeignPartition, NotPartitionOwner

log = structlog.get_logger(__name__)

STATUS_BY_CODE: dict[wire.RefusalCode, int] = {
    "unauthorized": 401,
    "invalid": 400,
    "not_found": 404,
    "stale_owner": 409,
    "not_guarded": 409,
    "too_far": 409,
    "other_owner": 409,
    "too_large": 413,
    "failed": 500,
    "busy": 503,
}


class DaemonRefused(Exception):
    """Error that carries ``refusal``, the body of the response by which a request is refused."""

    def __init__(self, code: wire.RefusalCode, reason: str, *, epoch: int | None = None) -> None:
        super().__init__(reason)
        self.refusal = wire.DaemonRefusal(code=code, reason=reason, epoch=epoch)


def refusal_for_error(error: Exception) -> wire.DaemonRefusal:
    """Return the response body for an error. An unexpected error is logged, and becomes ``failed`` without
    details.
    """
    refusal = _known_refusal(error)
    if refusal is None:
        log.error("request failed", exc_info=error)
        return wire.DaemonRefusal(code="failed", reason="the daemon failed; its log has the reason")
    return refusal


def refusal_code(error: BaseException) -> wire.RefusalCode:
    """Return the error code of the response to an exception; ``failed`` for an unexpected one, which is not
    logged.
    """
    refusal = _known_refusal(error)
    return refusal.code if refusal else "failed"


def _known_refusal(error: BaseException) -> wire.DaemonRefusal | None:
    match error:
        case DaemonRefused():
            return error.refusal
        case StaleOwner():
            return wire.DaemonRefusal(code="stale_owner", reason=str(error), epoch=error.seen_epoch)
        case NotPartitionOwner():
            return wire.DaemonRefusal(code="not_guarded", reason=str(error), epoch=error.seen_epoch)
        case EpochJumpTooLarge():
            return wire.DaemonRefusal(code="too_far", reason=str(error), epoch=error.seen_epoch)
        case ForeignPartition():
            return wire.DaemonRefusal(code="other_owner", reason=str(error))
        case InvalidChange() | BodyRefused():
            return wire.DaemonRefusal(code="invalid", reason=str(error))
        case PartitionUnknown():
            return wire.DaemonRefusal(code="not_found", reason=str(error))
        case WrongCredentials():
            return wire.DaemonRefusal(
                code="unauthorized", reason="name and password of an agent are needed (HTTP basic)"
            )
        case TooManyAttempts():
            return wire.DaemonRefusal(code="busy", reason="too many passwords are being verified; try again")
        case PartitionBusy():
            return wire.DaemonRefusal(code="busy", reason=str(error))
        case EvenKeelError():
            return wire.DaemonRefusal(code="failed", reason=str(error))
        case web.HTTPException():
            return _refusal_for_http_error(error)
    return None


def _refusal_for_http_error(error: web.HTTPException) -> wire.DaemonRefusal:
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return wire.DaemonRefusal(code="too_large", reason="the body is larger than this daemon takes")
    if error.status in (404, 405):
        return wire.DaemonRefusal(code="not_found", reason="no such path, or not with this method")
    return wire.DaemonRefusal(code="invalid", reason=f"HTTP: {error.reason}")
