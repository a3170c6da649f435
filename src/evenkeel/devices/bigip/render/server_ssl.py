"""TLS to the members of a pool: a server-ssl profile. Pure.

With a CA, the member's certificate must be signed by it and not be revoked; without one any certificate is accepted, as
in Octavia. The name in it is not checked. The device does not use HTTP/2 with members, so a pool whose
``alpn_protocols`` allow only HTTP/2 is refused.
"""

from typing import Any

from evenkeel.core.devices.service import ServiceDefinition, ServicePool
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import SERVER_SSL, Key, WantedObject
from evenkeel.devices.bigip.render.certificates import CertificateReferences
from evenkeel.devices.bigip.render.tls import tls_attributes
from evenkeel.devices.errors import Unrenderable

PARENT_PROFILE = "/Common/serverssl"


def server_ssl_profiles(
    service: ServiceDefinition, pool: ServicePool, names: BigIpNames, references: CertificateReferences
) -> list[WantedObject]:
    """Build the server-ssl profile of a pool; empty without ``tls_enabled``.

    Raises :class:`Unrenderable` for a pool that allows only HTTP/2, an unresolved certificate reference, and
    versions or ciphers that a BIG-IP does not have.
    """
    if not pool.tls_enabled:
        return []
    if set(pool.alpn_protocols) == {"h2"}:
        raise Unrenderable(f"pool {pool.id}: alpn_protocols h2: a BIG-IP speaks HTTP/1 with members")
    return [
        WantedObject(
            key=Key(type=SERVER_SSL, name=names.auxiliary_object_name("serverssl", pool.id)),
            owner=service.load_balancer_id,
            attributes={
                "defaultsFrom": PARENT_PROFILE,
                **tls_attributes(service, pool, names),
                **_verification_settings(pool, references),
                **_client_certificate_settings(pool, references),
                "description": names.marked_description("serverssl", service.load_balancer_id, pool.id),
            },
            immutables=frozenset({"defaultsFrom"}),
        )
    ]


def server_ssl_path(service: ServiceDefinition, pool: ServicePool, names: BigIpNames) -> str:
    """Return the path of the profile for TLS with the pool's members; the built-in one for a pool without
    TLS.
    """
    if not pool.tls_enabled:
        return PARENT_PROFILE
    return f"/{names.partition_name(service.project_id)}/{names.auxiliary_object_name('serverssl', pool.id)}"


def _verification_settings(pool: ServicePool, references: CertificateReferences) -> dict[str, Any]:
    if pool.ca_tls_container_ref is None:
        return {"peerCertMode": "ignore", "caFile": "none", "crlFile": "none"}
    crl = pool.crl_container_ref
    return {
        "peerCertMode": "require",
        "caFile": references.authority_path(f"pool {pool.id}: ca_tls_container_ref", pool.ca_tls_container_ref),
        "crlFile": references.revocation_list_path(f"pool {pool.id}: crl_container_ref", crl) if crl else "none",
    }


def _client_certificate_settings(pool: ServicePool, references: CertificateReferences) -> dict[str, Any]:
    if pool.tls_container_ref is None:
        return {"cert": "none", "key": "none", "chain": "none"}
    paths = references.certificate_paths(f"pool {pool.id}: tls_container_ref", pool.tls_container_ref)
    return {"cert": paths.certificate, "key": paths.key, "chain": paths.chain}
