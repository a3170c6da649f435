"""Parses and validates certificates, keys, CA certificates and revocation lists. Pure except for encrypted
keys and PKCS#12 files, which a child process reads.

For any input, the result is a value or a :class:`CertificateError`; no error text contains any part of a key.
"""

from evenkeel.key_managers.parsing.authorities import authority_bundle, read_revocation_list
from evenkeel.key_managers.parsing.bundles import certificate_bundle
from evenkeel.key_managers.parsing.new_bundles import bundle_from_submitted_certificate
from evenkeel.key_managers.parsing.pkcs12 import pem_or_pkcs12_bundle, pkcs12_bundle

__all__ = [
    "authority_bundle",
    "bundle_from_submitted_certificate",
    "certificate_bundle",
    "pem_or_pkcs12_bundle",
    "pkcs12_bundle",
    "read_revocation_list",
]
