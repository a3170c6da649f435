"""The parts that request certificates are opened from their options, or the option that is wrong is named."""

from pathlib import Path

import pytest
from oslo_config import cfg

from evenkeel.cmd.configuration import loading
from evenkeel.cmd.controllers.acme_parts import NO_ACME, open_acme
from evenkeel.cmd.options import acme_options
from evenkeel.cmd.options.key_manager_options import OpenedKeyManager
from evenkeel.key_managers.directory import DirectoryKeyManager, Encryption

URL = "https://ca.example/directory"
NO_KEYS = OpenedKeyManager(None, None, close=lambda: None)


def opened_keys(folder: Path) -> OpenedKeyManager:
    manager = DirectoryKeyManager(folder / "certificates", Encryption([bytes(32)]))
    return OpenedKeyManager(manager, manager, close=manager.close)


def conf_of(folder: Path, *lines: str) -> cfg.ConfigOpts:
    file = folder / "acme.ini"
    file.write_text("\n".join(["[acme]", *lines, ""]))
    return loading.load("controller", ["--config-file", str(file)], groups={"acme": acme_options.ACME})


def test_without_a_directory_url_nothing_is_opened(tmp_path: Path) -> None:
    assert open_acme(conf_of(tmp_path), NO_KEYS, {}) is NO_ACME


def test_valid_options_open_all_parts(tmp_path: Path) -> None:
    lines = (f"directory_url = {URL}", "name_servers = 192.0.2.1, [2001:db8::1]:5353", "step_timeout = 7")
    opened = open_acme(conf_of(tmp_path, *lines), opened_keys(tmp_path), {})
    assert opened.parts is not None and opened.requests is not None
    assert (opened.parts.directory_url, opened.parts.settings.lease_seconds) == (URL, 7.0)
    assert opened.requests.names_max == 20
    opened.close()


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (("directory_url = http://ca.example/directory",), "acme.directory_url"),
        (("directory_url = ca.example",), "acme.directory_url"),
        (("directory_url = https://ca.example:x/",), "acme.directory_url"),
        ((f"directory_url = {URL}", "ssl_ca_crt_file = /nowhere/ca.pem"), "acme.ssl_ca_crt_file"),
        ((f"directory_url = {URL}", "name_servers = ns.example"), "acme.name_servers"),
    ],
)
def test_invalid_options_are_refused_by_name(tmp_path: Path, lines: tuple[str, ...], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        open_acme(conf_of(tmp_path, *lines), opened_keys(tmp_path), {})


def test_a_key_manager_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="key_manager = directory"):
        open_acme(conf_of(tmp_path, f"directory_url = {URL}"), NO_KEYS, {})
