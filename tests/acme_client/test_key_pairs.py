"""Key pairs and certificate requests."""

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from evenkeel.acme_client.key_pairs import KeyPairs, account_key, certificate_request
from evenkeel.core.tls.certificates import PrivateKey
from evenkeel.key_managers.parsing import pem_or_pkcs12_bundle
from tests.key_managers.authority import Key, ec_key, rsa_key

NAMES = ("www.example.org", "example.org")


def private(key: Key) -> PrivateKey:
    return PrivateKey(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


async def test_a_new_pair_is_a_self_signed_certificate_that_key_managers_take() -> None:
    pair = await KeyPairs().self_signed(NAMES, days=30)
    bundle = pem_or_pkcs12_bundle("reference", pair, None)
    assert (bundle.facts.dns_names, bundle.facts.subject, bundle.facts.key_type) == (NAMES, f"CN={NAMES[0]}", "ecdsa")
    assert bundle.facts.key_bits == 256
    assert (await KeyPairs().self_signed(NAMES, days=30)) != pair


def test_a_request_has_all_names_and_the_key() -> None:
    key = ec_key()
    request = certificate_request(NAMES, private(key))
    names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == list(NAMES) and request.is_signature_valid
    assert request.public_key() == key.public_key()


def test_a_name_that_is_too_long_for_a_subject_is_an_alternative_name_only() -> None:
    long = f"{'a' * 60}.example.org"
    assert not list(certificate_request((long,), private(ec_key())).subject)


def test_account_keys_may_be_rsa_or_p_256() -> None:
    assert [account_key(private(key))[1].name for key in (ec_key(), rsa_key())] == ["ES256", "RS256"]
    with pytest.raises(ValueError, match="P-256"):
        account_key(private(ec.generate_private_key(ec.SECP384R1())))
