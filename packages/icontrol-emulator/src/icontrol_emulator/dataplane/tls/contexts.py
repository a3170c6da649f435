"""OpenSSL contexts made from plans. Equal plans share a context."""

from __future__ import annotations

import functools
import tempfile
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from OpenSSL import SSL, crypto

from icontrol_emulator.config import pem
from icontrol_emulator.dataplane.tls.plan import Pair, TlsPlan

CONTEXTS_MAX = 2048
REFUSALS = {
    "TLSV1": SSL.OP_NO_TLSv1, "TLSV1_1": SSL.OP_NO_TLSv1_1, "TLSV1_2": SSL.OP_NO_TLSv1_2,
    "TLSV1_3": SSL.OP_NO_TLSv1_3,
}  # fmt: skip
MODES = {"request": SSL.VERIFY_PEER, "require": SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT}
LIST_EXPIRED = 12  # from OpenSSL's x509_vfy.h, as the next two
CERTIFICATE_EXPIRED = 10
UNTRUSTED = frozenset({2, 18, 19, 20, 21})
# every version and suite in the plan, however weak: the profile decides
WEAKEST = "@SECLEVEL=0"


class Unusable(Exception):
    """No handshake is possible with this plan."""


class Verdict:
    """The result of verifying the peer of one connection."""

    def __init__(self) -> None:
        self.error = 0
        """OpenSSL's number of the first verification error; 0 if there was none."""


@functools.lru_cache(maxsize=CONTEXTS_MAX)
def server_context(plan: TlsPlan) -> SSL.Context:
    """For the server side. Raises `Unusable`."""
    context = _context(SSL.TLS_SERVER_METHOD, plan)
    if not plan.pairs:
        raise Unusable("no certificate")
    for certificate in _certificates(plan.advertised):
        context.add_client_ca(certificate)
    context.set_options(SSL.OP_CIPHER_SERVER_PREFERENCE | SSL.OP_NO_TICKET)
    context.set_verify(MODES.get(plan.verify, SSL.VERIFY_NONE), functools.partial(_judge, plan))
    if plan.protocols:
        wanted = [protocol.encode() for protocol in plan.protocols]
        context.set_alpn_select_callback(functools.partial(_select, wanted))
    return context


@functools.lru_cache(maxsize=CONTEXTS_MAX)
def client_context(plan: TlsPlan) -> SSL.Context:
    """For the client side. Raises `Unusable`."""
    context = _context(SSL.TLS_CLIENT_METHOD, plan)
    verified = plan.verify == "require"
    context.set_verify(SSL.VERIFY_PEER if verified else SSL.VERIFY_NONE, functools.partial(_judge, plan))
    return context


def _context(method: int, plan: TlsPlan) -> SSL.Context:
    context = SSL.Context(method)
    context.set_min_proto_version(SSL.TLS1_VERSION)
    refused = SSL.OP_NO_SSLv2 | SSL.OP_NO_SSLv3 | SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION
    for version, option in REFUSALS.items():
        refused |= 0 if version in plan.versions else option
    context.set_options(refused)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    try:
        if plan.suites:
            context.set_cipher_list(":".join([*plan.suites, WEAKEST]).encode())
        if plan.newest_suites:
            context.set_tls13_ciphersuites(":".join(plan.newest_suites).encode())
        for pair in plan.pairs:
            _use(context, pair)
        _trust(context, plan)
    except (SSL.Error, crypto.Error, pem.BadPem) as error:
        raise Unusable(str(error)) from error
    if not plan.versions:
        raise Unusable("no version")
    return context


def _use(context: SSL.Context, pair: Pair) -> None:
    # from a file, because only this API gives each certificate a chain of its own; the file has certificates only
    chain = b"".join(each.public_bytes(serialization.Encoding.PEM) for each in pem.certificates(pair.chain))
    with tempfile.NamedTemporaryFile(suffix=".crt") as file:
        file.write(chain)
        file.flush()
        context.use_certificate_chain_file(file.name)
    context.use_privatekey(pem.private_key(pair.key))


def _trust(context: SSL.Context, plan: TlsPlan) -> None:
    store = context.get_cert_store()
    if store is None:
        return
    for certificate in _certificates(plan.authorities):
        store.add_cert(crypto.X509.from_cryptography(certificate))
    if plan.revocation_lists:
        for each in pem.revocation_lists(plan.revocation_lists):
            store.add_crl(each)
        store.set_flags(crypto.X509StoreFlags.CRL_CHECK)
    context.set_verify_depth(plan.depth)


def _certificates(text: str) -> tuple[x509.Certificate, ...]:
    return pem.certificates(text) if text.strip() else ()


def _judge(plan: TlsPlan, connection: SSL.Connection, _: crypto.X509, error: int, depth: int, good: int) -> bool:
    """Whether the handshake may continue after OpenSSL has verified one certificate of the peer."""
    if good:
        return True
    if error == LIST_EXPIRED and plan.takes_expired_lists:
        return True
    if error == CERTIFICATE_EXPIRED and plan.takes_expired:
        return True
    if error in UNTRUSTED and plan.takes_untrusted:
        return True
    verdict = connection.get_app_data()
    if isinstance(verdict, Verdict) and not verdict.error:
        verdict.error = error
    return plan.verify == "request"


def _select(wanted: list[bytes], connection: SSL.Connection, offered: list[bytes]) -> Any:
    return next((protocol for protocol in wanted if protocol in offered), SSL.NO_OVERLAPPING_PROTOCOLS)
