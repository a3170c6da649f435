"""Clients that a listener admits: a data group of networks, and the part of its iRule that refuses all others. Pure.

TCP clients are reset; datagrams of others are dropped without an answer.
"""

import ipaddress
from collections.abc import Iterator

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.core.resources.model import DATAGRAM_PROTOCOLS
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import WantedObject
from evenkeel.devices.bigip.render.data_groups import data_group
from evenkeel.devices.bigip.render.rule_parts import Order, RulePart
from evenkeel.devices.errors import Unrenderable

KIND = "cidrs"


def admitted_networks(service: ServiceDefinition, listener: ServiceListener, names: BigIpNames) -> list[WantedObject]:
    """The data group of ``allowed_cidrs``, if the listener has any. Raises :class:`Unrenderable`."""
    if not listener.allowed_cidrs:
        return []
    networks = sorted({_network(listener, text) for text in listener.allowed_cidrs})
    return [data_group(service, KIND, listener.id, dict.fromkeys(networks, ""), names, type_="ip")]


def _network(listener: ServiceListener, text: str) -> str:
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError as error:
        raise Unrenderable(f"listener {listener.id}: allowed_cidrs: {text!r} is no network") from error


def admission_parts(service: ServiceDefinition, listener: ServiceListener, names: BigIpNames) -> Iterator[RulePart]:
    """Part of the iRule that refuses clients of networks other than ``allowed_cidrs``."""
    if not listener.allowed_cidrs:
        return
    path = f"/{names.partition(service.project_id)}/{names.helper(KIND, listener.id)}"
    yield RulePart(
        event="CLIENT_ACCEPTED",
        order=Order.ADMISSION,
        lines=(
            # The address is compared without its route domain, which the networks of the data group do not have.
            f'    if {{ ![class match [getfield [IP::client_addr] % 1] equals "{path}"] }} {{',
            f"        {'drop' if listener.protocol in DATAGRAM_PROTOCOLS else 'reject'}",
            "        return",
            "    }",
        ),
    )
