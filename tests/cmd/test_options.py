"""The options page says what the processes take."""

import subprocess
import sys
from pathlib import Path

import pytest

from evenkeel.cmd import options
from evenkeel.cmd.agent import agent_settings, driver_options
from evenkeel.cmd.controller import parse_environment

ROOT = Path(__file__).parent.parent.parent


def test_the_options_page_is_made_from_the_code() -> None:
    script = ROOT / "scripts" / "generate_options_reference.py"
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0


def load(tmp_path: Path, text: str) -> options.cfg.ConfigOpts:
    file = tmp_path / "agent.ini"
    file.write_text(text)
    groups = {None: options.COMMON + options.AGENT, "bigip": options.BIGIP}
    return options.load("agent", ["--config-file", str(file)], groups=groups)


def test_an_agent_without_a_host_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^host: not set"):
        agent_settings(load(tmp_path, "[DEFAULT]\n"))


def test_the_agent_id_is_the_same_after_every_restart(tmp_path: Path) -> None:
    conf = load(tmp_path, "[DEFAULT]\nhost = host-1\nenvironment_prefix = demo\n")
    assert agent_settings(conf).agent_id == agent_settings(conf).agent_id
    other = load(tmp_path, "[DEFAULT]\nhost = host-2\nenvironment_prefix = demo\n")
    assert agent_settings(conf).agent_id != agent_settings(other).agent_id


def test_the_password_may_come_from_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("s3cret\n")
    conf = load(tmp_path, f"[bigip]\nicontrol_hostname = a,b:8443\nicontrol_password_file = {secret}\n")
    read = driver_options(conf)
    assert read["icontrol_password"] == "s3cret"
    assert read["icontrol_hostname"] == "a,b:8443"
    secret.unlink()
    with pytest.raises(ValueError, match=r"icontrol_password_file"):
        driver_options(conf)


@pytest.mark.parametrize("item", ["demo", "demo:", ":bigip", "a b:bigip", "x" * 65 + ":bigip"])
def test_a_malformed_environment_is_refused(item: str) -> None:
    with pytest.raises(ValueError, match=r"^environments: "):
        parse_environment(item)
