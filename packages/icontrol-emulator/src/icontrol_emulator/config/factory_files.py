"""The factory certificate and key: self-signed, created on first use, the same for all devices."""

from __future__ import annotations

import datetime
import functools

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

_SINCE = datetime.datetime(2021, 11, 1, tzinfo=datetime.UTC)
_SUBJECT = (
    (x509.NameOID.COUNTRY_NAME, "--"), (x509.NameOID.STATE_OR_PROVINCE_NAME, "WA"),
    (x509.NameOID.LOCALITY_NAME, "Seattle"), (x509.NameOID.ORGANIZATION_NAME, "MyCompany"),
    (x509.NameOID.ORGANIZATIONAL_UNIT_NAME, "MyOrg"), (x509.NameOID.COMMON_NAME, "localhost.localdomain"),
    (x509.NameOID.EMAIL_ADDRESS, "root@localhost.localdomain"),
)  # fmt: skip


@functools.cache
def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@functools.cache
def default_key() -> str:
    """PEM of /Common/default.key."""
    form = serialization.PrivateFormat.PKCS8
    return _key().private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


@functools.cache
def default_certificate() -> str:
    """PEM of /Common/default.crt, valid for ten years."""
    name = x509.Name([x509.NameAttribute(oid, value) for oid, value in _SUBJECT])
    made = (
        x509.CertificateBuilder(name, name)
        .public_key(_key().public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_SINCE)
        .not_valid_after(_SINCE + datetime.timedelta(days=3650))
        .sign(_key(), hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()
