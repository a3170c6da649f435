"""What listeners and pools refer to."""

from evenkeel.core.resources.model import ListenerSpec, PoolSpec
from evenkeel.core.tls.certificate_references import CA_ATTRIBUTE_OF_REVOCATION_LIST, REFERENCES, references_of
from evenkeel.core.tls.certificates import CertificateKind


def test_every_reference_of_listeners_and_pools_is_known() -> None:
    named = {name for spec in (ListenerSpec, PoolSpec) for name in spec.__struct_fields__ if "container_ref" in name}
    assert named == REFERENCES.keys()
    assert set(CA_ATTRIBUTE_OF_REVOCATION_LIST) | set(CA_ATTRIBUTE_OF_REVOCATION_LIST.values()) <= named


def test_references_of_a_listener_and_a_pool() -> None:
    listener = ListenerSpec(
        id="l",
        protocol="TERMINATED_HTTPS",
        protocol_port=443,
        default_tls_container_ref="one",
        sni_container_refs=("two", "one"),
        client_ca_tls_container_ref="ca",
        client_crl_container_ref="crl",
    )
    pool = PoolSpec(id="p", protocol="HTTP", lb_algorithm="ROUND_ROBIN", tls_container_ref="one", crl_container_ref="c")
    found = [(each.field, each.reference, each.kind) for row in (listener, pool) for each in references_of(row)]
    assert found == [
        ("default_tls_container_ref", "one", CertificateKind.CERTIFICATE),
        ("sni_container_refs", "two", CertificateKind.CERTIFICATE),
        ("sni_container_refs", "one", CertificateKind.CERTIFICATE),
        ("client_ca_tls_container_ref", "ca", CertificateKind.AUTHORITY),
        ("client_crl_container_ref", "crl", CertificateKind.REVOCATION_LIST),
        ("tls_container_ref", "one", CertificateKind.CERTIFICATE),
        ("crl_container_ref", "c", CertificateKind.REVOCATION_LIST),
    ]


def test_plain_ones_refer_to_nothing() -> None:
    assert references_of(ListenerSpec(id="l", protocol="HTTP", protocol_port=80)) == ()
