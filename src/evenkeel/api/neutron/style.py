"""Neutron's API style: reading of request bodies, and error responses."""

from typing import Any, TypeVar

from evenkeel.api.neutron.bodies import NeutronReader
from evenkeel.api.neutron.errors import ErrorTypes, Headers, NeutronErrorAnswer, answer_to, untyped_error_answer
from evenkeel.api.responses.answers import Answer

T = TypeVar("T")

BASE = "/neutron"
"""Prefix of the Neutron APIs' paths, because Octavia and LBaaS v2 have the same paths."""
FORMAT_SUFFIX = ".json"
"""Suffix that older clients of Neutron append to each path, the format of the response; there is no other format."""


def strip_format_suffix(path: str) -> str:
    """Return the path without the suffix ``.json``, if it is a path of the Neutron APIs."""
    return path.removesuffix(FORMAT_SUFFIX) if path.startswith(f"{BASE}/") else path


class NeutronStyle:
    """Neutron's style, with the error names of one API."""

    errors: tuple[type[Any], ...] = (NeutronErrorAnswer,)
    changes_in_error = True
    only_json = False
    """False: Neutron takes every body for JSON and responds with JSON, whatever the headers are."""

    def __init__(self, base: str, names: ErrorTypes) -> None:
        self.base = base
        self._names = names

    def body_reader(self, kind: type[T]) -> NeutronReader[T]:
        """Return the decoder of request bodies that are a ``kind``: numbers may be text, and errors are
        Neutron's.
        """
        reader: NeutronReader[T] = NeutronReader(kind)
        return reader

    def answer_to(self, error: Exception, request_id: str) -> Answer:
        """Build the response to an error: status and body follow from its class."""
        return answer_to(error, self._names, request_id)

    def method_not_allowed(self, allow: Headers) -> Answer:
        """Build the response 405. ``allow``: header with the allowed methods."""
        return untyped_error_answer(405, headers=allow)
