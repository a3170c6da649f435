"""This module decides which TLS versions and ciphers an operator allows, and the defaults of listeners and
pools. Which ciphers exist, and which belong to a group, depends on the local OpenSSL.
"""

import ssl
from collections.abc import Collection
from functools import lru_cache
from typing import get_args

from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import TlsVersion

TLS_VERSIONS: tuple[TlsVersion, ...] = get_args(TlsVersion)
"""TLS versions, oldest first."""
DEFAULT_CIPHERS = (
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256:"
    "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384:"
    "DHE-RSA-CHACHA20-POLY1305"
)
"""Default cipher string: OWASP's suite B, like in Octavia 19."""
NEWEST_TLS_VERSION: TlsVersion = "TLSv1.3"
TLS13_CIPHERS = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
"""Cipher suites of TLS 1.3; devices use all of them if a cipher string names none of them."""
_OPTIONAL_TLS13_CIPHERS = frozenset({"TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_8_SHA256"})
_CIPHERS_MISSING_IN_OPENSSL = frozenset({"DES-CBC3-SHA", "ECDHE-RSA-DES-CBC3-SHA"})
"""Cipher suites that a BIG-IP has, but that distributions do not build into OpenSSL 3."""
DEFAULT_VERSIONS: tuple[TlsVersion, ...] = ("TLSv1.2", NEWEST_TLS_VERSION)


class TlsRules(Value):
    """TLS versions and ciphers that an operator forbids (Octavia's ``minimum_tls_version`` and
    ``tls_cipher_prohibit_list``). ``minimum_version`` None: every version is allowed.
    """

    minimum_version: TlsVersion | None = None
    prohibited_ciphers: frozenset[str] = frozenset()
    """OpenSSL names of the prohibited cipher suites."""

    @property
    def default_versions(self) -> tuple[TlsVersion, ...]:
        """Octavia's default versions that are allowed, and have an allowed cipher; may be empty."""
        forbidden = (*self.forbidden_versions(DEFAULT_VERSIONS), *self._versions_without_cipher())
        return tuple(version for version in DEFAULT_VERSIONS if version not in forbidden)

    @property
    def default_ciphers(self) -> str:
        """Octavia's default ciphers that are allowed, as an OpenSSL cipher string; may be empty."""
        return ":".join(name for name in DEFAULT_CIPHERS.split(":") if name not in self.prohibited_ciphers)

    def forbidden_versions(self, versions: Collection[TlsVersion]) -> tuple[TlsVersion, ...]:
        """Return the versions that are older than the minimum, in the given order; none without a minimum."""
        if self.minimum_version is None:
            return ()
        least = TLS_VERSIONS.index(self.minimum_version)
        return tuple(version for version in versions if TLS_VERSIONS.index(version) < least)

    def _versions_without_cipher(self) -> tuple[TlsVersion, ...]:
        names = self.default_ciphers.split(":")
        return () if TLS13_CIPHERS & set(names) else (NEWEST_TLS_VERSION,)

    def implicitly_used_prohibited_ciphers(self, ciphers: str, versions: Collection[TlsVersion]) -> tuple[str, ...]:
        """Return the prohibited TLS 1.3 ciphers that would be used although the cipher string does not name
        them, sorted: a string that names only ciphers of older versions does not limit TLS 1.3. Empty if
        ``versions`` does not contain TLS 1.3.
        """
        if NEWEST_TLS_VERSION not in versions or any(name.startswith("TLS_") for name in ciphers.split(":")):
            return ()
        return tuple(sorted(self.prohibited_ciphers & TLS13_CIPHERS))

    def forbidden_ciphers(self, ciphers: str) -> tuple[str, ...]:
        """Return the prohibited ciphers that the OpenSSL cipher string names or that its groups (such as ``HIGH``)
        contain, sorted.
        """
        return tuple(sorted(self.prohibited_ciphers & enabled_ciphers(ciphers))) if self.prohibited_ciphers else ()


UNRESTRICTED_TLS = TlsRules()
"""Rules that forbid nothing."""


@lru_cache(maxsize=1024)
def unknown_ciphers(ciphers: str) -> tuple[str, ...]:
    """Return the words of an OpenSSL cipher string that name neither a cipher nor a group of them, in the order
    given. Commands, which begin with ``@``, are not checked.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    names = (word for word in ciphers.split(":") if word and not word.startswith("@"))
    return tuple(word for word in names if not _is_known(word.lstrip("!+-"), context))


def _is_known(name: str, context: ssl.SSLContext) -> bool:
    if name.startswith("TLS_"):
        return name in TLS13_CIPHERS | _OPTIONAL_TLS13_CIPHERS
    if name in _CIPHERS_MISSING_IN_OPENSSL:
        return True
    try:
        # at level 0: at its default level OpenSSL refuses weak ciphers that it has
        context.set_ciphers(f"{name}:@SECLEVEL=0")
    except ssl.SSLError:
        return False
    return True


@lru_cache(maxsize=1024)
def enabled_ciphers(ciphers: str) -> frozenset[str]:
    """Return the words of an OpenSSL cipher string, and the ciphers that it enables in the local OpenSSL,
    with the members of groups; TLS 1.3 ciphers only if they are named.
    """
    named = frozenset(ciphers.split(":"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.set_ciphers(ciphers)
    except ssl.SSLError:  # the local OpenSSL has none of the ciphers, or all are of TLS 1.3, which has no groups
        return named
    # OpenSSL always lists the ciphers of TLS 1.3, whatever the string names
    return named | {row["name"] for row in context.get_ciphers() if not row["name"].startswith("TLS_")}
