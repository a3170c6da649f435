"""Errors of the HTTP API, and the mapping of all errors to responses."""

import structlog
from litestar.exceptions import HTTPException, MethodNotAllowedException

from evenkeel.api.responses.answers import Answer, fault_answer, problem_answer, unauthenticated_answer
from evenkeel.api.responses.http_reasons import reason_phrase
from evenkeel.core.control.mirrors import MirrorConflict
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound, QuotaReached, RequestError, Unavailable, Unsupported

log = structlog.get_logger(__name__)

RETRY_AFTER_SECONDS = 5

STATUS_OF: dict[type[RequestError], int] = {
    Invalid: 400,
    QuotaReached: 403,
    NotFound: 404,
    Conflict: 409,
    Unsupported: 501,
}


class InvalidQuery(RequestError):
    """A query parameter is invalid: 400 with the body of a :class:`Problem`."""


class Refusal(RequestError):
    """The request was refused before it was processed: unauthenticated, over the rate limit, too large, too
    slow, wrong type, forbidden. ``status`` is the HTTP status; ``headers`` are added to the response.
    """

    def __init__(self, status: int, text: str, *, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(text)
        self.status = status
        self.headers = headers


class Forbidden(Refusal):
    """The policy rule does not allow the request."""

    def __init__(self, roles: tuple[str, ...] = ()) -> None:
        """Initialize the error. ``roles``: roles that the policy rule names; they are sent in a header, because the
        text is Octavia's.
        """
        headers = ((b"x-needs-role", ", ".join(roles).encode()),) if roles else ()
        super().__init__(403, "Policy does not allow this request to be performed.", headers=headers)


def invalid_input(field: str, value: object, allowed: str) -> Invalid:
    """Build the error for a ``value`` of ``field`` that is not allowed; ``allowed``: a sentence
    about allowed values.
    """
    return Invalid(f"Invalid input for field/attribute {field}. Value: '{shorten(value)}'. {allowed}")


def shorten(value: object, limit: int = 200) -> str:
    """Return the value as text, cut to ``limit`` characters and an ellipsis so that responses stay small."""
    text = str(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def answer_to(error: Exception, request_id: str) -> Answer:
    """Build the response to any error. Requests that were refused get the status and text of their error;
    requests that match no route its status and a general text. An unavailable dependency becomes a 503
    with Retry-After, any unexpected error a 500 without details; these two are logged.
    """
    if isinstance(error, Refusal):
        return _answer_of_refusal(error)
    if isinstance(error, InvalidQuery):
        return problem_answer(400, str(error))
    if isinstance(error, MirrorConflict):
        # its callers are programs, which act on the kind of conflict
        return fault_answer(409, str(error), debuginfo=error.code)
    if isinstance(error, RequestError):
        status = next((code for kind, code in STATUS_OF.items() if isinstance(error, kind)), 400)
        return fault_answer(status, str(error))
    if isinstance(error, Unavailable):
        log.warning("request refused, a dependency is unavailable", request_id=request_id, reason=str(error))
        retry = ((b"retry-after", b"%d" % RETRY_AFTER_SECONDS),)
        return fault_answer(503, f"Service temporarily unavailable: {error}. Try again later.", headers=retry)
    if isinstance(error, HTTPException) and error.status_code < 500:
        return _routing_answer(error)
    log.error("request failed", request_id=request_id, exc_info=error)
    return fault_answer(500, f"Internal error. The request id is {request_id}.")


def _answer_of_refusal(error: Refusal) -> Answer:
    if error.status == 401:
        return unauthenticated_answer(str(error), headers=error.headers)
    shape = problem_answer if error.status in (404, 405, 406) else fault_answer
    return shape(error.status, str(error), headers=error.headers)


def _routing_answer(error: HTTPException) -> Answer:
    if isinstance(error, MethodNotAllowedException):
        return method_not_allowed()
    if error.status_code == 404:
        return problem_answer(404, "The resource could not be found.")
    return problem_answer(error.status_code, reason_phrase(error.status_code))


def method_not_allowed(allow: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
    """Build the response 405 to a method that the path does not support; ``allow``: the Allow header."""
    return problem_answer(405, "The method is not allowed for the requested URL.", headers=allow)
