"""The options that a process reads, with their values."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from oslo_config import cfg

from evenkeel.cmd.configuration.sections import OptionGroups
from evenkeel.cmd.options.device_drivers import declared_options


class OptionValue(NamedTuple):
    """An option with its value. ``section`` None is ``[DEFAULT]``."""

    section: str | None
    option: cfg.Opt
    value: Any

    @property
    def name(self) -> str:
        """Name of the option: ``section.option``, or ``option`` in ``[DEFAULT]``."""
        return f"{self.section}.{self.option.name}" if self.section else str(self.option.name)

    @property
    def is_default(self) -> bool:
        """Whether the value is the default of the option's declaration."""
        return bool(self.value == self.option.default)


def option_values(conf: cfg.ConfigOpts, groups: OptionGroups) -> Iterator[OptionValue]:
    """Values of the options in ``groups``, and of the device driver's options if the process has a driver."""
    listed = dict(groups)
    if "device_driver" in conf:
        listed[conf.device_driver] = declared_options(conf.device_driver)
    for section, options in listed.items():
        values = conf[section] if section else conf
        for option in options:
            yield OptionValue(section, option, values[option.dest])
