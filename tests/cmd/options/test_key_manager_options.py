"""The section [certificates]: what is opened, and what is refused."""

import base64
from pathlib import Path

import pytest
from oslo_config import cfg
from structlog.testing import capture_logs

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.options.key_manager_options import open_key_manager
from evenkeel.key_managers.acme_references import AcmeReferences
from evenkeel.key_managers.directory import DirectoryKeyManager

BARBICAN = ("key_manager = barbican", "[barbican]", "auth_type = none", "endpoint = http://127.0.0.1:1")


def configured(tmp_path: Path, *lines: str) -> cfg.ConfigOpts:
    file = tmp_path / "evenkeel.ini"
    file.write_text("\n".join(["[certificates]", *lines]))
    return load_configuration("evenkeel-controller", ["--config-file", str(file)], groups=CONTROLLER_OPTION_GROUPS)


def test_without_options_there_is_none(tmp_path: Path) -> None:
    opened = open_key_manager(configured(tmp_path))

    assert (opened.key_manager, opened.certificates) == (None, None)
    opened.close()


def test_a_directory_is_opened_with_its_key(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(base64.b64encode(bytes(32)))
    key.chmod(0o600)
    opened = open_key_manager(
        configured(tmp_path, "key_manager = directory", f"directory = {tmp_path}/c", f"directory_key_file = {key}")
    )

    assert isinstance(opened.key_manager, AcmeReferences)
    assert isinstance(opened.certificates, DirectoryKeyManager)
    opened.close()


@pytest.mark.parametrize("lines", [(), ("directory_key_file = /nonexistent",)])
def test_a_directory_without_a_key_is_refused(tmp_path: Path, lines: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"^certificates\.directory_key_file: "):
        open_key_manager(configured(tmp_path, "key_manager = directory", *lines))


def test_another_key_manager_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\[certificates\] key_manager"):
        configured(tmp_path, "key_manager = rubbish")


@pytest.mark.parametrize("name", ["cafile", "certfile", "keyfile"])
def test_a_missing_file_for_barbicans_tls_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^barbican\.{name}: /no/such: no such file"):
        open_key_manager(configured(tmp_path, *BARBICAN, f"{name} = /no/such"))


def test_unverified_certificate_of_barbican_is_reported(tmp_path: Path) -> None:
    with capture_logs() as lines:
        open_key_manager(configured(tmp_path, *BARBICAN, "insecure = true")).close()
    assert [line["event"] for line in lines] == ["certificates of Barbican and Keystone are not verified"]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ((), r"barbican\.auth_type: not set"),
        (("auth_type = telepathy",), "barbican: .*telepathy"),
        (("auth_type = password",), "barbican: .*auth_url"),
        (("auth_type = password", "project_name = service"), r"barbican\.project_name: is not allowed"),
    ],
)
def test_a_login_to_barbican_that_cannot_work_is_refused(tmp_path: Path, lines: tuple[str, ...], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        open_key_manager(configured(tmp_path, *BARBICAN[:2], *lines))


@pytest.mark.parametrize(
    "lines",
    [
        ("key_manager = directory", "directory = /nonexistent", "directory_key_file = {key}"),
        BARBICAN,
    ],
)
def test_the_api_and_the_agents_have_one_each_of_which_neither_waits_for_the_other(
    tmp_path: Path, lines: tuple[str, ...]
) -> None:
    key = tmp_path / "key"
    key.write_bytes(base64.b64encode(bytes(32)))
    key.chmod(0o600)
    conf = configured(tmp_path, *(line.format(key=key) for line in lines))
    opened = open_key_manager(conf), open_key_manager(conf)

    first, second = (vars(one.certificates or one.key_manager)["_calls"] for one in opened)
    assert first is not second
    for one in opened:
        one.close()
