"""Checks options in the URL of a PostgreSQL database, which have libpq's names, and which asyncpg reads like
libpq.

https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
"""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sqlalchemy.engine import URL

SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
VERIFYING_SSL_MODES = frozenset({"verify-ca", "verify-full"})
_FILE_OPTIONS = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
_VALUES_BY_OPTION: Mapping[str, tuple[str, ...]] = {
    "sslmode": SSL_MODES,
    "ssl_min_protocol_version": ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"),
    "target_session_attrs": ("any", "read-write", "read-only", "primary", "standby", "prefer-standby"),
}
URL_OPTIONS = frozenset({"host", "port", *_FILE_OPTIONS, *_VALUES_BY_OPTION})


def connect_arguments(url: URL) -> tuple[URL, dict[str, Any]]:
    """Return (the URL without its options, the options as arguments for asyncpg). Raises :class:`ValueError`
    naming an option that is unknown, has a wrong value, or names a file that is unreadable or has no CA
    certificates in PEM; also if verification lacks ``sslrootcert``.
    """
    options = {name: values if isinstance(values, str) else ",".join(values) for name, values in url.query.items()}
    unknown = sorted(set(options) - URL_OPTIONS)
    if unknown:
        allowed = ", ".join(sorted(URL_OPTIONS))
        raise ValueError(f"database.connection: {unknown[0]!r} is not an option of postgresql; use {allowed}")
    for name, allowed_values in _VALUES_BY_OPTION.items():
        if name in options and options[name] not in allowed_values:
            raise ValueError(f"database.connection: {name}={options[name]!r}: allowed are {', '.join(allowed_values)}")
    for name in _FILE_OPTIONS:
        _check_file(name, options.get(name))
    # Without it asyncpg, like libpq, looks in the home directory of the service's user.
    if options.get("sslmode") in VERIFYING_SSL_MODES and "sslrootcert" not in options:
        raise ValueError(f"database.connection: sslmode={options['sslmode']} needs sslrootcert, the file of the CA")
    _check_authority(options.get("sslrootcert"))
    return url.set(query={}), {"dsn": f"postgresql:///?{urlencode(options)}"} if options else {}


def _check_file(name: str, path: str | None) -> None:
    if path is None:
        return
    try:
        # Opened, not only looked for: a file that this process cannot read is an error at the start, not at the first
        # query.
        Path(path).open("rb").close()
    except OSError as error:
        raise ValueError(f"database.connection: {name}={path!r}: {error.strerror}") from error


def _check_authority(path: str | None) -> None:
    if path is None:
        return
    try:
        ssl.create_default_context(cafile=path)
    except ssl.SSLError as error:
        raise ValueError(f"database.connection: sslrootcert={path!r}: not certificates in PEM form") from error
