"""Agent option that lists the networks to which access logs of enhanced services may be sent."""

from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from evenkeel.config.esd.log_targets import OPTION_NAME, LogTargets, parse_targets
from evenkeel.core.networking.addresses import AddressRules

OPTION = cfg.ListOpt(
    OPTION_NAME,
    default=[],
    help="Networks (CIDR) to which enhanced services may send access logs. Empty: none may.",
)


def log_targets(values: Mapping[str, Any], rules: AddressRules | None = None) -> LogTargets:
    """Build the rules for targets of access logs from the agent's options. ``rules``: rules for members'
    addresses, which apply to targets too; None: none. Raises :class:`ValueError` naming the option for a
    text that is no network.
    """
    return parse_targets(values[OPTION.name], rules)
