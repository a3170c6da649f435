"""Processes by name, with their configuration files, options and checks."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from importlib import import_module
from typing import NamedTuple

from oslo_config import cfg

from evenkeel.cmd.configuration import sections
from evenkeel.cmd.configuration.haproxyd_sections import HAPROXYD_OPTION_GROUPS
from evenkeel.cmd.configuration.option_groups import OptionGroups
from evenkeel.cmd.options.device_drivers import declared_options, installed_drivers


class ConfiguredProcess(NamedTuple):
    """A process with a configuration.

    ``module`` has ``async def check_configuration(conf)``, which raises :class:`ValueError` with all unusable options;
    it connects nowhere.
    """

    command: str
    module: str
    groups: OptionGroups

    def load_check(self) -> Callable[[cfg.ConfigOpts], Awaitable[None]]:
        """Import the process's function that checks a configuration; that needs the libraries of the process."""
        found: Callable[[cfg.ConfigOpts], Awaitable[None]] = import_module(self.module).check_configuration
        return found


PROCESSES = {
    "controller": ConfiguredProcess(
        "evenkeel-controller", "evenkeel.cmd.controllers.controller_parts", sections.CONTROLLER_OPTION_GROUPS
    ),
    "agent": ConfiguredProcess("evenkeel-agent", "evenkeel.cmd.agent", sections.AGENT_OPTION_GROUPS),
    "haproxyd": ConfiguredProcess("evenkeel-haproxyd", "evenkeel.cmd.haproxyd", HAPROXYD_OPTION_GROUPS),
}


def process_options(name: str) -> Iterator[tuple[str | None, Sequence[cfg.Opt]]]:
    """Yield (section, options) of the process, with those of all installed device drivers if it has a driver.
    Raises :class:`ValueError` for a driver that cannot be loaded.
    """
    groups = PROCESSES[name].groups
    yield from groups.items()
    if "device_driver" in {option.dest for option in groups[None]}:
        for driver in sorted(installed_drivers()):
            if declared := declared_options(driver):
                yield driver, declared
