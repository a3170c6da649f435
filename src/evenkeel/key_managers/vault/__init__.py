"""The key manager ``vault``: HashiCorp Vault or OpenBao, read over the KV secrets engine, version 2, with hvac.

Vault knows no projects: each has a folder, ``KV_PATH/PROJECT/``, and a reference is read in the folder of the project
in whose name it is read, never elsewhere. Who may write there is Vault's policy to say. It needs the extra ``vault``.
"""

from evenkeel.key_managers.vault.client import VaultAddress, vault_client
from evenkeel.key_managers.vault.key_manager import VaultKeyManager
from evenkeel.key_managers.vault.login import AuthMethod, LoggedIn, VaultLogin
from evenkeel.key_managers.vault.secrets import SecretFolders

__all__ = [
    "AuthMethod",
    "LoggedIn",
    "SecretFolders",
    "VaultAddress",
    "VaultKeyManager",
    "VaultLogin",
    "vault_client",
]
