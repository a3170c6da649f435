"""API styles: reading of request bodies, and error responses. Each route map has one. For errors before a route is
found, the path's prefix determines the style.
"""

from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar

from evenkeel.api.http.bodies import BodyReader
from evenkeel.api.responses.answers import Answer, Fault, Problem
from evenkeel.api.responses.errors import answer_to, method_not_allowed

T = TypeVar("T")
Body = TypeVar("Body", covariant=True)
Headers = tuple[tuple[bytes, bytes], ...]


class BodyDecoder(Protocol, Generic[Body]):
    """Decoder of request bodies of one type."""

    def decode_body(self, raw: bytes) -> Body:
        """Decode a request's body. Raises :class:`RequestError`, worded in the API's style, for a body that
        the type does not allow.
        """
        ...


class ApiStyle(Protocol):
    """Conventions of one API: formats of bodies and errors."""

    @property
    def base(self) -> str:
        """Prefix of the API's paths; empty: any."""
        ...

    @property
    def only_json(self) -> bool:
        """True: requests must declare and accept JSON in their headers. False: these headers are ignored,
        except for writes of web pages.
        """
        ...

    @property
    def changes_in_error(self) -> bool:
        """True: objects in ERROR may be changed where immutability is strict. False: they may only be deleted
        or failed over.
        """
        ...

    @property
    def errors(self) -> tuple[type[Any], ...]:
        """Types of the API's error bodies, for the OpenAPI document; a 401 always has Keystone's body."""
        ...

    def body_reader(self, kind: type[T]) -> BodyDecoder[T]:
        """Return the decoder of request bodies that are a ``kind``; its errors are worded in this style."""
        ...

    def answer_to(self, error: Exception, request_id: str) -> Answer:
        """Build the response to any error in this style."""
        ...

    def method_not_allowed(self, allow: Headers) -> Answer:
        """Build the response to a method that the path does not support; ``allow``: the Allow header."""
        ...


class OctaviaStyle:
    """Octavia's style, which the operators' API uses, too. ``lax``: numbers and booleans in bodies may be text, like in
    Octavia.
    """

    base = ""
    only_json = True
    changes_in_error = False
    errors: tuple[type[Any], ...] = (Fault, Problem)

    def __init__(self, *, lax: bool) -> None:
        self._lax = lax

    def body_reader(self, kind: type[T]) -> BodyDecoder[T]:
        """Return the decoder of request bodies that are a ``kind``; its errors are worded in this style."""
        return BodyReader(kind, lax=self._lax)

    def answer_to(self, error: Exception, request_id: str) -> Answer:
        """Build the response to an error: status and body follow from its class."""
        return answer_to(error, request_id)

    def method_not_allowed(self, allow: Headers) -> Answer:
        """Build the response 405. ``allow``: header with the allowed methods."""
        return method_not_allowed(allow)


OCTAVIA = OctaviaStyle(lax=True)
OPERATORS = OctaviaStyle(lax=False)


class ApiStyles:
    """The supported styles, found by the path of a request."""

    def __init__(self, styles: Iterable[ApiStyle]) -> None:
        self._longest_first = sorted(styles, key=lambda style: -len(style.base))

    def style_of(self, path: str) -> ApiStyle:
        """Return the style with the longest base that is the path or a parent folder of it; Octavia's if
        there is none.
        """
        for style in self._longest_first:
            if path == style.base or path.startswith(f"{style.base}/"):
                return style
        return OCTAVIA
