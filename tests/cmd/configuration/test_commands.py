"""``evenkeel config check|show|sample``, as an operator runs them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from evenkeel.cli import main as cli
from evenkeel.cmd.configuration.commands import COMMANDS, PROCESS_NAMES
from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.processes import PROCESSES
from evenkeel.cmd.configuration.sample import sample_configuration
from tests.cmd.apiserver import Certificates

SAMPLES = Path(__file__).parent.parent.parent.parent / "docs" / "reference"
AGENT = """[DEFAULT]
host = lb-1
[bigip]
icontrol_hostname = a,b
icontrol_username = evenkeel
icontrol_password = s3cret
"""


def evenkeel(*words: object) -> int:
    return cli.main([str(word) for word in words], commands=COMMANDS)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.ini"


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.mark.parametrize("name", PROCESS_NAMES)
def test_a_sample_with_all_its_defaults_is_accepted_and_is_the_one_in_the_documentation(name: str, file: Path) -> None:
    text = sample_configuration(name)
    assert (SAMPLES / f"{name}.ini.sample").read_text() == text, "run scripts/generate_options_reference.py"
    set_to_defaults = re.sub(r"^#(\w+ = .+)$", r"\1", text, flags=re.MULTILINE)
    assert set_to_defaults.count("\n#") < text.count("\n#")
    file.write_text(set_to_defaults)
    conf = load_configuration("test", ["--config-file", str(file)], groups=PROCESSES[name].groups)
    for section, options in PROCESSES[name].groups.items():
        for option in options:
            value = (conf[section] if section else conf)[option.dest]
            assert value == option.default or not value, option.name


def test_a_sample_names_type_and_range(capsys: pytest.CaptureFixture[str]) -> None:
    assert evenkeel("config", "sample", "agent") == 0
    said = capsys.readouterr().out
    assert "# Seconds between keepalives.\n# (number: 0.05 or more)\n#keepalive_interval = 1.0\n" in said
    assert "[bigip]" in said and "[haproxy]" in said and max(map(len, said.splitlines())) <= 120


def test_a_configuration_that_a_process_would_take(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(AGENT)
    assert evenkeel("config", "check", "agent", "--config-file", file) == 0
    assert capsys.readouterr().out == "evenkeel-agent: configuration accepted\n"


def test_everything_that_is_wrong_is_reported_at_once_with_file_and_line(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(
        "[DEFAULT]\nkeepalive_intervall = 1\nkeepalive_interval = soon\ndebug = maybe\nenvironment_group_number = 0\n"
        "[bigip]\nf5_ha_type = tripel\nicontrol_password = s3cret\nsave_interval = -1\n[bigipp]\n"
    )
    assert evenkeel("config", "check", "agent", "--config-file", file) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "evenkeel-agent: configuration refused, 7 problems:"
    assert [line.split(": ")[1] for line in lines[1:]] == [
        "[DEFAULT] keepalive_intervall",
        "[bigipp]",
        "[DEFAULT] debug",
        "[DEFAULT] environment_group_number",
        "[DEFAULT] keepalive_interval",
        "[bigip] f5_ha_type",
        "[bigip] save_interval",
    ]
    numbers = [line.strip().split(": ")[0].removeprefix(f"{file}:") for line in lines[1:]]
    assert numbers == ["2", "10", "4", "5", "3", "7", "9"]
    assert "s3cret" not in "".join(lines)


def test_problems_of_several_options_are_reported_together(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(
        "[DEFAULT]\nhost = lb-1\ntransport_url = ampq://u:s3cret@mq/\ncapacity_policy = throughput\n"
        "[bigip]\nicontrol_hostname = a b,c\nicontrol_password_file = /not/there\n"
    )
    assert evenkeel("config", "check", "agent", "--config-file", file) == 1
    said = capsys.readouterr().err
    for line, option in {3: "transport_url", 4: "capacity_policy", 7: "icontrol_password_file"}.items():
        assert re.search(rf"{file}:{line}: \[\w+\] {option}: ", said), said
    assert "s3cret" not in said

    file.write_text(file.read_text().replace("icontrol_password_file = /not/there", "icontrol_username ="))
    assert evenkeel("config", "check", "agent", "--config-file", file) == 1
    said = capsys.readouterr().err
    assert f"{file}:6: [bigip] icontrol_hostname: 'a b'" in said and "icontrol_password: not set" in said


def test_a_controllers_configuration(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(
        f"[DEFAULT]\ntransport_url = amqp://u:p@mq/v\nenvironments = prod:bigpi,lab:noop,x\n"
        f"[database]\nconnection = oracle://db/x\n[identity]\nkind = password_file\npassword_file = {tmp_path}/users\n"
        "[certificates]\nkey_manager = directory\n[api]\nbind_host = 0.0.0.0\nproxies = here\nssl_key_file = /k\n"
        "denied_member_networks = 10.0.0.0/99\n"
    )
    assert evenkeel("config", "check", "controller", "--config-file", file) == 1
    said = capsys.readouterr().err
    assert "no device driver 'bigpi' is installed (there are bigip, haproxy, noop), did you mean bigip?" in said
    for told in (
        f"{file}:3: [DEFAULT] environments: 'x' is not name:device_driver",
        f"{file}:5: [database] connection: 'oracle' is not supported",
        f"{file}:8: [identity] password_file: {tmp_path}/users: No such file or directory",
        "certificates.directory_key_file: not set",
        f"{file}:13: [api] proxies: ",
        "api.ssl_cert_file: it is needed with ssl_key_file",
        f"{file}:15: [api] denied_member_networks: ",
    ):
        assert told in said, said
    file.write_text(f"[database]\nconnection = sqlite:///{tmp_path}/db\n[api]\nallow_loopback_addresses = true\n")
    assert evenkeel("config", "check", "controller", "--config-file", file) == 0
    spoken = capsys.readouterr()
    assert "warning: tenants may use loopback addresses" in spoken.err
    assert not (tmp_path / "db").exists()


def test_a_daemons_configuration(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("[haproxyd]\ntls_certificate = /not/there\ncredentials_file = /nor/there\n")
    assert evenkeel("config", "check", "haproxyd", "--config-file", file) == 1
    said = capsys.readouterr().err
    assert f"{file}:2: [haproxyd] tls_certificate, tls_key: /not/there" in said
    assert f"{file}:3: [haproxyd] credentials_file: /nor/there" in said
    files = Certificates(tmp_path)
    credentials = tmp_path / "credentials"
    credentials.touch(mode=0o600)
    file.write_text(
        f"[haproxyd]\ntls_certificate = {files.cert}\ntls_key = {files.key}\ncredentials_file = {credentials}\n"
    )
    assert evenkeel("config", "check", "haproxyd", "--config-file", file) == 0


def test_show_lists_values_in_effect_with_their_origin(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(AGENT)
    monkeypatch.setenv("OS_DEFAULT__REPORT_INTERVAL", "7")
    assert evenkeel("config", "show", "agent", "--config-file", file, "--origin", "-f", "json") == 0
    rows = {row["option"]: (row["value"], row["origin"]) for row in json.loads(capsys.readouterr().out)}
    assert rows.pop("report_interval") == ("7.0", "environment OS_DEFAULT__REPORT_INTERVAL")
    assert rows == {
        "host": ("lb-1", f"{file}:2"),
        "bigip.icontrol_hostname": ("a, b", f"{file}:4"),
        "bigip.icontrol_username": ("evenkeel", f"{file}:5"),
        "bigip.icontrol_password": ("***", f"{file}:6"),
    }
    assert evenkeel("config", "show", "agent", "--config-file", file, "--all", "-f", "json") == 0
    every = {row["option"]: row["value"] for row in json.loads(capsys.readouterr().out)}
    assert every["keepalive_interval"] == "1.0" and "bigip.verify_tls" in every and "s3cret" not in str(every)


def test_a_process_that_is_not_installed_is_named(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenkeel.cmd.options.extras.requires", lambda _: ["not-there; extra == 'haproxyd'"])
    assert evenkeel("config", "sample", "haproxyd") == 2
    assert "not installed: not-there. Install what it needs: pip install" in capsys.readouterr().err
