"""Certificates for connections between HAProxy peers: mutual TLS, in which only pinned keys are trusted.

For each partition, a daemon makes a CA, issues one certificate, and discards the CA's key. So trust in that CA is trust
in exactly one key, which never leaves its host. The CA's certificate is public: the partition's owner passes it to the
other devices (:attr:`~evenkeel.haproxyd.wire.HaproxyPeer.certificate`).
"""

import re
import secrets
import ssl
from collections.abc import Iterable

import trustme

from evenkeel.haproxyd import wire

CERTIFICATE_CHARS_MAX = 4096
NAME_IN_CERTIFICATE = "peer.evenkeel.invalid"
"""Name in each peer's certificate, which is not verified: each CA has issued one certificate only."""

_CERTIFICATES_PATTERN = re.compile(r"-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]+\n-----END CERTIFICATE-----\n")


def make_peer_key() -> str:
    """Make a private key, its certificate, and the CA that issued the certificate, and return them as one PEM
    text, which is secret. No peer trusts the CA yet.
    """
    # a subject of its own, so that a peer that trusts several CAs finds the issuer
    authority = trustme.CA(organization_name="evenkeel", organization_unit_name=f"peers {secrets.token_hex(8)}")
    leaf = authority.issue_cert(NAME_IN_CERTIFICATE)
    return (leaf.private_key_and_cert_chain_pem.bytes() + authority.cert_pem.bytes()).decode()


def peer_certificate(key: str) -> str:
    """Return the CA's certificate from the text of :func:`make_peer_key`, for peers to trust; empty if the text has
    another form.
    """
    found = _CERTIFICATES_PATTERN.findall(key)
    # The CA's certificate is the last of the two (make_peer_key).
    return found[-1] if len(found) == 2 and "PRIVATE KEY" in key else ""


def certificate_problem(text: str) -> str:
    """Return the reason why the text is not one certificate in PEM form, as a peer must have it; empty if it
    is.
    """
    if not text:
        return "is missing; the one that the peer's daemon answers is needed (its version, or the agent's, is too old)"
    if len(text) > CERTIFICATE_CHARS_MAX or not _CERTIFICATES_PATTERN.fullmatch(text):
        return f"one certificate in PEM form of at most {CERTIFICATE_CHARS_MAX} characters is allowed"
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except ssl.SSLError:
        return "is not a certificate"
    return ""


def trusted_ca_certificates(peer: wire.HaproxyPeer, peers: Iterable[wire.HaproxyPeer]) -> str:
    """Return, as PEM, the CA certificates that a HAProxy with these peers trusts, sorted and without
    repetition.

    That of ``peer``, its own entry, is among them, because workers pass their stick tables to the next worker
    over the same protocol.
    """
    return "".join(sorted({one.certificate for one in (peer, *peers)}))
