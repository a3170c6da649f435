"""Options of the key manager that stores certificates and private keys, and opening the configured one."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from oslo_config import cfg

from evenkeel.cmd.options.extras import pip_install_command
from evenkeel.cmd.options.keystone_login import (
    auth_type_missing,
    check_tls,
    keystone_adapter,
    register_keystone_options,
)
from evenkeel.cmd.options.vault_options import open_vault
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.ports import CertificateStore, KeyManager

CERTIFICATE_OPTIONS = [
    cfg.StrOpt(
        "key_manager",
        default="none",
        choices=["none", "directory", "barbican", "vault"],
        help="Key manager: directory (encrypted files), barbican, vault (HashiCorp Vault or OpenBao) or none.",
    ),
    cfg.StrOpt(
        "directory",
        default="/var/lib/evenkeel/certificates",
        help="For key_manager = directory: directory of its files, the same for all controllers.",
    ),
    cfg.StrOpt(
        "directory_key_file",
        help="For key_manager = directory: file with the encryption key, 32 bytes in base64 on one line; further "
        "lines are former keys. Only its owner may have access.",
    ),
    cfg.FloatOpt(
        "certificate_refresh",
        default=300.0,
        min=10.0,
        max=604800.0,
        help="Seconds after which each certificate reference is read again, for renewed certificates.",
    ),
]

BARBICAN_OPTIONS = [
    cfg.FloatOpt(
        "operation_timeout",
        default=20.0,
        min=1.0,
        max=300.0,
        help="Time-out of reading a whole certificate from Barbican and Keystone, seconds.",
    ),
]
_BARBICAN_SECTION = "barbican"
ADAPTERS_MAX = 1000
"""Maximum number of cached logins, one for each project."""


class OpenedKeyManager(NamedTuple):
    """The opened key manager of this process; ``key_manager`` and ``certificates`` are None if none is
    configured.
    """

    key_manager: KeyManager | None
    certificates: CertificateStore | None
    """The key manager as a store of certificates, if operators upload certificates through the API; else None."""
    close: Callable[[], None]


def open_key_manager(conf: cfg.ConfigOpts) -> OpenedKeyManager:
    """Open the configured key manager, without a request to it. Raises :class:`ValueError` for options that
    are missing or cannot be used, or a library that is not installed.
    """
    if conf.certificates.key_manager == "none":
        return OpenedKeyManager(None, None, close=lambda: None)
    if conf.certificates.key_manager == "barbican":
        return _open_barbican(conf)
    if conf.certificates.key_manager == "vault":
        return _open_vault(conf)
    if not conf.certificates.directory_key_file:
        raise ValueError("certificates.directory_key_file: not set, and key_manager is directory")
    # imported here, because every process declares the options and only controllers have the library
    from evenkeel.key_managers.acme_references import AcmeReferences
    from evenkeel.key_managers.directory import SCHEME, DirectoryKeyManager, read_key_file

    try:
        encryption = read_key_file(Path(conf.certificates.directory_key_file))
    except ValueError as error:
        raise ValueError(f"certificates.directory_key_file: {error}") from None
    manager = DirectoryKeyManager(Path(conf.certificates.directory), encryption)
    return OpenedKeyManager(AcmeReferences(manager, scheme=SCHEME), manager, close=manager.close)


def _open_vault(conf: cfg.ConfigOpts) -> OpenedKeyManager:
    from evenkeel.key_managers.acme_references import AcmeReferences

    manager, certificates = open_vault(conf)
    if certificates is None:
        return OpenedKeyManager(manager, None, close=manager.close)
    from evenkeel.key_managers.vault import SCHEME

    def close() -> None:
        manager.close()
        certificates.close()

    return OpenedKeyManager(AcmeReferences(manager, scheme=SCHEME), certificates, close)


def _open_barbican(conf: cfg.ConfigOpts) -> OpenedKeyManager:
    try:
        from evenkeel.key_managers.barbican import BarbicanKeyManager, SecretReader
    except ImportError as error:
        raise ValueError(
            f"certificates.key_manager: barbican needs {error.name}, which is not installed: "
            f"{pip_install_command('barbican')}"
        ) from error
    manager = BarbicanKeyManager(
        SecretReader(_adapter_by_project(conf)), timeout_seconds=conf.barbican.operation_timeout
    )
    return OpenedKeyManager(manager, None, close=manager.close)


def _adapter_by_project(conf: cfg.ConfigOpts) -> Callable[[ProjectId], Any]:
    """Return a function from a project to keystoneauth's adapter, logged in for that project; nothing is sent
    yet. Raises :class:`ValueError` for credentials or TLS options that cannot be used.
    """
    register_keystone_options(conf, _BARBICAN_SECTION)
    is_scoped = _is_project_scoped(conf)

    # An adapter holds the token of its project's login, which would otherwise be requested for each read.
    @lru_cache(maxsize=ADAPTERS_MAX)
    def project_adapter(project_id: ProjectId) -> Any:
        scope = {"project_id": project_id} if is_scoped else {}
        adapter = keystone_adapter(conf, _BARBICAN_SECTION, timeout_seconds=conf.barbican.operation_timeout, **scope)
        adapter.service_type = adapter.service_type or "key-manager"
        return adapter

    # Created once now, so that wrong options are reported at the start.
    project_adapter(ProjectId("none"))
    check_tls(conf, _BARBICAN_SECTION, "Barbican")
    return project_adapter


def _is_project_scoped(conf: cfg.ConfigOpts) -> bool:
    """Whether a login of the configured type is for a project; registers the type's options. Raises
    :class:`ValueError` if the type is not set or unknown, or if a project is set.
    """
    from keystoneauth1 import exceptions, loading

    kind = conf.barbican.auth_type
    if not kind:  # one of another section would not be for the project of each read
        raise auth_type_missing(_BARBICAN_SECTION)
    try:
        options = loading.get_plugin_loader(kind).get_options()
        conf.register_opts(loading.get_auth_plugin_conf_options(kind), group=_BARBICAN_SECTION)
        for name in ("project_id", "project_name"):
            if getattr(conf.barbican, name, None):  # not every kind of login has it
                raise ValueError(f"barbican.{name}: is not allowed: each read is logged in for the project it is for")
    except (exceptions.ClientException, cfg.Error) as error:
        raise ValueError(f"barbican: {error}") from error
    return any(option.dest == "project_id" for option in options)
