"""Options for the addresses that tenants may use, shared by the APIs, the daemon beside HAProxy and the agents of
BIG-IPs.

Each of these processes checks addresses itself.
"""

from typing import Any

import structlog
from oslo_config import cfg

from evenkeel.core.networking.addresses import AddressRules, parsed_networks

log = structlog.get_logger(__name__)

ADDRESSES = [
    cfg.BoolOpt(
        "allow_loopback_addresses",
        default=False,
        help="Allow loopback addresses for members, monitors and VIPs. For demonstrations only: tenants then reach "
        "all loopback services of the devices' hosts.",
    ),
    cfg.ListOpt(
        "denied_member_networks",
        default=[],
        help="Networks (CIDR) refused for members and monitors, such as the management network and a cloud's "
        "metadata addresses.",
    ),
]


def address_rules(section: Any, name: str) -> AddressRules:
    """Return the rules for tenants' addresses from the options in ``section``; ``name``: the section's name
    for errors and logs. Logs a warning if loopback addresses are allowed. Raises :class:`ValueError`
    naming the option for an entry that is no network.
    """
    if section.allow_loopback_addresses:
        log.warning("tenants may use loopback addresses; not for production", option=f"{name}.allow_loopback_addresses")
    try:
        denied = parsed_networks(section.denied_member_networks)
    except ValueError as error:
        raise ValueError(f"{name}.denied_member_networks: {error}") from None
    return AddressRules(allow_loopback=section.allow_loopback_addresses, denied_networks=denied)
