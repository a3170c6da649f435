"""The section ``[vault]``: options with castellan's names, and opening of the key manager."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from oslo_config import cfg

from evenkeel.cmd.options.extras import pip_install_command
from evenkeel.core.networking.addresses import is_loopback
from evenkeel.core.tls.certificates import Secret

if TYPE_CHECKING:
    from evenkeel.key_managers.vault import VaultCertificates, VaultKeyManager, VaultLogin

VAULT_OPTIONS = [
    cfg.StrOpt("vault_url", help="URL of Vault's API: https://, or http:// for a Vault Agent on this host."),
    cfg.StrOpt(
        "auth_method",
        default="approle",
        choices=["approle", "jwt", "kubernetes", "token"],
        help="Controllers' auth method; token: a Vault token in a file, renewed by Vault Agent.",
    ),
    cfg.StrOpt("auth_path", help="Mount path of the auth method; default: auth_method."),
    cfg.StrOpt("approle_role_id", secret=True, help="For auth_method = approle: the role id."),
    cfg.StrOpt(
        "approle_secret_id", secret=True, help="For auth_method = approle: the secret id, without a limit of uses."
    ),
    cfg.StrOpt("token_role", help="For auth_method = jwt or kubernetes: the role."),
    cfg.StrOpt("token_file", help="For auth_method = jwt, kubernetes or token: the file with the token."),
    cfg.StrOpt("kv_mountpoint", default="secret", help="Mount path of the KV secrets engine, version 2."),
    cfg.StrOpt("kv_path", default="evenkeel", help="Path below it with a folder per project."),
    cfg.BoolOpt(
        "writable",
        default=False,
        help="Whether controllers store certificates in Vault: those that operators add, and those of authorities.",
    ),
    cfg.StrOpt("ssl_ca_crt_file", help="CA certificates (PEM) that verify Vault's certificate; default: the system's."),
    cfg.StrOpt("namespace", help="Namespace, in Vault Enterprise and OpenBao."),
    cfg.FloatOpt(
        "timeout",
        default=20.0,
        min=1.0,
        max=300.0,
        help="Time-out of reading a certificate, including the login, seconds.",
    ),
]
REQUIRED_OPTIONS = {
    "approle": ("approle_role_id",),
    "jwt": ("token_role", "token_file"),
    "kubernetes": ("token_role", "token_file"),
    "token": ("token_file",),
}
"""Required options by login method."""
_PATH_PATTERN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")


class OpenedVault(NamedTuple):
    """Vault, opened as the key manager of this process."""

    key_manager: "VaultKeyManager"
    certificates: "VaultCertificates | None"
    """Vault as a store of certificates; None if controllers only read it."""


def open_vault(conf: cfg.ConfigOpts) -> OpenedVault:
    """Open Vault as the key manager; sends no request yet. Raises :class:`ValueError` naming the option, also
    if the library is not installed.
    """
    # imported here, because every process declares the options and only controllers may have the library
    try:
        from evenkeel.key_managers.vault import (
            LoggedInClient,
            SecretFolders,
            VaultAddress,
            VaultCertificates,
            VaultKeyManager,
            vault_client,
        )
    except ImportError as error:
        raise ValueError(
            f"certificates.key_manager: vault needs {error.name}, which is not installed: "
            f"{pip_install_command('vault')}"
        ) from error
    _check_options(conf.vault)
    address = VaultAddress(
        url=conf.vault.vault_url,
        ca_file=conf.vault.ssl_ca_crt_file,
        namespace=conf.vault.namespace,
        timeout_seconds=conf.vault.timeout,
    )
    session = LoggedInClient(vault_client(address), _vault_login(conf))
    folders = SecretFolders(session, mount_point=conf.vault.kv_mountpoint, folder=conf.vault.kv_path)
    writable = VaultCertificates(folders, timeout_seconds=conf.vault.timeout) if conf.vault.writable else None
    return OpenedVault(VaultKeyManager(folders, timeout_seconds=conf.vault.timeout), writable)


def _vault_login(conf: cfg.ConfigOpts) -> "VaultLogin":
    from evenkeel.key_managers.vault import AuthMethod, VaultLogin

    return VaultLogin(
        method=AuthMethod(conf.vault.auth_method),
        path=conf.vault.auth_path or conf.vault.auth_method,
        role=conf.vault.approle_role_id if conf.vault.auth_method == "approle" else conf.vault.token_role or "",
        secret_id=Secret(conf.vault.approle_secret_id.encode()) if conf.vault.approle_secret_id else None,
        token_file=Path(conf.vault.token_file) if conf.vault.token_file else None,
    )


def _check_options(options: Any) -> None:
    url = urlsplit(options.vault_url or "")
    if not url.hostname or not (url.scheme == "https" or (url.scheme == "http" and is_loopback(url.hostname))):
        raise ValueError("vault.vault_url: https://HOST:PORT is needed; http:// is for an agent on this machine only")
    for name in REQUIRED_OPTIONS[options.auth_method]:
        if not options[name]:
            raise ValueError(f"vault.{name}: not set, and auth_method is {options.auth_method}")
    for name in ("kv_mountpoint", "kv_path", "auth_path"):
        if options[name] is not None and not _PATH_PATTERN.fullmatch(options[name]):
            raise ValueError(f"vault.{name}: letters, digits, '.', '-' and '_' are allowed, with '/' between folders")
    if options.ssl_ca_crt_file and not Path(options.ssl_ca_crt_file).is_file():
        raise ValueError(f"vault.ssl_ca_crt_file: there is no file {options.ssl_ca_crt_file}")
