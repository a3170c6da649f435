"""The settings of a TLS profile together with the contents of its files: comparable values without references.

Connections with equal plans share a context. A change of a profile or of a file that it uses applies to the next
handshake, and does not affect open connections.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from icontrol_emulator.config import pem
from icontrol_emulator.config.ciphers import TLS1_3, VERSIONS, BadWord
from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key
from icontrol_emulator.config.rules import ciphers
from icontrol_emulator.config.rules.files import CERT, CRL, KEY, key_text, text_of
from icontrol_emulator.config.rules.ssl import chain_of, options_of

NOT_GIVEN = ("", "none", "None")
OPTION_OF_VERSION = {"TLSV1": "no-tlsv1", "TLSV1_1": "no-tlsv1.1", "TLSV1_2": "no-tlsv1.2", "TLSV1_3": "no-tlsv1.3"}


@dataclass(frozen=True, slots=True)
class Pair:
    """PEM of the certificates, leaf first, and of the decrypted private key."""

    chain: str
    key: str

    def __repr__(self) -> str:
        return "Pair(...)"


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsPlan:
    """The settings of one side of a handshake."""

    pairs: tuple[Pair, ...] = ()
    suites: tuple[str, ...] = ()
    """OpenSSL's names in order of preference, without those of TLS 1.3."""
    newest_suites: tuple[str, ...] = ()
    """Suites of TLS 1.3."""
    versions: frozenset[str] = frozenset(VERSIONS)
    verify: str = "ignore"
    """`ignore`, `request` (requested, but never a reason to refuse) or `require`."""
    authorities: str = ""
    advertised: str = ""
    revocation_lists: str = ""
    takes_expired_lists: bool = False
    takes_untrusted: bool = False
    takes_expired: bool = False
    depth: int = 9
    name: str = ""
    """Client side only: the server name (SNI) to send."""
    wanted_name: str = ""
    """Client side only: the name that the server's certificate must match."""
    protocols: tuple[str, ...] = ()
    """Application protocols (ALPN) in order of preference; empty: not negotiated."""


def client_side(engine: Engine, props: Mapping[str, Any], protocols: tuple[str, ...]) -> TlsPlan:
    """The plan of a client-ssl profile: the device is the server."""
    return TlsPlan(
        **_common(engine, props),
        advertised=_text(engine, CERT, props.get("clientCertCa")),
        protocols=protocols,
    )


def server_side(engine: Engine, props: Mapping[str, Any]) -> TlsPlan:
    """The plan of a server-ssl profile: the device is the client."""
    name = str(props.get("serverName") or "")
    wanted = str(props.get("authenticateName") or "")
    return TlsPlan(
        **_common(engine, props),
        name="" if name in NOT_GIVEN or _is_address(name) else name,
        wanted_name="" if wanted in NOT_GIVEN else wanted,
        takes_untrusted=props.get("untrustedCertResponseControl") == "ignore",
        takes_expired=props.get("expireCertResponseControl") == "ignore",
    )


def _common(engine: Engine, props: Mapping[str, Any]) -> dict[str, Any]:
    try:
        chosen = ciphers.of_profile(engine, props)
    except BadWord:
        chosen = ()
    refused = options_of(props)
    versions = frozenset(each.version for each in chosen if OPTION_OF_VERSION[each.version] not in refused)
    suites = dict.fromkeys(each.suite.name for each in chosen if each.version in versions and each.version != TLS1_3)
    newest = dict.fromkeys(each.suite.name for each in chosen if each.version in versions and each.version == TLS1_3)
    return {
        "pairs": tuple(_pairs(engine, props)),
        "suites": tuple(suites),
        "newest_suites": tuple(newest),
        "versions": versions,
        "verify": str(props.get("peerCertMode", "ignore")),
        "authorities": _text(engine, CERT, props.get("caFile")),
        "revocation_lists": _text(engine, CRL, props.get("crlFile")),
        "takes_expired_lists": props.get("allowExpiredCrl") == "enabled",
        "depth": int(props.get("authenticateDepth", 9)),
    }


def _pairs(engine: Engine, props: Mapping[str, Any]) -> Iterable[Pair]:
    for entry in chain_of(props):
        cert = engine.store.get(Key(CERT, "", str(entry.get("cert"))))
        key = engine.store.get(Key(KEY, "", str(entry.get("key"))))
        if cert is None or key is None:
            continue
        try:
            private = key_text(key, str(entry.get("_passphrase") or ""))
        except pem.BadPassphrase:
            continue
        yield Pair(text_of(cert) + "\n" + _text(engine, CERT, entry.get("chain")), private)


def _text(engine: Engine, type_path: str, path: object) -> str:
    found = engine.store.get(Key(type_path, "", str(path)))
    return text_of(found) if found is not None else ""


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
