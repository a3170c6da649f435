"""Options' values in the form for logs, without secrets."""

import re
from typing import Any

from oslo_config import cfg

HIDDEN_VALUE = "***"


URL_OPTIONS = frozenset({"transport_url", "connection"})
"""Names of secret options that hold a URL. Any other secret may look like a URL by chance."""


_URL_PATTERN = re.compile(r"([A-Za-z][\w+.-]*)://(.*)", re.DOTALL)


_HOST_REGEX = r"(?:\[[^\]/]*\]|[^:/\[\],]*)(?::\d*)?"


_PLACE_PATTERN = re.compile(rf"{_HOST_REGEX}(?:,{_HOST_REGEX})*(?:/.*)?")
"""Hosts with ports, and a path. Does not match the ``user:password`` of a URL that lacks its host."""


def value_without_secrets(option: cfg.Opt, value: Any) -> Any:
    """Return an option's value in a form for logs.

    A secret is replaced by :data:`HIDDEN_VALUE`. Of a secret URL (:data:`URL_OPTIONS`) scheme, hosts and path are
    kept, without the query, which may hold a password; everything before the last ``@`` may be part of a
    password.
    """
    if not option.secret or not value:
        return value
    url = _URL_PATTERN.fullmatch(str(value)) if option.dest in URL_OPTIONS else None
    if url is None:
        return HIDDEN_VALUE
    scheme, rest = url.groups()
    before_query, _, query = rest.partition("?")
    if "@" in query:  # either that is no query but a password with "?", or a password in a query has "@"
        return f"{scheme}://{HIDDEN_VALUE}"
    login, at, place = before_query.rpartition("@")
    if not _PLACE_PATTERN.fullmatch(place):
        return HIDDEN_VALUE
    return f"{scheme}://{HIDDEN_VALUE + at if login else ''}{place}"
