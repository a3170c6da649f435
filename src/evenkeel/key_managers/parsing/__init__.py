"""Certificates, keys, authorities and revocation lists: read and checked. Pure but for PKCS#12, see there.

Whatever is given, the answer is a value or a :class:`CertificateError`; nothing of a key is in any text.
"""

from evenkeel.key_managers.parsing.authorities import authority_bundle, read_revocation_list
from evenkeel.key_managers.parsing.bundles import certificate_bundle
from evenkeel.key_managers.parsing.pkcs12 import any_bundle, pkcs12_bundle

__all__ = ["any_bundle", "authority_bundle", "certificate_bundle", "pkcs12_bundle", "read_revocation_list"]
