"""The key manager ``vault``: HashiCorp Vault or OpenBao, read over the KV secrets engine, version 2, with hvac.

Vault has no projects, so each project has a folder, ``KV_PATH/PROJECT/``. A reference is only read in the folder of the
project on whose behalf it is read; Vault's policies decide who may write there. Needs the extra ``vault``.
"""

from evenkeel.key_managers.vault.certificates import VaultCertificates
from evenkeel.key_managers.vault.client import VaultAddress, vault_client
from evenkeel.key_managers.vault.key_manager import VaultKeyManager
from evenkeel.key_managers.vault.login import AuthMethod, LoggedInClient, VaultLogin
from evenkeel.key_managers.vault.secrets import SCHEME, SecretFolders

__all__ = [
    "SCHEME",
    "AuthMethod",
    "LoggedInClient",
    "SecretFolders",
    "VaultAddress",
    "VaultCertificates",
    "VaultKeyManager",
    "VaultLogin",
    "vault_client",
]
