"""The parts that request certificates are opened from their options, or the option that is wrong is named."""

import re
from pathlib import Path

import pytest
from oslo_config import cfg

from evenkeel.cmd.configuration import loading
from evenkeel.cmd.controllers.acme_parts import NO_ACME, open_acme
from evenkeel.cmd.options import acme_options
from evenkeel.cmd.options.key_manager_options import OpenedKeyManager
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.acme.authorities import AuthorityScope
from evenkeel.key_managers.directory import DirectoryKeyManager, Encryption

URL = "https://ca.example/directory"
NO_KEYS = OpenedKeyManager(None, None, close=lambda: None)


def opened_keys(folder: Path) -> OpenedKeyManager:
    manager = DirectoryKeyManager(folder / "certificates", Encryption([bytes(32)]))
    return OpenedKeyManager(manager, manager, close=manager.close)


def conf_of(folder: Path, *lines: str) -> cfg.ConfigOpts:
    file = folder / "acme.ini"
    file.write_text("\n".join(["[acme]", *lines, ""]))
    return loading.load_configuration(
        "controller", ["--config-file", str(file)], groups={"acme": acme_options.ACME_OPTIONS}
    )


def test_without_a_directory_url_nothing_is_opened(tmp_path: Path) -> None:
    assert open_acme(conf_of(tmp_path), NO_KEYS, {}) is NO_ACME


def test_valid_options_open_all_parts(tmp_path: Path) -> None:
    lines = (f"directory_url = {URL}", "name_servers = 192.0.2.1, [2001:db8::1]:5353", "step_timeout = 7")
    opened = open_acme(conf_of(tmp_path, *lines), opened_keys(tmp_path), {})
    assert opened.parts is not None and opened.requests is not None
    assert {name: each.account for name, each in opened.parts.authorities.items()} == {"default": URL}
    assert opened.parts.settings.lease_seconds == 7.0
    assert opened.requests.names_max == 20
    opened.close()


def test_named_authorities_are_opened_beside_the_default_one(tmp_path: Path) -> None:
    key = tmp_path / "hmac"
    key.touch(0o600)
    key.write_text("c2VjcmV0LWtleQ\n")
    named = ("[acme:internal]", "directory_url = https://in.example/d", "projects = p1, p2")
    bound = (f"eab_key_id = key-1\neab_key_file = {key}",)
    opened = open_acme(conf_of(tmp_path, f"directory_url = {URL}", *named, *bound), opened_keys(tmp_path), {})
    assert opened.parts is not None and opened.requests is not None
    accounts = {name: each.account for name, each in opened.parts.authorities.items()}
    assert accounts == {"default": URL, "internal": "https://in.example/d key-1"}
    assert list(opened.requests.authorities) == [
        AuthorityScope(name="default"),
        AuthorityScope(name="internal", projects=(ProjectId("p1"), ProjectId("p2"))),
    ]
    opened.close()


@pytest.mark.parametrize(("content", "mode"), [("c2VjcmV0", 0o640), ("", 0o600), ("se cret!", 0o600)])
def test_an_unusable_key_of_external_accounts_is_refused_without_its_content(
    tmp_path: Path, content: str, mode: int
) -> None:
    key = tmp_path / "hmac"
    key.write_text(content)
    key.chmod(mode)
    lines = (f"directory_url = {URL}", "eab_key_id = key-1", f"eab_key_file = {key}")
    with pytest.raises(ValueError, match=r"acme\.eab_key_file") as refused:
        open_acme(conf_of(tmp_path, *lines), opened_keys(tmp_path), {})
    assert not content or content not in str(refused.value)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (("directory_url = http://ca.example/directory",), "acme.directory_url"),
        (("directory_url = ca.example",), "acme.directory_url"),
        (("directory_url = https://ca.example:x/",), "acme.directory_url"),
        ((f"directory_url = {URL}", "ssl_ca_crt_file = /nowhere/ca.pem"), "acme.ssl_ca_crt_file"),
        ((f"directory_url = {URL}", "name_servers = ns.example"), "acme.name_servers"),
        ((f"directory_url = {URL}", "eab_key_id = k"), "acme.eab_key_file: not set"),
        ((f"directory_url = {URL}", "eab_key_file = /nowhere"), "acme.eab_key_id: not set"),
        ((f"directory_url = {URL}", "eab_key_id = k", "eab_key_file = /nowhere"), "acme.eab_key_file: /nowhere"),
        (("[acme:x]", "directory_url = http://in.example"), "acme:x.directory_url"),
        (("[acme:x]",), "acme:x.directory_url"),
        (("[acme:default]", f"directory_url = {URL}"), "acme:default"),
        (("[acme:a.b]", f"directory_url = {URL}"), "acme:a.b"),
        (("[acme:x]", "directory = https://in.example"), "no such option, did you mean directory_url"),
    ],
)
def test_invalid_options_are_refused_by_name(tmp_path: Path, lines: tuple[str, ...], told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        open_acme(conf_of(tmp_path, *lines), opened_keys(tmp_path), {})


def test_a_key_manager_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="key_manager = directory"):
        open_acme(conf_of(tmp_path, f"directory_url = {URL}"), NO_KEYS, {})
