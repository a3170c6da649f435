"""What a process says of itself when it starts: version, and the options that differ from their defaults."""

import platform
from collections.abc import Iterator, Sequence
from typing import Any

import structlog
from oslo_config import cfg

from evenkeel import __version__
from evenkeel.cmd.configuration.sections import OptionGroups
from evenkeel.cmd.device_drivers import declared_options

log = structlog.get_logger(__name__)

HIDDEN = "***"


def log_start(conf: cfg.ConfigOpts, groups: OptionGroups) -> None:
    """One line. ``groups``: the options that the process reads, besides those of its device driver."""
    options = {name: value for group, listed in groups.items() for name, value in _changed(conf, group, listed)}
    if "device_driver" in conf:
        options.update(_changed(conf, conf.device_driver, declared_options(conf.device_driver)))
    log.info("starting", version=__version__, python=platform.python_version(), options=options)


def _changed(conf: cfg.ConfigOpts, group: str | None, listed: Sequence[cfg.Opt]) -> Iterator[tuple[str, Any]]:
    values = conf[group] if group else conf
    for option in listed:
        value = getattr(values, option.dest)
        if value != option.default:
            yield f"{group}.{option.name}" if group else option.name, shown_value(option, value)


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
