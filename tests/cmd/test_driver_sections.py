"""Each device driver has a section of its own."""

from pathlib import Path

import pytest
from oslo_config import cfg

from evenkeel.cmd import config_files
from evenkeel.cmd.agent import driver_options
from evenkeel.cmd.sections import AGENT
from evenkeel.devices.bigip.options import OPTIONS as BIGIP_OPTIONS
from evenkeel.devices.haproxy.options import OPTIONS as HAPROXY_OPTIONS


def load(tmp_path: Path, text: str) -> cfg.ConfigOpts:
    file = tmp_path / "agent.ini"
    file.write_text(text)
    return config_files.load("agent", ["--config-file", str(file)], groups=AGENT)


def test_the_haproxy_section_becomes_the_drivers_options(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("s3cret\n")
    text = (
        "[DEFAULT]\ndevice_driver = haproxy\n[bigip]\nicontrol_hostname = elsewhere\n[haproxy]\n"
        f"haproxyd_url = https://a:1, https://b:2\nhaproxyd_password_file = {secret}\nha_type = pair\nverify_tls = no\n"
    )
    assert driver_options(load(tmp_path, text)) == {
        "haproxyd_url": ["https://a:1", "https://b:2"],
        "haproxyd_username": "",
        "haproxyd_password": "s3cret",
        "ha_type": "pair",
        "ca_file": None,
        "verify_tls": False,
        "prefix": None,
        "connect_timeout": 3.0,
        "request_timeout": 60.0,
    }


def test_a_password_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    conf = load(tmp_path, "[DEFAULT]\ndevice_driver = haproxy\n[haproxy]\nhaproxyd_password_file = /absent\n")
    with pytest.raises(ValueError, match=r"haproxy\.haproxyd_password_file: /absent"):
        driver_options(conf)


def test_a_driver_without_a_section_has_no_options(tmp_path: Path) -> None:
    assert driver_options(load(tmp_path, "[DEFAULT]\ndevice_driver = noop\n")) == {}


@pytest.mark.parametrize(("driver", "known"), [("bigip", BIGIP_OPTIONS), ("haproxy", HAPROXY_OPTIONS)])
def test_drivers_know_all_that_their_sections_hold(tmp_path: Path, driver: str, known: list[cfg.Opt]) -> None:
    conf = load(tmp_path, f"[DEFAULT]\ndevice_driver = {driver}\n")
    assert set(driver_options(conf)) <= {option.dest for option in known}
