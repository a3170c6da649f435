"""The section [certificates]: what is opened, and what is refused."""

import base64
from pathlib import Path

import pytest
from oslo_config import cfg

from evenkeel.cmd.configuration.loading import load
from evenkeel.cmd.configuration.sections import CONTROLLER
from evenkeel.cmd.key_manager_options import open_key_manager
from evenkeel.key_managers.directory import DirectoryKeyManager


def configured(tmp_path: Path, *lines: str) -> cfg.ConfigOpts:
    file = tmp_path / "evenkeel.ini"
    file.write_text("\n".join(["[certificates]", *lines]))
    return load("evenkeel-controller", ["--config-file", str(file)], groups=CONTROLLER)


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

    assert isinstance(opened.key_manager, DirectoryKeyManager)
    assert opened.certificates is opened.key_manager
    opened.close()


@pytest.mark.parametrize("lines", [(), ("directory_key_file = /nonexistent",)])
def test_a_directory_without_a_key_is_refused(tmp_path: Path, lines: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"^certificates\.directory_key_file: "):
        open_key_manager(configured(tmp_path, "key_manager = directory", *lines))


def test_another_key_manager_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\[certificates\] key_manager"):
        configured(tmp_path, "key_manager = rubbish")


@pytest.mark.parametrize(
    "lines",
    [
        ("key_manager = directory", "directory = /nonexistent", "directory_key_file = {key}"),
        ("key_manager = barbican", "[barbican]", "auth_type = none", "endpoint = http://127.0.0.1:1"),
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

    first, second = (vars(one.key_manager)["_calls"] for one in opened)
    assert first is not second
    for one in opened:
        one.close()
