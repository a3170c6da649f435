"""The key manager ``barbican``: OpenStack's, read over its HTTP API (v1) with keystoneauth.

References are those that Octavia takes: of a secret that holds PKCS#12 (or everything in PEM), or of a container of
type ``certificate``, whose parts are secrets. It needs the extra ``barbican``, which brings keystoneauth.
"""

from evenkeel.key_managers.barbican.key_manager import BarbicanKeyManager
from evenkeel.key_managers.barbican.secrets import SecretReader

__all__ = ["BarbicanKeyManager", "SecretReader"]
