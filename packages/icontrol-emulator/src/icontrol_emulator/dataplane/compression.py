"""Compression of responses by an http-compression profile (F5's manual about HTTP compression profiles).

The profile's patterns of URIs and content types are regular expressions, which may match anywhere. A member is not told
which encodings the client accepts, so that it does not compress itself. Only gzip is emulated, and neither `selective`
profiles nor what the CPU saver leaves out under load.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from icontrol_emulator.dataplane.http_wire import Framing, Head

KIND = "http-compression"
_GZIP = 16
"""Added to zlib's window size, it stands for gzip's format."""
_WITHOUT_BODY = frozenset((204, 304))


@dataclass(slots=True)
class Compression:
    """Compression of the response to one request."""

    profile: Mapping[str, Any]
    _compressor: Any = field(init=False)

    def __post_init__(self) -> None:
        window_bits = int(self.profile["gzipWindowSize"]).bit_length() - 1
        self._compressor = zlib.compressobj(int(self.profile["gzipLevel"]), zlib.DEFLATED, _GZIP + window_bits)

    def applies(self, response: Head, framing: Framing) -> bool:
        """Whether this response is compressed; its header then says so, and no longer states a length."""
        kind = response.get(b"content-type").decode("latin-1")
        if (
            framing.is_empty
            or response.status in _WITHOUT_BODY
            or response.get(b"content-encoding")
            or not _matches(kind, self.profile["contentTypeInclude"])
            or _matches(kind, self.profile["contentTypeExclude"])
            or (not framing.chunked and not framing.until_close and framing.length < int(self.profile["minSize"]))
        ):
            return False
        response.remove(b"content-length")
        response.remove(b"transfer-encoding")
        response.add("Transfer-Encoding", "chunked")
        response.add("Content-Encoding", "gzip")
        if self.profile["varyHeader"] == "enabled":
            response.add("Vary", "Accept-Encoding")
        return True

    async def compressed(self, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The compressed body, in parts that are not empty."""
        async for part in parts:
            if data := self._compressor.compress(part):
                yield data
        yield self._compressor.flush()


def requested_compression(profiles: Mapping[str, Mapping[str, Any]], request: Head) -> Compression | None:
    """The compression of the response to this request, None if there is none. Changes what the request accepts."""
    profile = profiles.get(KIND)
    if profile is None or profile["selective"] == "enabled":
        return None
    accepted = request.get(b"accept-encoding").decode("latin-1")
    if profile["keepAcceptEncoding"] == "disabled":
        request.remove(b"accept-encoding")
    uri = request.start.split(b" ")[1].decode("latin-1")
    if (
        not _accepts_gzip(accepted)
        or (request.is_old and profile["allowHttp_10"] == "disabled")
        or not _matches(uri, profile["uriInclude"])
        or _matches(uri, profile["uriExclude"])
    ):
        return None
    return Compression(profile)


def _accepts_gzip(accepted: str) -> bool:
    for each in accepted.lower().split(","):
        name, _, parameter = each.partition(";")
        if name.strip() in ("gzip", "*"):
            return not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", parameter)
    return False


def _matches(text: str, patterns: Iterable[str]) -> bool:
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)
