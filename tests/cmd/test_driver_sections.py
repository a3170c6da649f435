"""Each device driver has a section of its own."""

from pathlib import Path

import pytest
from oslo_config import cfg

from evenkeel.cmd.agent import driver_options
from evenkeel.cmd.configuration import loading
from evenkeel.cmd.configuration.sections import AGENT_OPTION_GROUPS
from evenkeel.devices.bigip.options import OPTIONS as BIGIP_OPTIONS
from evenkeel.devices.bigip.options import parse_options as parse_bigip
from evenkeel.devices.haproxy.options import OPTIONS as HAPROXY_OPTIONS


def load(tmp_path: Path, text: str) -> cfg.ConfigOpts:
    file = tmp_path / "agent.ini"
    file.write_text(text)
    return loading.load_configuration("agent", ["--config-file", str(file)], groups=AGENT_OPTION_GROUPS)


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
        "esd_dir": "",
        "access_log_networks": [],
        "ca_file": None,
        "verify_tls": False,
        "prefix": None,
        "connect_timeout": 3.0,
        "request_timeout": 60.0,
    }


def test_a_password_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    conf = load(tmp_path, "[DEFAULT]\ndevice_driver = haproxy\n[haproxy]\nhaproxyd_password_file = /absent\n")
    with pytest.raises(ValueError, match=r"haproxy\.haproxyd_password_file: /absent"):
        driver_options(conf)


def test_a_driver_without_a_section_has_no_options(tmp_path: Path) -> None:
    assert driver_options(load(tmp_path, "[DEFAULT]\ndevice_driver = noop\n")) == {}


@pytest.mark.parametrize(("driver", "known"), [("bigip", BIGIP_OPTIONS), ("haproxy", HAPROXY_OPTIONS)])
def test_drivers_know_all_that_their_sections_hold(tmp_path: Path, driver: str, known: list[cfg.Opt]) -> None:
    conf = load(tmp_path, f"[DEFAULT]\ndevice_driver = {driver}\n")
    assert set(driver_options(conf)) <= {option.dest for option in known}


def test_options_that_were_read_over_count(tmp_path: Path) -> None:
    """Drivers took them, and nobody handed them over."""
    bigip = {
        "prefix": "lab",
        "connect_timeout": 1.5,
        "commit_timeout": 90.0,
        "retry_time": 7.0,
        "full_read_interval": 600.0,
        "save_interval": 7.0,
        "commands_max": 50,
    }
    text = "[DEFAULT]\nhost = h\n[bigip]\nicontrol_hostname = a,b\nicontrol_password = p\n" + "".join(
        f"{name} = {value}\n" for name, value in bigip.items()
    )
    conf = load(tmp_path, text)
    assert {name: driver_options(conf)[name] for name in bigip} == bigip
    options = parse_bigip(driver_options(conf), environment="dev", group_number=1, host="h")
    assert (options.prefix, options.save_interval_seconds, options.commands_max) == ("lab", 7.0, 50)
    text = "[DEFAULT]\nhost = h\ndevice_driver = haproxy\n[haproxy]\nprefix = lab\nconnect_timeout = 1.5\n"
    found = driver_options(load(tmp_path, text))
    assert (found["prefix"], found["connect_timeout"]) == ("lab", 1.5)
