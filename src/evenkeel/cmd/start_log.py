"""What a process says of itself when it starts: version, and the options that differ from their defaults."""

import platform
from typing import Any

import structlog
from oslo_config import cfg

from evenkeel import __version__
from evenkeel.cmd.configuration.option_values import option_values
from evenkeel.cmd.configuration.sections import OptionGroups

log = structlog.get_logger(__name__)

HIDDEN = "***"


def log_start(conf: cfg.ConfigOpts, groups: OptionGroups) -> None:
    """One line. ``groups``: the options that the process reads, besides those of its device driver."""
    changed = (each for each in option_values(conf, groups) if not each.is_default)
    options = {each.name: shown_value(each.option, each.value) for each in changed}
    log.info("starting", version=__version__, python=platform.python_version(), options=options)


def shown_value(option: cfg.Opt, value: Any) -> Any:
    """The value; of a secret one nothing, or of a URL with a login, where it leads. All before the last ``@`` may be
    part of a password, and so may a query."""
    if not option.secret or not value:
        return value
    text = str(value)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return HIDDEN
    login, at, place = rest.partition("?")[0].rpartition("@")
    return f"{scheme}://{HIDDEN + at if login else ''}{place}"
