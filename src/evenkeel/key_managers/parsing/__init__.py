"""Parses and validates certificates, keys, CA certificates and revocation lists. Pure except for encrypted
keys and PKCS#12 files, which a child process reads.

For any input, the result is a value or a :class:`CertificateError`; no error text contains any part of a key.
"""

from evenkeel.key_managers.parsing.authorities import authority_bundle, read_revocation_list
from evenkeel.key_managers.parsing.bundles import certificate_bundle
from evenkeel.key_managers.parsing.new_bundles import new_bundle
from evenkeel.key_managers.parsing.pkcs12 import any_bundle, pkcs12_bundle

__all__ = [
    "any_bundle",
    "authority_bundle",
    "certificate_bundle",
    "new_bundle",
    "pkcs12_bundle",
    "read_revocation_list",
]
