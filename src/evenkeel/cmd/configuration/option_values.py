"""The options that a process reads, with their values."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from oslo_config import cfg

from evenkeel.cmd.configuration.option_groups import OptionGroups
from evenkeel.cmd.options import acme_options
from evenkeel.cmd.options.device_drivers import declared_options
from evenkeel.cmd.options.named_sections import named_options


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
    """Yield the values of the options in ``groups``, of named authorities and DNS zones, and of the device driver if
    the process has one.
    """
    listed: dict[str | None, Sequence[cfg.Opt]] = dict(groups)
    if acme_options.ACME_SECTION in groups:
        listed.update(named_options(conf.list_all_sections()))
    if "device_driver" in conf:
        listed[conf.device_driver] = declared_options(conf.device_driver)
    for group, options in listed.items():
        values = conf[group] if group else conf
        for option in options:
            yield OptionValue(group, option, values[option.dest])
