"""The key manager ``barbican``: OpenStack Barbican, read over its HTTP API (v1) with keystoneauth.

References are the URLs that Octavia accepts: of a secret with PKCS#12 or everything in PEM, or of a container
of type ``certificate``, whose parts are secrets. Needs the extra ``barbican``, which installs keystoneauth.
"""

from evenkeel.key_managers.barbican.key_manager import BarbicanKeyManager
from evenkeel.key_managers.barbican.secrets import SecretReader

__all__ = ["BarbicanKeyManager", "SecretReader"]
