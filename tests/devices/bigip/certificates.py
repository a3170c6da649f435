"""Certificates for tests of the driver: contents as agents bring them, and definitions that refer to them."""

from functools import cache
from typing import Any

from msgspec.structs import replace

from evenkeel.core.devices.device import PartitionBatch
from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.core.tls.certificates import CertificateContent
from tests import certificates
from tests.devices.services import batch, listener, service
from tests.key_managers.authority import INTERMEDIATE, ROOT, Issued, ec_key


@cache
def issued(name: str, issuer: Issued = INTERMEDIATE) -> Issued:
    return Issued(name, issuer, ec_key(), names=(name,))


def certificate(name: str, *, chain: bool = True) -> CertificateContent:
    """A certificate for this name, the same one each time."""
    leaf = issued(name) if chain else issued(name, ROOT)
    return certificates.certificate(leaf, *leaf.issuers[:-1])


def authority() -> CertificateContent:
    return certificates.authority(ROOT, INTERMEDIATE)


@cache
def revocation_list() -> CertificateContent:
    return certificates.revocations(INTERMEDIATE)


def tls_listener(number: int = 1, **changes: Any) -> ServiceListener:
    """A listener where TLS ends, as the API fills it up."""
    fields: dict[str, Any] = {
        "protocol": "TERMINATED_HTTPS",
        "protocol_port": 443,
        "default_tls_container_ref": "ref-a",
        "tls_versions": ("TLSv1.2", "TLSv1.3"),
        "tls_ciphers": "TLS_AES_128_GCM_SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256",
        "alpn_protocols": ("h2", "http/1.1"),
    }
    return listener(number, **{**fields, **changes})


def tls_service(number: int = 1, *, names: dict[str, CertificateContent], **changes: Any) -> ServiceDefinition:
    """A load balancer with one such listener. ``names``: what references name now."""
    fields = {"listeners": (tls_listener(number),), **changes}
    return certificates.referring(service(number, **fields), names)


def bringing(*contents: CertificateContent, services: tuple[ServiceDefinition, ...], **more: Any) -> PartitionBatch:
    """A batch that brings contents."""
    return replace(batch(*services, **more), certificates={content.sha256: content for content in contents})
