"""Errors in Neutron's words: every one has a type, by which clients know it.

Our own errors carry codes; which type a code has is for each API to say, for the same thing has other names in each.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

import structlog
from litestar.exceptions import HTTPException

from evenkeel.api.answers import Answer, encode, unauthenticated
from evenkeel.api.errors import RETRY_AFTER_SECONDS, STATUS_OF, BadList, Forbidden, Refusal
from evenkeel.core.errors import NotFound, QuotaMet, RequestError, Unavailable
from evenkeel.core.values import Value

log = structlog.get_logger(__name__)

Headers = tuple[tuple[bytes, bytes], ...]

_PLAIN = {
    404: "The resource could not be found.",
    405: "The method is not allowed for the requested URL.",
}


class NeutronErrorView(Value):
    """What went wrong."""

    type: str
    message: str
    detail: str


class NeutronErrorAnswer(Value, rename={"error": "NeutronError"}):
    """The body of every error but a 401."""

    error: NeutronErrorView


class NamedError(NamedTuple):
    """What an API calls an error."""

    type: str
    status: int | None = None
    """None: that of the error's kind."""


class NeutronRefusal(Refusal):
    """A refusal under a name of its own."""

    def __init__(self, status: int, kind: str, text: str) -> None:
        super().__init__(status, text)
        self.kind = kind


class ErrorNames(NamedTuple):
    """What an API calls the errors that it does not raise itself."""

    by_code: Mapping[str, NamedError]
    missing: Mapping[str, tuple[str, str]]
    """By what is not found (:attr:`NotFound.kind`): type, and what it is called in the text."""


def bad_request(text: str, kind: str = "HTTPBadRequest") -> NeutronRefusal:
    """400."""
    return NeutronRefusal(400, kind, text)


def told(status: int, kind: str, text: str, headers: Headers = ()) -> Answer:
    """The answer that tells an error."""
    body = NeutronErrorAnswer(error=NeutronErrorView(type=kind, message=text, detail=""))
    return Answer(status, encode(body), headers)


def plain(status: int, text: str = "", headers: Headers = ()) -> Answer:
    """An error without a name of its own: it is called as its status."""
    phrase = HTTPStatus(status).phrase
    kind = f"HTTP{''.join(word.capitalize() for word in phrase.replace('-', ' ').split())}"
    return told(status, kind, text or _PLAIN.get(status, phrase), headers)


def answer_to(error: Exception, names: ErrorNames, request_id: str) -> Answer:
    """The answer to any error; what is not expected is logged and told to nobody."""
    if isinstance(error, Refusal):
        return _refused(error)
    if isinstance(error, RequestError):
        return _requested(error, names)
    if isinstance(error, Unavailable):
        log.warning("request refused, a dependency is unavailable", request_id=request_id, reason=str(error))
        retry = ((b"retry-after", b"%d" % RETRY_AFTER_SECONDS),)
        return plain(503, f"Service temporarily unavailable: {error}. Try again later.", retry)
    if isinstance(error, HTTPException) and error.status_code < 500:
        return plain(error.status_code)
    log.error("request failed", request_id=request_id, exc_info=error)
    return told(
        500,
        "HTTPInternalServerError",
        f"Request Failed: internal server error while processing your request. The request id is {request_id}.",
    )


def _refused(error: Refusal) -> Answer:
    if error.status == 401:
        return unauthenticated(str(error), headers=error.headers)
    if isinstance(error, NeutronRefusal):
        return told(error.status, error.kind, str(error))
    if isinstance(error, Forbidden):
        return told(403, "PolicyNotAuthorized", str(error))
    return plain(error.status, str(error), error.headers)


def _requested(error: RequestError, names: ErrorNames) -> Answer:
    if isinstance(error, NotFound):
        kind, called = names.missing.get(error.kind, ("HTTPNotFound", error.kind))
        return told(404, kind, f"{called} {error.object_id} could not be found")
    if isinstance(error, QuotaMet):
        return told(409, "OverQuota", f"Quota exceeded for resources: {', '.join(error.resources)}.")
    status = next((code for kind, code in STATUS_OF.items() if isinstance(error, kind)), 400)
    named = names.by_code.get(error.code)
    if isinstance(error, BadList) or named is None:
        return plain(status, str(error))
    return told(named.status or status, named.type, str(error))
