"""What nothing reads is refused; what anything reads is not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from oslo_config import cfg

from evenkeel.cmd.configuration.haproxyd_sections import HAPROXYD_OPTION_GROUPS
from evenkeel.cmd.configuration.ini_files import IniFile
from evenkeel.cmd.configuration.known_options import known_options
from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.option_groups import OptionGroups
from evenkeel.cmd.configuration.refusal import PRINTED_PROBLEMS_MAX, refusal_lines
from evenkeel.cmd.configuration.sections import AGENT_OPTION_GROUPS, CONTROLLER_OPTION_GROUPS
from evenkeel.config.problems import ConfigurationRefused

ROOT = Path(__file__).parent.parent.parent.parent
# importing oslo.cache and keystonemiddleware is not silent
LIBRARIES = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")


def read(folder: Path, text: str, groups: OptionGroups = AGENT_OPTION_GROUPS, *more: str) -> cfg.ConfigOpts:
    file = folder / "some.ini"
    file.write_text(text)
    return load_configuration("test", ["--config-file", str(file), *more], groups=groups)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[DEFAULT]\nreport_intervall = 3\n",
            "[DEFAULT] report_intervall: no such option, did you mean report_interval?",
        ),
        ("[bigip]\nsave_intervals = 3\n", "[bigip] save_intervals: no such option, did you mean save_interval?"),
        (
            "[DEFAULT]\nicontrol_hostname = a\n",
            "[DEFAULT] icontrol_hostname: no such option, did you mean icontrol_hostname of [bigip]?",
        ),
        (
            "[haproxy]\nhaproxyd_pasword = s3cret\n",
            "[haproxy] haproxyd_pasword: no such option, did you mean haproxyd_password?",
        ),
        ("[noop]\ncolour = blue\n", "[noop] colour: no such option"),
        ("[databse]\nconnection = sqlite://\n", "[databse]: no such section, did you mean [database]?"),
        ("[default]\nhost = h\n", "[default]: no such section, did you mean [DEFAULT]?"),
        ("[storage]\nconnection = sqlite://\n", "[storage]: no such section, did you mean [database]?"),
        ("[zzz]\nyyy = 1\n", "[zzz]: no such section"),
        ("[bigip]\nrequest-timeout = 3\n", "[bigip] request-timeout: no such option, did you mean request_timeout?"),
    ],
)
def test_unknown_option_is_refused_with_the_most_similar_one(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ValueError) as refusal:
        read(tmp_path, text)
    line = 1 if "no such section" in told else 2
    assert str(refusal.value) == f"{tmp_path}/some.ini:{line}: {told}"


@pytest.mark.parametrize("groups", [CONTROLLER_OPTION_GROUPS, AGENT_OPTION_GROUPS, HAPROXYD_OPTION_GROUPS])
def test_every_process_refuses_it(tmp_path: Path, groups: OptionGroups) -> None:
    with pytest.raises(ValueError, match=r"\[DEFAULT\] debig: no such option, did you mean debug\?"):
        read(tmp_path, "[DEFAULT]\ndebig = true\n", groups)


def test_processes_may_share_a_file(tmp_path: Path) -> None:
    text = (
        "[DEFAULT]\nhost = h\nsession_ttl = 7\n[database]\nconnection = sqlite://\n[haproxyd]\nname = n\n"
        "[bigip]\nsave_interval = 1\n[BigIP]\nretry_time = 2\n[haproxy]\nprefix = p\n[noop]\n[api]\n[neutron]\n"
        "operation_timeout = 30\n"
    )
    for groups in (CONTROLLER_OPTION_GROUPS, AGENT_OPTION_GROUPS, HAPROXYD_OPTION_GROUPS):
        read(tmp_path, text, groups)


def test_the_file_that_has_it_is_named_and_directories_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "conf.d"
    folder.mkdir()
    (folder / "10.conf").write_text("[DEFAULT]\nhost = h\n")
    (folder / "20.conf").write_text("[DEFAULT]\nhots = h\n")
    (folder / "notes.txt").write_text("[DEFAULT]\nwhatever = h\n")
    with pytest.raises(ValueError) as refusal:
        read(tmp_path, "[DEFAULT]\n", AGENT_OPTION_GROUPS, "--config-dir", str(folder))
    assert str(refusal.value) == f"{folder}/20.conf:2: [DEFAULT] hots: no such option, did you mean host?"


def test_values_are_substituted_as_ever(tmp_path: Path) -> None:
    conf = read(tmp_path, "[DEFAULT]\nhost = h\nagent_id = at-$host\n[bigip]\nicontrol_username = u-$host\n")
    assert (conf.agent_id, conf.bigip.icontrol_username) == ("at-h", "u-h")


def test_several_are_reported_at_once_but_not_all_of_very_many(tmp_path: Path) -> None:
    options = "\n".join(f"x{number} = 1" for number in range(PRINTED_PROBLEMS_MAX + 2))
    with pytest.raises(ConfigurationRefused) as refusal:
        read(tmp_path, f"[DEFAULT]\n{options}\n")
    assert len(refusal.value.problems) == PRINTED_PROBLEMS_MAX + 2
    lines = refusal_lines("test", refusal.value.problems)
    assert lines[0] == f"test: configuration refused, {PRINTED_PROBLEMS_MAX + 2} problems:"
    assert len(lines) == 1 + PRINTED_PROBLEMS_MAX + 1 and lines[-1] == "  and 2 more"


def test_former_names_are_read_and_no_others(tmp_path: Path) -> None:
    former = [cfg.DeprecatedOpt("colour"), cfg.DeprecatedOpt("tint", group="paint")]
    groups: OptionGroups = {"room": [cfg.StrOpt("color", deprecated_opts=former)]}
    assert read(tmp_path, "[room]\ncolour = blue\n", groups).room.color == "blue"
    assert read(tmp_path, "[paint]\ntint = blue\n", groups).room.color == "blue"
    with pytest.raises(ValueError, match=r"\[paint\] color: no such option"):
        read(tmp_path, "[paint]\ncolor = blue\n", groups)


def test_a_line_that_cannot_be_read_is_named_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"some\.ini: line 2: No ':' or '='") as refusal:
        read(tmp_path, "[bigip]\nicontrol_password s3cret\n")
    assert "s3cret" not in str(refusal.value)


# -- what libraries read

KEYSTONE = (
    "[keystone_authtoken]\nauth_url = http://k\nmemcached_servers = m\nauth_type = password\nuser_domain_id = d\n"
)


@LIBRARIES
@pytest.mark.parametrize("groups", [CONTROLLER_OPTION_GROUPS, AGENT_OPTION_GROUPS])
def test_options_of_libraries_are_known(tmp_path: Path, groups: OptionGroups) -> None:
    text = (
        f"{KEYSTONE}[oslo_policy]\npolicy_file = f\n[cache]\nbackend = dogpile.cache.null\n"
        "[neutron]\nauth_type = v3applicationcredential\napplication_credential_id = i\nregion_name = r\ncafile = f\n"
    )
    read(tmp_path, text, groups)


@LIBRARIES
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{KEYSTONE}usernam = u\n", r"\[keystone_authtoken\] usernam: .* username\?"),
        (f"{KEYSTONE}application_credential_id = u\n", r"\[keystone_authtoken\] application_credential_id: no such"),
        ("[oslo_policy]\npolicy_files = f\n", r"\[oslo_policy\] policy_files: .* policy_file\?"),
        ("[neutron]\nauth_type = none\nendpont = http://n\n", r"\[neutron\] endpont: .* endpoint\?"),
        ("[keystone_authtokens]\nauth_url = http://k\n", r"\[keystone_authtokens\]: no such section"),
    ],
)
def test_slips_in_sections_of_libraries_are_found(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read(tmp_path, text, CONTROLLER_OPTION_GROUPS)


@LIBRARIES
def test_a_login_may_be_in_a_section_of_its_own(tmp_path: Path) -> None:
    text = "[keystone_authtoken]\nauth_section = login\n[login]\nauth_type = password\nusername = u\n"
    read(tmp_path, text, CONTROLLER_OPTION_GROUPS)
    with pytest.raises(ValueError, match=r"\[login\] usernam: .* username\?"):
        read(tmp_path, f"{text}usernam = u\n", CONTROLLER_OPTION_GROUPS)


@LIBRARIES
def test_one_login_may_serve_both(tmp_path: Path) -> None:
    text = f"{KEYSTONE}[neutron]\nauth_section = keystone_authtoken\nregion_name = r\n"
    read(tmp_path, text, CONTROLLER_OPTION_GROUPS)


def test_a_login_that_nobody_knows_is_left_to_who_opens_it(tmp_path: Path) -> None:
    read(tmp_path, "[neutron]\nauth_type = telepathy\nwavelength = 3\n", CONTROLLER_OPTION_GROUPS)


def test_sections_that_state_where_else_options_are_may_hold_anything() -> None:
    known = known_options({}, [IniFile(path="f", sections={"DEFAULT": {"config_source": ["there, Too"]}})])
    assert known["there"] is None and known["too"] is None and known["database"]


# -- whole processes, and the documentation


@pytest.mark.parametrize("module", ["agent", "controller", "haproxyd"])
def test_a_process_reports_it_and_ends(tmp_path: Path, module: str) -> None:
    file = tmp_path / "some.ini"
    file.write_text("[DEFAULT]\ndebig = true\n")
    done = subprocess.run(
        [sys.executable, "-m", f"evenkeel.cmd.{module}", "--config-file", str(file)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert done.returncode == 2
    assert f"{file}:2: [DEFAULT] debig: no such option, did you mean debug?" in done.stderr
    assert "Traceback" not in done.stderr


def ini_blocks() -> list[tuple[str, str]]:
    """Every ini file of ours that the documentation shows, or a part of one."""
    found = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for number, block in enumerate(
            re.findall(r"^ *```ini\n(.*?)^ *```", page.read_text(), re.DOTALL | re.MULTILINE)
        ):
            # one with [evenkeel] is Octavia's, which the tests of evenkeel-octavia read
            if block.lstrip().startswith("[") and "[Unit]" not in block and "[evenkeel]" not in block:
                found.append((f"{page.stem}-{number}", re.sub(r"^ +", "", block, flags=re.MULTILINE)))
    return found


@LIBRARIES
@pytest.mark.parametrize("block", [pytest.param(text, id=name) for name, text in ini_blocks()])
def test_ini_blocks_of_the_documentation_are_read(tmp_path: Path, block: str) -> None:
    for groups in (CONTROLLER_OPTION_GROUPS, AGENT_OPTION_GROUPS, HAPROXYD_OPTION_GROUPS):
        read(tmp_path, block, groups)
