"""Listeners that terminate TLS: their certificates, and client authentication. Pure.

==================================  ===============================================================================
Octavia                             HAProxy
==================================  ===============================================================================
default and SNI certificates        ``crt-list``, the default one first: HAProxy presents the first one to clients
                                    that send no SNI, or one that matches no certificate. Names, wildcards included,
                                    come from the certificates; between an RSA and an ECDSA certificate of the same
                                    name, HAProxy chooses by the client's signature algorithms
client_authentication               ``verify optional`` or ``required`` with ``ca-file`` and ``crl-file``; a
                                    certificate that fails verification aborts the handshake in both
hsts_…                              ``Strict-Transport-Security`` in every response, HAProxy's own included
==================================  ===============================================================================
"""

from collections.abc import Iterable

from evenkeel.core.devices.service import ServiceListener
from evenkeel.core.resources.model import TLS_PROTOCOL
from evenkeel.core.tls.certificates import CertificateKind
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.haproxy.naming import auxiliary_name, object_name
from evenkeel.devices.haproxy.render.certificates import ReferencedFiles
from evenkeel.devices.haproxy.render.quoting import quote_line
from evenkeel.devices.haproxy.render.tls import alpn_value, tls_arguments
from evenkeel.haproxyd import wire

VERIFY_VALUES = {"OPTIONAL": "optional", "MANDATORY": "required"}
"""``{client_authentication: value of HAProxy's argument verify}``."""
_CLIENT_REVOCATION_ARGUMENTS = ("ca-ignore-err", "3")
"""Arguments that check revocation of clients' certificates alone, not of CA certificates.

``crl-file`` makes OpenSSL require a revocation list of every CA in the chain, but the API takes only one. So a missing
list for a CA certificate (X509_V_ERR_UNABLE_TO_GET_CRL) is ignored; for the client's certificate it is not.
"""
HSTS_AGE_MAX = 2_147_483_647


def tls_bind_arguments(listener: ServiceListener, files: ReferencedFiles) -> tuple[str, ...]:
    """Return the TLS arguments of ``bind`` after the addresses; empty if the listener does not terminate TLS.
    Adds the files that they name to ``files``.

    Raises :class:`Unrenderable` for a missing or unresolved certificate reference, and for TLS settings that
    HAProxy does not have.
    """
    if listener.protocol != TLS_PROTOCOL:
        return ()
    what = object_name("listener", listener.id)
    _certificate_names(listener, files)  # raises Unrenderable for unknown references
    return (
        "ssl",
        *("crt-list", _crt_list_name(listener)),
        *_client_verification_arguments(listener, files),
        *tls_arguments(f"listener {what}", listener.tls_versions, listener.tls_ciphers),
        *("alpn", alpn_value(f"listener {what}", listener.alpn_protocols)),
    )


def certificate_list_files(listener: ServiceListener, files: ReferencedFiles) -> Iterable[wire.File]:
    """Yield the listener's ``crt-list`` as a file; nothing if it terminates no TLS. Adds the certificate
    files to ``files``.

    Raises :class:`Unrenderable` for a missing or unresolved certificate reference.
    """
    if listener.protocol == TLS_PROTOCOL:
        content = "".join(f"{name}\n" for name in _certificate_names(listener, files))
        yield wire.File(name=_crt_list_name(listener), kind="crt_list", content=content)


def hsts_lines(listener: ServiceListener) -> list[str]:
    """Return the line that sets the Strict-Transport-Security header; empty if the listener has none. Raises
    :class:`Unrenderable` if ``hsts_max_age`` is out of range.
    """
    if listener.hsts_max_age is None:
        return []
    if not 0 <= listener.hsts_max_age <= HSTS_AGE_MAX:
        raise Unrenderable(
            f"listener {listener.id}: hsts_max_age {listener.hsts_max_age}: 0 to {HSTS_AGE_MAX} are possible"
        )
    value = f"max-age={listener.hsts_max_age}"
    value += "; includeSubDomains" if listener.hsts_include_subdomains else ""
    value += "; preload" if listener.hsts_preload else ""
    return [quote_line("http-after-response", "set-header", "Strict-Transport-Security", value)]


def _crt_list_name(listener: ServiceListener) -> str:
    return auxiliary_name(object_name("listener", listener.id), "crt_list")


def _certificate_names(listener: ServiceListener, files: ReferencedFiles) -> list[str]:
    """Return the names of the certificate files, the default certificate first, and add the files to
    ``files``. Raises :class:`Unrenderable` for a listener without certificates, or an unresolved
    reference.
    """
    name = object_name("listener", listener.id)
    default = listener.default_tls_container_ref
    # HAProxy presents the first of the list to clients whose SNI matches none.
    references = {default: "default_tls_container_ref"} if default else {}
    references |= {one: "sni_container_refs" for one in listener.sni_container_refs if one not in references}
    if not references:
        raise Unrenderable(f"listener {name}: it has neither default_tls_container_ref nor sni_container_refs")
    return [files.file_name(name, field, one, CertificateKind.CERTIFICATE) for one, field in references.items()]


def _client_verification_arguments(listener: ServiceListener, files: ReferencedFiles) -> tuple[str, ...]:
    if listener.client_authentication == "NONE":
        return ()
    if listener.client_authentication not in VERIFY_VALUES:
        raise Unrenderable(f"listener {listener.id}: client_authentication {listener.client_authentication}")
    name = object_name("listener", listener.id)
    authority, revoked = listener.client_ca_tls_container_ref, listener.client_crl_container_ref
    if authority is None:
        raise Unrenderable(f"listener {name}: client_authentication needs client_ca_tls_container_ref")
    ca = files.file_name(name, "client_ca_tls_container_ref", authority, CertificateKind.AUTHORITY)
    if revoked is None:
        return ("verify", VERIFY_VALUES[listener.client_authentication], "ca-file", ca)
    crl = files.file_name(name, "client_crl_container_ref", revoked, CertificateKind.REVOCATION_LIST)
    return (
        "verify",
        VERIFY_VALUES[listener.client_authentication],
        "ca-file",
        ca,
        "crl-file",
        crl,
        *_CLIENT_REVOCATION_ARGUMENTS,
    )
