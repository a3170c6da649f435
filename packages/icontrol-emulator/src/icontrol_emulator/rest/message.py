"""Requests and responses, independent of the web framework, so that handlers are plain functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, unquote_plus

from icontrol_emulator.config.names import from_segment

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_SILENT = frozenset({"ver"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The query string, parsed as the device does."""

    expand: bool = False
    partition: str | None = None
    select: tuple[str, ...] = ()
    top: int | None = None
    skip: int = 0
    options: str = ""
    extra: str = ""  # everything but `ver`, as sent: echoed in selfLink
    version: tuple[int, ...] = ()  # `ver`, empty without one
    base: str = ""  # `extra` without paging, for nextLink


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One HTTP request to the device."""

    method: str
    path: str  # raw, without query
    query: Query = field(default_factory=Query)
    body: Mapping[str, Any] = field(default_factory=dict)
    raw: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    peer: str = "127.0.0.1"
    transaction_id: str = ""

    @property
    def segments(self) -> list[str]:
        """Decoded segments behind /mgmt; `~P~x` is already `/P/x`."""
        raw = [segment for segment in self.path.split("/") if segment]
        return [from_segment(segment) for segment in raw[1:]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One response; `document` None: an empty body, or the bytes of a file with their range `a-b/total`."""

    status: int = 200
    document: Any = None
    html: str | None = None
    content: bytes | None = None
    content_range: str = ""


def parse_query(text: str) -> Query:
    pairs = [pair.partition("=") for pair in text.split("&") if pair]
    values = {unquote(name): unquote_plus(value) for name, _, value in pairs}
    kept = [(name, value) for name, _, value in pairs if unquote(name) not in _SILENT]
    top = values.get("$top", "")
    skip = values.get("$skip", "")
    return Query(
        expand=values.get("expandSubcollections", "").lower() == "true",
        partition=_partition(values.get("$filter", "")),
        select=tuple(name.strip() for name in values.get("$select", "").split(",") if name.strip()),
        top=int(top) if top.isdigit() else None,
        skip=int(skip) if skip.isdigit() else 0,
        options=values.get("options", ""),
        extra=_join(kept),
        version=_version(values.get("ver", "")),
        base=_join([(name, value) for name, value in kept if unquote(name) not in ("$top", "$skip")]),
    )


def _version(text: str) -> tuple[int, ...]:
    words = text.split(".")
    return tuple(map(int, words)) if all(word.isdigit() and len(word) < 6 for word in words) else ()


def _join(pairs: list[tuple[str, str]]) -> str:
    return "&".join(f"{name}={value}" if value else name for name, value in pairs)


def _partition(text: str) -> str | None:
    words = text.replace("'", "").replace('"', "").split()
    if len(words) == 3 and words[0] == "partition" and words[1] == "eq":
        return words[2]
    return None
