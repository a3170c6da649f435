"""Reloads the configuration at SIGHUP and applies the options that can change in a running process.

These are the log level, the certificates of the process's server, and an agent's credentials for its devices and the
authorities it trusts. Files that these options name, above all certificates, are also watched: a renewed one is used
without a signal. So are users, policies and enhanced services. For all other changed options the log reports that they
need a restart.
"""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path

import structlog
from oslo_config import cfg

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.option_groups import OptionGroups
from evenkeel.cmd.configuration.option_values import option_values
from evenkeel.cmd.configuration.refusal import located_problems

WATCH_SECONDS = 10.0
"""Interval between checks of the files."""

log = structlog.get_logger(__name__)

ReloadAction = Callable[[cfg.ConfigOpts], None]
"""Applies the new values of some options. Raises :class:`ValueError` naming an invalid one; then nothing changes."""


def file_fingerprints(conf: cfg.ConfigOpts, names: Sequence[str]) -> Mapping[str, object]:
    """Return, by path, (time of modification in nanoseconds, size in bytes, inode) of each file that one of
    the options names by an absolute path; missing files are left out.
    """
    found: dict[str, object] = {}
    for name in names:
        section, _, option = name.rpartition(".")
        value = (conf[section] if section else conf)[option]
        # Some of the options are no paths, such as user names and flags.
        if isinstance(value, str) and value.startswith("/"):
            with contextlib.suppress(OSError):
                status = Path(value).stat()
                found[value] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found


def ignore_hangup() -> None:
    """Ignore SIGHUP until :meth:`OptionReloader.listen`, because it would end the process."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


class OptionReloader:
    """Reloads the configuration of a process at SIGHUP, and files that options name when they change.

    ``command``, ``arguments`` and ``groups``: as for :func:`load_configuration`. ``actions``: by the names of
    options (``section.option`` or ``option``), the function that applies them, called at each reload and
    after a change of a file that one of these options names; it raises :class:`ValueError` for values that
    cannot be used.
    """

    def __init__(
        self,
        command: str,
        arguments: Sequence[str],
        groups: OptionGroups,
        conf: cfg.ConfigOpts,
        actions: Mapping[tuple[str, ...], ReloadAction],
    ) -> None:
        self._command = command
        self._arguments = arguments
        self._groups = groups
        self._actions = actions
        self._values = self._option_values(conf)
        self._conf = conf
        self._files = {names: file_fingerprints(conf, names) for names in actions}
        self._watching: asyncio.Task[None] | None = None

    def listen(self) -> None:
        """Reload at each SIGHUP, in the running loop, and from now on watch the files that options name."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, self.reload)
        self._watching = loop.create_task(self.watch())

    async def watch(self) -> None:
        """Apply changed files every :data:`WATCH_SECONDS`, until cancelled."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            self.refresh()

    def refresh(self) -> None:
        """Apply files that changed since the last check, once.

        A file that cannot be used is logged and tried again after its next change: of a certificate and its
        key one may be written before the other.
        """
        for names, action in self._actions.items():
            found = file_fingerprints(self._conf, names)
            if found == self._files[names]:
                continue
            self._files[names] = found
            try:
                action(self._conf)
            except ValueError as error:
                log.error("changed files not loaded", options=names, reason=str(error))
            else:
                log.info("changed files loaded", options=names, files=sorted(found))

    def reload(self) -> bool:
        """Read the configuration and apply it with the actions; returns whether it could be read. Errors are
        logged; the options of a failed action keep their values.
        """
        try:
            conf = load_configuration(self._command, self._arguments, groups=self._groups)
        except ValueError as error:
            log.error("configuration not reloaded", reason=str(error))
            return False
        self._conf = conf
        # Before the actions: files that change meanwhile are applied by the next check.
        self._files = {names: file_fingerprints(conf, names) for names in self._actions}
        taken: list[str] = []
        for names, action in self._actions.items():
            try:
                action(conf)
            except ValueError as error:
                log.error("configuration not reloaded", reason="; ".join(located_problems(conf, error)))
            else:
                taken += names
        values = self._option_values(conf)
        changed = sorted(name for name in values if values[name] != self._values.get(name))
        self._values.update((name, values[name]) for name in taken if name in values)
        log.info(
            "configuration reloaded",
            changed=[name for name in changed if name in taken],
            needs_restart=[name for name in changed if name not in chain(*self._actions)],
        )
        return True

    def _option_values(self, conf: cfg.ConfigOpts) -> dict[str, object]:
        return {each.name: each.value for each in option_values(conf, self._groups)}
