"""Errors in Neutron's style: each has a type, by which clients identify it.

Errors of the core have codes; each API maps codes to its own types.
"""

from collections.abc import Mapping
from typing import NamedTuple

import structlog
from litestar.exceptions import HTTPException

from evenkeel.api.responses.answers import Answer, encode, unauthenticated_answer
from evenkeel.api.responses.errors import RETRY_AFTER_SECONDS, STATUS_OF, Forbidden, InvalidQuery, Refusal
from evenkeel.api.responses.http_reasons import reason_phrase
from evenkeel.core.kit.errors import NotFound, QuotaReached, RequestError, Unavailable
from evenkeel.core.kit.values import Value

log = structlog.get_logger(__name__)

Headers = tuple[tuple[bytes, bytes], ...]

_TEXTS_BY_STATUS = {
    404: "The resource could not be found.",
    405: "The method is not allowed for the requested URL.",
}


class NeutronErrorView(Value):
    """An error as Neutron shows it: type, text and details."""

    type: str
    message: str
    detail: str


class NeutronErrorAnswer(Value, rename={"error": "NeutronError"}):
    """The body of every error but a 401."""

    error: NeutronErrorView


class NeutronErrorType(NamedTuple):
    """Error type (``type``) in one Neutron API, and its HTTP status."""

    type: str
    status: int | None = None
    """HTTP status; None: the status of the error's class."""


class NeutronRefusal(Refusal):
    """A refusal with an error type of its own, ``kind``, in the body."""

    def __init__(self, status: int, kind: str, text: str) -> None:
        super().__init__(status, text)
        self.kind = kind


class ErrorTypes(NamedTuple):
    """Error types of one API for the core's errors. ``by_code``: by the error's code."""

    by_code: Mapping[str, NeutronErrorType]
    missing: Mapping[str, tuple[str, str]]
    """``{NotFound.kind: (error type, name of the object in the error's text)}``."""


def bad_request(text: str, kind: str = "HTTPBadRequest") -> NeutronRefusal:
    """Build an error with status 400 and the error type ``kind``."""
    return NeutronRefusal(400, kind, text)


def error_answer(status: int, kind: str, text: str, headers: Headers = ()) -> Answer:
    """Build the response with an error of type ``kind``."""
    body = NeutronErrorAnswer(error=NeutronErrorView(type=kind, message=text, detail=""))
    return Answer(status, encode(body), headers)


def untyped_error_answer(status: int, text: str = "", headers: Headers = ()) -> Answer:
    """Build the response with an error whose type is named after its status; ``text`` empty: the status's
    usual text.
    """
    phrase = reason_phrase(status)
    kind = f"HTTP{''.join(word.capitalize() for word in phrase.replace('-', ' ').split())}"
    return error_answer(status, kind, text or _TEXTS_BY_STATUS.get(status, phrase), headers)


def answer_to(error: Exception, names: ErrorTypes, request_id: str) -> Answer:
    """Build the response to any error in Neutron's form. Unexpected errors become a 500 without details and
    are logged; an unavailable dependency becomes a 503 with Retry-After.
    """
    if isinstance(error, Refusal):
        return _answer_of_refusal(error)
    if isinstance(error, RequestError):
        return _answer_of_request_error(error, names)
    if isinstance(error, Unavailable):
        log.warning("request refused, a dependency is unavailable", request_id=request_id, reason=str(error))
        retry = ((b"retry-after", b"%d" % RETRY_AFTER_SECONDS),)
        return untyped_error_answer(503, f"Service temporarily unavailable: {error}. Try again later.", retry)
    if isinstance(error, HTTPException) and error.status_code < 500:
        return untyped_error_answer(error.status_code)
    log.error("request failed", request_id=request_id, exc_info=error)
    return error_answer(
        500,
        "HTTPInternalServerError",
        f"Request Failed: internal server error while processing your request. The request id is {request_id}.",
    )


def _answer_of_refusal(error: Refusal) -> Answer:
    if error.status == 401:
        return unauthenticated_answer(str(error), headers=error.headers)
    if isinstance(error, NeutronRefusal):
        return error_answer(error.status, error.kind, str(error))
    if isinstance(error, Forbidden):
        return error_answer(403, "PolicyNotAuthorized", str(error))
    return untyped_error_answer(error.status, str(error), error.headers)


def _answer_of_request_error(error: RequestError, names: ErrorTypes) -> Answer:
    if isinstance(error, NotFound):
        kind, called = names.missing.get(error.kind, ("HTTPNotFound", error.kind))
        return error_answer(404, kind, f"{called} {error.object_id} could not be found")
    if isinstance(error, QuotaReached):
        return error_answer(409, "OverQuota", f"Quota exceeded for resources: {', '.join(error.resources)}.")
    status = next((code for kind, code in STATUS_OF.items() if isinstance(error, kind)), 400)
    named = names.by_code.get(error.code)
    if isinstance(error, InvalidQuery) or named is None:
        return untyped_error_answer(status, str(error))
    return error_answer(named.status or status, named.type, str(error))
