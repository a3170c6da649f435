"""Where certificates and their keys are kept: the options, and opening what they name."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from oslo_config import cfg

from evenkeel.core.ports import CertificateStore, KeyManager
from evenkeel.key_managers.directory import DirectoryKeyManager, read_key_file

CERTIFICATES = [
    cfg.StrOpt(
        "key_manager",
        default="none",
        choices=["none", "directory"],
        help="Where certificates and their keys are kept: directory (encrypted files), or none.",
    ),
    cfg.StrOpt(
        "directory",
        default="/var/lib/evenkeel/certificates",
        help="Of the key manager directory: where its files are. All controllers need the same.",
    ),
    cfg.StrOpt(
        "directory_key_file",
        help="Of the key manager directory: the file with the key that its files are encrypted with: 32 bytes in "
        "base64, a line; more lines are former keys. Nobody but its owner may read it.",
    ),
]


class OpenedKeyManager(NamedTuple):
    """The key manager of this process, if it has one."""

    key_manager: KeyManager | None
    certificates: CertificateStore | None
    """The same, if operators put certificates into it through us."""
    close: Callable[[], None]


def open_key_manager(conf: cfg.ConfigOpts) -> OpenedKeyManager:
    """What the configuration names. Raises :class:`ValueError`."""
    section = conf.certificates
    if section.key_manager == "none":
        return OpenedKeyManager(None, None, close=lambda: None)
    if not section.directory_key_file:
        raise ValueError("certificates.directory_key_file: not set, and key_manager is directory")
    try:
        encryption = read_key_file(Path(section.directory_key_file))
    except ValueError as error:
        raise ValueError(f"certificates.directory_key_file: {error}") from None
    manager = DirectoryKeyManager(Path(section.directory), encryption)
    return OpenedKeyManager(manager, manager, close=manager.close)
