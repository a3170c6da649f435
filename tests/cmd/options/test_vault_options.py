"""The section [vault]: what is opened, and what is refused before anything is sent."""

from pathlib import Path

import pytest

pytest.importorskip("hvac")

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.options.key_manager_options import OpenedKeyManager, open_key_manager
from evenkeel.key_managers.vault import VaultKeyManager

ROLE = ("vault_url = https://vault:8200", "approle_role_id = r")


def opened(tmp_path: Path, *lines: str) -> OpenedKeyManager:
    file = tmp_path / "evenkeel.ini"
    file.write_text("\n".join(["[certificates]", "key_manager = vault", "[vault]", *lines]))
    return open_key_manager(
        load_configuration("evenkeel-controller", ["--config-file", str(file)], groups=CONTROLLER_OPTION_GROUPS)
    )


@pytest.mark.parametrize(
    "lines",
    [
        ROLE,
        (*ROLE, "approle_secret_id = s", "auth_path = sites/approle", "kv_mountpoint = a/b", "namespace = ns"),
        ("vault_url = http://127.0.0.1:8100", "auth_method = token", "token_file = /run/token"),
        ("vault_url = https://vault:8200", "auth_method = jwt", "token_file = /run/token", "token_role = r"),
        ("vault_url = https://vault:8200", "auth_method = kubernetes", "token_file = /run/token", "token_role = r"),
    ],
)
def test_valid_vault_options_open_a_key_manager(tmp_path: Path, lines: tuple[str, ...]) -> None:
    manager = opened(tmp_path, *lines)

    assert isinstance(manager.key_manager, VaultKeyManager)
    assert manager.certificates is None
    manager.close()


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ((), "vault.vault_url: https://"),
        (("vault_url = http://vault:8200",), "vault.vault_url: https://"),
        (("vault_url = ftp://vault",), "vault.vault_url: https://"),
        (ROLE[:1], "vault.approle_role_id: not set, and auth_method is approle"),
        ((ROLE[0], "auth_method = jwt", "token_role = r"), "vault.token_file: not set"),
        ((ROLE[0], "auth_method = kubernetes", "token_file = /t"), "vault.token_role: not set"),
        ((ROLE[0], "auth_method = token"), "vault.token_file: not set"),
        ((*ROLE, "kv_path = a/../b"), "vault.kv_path: "),
        ((*ROLE, "kv_path = "), "vault.kv_path: "),
        ((*ROLE, "kv_mountpoint = /secret"), "vault.kv_mountpoint: "),
        ((*ROLE, "auth_path = a?b"), "vault.auth_path: "),
        ((*ROLE, "ssl_ca_crt_file = /nonexistent"), "vault.ssl_ca_crt_file: there is no file"),
    ],
)
def test_invalid_vault_options_are_refused(tmp_path: Path, lines: tuple[str, ...], told: str) -> None:
    with pytest.raises(ValueError, match=f"^{told}"):
        opened(tmp_path, *lines)
