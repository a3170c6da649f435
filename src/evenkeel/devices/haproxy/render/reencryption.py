"""TLS towards members. Pure.

With a CA members must show a certificate of it that is not revoked; if the client asked for a name (SNI), that name is
asked for in turn and must be in it. Without a CA any certificate will do, as in Octavia. Health checks of any type but
PING speak TLS in the same way, and ask for the monitor's ``domain_name``.

Where the listener does not read what it passes on (mode tcp), no ALPN is offered: which protocol the client speaks is
not known. Checks over HTTP offer HTTP/1.1 alone: HAProxy's cannot speak HTTP/2 over TLS (tried with 2.6).
"""

from evenkeel.core.certificates import CertificateKind
from evenkeel.core.service import ServicePool
from evenkeel.devices.haproxy.naming import object_name
from evenkeel.devices.haproxy.render.certificates import ReferencedFiles
from evenkeel.devices.haproxy.render.tls import alpn, tls_arguments


def server_arguments(pool: ServicePool, mode: str, files: ReferencedFiles) -> tuple[str, ...]:
    """How the pool's members are spoken to; nothing if in the clear. Names the files it needs."""
    if not pool.tls_enabled:
        return ()
    what = f"pool {object_name('pool', pool.id)}"
    return (
        "ssl",
        *_verification(pool, files),
        *_own_certificate(pool, files),
        *("sni", "ssl_fc_sni"),
        *tls_arguments(what, pool.tls_versions, pool.tls_ciphers),
        *(("alpn", alpn(what, pool.alpn_protocols)) if mode == "http" else ()),
    )


def _verification(pool: ServicePool, files: ReferencedFiles) -> tuple[str, ...]:
    if pool.ca_tls_container_ref is None:
        return ("verify", "none")
    name = object_name("pool", pool.id)
    ca = files.named(name, "ca_tls_container_ref", pool.ca_tls_container_ref, CertificateKind.AUTHORITY)
    if pool.crl_container_ref is None:
        return ("verify", "required", "ca-file", ca)
    crl = files.named(name, "crl_container_ref", pool.crl_container_ref, CertificateKind.REVOCATION_LIST)
    return ("verify", "required", "ca-file", ca, "crl-file", crl)


def _own_certificate(pool: ServicePool, files: ReferencedFiles) -> tuple[str, ...]:
    if pool.tls_container_ref is None:
        return ()
    name = object_name("pool", pool.id)
    return ("crt", files.named(name, "tls_container_ref", pool.tls_container_ref, CertificateKind.CERTIFICATE))
