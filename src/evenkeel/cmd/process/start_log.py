"""Logs the start of a process: its version, and the options that differ from their defaults."""

import platform

import structlog
from oslo_config import cfg

from evenkeel import __version__
from evenkeel.cmd.configuration.option_groups import OptionGroups
from evenkeel.cmd.configuration.option_values import option_values
from evenkeel.cmd.configuration.shown_values import value_without_secrets

log = structlog.get_logger(__name__)


def log_start(conf: cfg.ConfigOpts, groups: OptionGroups) -> None:
    """Log one line with the version and the options that differ from their defaults. ``groups``: options of
    the process, to which its device driver's options are added.
    """
    changed = (each for each in option_values(conf, groups) if not each.is_default)
    options = {each.name: value_without_secrets(each.option, each.value) for each in changed}
    log.info("starting", version=__version__, python=platform.python_version(), options=options)
