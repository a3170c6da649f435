"""Every option that is declared counts: something reads it, and what it becomes is read as well."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from oslo_config import cfg

import evenkeel
from evenkeel.agent.settings import AgentSettings
from evenkeel.cmd.configuration.haproxyd_sections import HAPROXYD_OPTION_GROUPS
from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.option_groups import OptionGroups
from evenkeel.cmd.configuration.sections import AGENT_OPTION_GROUPS, CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.options.haproxyd_options import daemon_settings, http_settings
from evenkeel.cmd.options.limit_options import load_balancer_limits
from evenkeel.cmd.options.quota_options import default_quotas
from evenkeel.controller.settings import ControllerSettings
from evenkeel.devices.bigip.options import OPTIONS as BIGIP
from evenkeel.devices.bigip.options import BigIpOptions
from evenkeel.devices.bigip.options import parse_options as parse_bigip
from evenkeel.devices.haproxy.options import OPTIONS as HAPROXY
from evenkeel.devices.haproxy.options import HaproxyOptions
from evenkeel.devices.haproxy.options import parse_options as parse_haproxy
from evenkeel.haproxyd.settings import DaemonSettings

SOURCE = Path(evenkeel.__file__).parent
PLACE: dict[str, Any] = {"environment": "dev", "group_number": 1, "host": "h"}

# -- driver options: another value makes other settings

DRIVERS: dict[str, tuple[list[cfg.Opt], Callable[..., object], dict[str, object]]] = {
    "bigip": (
        BIGIP,
        parse_bigip,
        {"icontrol_hostname": "a", "f5_ha_type": "standalone", "icontrol_password": "p"},
    ),
    "haproxy": (
        HAPROXY,
        parse_haproxy,
        {"haproxyd_url": "https://a", "haproxyd_username": "u", "haproxyd_password": "p"},
    ),
}
TOGETHER: dict[str, dict[str, object]] = {
    "f5_ha_type": {"f5_ha_type": "pair", "icontrol_hostname": "a,b"},
    "ha_type": {"ha_type": "pair", "haproxyd_url": "https://a,https://b"},
    "haproxyd_url": {"haproxyd_url": "https://c"},
    "denied_member_networks": {"denied_member_networks": "10.0.0.0/8"},
    "sync_mode": {"sync_mode": "sync"},
    "cookie_password": {"cookie_password": "a secret of at least 32 characters"},
    "traffic_groups": {"traffic_groups": "/Common/traffic-group-1"},
    "f5_external_physical_mappings": {"f5_external_physical_mappings": "default:1.2:False"},
    "advertised_tunnel_types": {"advertised_tunnel_types": "gre"},
    "sync_force_until": {"sync_force_until": "2026-01-01T00:00Z"},
}
"""Options that go with others, or may not be anything."""


def another(option: cfg.Opt) -> object:
    """A value that may be and is not the default."""
    if option.dest in ("management_addresses", "peers_address"):
        return "192.0.2.1"
    if option.dest == "traffic_log":
        return "192.0.2.1:514"
    if option.dest in ("denied_member_networks", "access_log_networks"):
        return "10.0.0.0/8"
    if option.dest == "peers_port_last":
        return 15_000  # not before the first one
    if option.dest == "f5_parent_ssl_profile":
        return "/Common/other"
    if isinstance(option, cfg.BoolOpt):
        return not option.default
    if isinstance(option, cfg.IntOpt | cfg.FloatOpt | cfg.PortOpt):
        return next(
            value
            for value in (9, 12, 13, 3000, 70_000)
            if value != option.default and (option.type.min or 0) <= value <= (option.type.max or value)
        )
    return "other"


@pytest.mark.parametrize(
    ("driver", "option"),
    [pytest.param(name, one, id=f"{name}.{one.dest}") for name, (declared, *_) in DRIVERS.items() for one in declared],
)
def test_an_option_of_a_driver_changes_its_settings(tmp_path: Path, driver: str, option: cfg.Opt) -> None:
    _, parse, given = DRIVERS[driver]
    if option.dest.endswith("_password_file"):
        (tmp_path / "file").write_text("from a file, and long enough for any\n")
        change: dict[str, object] = {option.dest: str(tmp_path / "file")}
    else:
        change = TOGETHER.get(option.dest, {option.dest: another(option)})
    assert parse({**given, **change}, **PLACE) != parse(given, **PLACE)


# -- options of the processes


def made(folder: Path, section: str, text: str, groups: OptionGroups) -> object:
    file = folder / "some.ini"
    file.write_text(f"[{section}]\n{text}\n")
    conf = load_configuration("test", ["--config-file", str(file)], groups=groups)
    if section == "haproxyd":
        return daemon_settings(conf), http_settings(conf)
    return default_quotas(conf) if section == "quotas" else load_balancer_limits(conf)


@pytest.mark.parametrize(
    ("section", "option"),
    [
        pytest.param(section, option, id=f"{section}.{option.dest}")
        for section, groups in (
            ("haproxyd", HAPROXYD_OPTION_GROUPS),
            ("quotas", CONTROLLER_OPTION_GROUPS),
            ("limits", CONTROLLER_OPTION_GROUPS),
        )
        for option in groups[section]
    ],
)
def test_an_option_of_a_section_that_is_read_as_a_whole_changes_what_is_made(
    tmp_path: Path, section: str, option: cfg.Opt
) -> None:
    groups = HAPROXYD_OPTION_GROUPS if section == "haproxyd" else CONTROLLER_OPTION_GROUPS
    without = made(tmp_path, section, "", groups)
    assert made(tmp_path, section, f"{option.dest} = {another(option)}", groups) != without


def reads(folder: Path) -> Iterator[tuple[str | None, str]]:
    """Section and option of every ``conf.option`` and ``conf.section.option``."""
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Attribute(value=ast.Name(id="conf"), attr=option):
                    yield None, option
                case ast.Attribute(value=ast.Attribute(value=ast.Name(id="conf"), attr=section), attr=option):
                    yield section, option


ADDRESSES = {"allow_loopback_addresses", "denied_member_networks"}
"""Read by :func:`evenkeel.config.addresses.address_rules`, whatever the section."""


@pytest.mark.parametrize(
    ("groups", "beside"),
    [
        (CONTROLLER_OPTION_GROUPS, {"quotas", "limits"}),
        (AGENT_OPTION_GROUPS, {"neutron_agent"}),
        (HAPROXYD_OPTION_GROUPS, {"haproxyd"}),
    ],
)
def test_every_other_option_is_read(groups: OptionGroups, beside: set[str]) -> None:
    found = set(reads(SOURCE / "cmd"))
    declared = {
        (section, option.dest)
        for section, options in groups.items()
        if section not in beside
        for option in options
        if option.dest not in ADDRESSES
    }
    assert declared and declared - found == set()


# -- what options become


@pytest.mark.parametrize(
    ("settings", "folder"),
    [
        (BigIpOptions, "devices"),
        (HaproxyOptions, "devices"),
        (DaemonSettings, "haproxyd"),
        (AgentSettings, "agent"),
        (ControllerSettings, "controller"),
    ],
)
def test_every_setting_is_read(settings: type[msgspec.Struct], folder: str) -> None:
    read = {
        node.attr
        for file in (SOURCE / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    assert set(settings.__struct_fields__) - read == set()
