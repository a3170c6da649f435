"""Authorities and revocation lists."""

import pytest

from evenkeel.core.kit.errors import (
    CaCertificateUnreadable,
    CertificateError,
    CertificateTooLarge,
    RevocationListMismatch,
    RevocationListUnreadable,
)
from evenkeel.core.tls.certificates import AUTHORITY_BYTES_MAX, REVOCATION_LIST_BYTES_MAX, Secret
from evenkeel.key_managers.parsing import authority_bundle, certificate_bundle, read_revocation_list
from tests.key_managers.authority import (
    INTERMEDIATE,
    LEAF,
    NOT_AFTER,
    ROOT,
    STRANGER,
    Issued,
    ec_key,
    key_usage,
    rsa_key,
)
from tests.key_managers.parsing import unusual

NO_LISTS = Issued("signs no lists", None, ec_key(), ca=True, usage=key_usage(key_cert_sign=True))
CA, CRL = "directory://p1/ca", "directory://p1/crl"


def test_an_authority_and_what_it_has_revoked_become_a_bundle() -> None:
    revoked = ROOT.signed_list(LEAF.certificate.serial_number)

    bundle = authority_bundle(CA, ROOT.pem + INTERMEDIATE.pem, (CRL, revoked))

    assert bundle.certificates == (ROOT.pem.decode(), INTERMEDIATE.pem.decode())
    assert bundle.revocation_list == revoked.decode()
    assert bundle.facts.common_name == "root"
    assert bundle.sha256 == authority_bundle(CA, ROOT.pem + INTERMEDIATE.pem).sha256  # the list has its own
    assert read_revocation_list(CRL, revoked).next_update == NOT_AFTER


@pytest.mark.parametrize("pem", [unusual.VERSION_1_ROOT, Issued("a server of its own", None, ec_key()).pem])
def test_old_roots_and_servers_that_sign_for_themselves_are_taken(pem: bytes) -> None:
    assert authority_bundle(CA, pem).certificates == (pem.decode(),)


def test_a_certificate_with_a_key_has_another_identity_than_as_an_authority() -> None:
    """A tenant may show the certificate that members are believed by: devices hold both contents."""
    one = Issued("a server of its own", None, ec_key())
    with_key = certificate_bundle("directory://p1/www", one.pem, Secret(one.key_pem()))

    assert authority_bundle(CA, one.pem).sha256 != with_key.sha256


@pytest.mark.parametrize(
    ("kind", "authority", "revoked", "named"),
    [
        (CaCertificateUnreadable, b"rubbish", None, CA),
        (CaCertificateUnreadable, ROOT.pem.replace(b"MII", b"MIA"), None, CA),
        (CaCertificateUnreadable, ROOT.signed_list(), None, CA),
        (CaCertificateUnreadable, LEAF.pem, None, CA),
        (CaCertificateUnreadable, ROOT.pem + LEAF.pem, None, CA),
        (CaCertificateUnreadable, ROOT.pem + Issued("weak", None, rsa_key(1024), ca=True).pem, None, CA),
        (CertificateTooLarge, b"x" * (AUTHORITY_BYTES_MAX + 1), None, CA),
        (CertificateTooLarge, ROOT.pem * 201, None, CA),
        (RevocationListUnreadable, ROOT.pem, b"rubbish", CRL),
        (RevocationListUnreadable, ROOT.pem, ROOT.pem, CRL),
        (RevocationListUnreadable, ROOT.pem, ROOT.signed_list().replace(b"MI", b"MA"), CRL),
        (RevocationListMismatch, ROOT.pem, STRANGER.signed_list(), CRL),
        (RevocationListMismatch, NO_LISTS.pem, NO_LISTS.signed_list(), CRL),
        (RevocationListMismatch, ROOT.pem, Issued("root", None, STRANGER.key, ca=True).signed_list(), CRL),
        (CertificateTooLarge, ROOT.pem, b"x" * (REVOCATION_LIST_BYTES_MAX + 1), CRL),
    ],
)
def test_unusable_ca_is_refused_by_its_field(
    kind: type[CertificateError], authority: bytes, revoked: bytes | None, named: str
) -> None:
    with pytest.raises(CertificateError) as caught:
        authority_bundle(CA, authority, None if revoked is None else (CRL, revoked))

    assert type(caught.value) is kind
    assert caught.value.reference == named
