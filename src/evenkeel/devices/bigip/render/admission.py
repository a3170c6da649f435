"""Admission of clients to a listener: a data group of networks, and the part of the iRule that refuses all
other clients. Pure.

TCP clients are reset; datagrams of other clients are dropped without an answer.
"""

from collections.abc import Iterator

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.core.resources.model import DATAGRAM_PROTOCOLS
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import WantedObject
from evenkeel.devices.bigip.render.data_groups import data_group_path, network_group
from evenkeel.devices.bigip.render.rule_parts import Order, RulePart
from evenkeel.devices.listeners import allowed_networks

ALLOWED_CIDRS_KIND = "cidrs"


def allowed_cidrs_data_groups(
    service: ServiceDefinition, listener: ServiceListener, names: BigIpNames
) -> list[WantedObject]:
    """Build the data group of ``allowed_cidrs``; empty if the listener has none. Raises :class:`Unrenderable`
    for a text that is no network.
    """
    if not listener.allowed_cidrs:
        return []
    return [network_group(service, ALLOWED_CIDRS_KIND, listener.id, allowed_networks(listener), names)]


def client_refusal_rule_part(group_path: str, *, unless_found: bool, word: str = "reject") -> RulePart:
    """Build the part of an iRule that refuses clients whose address is in a data group, or with ``unless_found`` is
    not.

    ``word``: the iRule command that refuses them.
    """
    # The address is compared without its route domain, which the networks of the data group do not have.
    found = f'[class match [getfield [IP::client_addr] % 1] equals "{group_path}"]'
    lines = (f"    if {{ {'!' if unless_found else ''}{found} }} {{", f"        {word}", "        return", "    }")
    return RulePart(event="CLIENT_ACCEPTED", order=Order.ADMISSION, lines=lines)


def allowed_cidrs_rule_parts(
    service: ServiceDefinition, listener: ServiceListener, names: BigIpNames
) -> Iterator[RulePart]:
    """Yield the part of the iRule that refuses clients outside of ``allowed_cidrs``; nothing if the listener has
    none.
    """
    if not listener.allowed_cidrs:
        return
    word = "drop" if listener.protocol in DATAGRAM_PROTOCOLS else "reject"
    yield client_refusal_rule_part(
        data_group_path(service, ALLOWED_CIDRS_KIND, listener.id, names), unless_found=True, word=word
    )
