"""SIGHUP: the configuration is read again, and what can change in a running process takes effect.

What that is: the log level, the certificates of the process's server, and an agent's credentials for its devices and
the authorities it trusts. Files that are watched (users, policies,
enhanced services) need no signal. Of all other options that changed, the log says that they need a restart.
"""

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import structlog
from oslo_config import cfg

from evenkeel.cmd.configuration.loading import load
from evenkeel.cmd.configuration.option_values import option_values
from evenkeel.cmd.configuration.refusal import located_problems
from evenkeel.cmd.configuration.sections import OptionGroups

log = structlog.get_logger(__name__)

Action = Callable[[cfg.ConfigOpts], None]
"""Makes the new values of some options take effect. Raises :class:`ValueError` naming one, and nothing changes."""


def ignore_hangup() -> None:
    """Until :meth:`Reloading.listen`: a SIGHUP does not end the process."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


class Reloading:
    """Reads the configuration again. ``actions``: by the names of the options that they make take effect,
    ``section.option`` or ``option``."""

    def __init__(
        self,
        command: str,
        arguments: Sequence[str],
        groups: OptionGroups,
        conf: cfg.ConfigOpts,
        actions: Mapping[tuple[str, ...], Action],
    ) -> None:
        self._command = command
        self._arguments = arguments
        self._groups = groups
        self._actions = actions
        self._values = self._read(conf)

    def listen(self) -> None:
        """Reload at each SIGHUP, in the running loop."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.reload)

    def reload(self) -> bool:
        """Read the configuration, and have the actions make it take effect. What is wrong is logged and changes
        nothing. Whether it could be read."""
        try:
            conf = load(self._command, self._arguments, groups=self._groups)
        except ValueError as error:
            log.error("configuration not reloaded", reason=str(error))
            return False
        taken: list[str] = []
        for names, action in self._actions.items():
            try:
                action(conf)
            except ValueError as error:
                log.error("configuration not reloaded", reason="; ".join(located_problems(conf, error)))
            else:
                taken += names
        values = self._read(conf)
        changed = sorted(name for name in values if values[name] != self._values.get(name))
        self._values.update((name, values[name]) for name in taken if name in values)
        log.info(
            "configuration reloaded",
            changed=[name for name in changed if name in taken],
            needs_restart=[name for name in changed if name not in chain(*self._actions)],
        )
        return True

    def _read(self, conf: cfg.ConfigOpts) -> dict[str, object]:
        return {each.name: each.value for each in option_values(conf, self._groups)}
