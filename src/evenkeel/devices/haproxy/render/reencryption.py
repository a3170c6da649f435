"""TLS to members (re-encryption). Pure.

With a CA, the member's certificate must be signed by it and not be revoked. If the client sent a server name
(SNI), HAProxy sends the same name to the member and requires the certificate to match it. Without a CA any
certificate is accepted, as in Octavia. Health checks that HAProxy makes use TLS with the same settings,
unless the member has a ``monitor_address`` or ``monitor_port`` of its own, and send the monitor's
``domain_name``.

In mode tcp no ALPN is offered, because HAProxy does not know the client's protocol. HTTP checks offer only
HTTP/1.1: HAProxy's checks cannot use HTTP/2 over TLS (tried with 2.6).
"""

from evenkeel.core.devices.service import ServicePool
from evenkeel.core.tls.certificates import CertificateKind
from evenkeel.devices.haproxy.naming import object_name
from evenkeel.devices.haproxy.render.certificates import ReferencedFiles
from evenkeel.devices.haproxy.render.tls import alpn_value, tls_arguments


def tls_server_arguments(pool: ServicePool, mode: str, files: ReferencedFiles) -> tuple[str, ...]:
    """Return the TLS arguments of the pool's ``server`` lines; empty without TLS. Adds the files that they
    name to ``files``.

    Raises :class:`Unrenderable` for an unresolved certificate reference, and for versions, ciphers or ALPN
    protocols that HAProxy does not have.
    """
    if not pool.tls_enabled:
        return ()
    what = f"pool {object_name('pool', pool.id)}"
    return (
        "ssl",
        *_verification_arguments(pool, files),
        *_client_certificate_arguments(pool, files),
        *("sni", "ssl_fc_sni"),
        *tls_arguments(what, pool.tls_versions, pool.tls_ciphers),
        *(("alpn", alpn_value(what, pool.alpn_protocols)) if mode == "http" else ()),
    )


def _verification_arguments(pool: ServicePool, files: ReferencedFiles) -> tuple[str, ...]:
    if pool.ca_tls_container_ref is None:
        return ("verify", "none")
    name = object_name("pool", pool.id)
    ca = files.file_name(name, "ca_tls_container_ref", pool.ca_tls_container_ref, CertificateKind.AUTHORITY)
    if pool.crl_container_ref is None:
        return ("verify", "required", "ca-file", ca)
    crl = files.file_name(name, "crl_container_ref", pool.crl_container_ref, CertificateKind.REVOCATION_LIST)
    return ("verify", "required", "ca-file", ca, "crl-file", crl)


def _client_certificate_arguments(pool: ServicePool, files: ReferencedFiles) -> tuple[str, ...]:
    if pool.tls_container_ref is None:
        return ()
    name = object_name("pool", pool.id)
    return ("crt", files.file_name(name, "tls_container_ref", pool.tls_container_ref, CertificateKind.CERTIFICATE))
