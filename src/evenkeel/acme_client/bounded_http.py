"""HTTP to the authority with bounded bodies and times, and without redirects."""

import time
from typing import Any

from acme.client import ClientNetwork
from josepy.jwa import JWASignature
from josepy.jwk import JWK
from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from requests.exceptions import ReadTimeout, RequestException

BODY_BYTES_MAX = 512 * 1024
_CHUNK_BYTES = 8 * 1024


class BodyTooLarge(RequestException):
    """The authority's answer is larger than any that is needed."""


class _BoundedAdapter(HTTPAdapter):
    """Reads whole bodies up to the limit, and keeps the last response's status and headers."""

    def __init__(self, timeout_seconds: float) -> None:
        super().__init__()
        self._timeout_seconds = timeout_seconds
        self.last: Response | None = None

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        until = time.monotonic() + self._timeout_seconds
        self.last = None
        response = super().send(request, *args, **{**kwargs, "stream": True})
        body = bytearray()
        # requests' own time-out begins anew with each part of a body.
        for chunk in response.iter_content(_CHUNK_BYTES):
            body += chunk
            if len(body) > BODY_BYTES_MAX:
                response.close()
                raise BodyTooLarge(f"the answer has more than {BODY_BYTES_MAX} bytes")
            if time.monotonic() > until:
                response.close()
                raise ReadTimeout(f"the answer was not complete after {self._timeout_seconds:g} s")
        response._content = bytes(body)
        self.last = response
        return response


class BoundedNetwork(ClientNetwork):
    """The library's connection to an authority, with limits. ``verify``: a CA file, or True for the system's CAs."""

    def __init__(self, key: JWK, alg: JWASignature, *, verify: str | bool, timeout_seconds: float) -> None:
        super().__init__(key, alg=alg, user_agent="evenkeel", timeout=timeout_seconds, verify_ssl=verify)  # type: ignore[arg-type]
        self._bounded = _BoundedAdapter(timeout_seconds)
        for scheme in ("https://", "http://"):
            self.session.mount(scheme, self._bounded)
        # A redirect could lead to any address that controllers reach.
        self.session.max_redirects = 0

    @property
    def status(self) -> int:
        """HTTP status of the last response; 0 if there was none."""
        return 0 if self._bounded.last is None else self._bounded.last.status_code

    @property
    def retry_after_seconds(self) -> float:
        """Delay in the last response's ``Retry-After``; 0 without one, or for one that is a date."""
        text = "" if self._bounded.last is None else self._bounded.last.headers.get("Retry-After", "")
        return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0.0

    def close(self) -> None:
        """Close the connections."""
        self.session.close()
