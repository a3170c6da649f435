import asyncio
import signal
from pathlib import Path

import pytest
from oslo_config import cfg
from structlog.testing import capture_logs

from evenkeel.cmd.agent import open_device, reload_actions
from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import AGENT_OPTION_GROUPS
from evenkeel.cmd.process.reloading import OptionReloader, ignore_hangup
from evenkeel.devices.bigip.driver import BigIpGroup
from tests.waiting import eventually

TEXT = "[DEFAULT]\nhost = h\n[bigip]\nicontrol_hostname = a\nicontrol_password = s3cret\n"


class Reloaded:
    def __init__(self, folder: Path) -> None:
        self.file = folder / "agent.ini"
        self.file.write_text(TEXT)
        self.taken: list[bool] = []
        arguments = ["--config-file", str(self.file)]
        conf = load_configuration("test", arguments, groups=AGENT_OPTION_GROUPS)
        self.reloading = OptionReloader("test", arguments, AGENT_OPTION_GROUPS, conf, {("debug",): self._take})

    def _take(self, conf: cfg.ConfigOpts) -> None:
        if conf.host == "refused":
            raise ValueError("host: 'refused'")
        self.taken.append(conf.debug)

    def reload(self, text: str) -> list[dict[str, object]]:
        self.file.write_text(text)
        with capture_logs() as logs:
            self.reloading.reload()
        return [dict(entry) for entry in logs]


def test_reload_applies_changeable_options_and_names_the_rest(tmp_path: Path) -> None:
    process = Reloaded(tmp_path)
    (told,) = process.reload(TEXT.replace("host = h\n", "host = i\ndebug = true\n").replace("s3cret", "other"))
    assert process.taken == [True]
    assert (told["changed"], told["needs_restart"]) == (["debug"], ["bigip.icontrol_password", "host"])
    assert "other" not in str(told)
    (told,) = process.reload(process.file.read_text())
    assert (told["changed"], told["needs_restart"]) == ([], ["bigip.icontrol_password", "host"])


def test_reload_of_an_invalid_file_changes_nothing(tmp_path: Path) -> None:
    process = Reloaded(tmp_path)
    (told,) = process.reload(TEXT + "save_interval = never\n")
    assert told["log_level"] == "error" and f"{process.file}:6: [bigip] save_interval: 'never'" in str(told["reason"])
    told, _ = process.reload(TEXT.replace("host = h", "host = refused"))
    assert told["reason"] == f"{process.file}:2: [DEFAULT] host: 'refused'"
    assert process.taken == []


def test_a_hangup_before_the_process_listens_does_not_end_it() -> None:
    before = signal.getsignal(signal.SIGHUP)
    try:
        ignore_hangup()
        signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_a_signal_reloads(tmp_path: Path) -> None:
    process = Reloaded(tmp_path)
    process.reloading.listen()
    try:
        signal.raise_signal(signal.SIGHUP)
        await eventually(lambda: process.taken)
    finally:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)


@pytest.mark.parametrize("unit", ["controller", "agent", "haproxyd"])
def test_systemctl_reload_sends_it(unit: str) -> None:
    folder = Path(__file__).parents[3] / "packaging" / "systemd"
    assert "ExecReload=/bin/kill -HUP $MAINPID\n" in (folder / f"evenkeel-{unit}.service").read_text()


async def test_an_agent_takes_its_devices_credentials_from_the_file_again(tmp_path: Path) -> None:
    password, file = tmp_path / "password", tmp_path / "agent.ini"
    password.write_text("first")
    file.write_text(
        f"[DEFAULT]\nhost = h\n[bigip]\nicontrol_hostname = a\nf5_ha_type = standalone\n"
        f"icontrol_password_file = {password}\n"
    )
    arguments = ["--config-file", str(file)]
    conf = load_configuration("test", arguments, groups=AGENT_OPTION_GROUPS)
    device = open_device(conf)
    assert isinstance(device, BigIpGroup)
    reloading = OptionReloader("test", arguments, AGENT_OPTION_GROUPS, conf, reload_actions(conf, device))
    password.write_text("second")
    with capture_logs() as logs:
        reloading.reload()
    assert [entry["log_level"] for entry in logs] == ["info"]
    assert {each.icontrol._options.password for each in device._devices} == {"second"}
    password.unlink()
    with capture_logs() as logs:
        reloading.reload()
    assert "icontrol_password_file" in str(logs[0]["reason"])
    assert {each.icontrol._options.password for each in device._devices} == {"second"}
    await device.close()


def test_changed_file_is_taken_without_a_signal_and_a_bad_one_when_it_is_good_again(tmp_path: Path) -> None:
    process = Reloaded(tmp_path)
    authority = tmp_path / "ca.pem"
    authority.write_text("one")
    process.file.write_text(f"{TEXT}ca_file = {authority}\n")
    conf = load_configuration("test", ["--config-file", str(process.file)], groups=AGENT_OPTION_GROUPS)
    taken: list[str] = []

    def take(changed: cfg.ConfigOpts) -> None:
        content = Path(changed.bigip.ca_file).read_text()
        if content == "bad":
            raise ValueError("bigip.ca_file: bad")
        taken.append(content)

    reloading = OptionReloader("test", [], AGENT_OPTION_GROUPS, conf, {("bigip.ca_file",): take})
    with capture_logs() as logs:
        for content in ("bad", "bad", "three", "three"):
            if authority.read_text() != content:
                authority.write_text(content)
            reloading.refresh()
    assert taken == ["three"]
    assert [entry["event"] for entry in logs] == ["changed files not loaded", "changed files loaded"]
