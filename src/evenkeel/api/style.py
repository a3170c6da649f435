"""A style of API: how request bodies are read, and how errors are told.

A route map has one. What goes wrong before a route is found is told by the style whose base the path is below.
"""

from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar

from evenkeel.api.answers import Answer, Fault, Problem
from evenkeel.api.bodies import BodyReader
from evenkeel.api.errors import answer_to, not_allowed

T = TypeVar("T")
Body = TypeVar("Body", covariant=True)
Headers = tuple[tuple[bytes, bytes], ...]


class Reader(Protocol, Generic[Body]):
    """Reads bodies of one type."""

    def read(self, raw: bytes) -> Body:
        """The body. Raises :class:`RequestError`."""
        ...


class ApiStyle(Protocol):
    """A style of API."""

    @property
    def base(self) -> str:
        """What its paths begin with; empty: any."""
        ...

    @property
    def errors(self) -> tuple[type[Any], ...]:
        """The types of its error bodies, for the API's document; that of a 401 is Keystone's everywhere."""
        ...

    def reader(self, kind: type[T]) -> Reader[T]:
        """What reads bodies of that type."""
        ...

    def answer_to(self, error: Exception, request_id: str) -> Answer:
        """The answer to any error."""
        ...

    def not_allowed(self, allow: Headers) -> Answer:
        """The answer to a method that the path does not have; ``allow``: the header that names those it has."""
        ...


class OctaviaStyle:
    """Octavia's, which the operators' API speaks too."""

    base = ""
    errors: tuple[type[Any], ...] = (Fault, Problem)

    def reader(self, kind: type[T]) -> Reader[T]:
        """Exact: a number is no text."""
        return BodyReader(kind)

    def answer_to(self, error: Exception, request_id: str) -> Answer:
        """Status and body by the error's class."""
        return answer_to(error, request_id)

    def not_allowed(self, allow: Headers) -> Answer:
        """405."""
        return not_allowed(allow)


OCTAVIA = OctaviaStyle()


class ApiStyles:
    """Those that are spoken, by path."""

    def __init__(self, styles: Iterable[ApiStyle]) -> None:
        self._longest_first = sorted(styles, key=lambda style: -len(style.base))

    def of(self, path: str) -> ApiStyle:
        """The one with the longest base that the path is below; else Octavia's."""
        for style in self._longest_first:
            if path == style.base or path.startswith(f"{style.base}/"):
                return style
        return OCTAVIA
