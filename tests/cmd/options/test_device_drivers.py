"""Packages that say they bring a device driver, and what is wrong with some."""

from pathlib import Path

import pytest

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import AGENT_OPTION_GROUPS
from evenkeel.cmd.options.device_drivers import declared_options, driver_entry_point, installed_drivers


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def install(site: Path, name: str, text: str) -> None:
    """A package of one module, as pip leaves it."""
    (site / f"evenkeel_{name}.py").write_text(text)
    info = site / f"evenkeel_{name}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: evenkeel-{name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[evenkeel.devices]\n{name} = evenkeel_{name}:open_group\n")


def agent_ini(site: Path, text: str) -> list[str]:
    file = site / "agent.ini"
    file.write_text(text)
    return ["--config-file", str(file)]


def test_ours_are_installed() -> None:
    assert {"bigip", "haproxy", "noop"} <= installed_drivers()
    assert "icontrol_hostname" in [option.dest for option in declared_options("bigip")]
    assert declared_options("noop") == ()


def test_a_driver_that_is_not_installed_is_reported_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^device_driver: 'bigpi' is not one of \['bigip', 'haproxy', 'noop'"):
        driver_entry_point("bigpi")
    with pytest.raises(ValueError, match=r"^device_driver: 'bigpi' is not one of"):
        load_configuration(
            "agent",
            agent_ini(tmp_path, "[DEFAULT]\ndevice_driver = bigpi\n[bigpi]\nx = 1\n"),
            groups=AGENT_OPTION_GROUPS,
        )


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("absent", "import no_such_module\n", "'absent' cannot be loaded: No module named 'no_such_module'"),
        ("words", "OPTIONS = ['colour']\n", r"'words': evenkeel_words\.OPTIONS is not a list of oslo\.config options"),
        (
            "twice",
            "from oslo_config import cfg\nOPTIONS = [cfg.StrOpt('a'), cfg.IntOpt('a')]\n",
            r"'twice': evenkeel_twice\.OPTIONS declares a twice",
        ),
    ],
)
def test_a_driver_that_cannot_be_used_is_refused_where_it_is_configured_only(
    site: Path, name: str, text: str, told: str
) -> None:
    install(site, name, text)
    with pytest.raises(ValueError, match=f"^device_driver: {told}"):
        load_configuration("agent", agent_ini(site, f"[DEFAULT]\ndevice_driver = {name}\n"), groups=AGENT_OPTION_GROUPS)
    load_configuration(
        "agent",
        agent_ini(site, f"[DEFAULT]\ndevice_driver = noop\n[{name}]\nanything = 1\n"),
        groups=AGENT_OPTION_GROUPS,
    )
