"""TLS termination at a listener: client-ssl profiles. Pure.

There is one profile per certificate, but certificates of the same names with keys of different types share one, so that
the device can choose by the client's ciphers. The device chooses the profile by SNI: a profile without a server name of
its own matches the names in its certificate. Exactly one profile is the default for SNI, as a BIG-IP requires. A
profile is named after the listener and its (first) reference, so that a renewal modifies it in place and no virtual
server changes.

=========================  =============================================================================
Octavia                    client-ssl
=========================  =============================================================================
default_tls_container_ref  the profile with sniDefault; without one, that of the first of sni_container_refs
client_authentication      peerCertMode: NONE ignore, OPTIONAL request, MANDATORY require; CA and CRL
                           With ``request`` a BIG-IP accepts clients with invalid certificates: see
                           :mod:`evenkeel.devices.bigip.render.handshake`
alpn_protocols             with h2, also an http2 profile, which offers HTTP/1.1 too. A device requires one
                           cipher for it; if that is not among the listener's, our own profile does not require it
=========================  =============================================================================
"""

import hashlib
from typing import Any

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.core.resources.model import TLS_PROTOCOL
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import CLIENT_SSL, HTTP2_PROFILE, Key, WantedObject
from evenkeel.devices.bigip.render.certificates import CertificateReferences
from evenkeel.devices.bigip.render.tls import tls_attributes
from evenkeel.devices.errors import Unrenderable

DEFAULT_PARENT_PROFILE = "/Common/clientssl"
HTTP2_PROFILE_PATH = "/Common/http2"
HTTP2_CIPHER = "ECDHE-RSA-AES128-GCM-SHA256"
"""Cipher that a virtual server must offer, unless its http2 profile disables the device's check (ID 516327)."""
PEER_MODES = {"NONE": "ignore", "OPTIONAL": "request", "MANDATORY": "require"}
_REFERENCE_DIGITS = 20


def client_ssl_profiles(
    service: ServiceDefinition,
    listener: ServiceListener,
    names: BigIpNames,
    references: CertificateReferences,
    parent: str,
) -> list[WantedObject]:
    """Build one client-ssl profile per group of certificates, the default one first; empty unless the
    listener terminates TLS. ``parent``: path of the profile from which they inherit.

    Raises :class:`Unrenderable` for missing or unresolved certificates, and for TLS settings that a BIG-IP
    does not have.
    """
    if listener.protocol != TLS_PROTOCOL:
        return []
    shared = {
        "defaultsFrom": parent,
        "serverName": "none",
        **tls_attributes(service, listener, names),
        **_client_authentication(listener, references),
        "renegotiation": "disabled",  # HTTP/2 forbids it, TLS 1.3 has none, clients could exhaust the device with it
        "ocspStapling": "disabled",
        "description": names.marked_description("clientssl", service.load_balancer_id, listener.id),
    }
    return [
        WantedObject(
            key=Key(type=CLIENT_SSL, name=_profile_name(listener, group[0], names)),
            owner=service.load_balancer_id,
            attributes={
                **shared,
                "certKeyChain": [
                    _cert_key_chain(listener, place, reference, references) for place, reference in enumerate(group)
                ],
                "sniDefault": "true" if place == 0 else "false",
            },
            immutables=frozenset({"defaultsFrom"}),
        )
        for place, group in enumerate(references.group_by_certificate_names(certificate_references(listener)))
    ]


def http2_profiles(service: ServiceDefinition, listener: ServiceListener, names: BigIpNames) -> list[WantedObject]:
    """Build the http2 profile for a listener that offers HTTP/2 without :data:`HTTP2_CIPHER`; empty for other
    listeners.
    """
    # A listener without ciphers of its own offers the device's default ones, which have this cipher.
    if not speaks_http2(listener) or HTTP2_CIPHER in (listener.tls_ciphers or HTTP2_CIPHER).split(":"):
        return []
    return [
        WantedObject(
            key=Key(type=HTTP2_PROFILE, name=names.auxiliary_object_name("http2", listener.id)),
            owner=service.load_balancer_id,
            attributes={
                "defaultsFrom": HTTP2_PROFILE_PATH,
                "enforceTlsRequirements": "disabled",
                "description": names.marked_description("http2", service.load_balancer_id, listener.id),
            },
            immutables=frozenset({"defaultsFrom"}),
        )
    ]


def speaks_http2(listener: ServiceListener) -> bool:
    """Whether the listener offers HTTP/2 to clients."""
    return listener.protocol == TLS_PROTOCOL and "h2" in listener.alpn_protocols


def certificate_references(listener: ServiceListener) -> tuple[str, ...]:
    """Return the listener's certificate references, the default one first, without duplicates. Raises
    :class:`Unrenderable` if there are none.
    """
    first = (listener.default_tls_container_ref,) if listener.default_tls_container_ref else ()
    found = tuple(dict.fromkeys((*first, *listener.sni_container_refs)))
    if not found:
        raise Unrenderable(
            f"listener {listener.id}: {TLS_PROTOCOL} needs default_tls_container_ref or sni_container_refs"
        )
    return found


def _profile_name(listener: ServiceListener, reference: str, names: BigIpNames) -> str:
    digits = hashlib.sha256(reference.encode()).hexdigest()[:_REFERENCE_DIGITS]
    return names.auxiliary_object_name(f"clientssl-{digits}", listener.id)


def _cert_key_chain(
    listener: ServiceListener, place: int, reference: str, references: CertificateReferences
) -> dict[str, str]:
    default = reference == listener.default_tls_container_ref
    field = "default_tls_container_ref" if default else "sni_container_refs"
    paths = references.certificate_paths(f"listener {listener.id}: {field}", reference)
    return {"name": f"pair-{place}", "cert": paths.certificate, "key": paths.key, "chain": paths.chain}


def _client_authentication(listener: ServiceListener, references: CertificateReferences) -> dict[str, Any]:
    mode, authority = listener.client_authentication, listener.client_ca_tls_container_ref
    what = f"listener {listener.id}:"
    if mode not in PEER_MODES:
        raise Unrenderable(f"{what} client_authentication {mode}: {', '.join(PEER_MODES)} are possible")
    if mode == "NONE":
        # Every attribute is set, so that those of an earlier client authentication are removed.
        return {"peerCertMode": PEER_MODES[mode], "caFile": "none", "clientCertCa": "none", "crlFile": "none"}
    if authority is None:
        raise Unrenderable(f"{what} client_authentication {mode} needs client_ca_tls_container_ref")
    path = references.authority_path(f"{what} client_ca_tls_container_ref", authority)
    crl = listener.client_crl_container_ref
    return {
        "peerCertMode": PEER_MODES[mode],
        "caFile": path,
        "clientCertCa": path,
        "crlFile": references.revocation_list_path(f"{what} client_crl_container_ref", crl) if crl else "none",
    }
