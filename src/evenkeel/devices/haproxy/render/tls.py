"""TLS settings for clients and members: versions, ciphers, ALPN. Pure.

=============  ==================================================================================================
Octavia        HAProxy
=============  ==================================================================================================
tls_versions   ``ssl-min-ver`` and ``ssl-max-ver``: a gap between versions is refused
tls_ciphers    ``ciphersuites`` for TLS 1.3 (names that begin with ``TLS_``), ``ciphers`` for older versions
               If none is for TLS 1.3, OpenSSL's three defaults apply there; if none is for older versions, those
               versions are disabled, because OpenSSL's default ciphers were not requested
TLSv1, 1.1     ``@SECLEVEL=0``, where ciphers are configured without ``@SECLEVEL``: above level 0 OpenSSL 3 has no
               signature algorithm for these versions
=============  ==================================================================================================
"""

import re
from collections.abc import Sequence

from evenkeel.core.devices.capabilities import has_version_gap
from evenkeel.core.tls.tls import DEFAULT_VERSIONS, NEWEST_TLS_VERSION
from evenkeel.devices.errors import Unrenderable

TLS_VERSIONS = {"TLSv1": "TLSv1.0", "TLSv1.1": "TLSv1.1", "TLSv1.2": "TLSv1.2", "TLSv1.3": "TLSv1.3"}
"""``{Octavia's name of a TLS version: HAProxy's name}``, oldest first."""
ALPN_PROTOCOLS = ("h2", "http/1.1", "http/1.0")
_OLD_VERSIONS = frozenset({"TLSv1", "TLSv1.1"})
_CIPHER_PATTERN = re.compile(r"[!+-]?[A-Za-z0-9_]+([.+=-][A-Za-z0-9_]+)*|@(STRENGTH|SECLEVEL=[0-5])", re.ASCII)


def tls_arguments(what: str, versions: Sequence[str], ciphers: str | None) -> tuple[str, ...]:
    """Return the TLS version and cipher arguments of a ``bind`` or ``server`` line; without ``versions`` the
    default ones.

    ``what``: the object, for error messages. Raises :class:`Unrenderable` for versions or ciphers that
    HAProxy cannot use.
    """
    old, new = _split_ciphers(what, ciphers)
    spoken = _enabled_versions(what, versions, only_newest=bool(new) and not old)
    if old and _OLD_VERSIONS & set(spoken) and not any(name.startswith("@SECLEVEL") for name in old):
        old = [*old, "@SECLEVEL=0"]
    return (
        "ssl-min-ver",
        TLS_VERSIONS[spoken[0]],
        "ssl-max-ver",
        TLS_VERSIONS[spoken[-1]],
        *(("ciphers", ":".join(old)) if old else ()),
        *(("ciphersuites", ":".join(new)) if new else ()),
    )


def alpn_value(what: str, protocols: Sequence[str]) -> str:
    """Return the value of ``alpn``; HTTP/1.1 if no protocol is configured, because newer HAProxys offer
    HTTP/2 by default.

    ``what``: the object, for error messages. Raises :class:`Unrenderable` for a protocol that is not in
    ``ALPN_PROTOCOLS``.
    """
    for protocol in protocols:
        if protocol not in ALPN_PROTOCOLS:
            raise Unrenderable(f"{what}: alpn_protocols {protocol!r}: {', '.join(ALPN_PROTOCOLS)} are possible")
    return ",".join(protocols or ("http/1.1",))


def _split_ciphers(what: str, text: str | None) -> tuple[list[str], list[str]]:
    """Split OpenSSL's cipher names, separated by colons, into those up to TLS 1.2 (``@SECLEVEL`` last) and
    those of TLS 1.3.

    ``what``: the object, for error messages. Raises :class:`Unrenderable` for a text that is no list of
    ciphers.
    """
    names = text.split(":") if text else []
    for name in names:
        if not _CIPHER_PATTERN.fullmatch(name):
            raise Unrenderable(f"{what}: tls_ciphers: {name!r} is no name of a cipher")
    newest = [name for name in names if name.startswith("TLS_")]
    # @SECLEVEL applies to the whole list wherever it stands; a value that begins with "@" could be read as a file name
    old = sorted((name for name in names if name not in newest), key=lambda name: name.startswith("@SECLEVEL"))
    if old and old[0].startswith("@"):
        raise Unrenderable(f"{what}: tls_ciphers: {old[0]!r} needs a cipher before it")
    return old, newest


def _enabled_versions(what: str, versions: Sequence[str], *, only_newest: bool) -> list[str]:
    for version in versions:
        if version not in TLS_VERSIONS:
            raise Unrenderable(f"{what}: tls_versions {version}: {', '.join(TLS_VERSIONS)} are possible")
    if has_version_gap(versions):
        raise Unrenderable(f"{what}: tls_versions {', '.join(versions)}: no version between them can be left out")
    spoken = [version for version in TLS_VERSIONS if version in (versions or DEFAULT_VERSIONS)]
    if not only_newest:
        return spoken
    if spoken[-1] != NEWEST_TLS_VERSION:
        raise Unrenderable(
            f"{what}: tls_ciphers has only those of {NEWEST_TLS_VERSION}, and tls_versions {', '.join(spoken)}"
        )
    return spoken[-1:]
