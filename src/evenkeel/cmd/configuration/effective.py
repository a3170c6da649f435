"""Effective options of a process, with the origin of each value."""

from collections.abc import Iterator
from typing import NamedTuple

from oslo_config import cfg

from evenkeel.cmd.configuration.ini_files import DEFAULT_SECTION, effective_file
from evenkeel.cmd.configuration.loading import read_configuration_files
from evenkeel.cmd.configuration.option_values import option_values
from evenkeel.cmd.configuration.processes import PROCESSES
from evenkeel.cmd.configuration.shown_values import value_without_secrets


class EffectiveOption(NamedTuple):
    """An option of a process with its effective value.

    ``value``: as text, empty for None; for a secret only that it is set. ``origin``: ``file:line``,
    ``default``, or oslo.config's name of another source.
    """

    option: str
    value: str
    origin: str
    is_default: bool


def effective_options(name: str, conf: cfg.ConfigOpts) -> Iterator[EffectiveOption]:
    """Yield all options of the process ``name`` with their values and origins."""
    files = read_configuration_files(conf)
    for each in option_values(conf, PROCESSES[name].groups):
        section, dest = each.section or DEFAULT_SECTION, each.option.dest
        file = effective_file(files, section, dest)
        location = conf.get_location(dest, each.section)
        set_here = file is not None and location is not None and location.location is cfg.Locations.user
        yield EffectiveOption(
            option=each.name,
            value=_value_text(value_without_secrets(each.option, each.value)),
            origin=file.option_position(section, dest) if file and set_here else _source_name(location),
            is_default=each.is_default,
        )


def _value_text(value: object) -> str:
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _source_name(location: cfg.LocationInfo | None) -> str:
    if location is None or location.location in (cfg.Locations.opt_default, cfg.Locations.set_default):
        return "default"
    return f"{location.location.name} {location.detail}".strip()
