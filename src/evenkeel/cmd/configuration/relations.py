"""Relations between options of one process."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from oslo_config import cfg

from evenkeel.cmd.configuration.ini_files import DEFAULT_SECTION, IniFile, add_location


class OptionOrder(NamedTuple):
    """A relation between two options: the value of ``lower`` is at most that of ``upper``. Names are
    ``option`` of ``[DEFAULT]``, or ``section.option``; ``reason``: consequence of a violation.
    """

    lower: str
    upper: str
    reason: str


OPTION_ORDERS = (
    OptionOrder(
        "suspicion_interval", "session_ttl", "silent agents would be found by the end of their sessions before a probe"
    ),
    OptionOrder(
        "schedule_interval", "session_ttl", "unserved shards would wait longer for a check than for their agent"
    ),
    OptionOrder("status_interval", "service_resync_interval", "statuses would be older than what is repaired"),
    OptionOrder("haproxyd.peers_port_first", "haproxyd.peers_port_last", "the range of ports would be empty"),
)


def relation_problems(conf: cfg.ConfigOpts, files: Sequence[IniFile]) -> Iterator[str]:
    """Yield a problem, with both values, for each of :data:`OPTION_ORDERS` that does not hold."""
    for lower, upper, reason in OPTION_ORDERS:
        low, high = _option_value(conf, lower), _option_value(conf, upper)
        if low is not None and high is not None and low > high:
            problem = f"{lower}: {low:g}: at most {high:g}, the value of {upper}, is allowed; else {reason}"
            yield add_location(problem, files, [DEFAULT_SECTION])


def _section_and_option(name: str) -> tuple[str, str]:
    section, _, option = name.rpartition(".")
    return section or DEFAULT_SECTION, option


def _option_value(conf: cfg.ConfigOpts, name: str) -> float | None:
    """Return the number that is the option's value; None if this process does not read it."""
    section, option = _section_and_option(name)
    if section != DEFAULT_SECTION and section not in conf:
        return None
    values = conf if section == DEFAULT_SECTION else conf[section]
    if option not in values:  # no .get(): oslo.config's raises
        return None
    found: float = values[option]
    return found
