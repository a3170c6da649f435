"""The options of a process as they are in effect, and where each value comes from."""

from collections.abc import Iterator
from typing import NamedTuple

from oslo_config import cfg

from evenkeel.cmd.configuration.ini_files import DEFAULT, file_of
from evenkeel.cmd.configuration.loading import read_files
from evenkeel.cmd.configuration.processes import options_of
from evenkeel.cmd.start_log import shown_value


class Effective(NamedTuple):
    """``value``: as text, of a secret only that it is set. ``origin``: ``file:line``, ``default``, or oslo.config's
    name of another source."""

    option: str
    value: str
    origin: str
    is_default: bool


def effective_options(name: str, conf: cfg.ConfigOpts) -> Iterator[Effective]:
    """All options of the process ``name``."""
    files = read_files(conf)
    driver = conf.device_driver if "device_driver" in conf else ""
    for section, options in options_of(name, driver):
        for option in options:
            value = (conf[section] if section else conf)[option.dest]
            file = file_of(files, section or DEFAULT, option.dest)
            location = conf.get_location(option.dest, section)
            set_here = file is not None and location is not None and location.location is cfg.Locations.user
            yield Effective(
                option=f"{section}.{option.name}" if section else option.name,
                value=_text(shown_value(option, value)),
                origin=file.place(section or DEFAULT, option.dest) if file and set_here else _source(location),
                is_default=value == option.default,
            )


def _text(value: object) -> str:
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _source(location: cfg.LocationInfo | None) -> str:
    if location is None or location.location in (cfg.Locations.opt_default, cfg.Locations.set_default):
        return "default"
    return f"{location.location.name} {location.detail}".strip()
