"""What a partition's HAProxy shows its peers, and whom it believes: TLS on both sides, and nothing but named keys.

Each daemon makes an authority for each partition, has it sign one certificate, and forgets the authority's key. So
whoever trusts that authority trusts exactly one key, which never leaves its host. The authority's certificate is
public: the partition's owner hands it to the other devices (:attr:`~evenkeel.haproxyd.wire.HaproxyPeer.certificate`).
"""

import re
import secrets
import ssl
from collections.abc import Iterable

import trustme

from evenkeel.haproxyd import wire

CERTIFICATE_CHARS_MAX = 4096
NAME_IN_CERTIFICATE = "peer.evenkeel.invalid"
"""Nobody compares it: there is one certificate of each authority."""

_CERTIFICATES = re.compile(r"-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]+\n-----END CERTIFICATE-----\n")


def make_peer_key() -> str:
    """Private key, certificate, and the authority that signed it, which nobody trusts yet: PEM, secret."""
    # a name of its own, so that whoever trusts several finds the right one
    authority = trustme.CA(organization_name="evenkeel", organization_unit_name=f"peers {secrets.token_hex(8)}")
    leaf = authority.issue_cert(NAME_IN_CERTIFICATE)
    return (leaf.private_key_and_cert_chain_pem.bytes() + authority.cert_pem.bytes()).decode()


def certificate_of(key: str) -> str:
    """The authority that :func:`make_peer_key` made, for those who are to trust it; empty if this is no such text."""
    found = _CERTIFICATES.findall(key)
    return found[-1] if len(found) == 2 and "PRIVATE KEY" in key else ""


def certificate_problem(text: str) -> str:
    """Why this cannot be a peer's certificate; empty if it can."""
    if not text:
        return "is missing; the one that the peer's daemon answers is needed (its version, or the agent's, is too old)"
    if len(text) > CERTIFICATE_CHARS_MAX or not _CERTIFICATES.fullmatch(text):
        return f"one certificate in PEM form of at most {CERTIFICATE_CHARS_MAX} characters is allowed"
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except ssl.SSLError:
        return "is not a certificate"
    return ""


def trusted(peer: wire.HaproxyPeer, peers: Iterable[wire.HaproxyPeer]) -> str:
    """The certificates that a HAProxy with these peers believes, PEM. Its own is among them: workers hand their
    tables to the next one in the same way."""
    return "".join(sorted({one.certificate for one in (peer, *peers)}))
