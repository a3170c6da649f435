"""Flows in the kernel's connection table that have to end: their server is gone, and rules apply only to new flows.

Flows are removed after the rules have changed; the other order lets a client that is sending make its flow anew, to the
server that it was to leave. Numbers are of the kernel's ``nfnetlink_conntrack.h``.
"""

import ipaddress
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd.layer4.elements import FlowTarget, VirtualService, address_family
from evenkeel.haproxyd.layer4.netlink import (
    CONNTRACK,
    NetfilterSocket,
    NetlinkAttributes,
    bytes_attribute,
    decode_attributes,
    nested_attribute,
)
from evenkeel.haproxyd.layer4.ruleset import PartitionContent
from evenkeel.haproxyd.layer4.statements import PROTOCOL_NUMBERS

_GET_FLOWS, _DELETE_FLOW = 1, 2
_ORIGINAL, _REPLY, _ID, _FILTER = 1, 2, 12, 25
_TUPLE_IP, _TUPLE_PROTOCOL = 1, 2
_SOURCE4, _DESTINATION4, _SOURCE6, _DESTINATION6 = 1, 2, 3, 4
_NUMBER, _SOURCE_PORT, _DESTINATION_PORT = 1, 2, 3
_FILTER_ORIGINAL = 1
_SELECT_BY_ADDRESS, _SELECT_BY_PROTOCOL, _SELECT_BY_PORT = 1 << 1, 1 << 3, 1 << 5
"""Bits by which the kernel selects flows: by destination address, protocol, and destination port."""
_PROTOCOL_NAMES = {number: name for name, number in PROTOCOL_NUMBERS.items()}


class EndedFlows(Value):
    """Flows of one service that have to be removed: those to servers that are not in ``kept``, and those of clients
    outside the networks ``clients`` (None: all clients are allowed).
    """

    service: VirtualService
    kept: frozenset[FlowTarget]
    clients: tuple[str, ...] | None = None


def flows_ended_by_change(old: PartitionContent, new: PartitionContent) -> tuple[EndedFlows, ...]:
    """Return the flows that have to end when a partition's content changes from ``old`` to ``new``, for each
    service that loses servers or clients, is new, or is gone.

    Flows of a new service are among them: before the service was there, datagrams to its address may have
    left flows that are not translated.
    """
    return tuple(
        EndedFlows(service=service, kept=new.flows.get(service, frozenset()), clients=new.clients.get(service))
        for service in sorted(old.flows.keys() | new.flows.keys(), key=lambda one: (one.address, one.port))
        if service not in old.flows
        or old.flows[service] - new.flows.get(service, frozenset())
        or new.clients.get(service) not in (None, old.clients.get(service))
        # a service that is gone had flows even if it had no server any more
        or service not in new.flows
    )


SINGLY_READ_SERVICES_MAX = 4
"""Up to so many services, flows are read service by service; the kernel examines its whole connection table each time.
"""


def remove_flows(netfilter: NetfilterSocket, ended: Iterable[EndedFlows]) -> int:
    """Remove the ended flows from the kernel's connection table, and return how many were removed. Blocks. Raises
    :class:`OSError`.
    """
    by_service = {one.service: one for one in ended}
    if len(by_service) <= SINGLY_READ_SERVICES_MAX:
        selections = [(_address_family(service), _service_selection(service)) for service in by_service]
    else:
        selections = [(family, b"") for family in sorted({_address_family(service) for service in by_service})]
    return sum(_remove_selected(netfilter, family, selection, by_service) for family, selection in selections)


def _remove_selected(
    netfilter: NetfilterSocket, family: int, selection: bytes, ended: Mapping[VirtualService, EndedFlows]
) -> int:
    # read to the end before the first removal, which would change what is being read
    found = [
        flow
        for flow in netfilter.dump(CONNTRACK, _GET_FLOWS, family=family, payload=selection)
        if (service := _flow_service(flow)) is not None and service in ended and _is_ended(flow, ended[service])
    ]
    count = 0
    for flow in found:
        parts = [nested_attribute(_ORIGINAL, flow[_ORIGINAL])]
        # the id tells it from a flow of the same addresses that was made since
        parts += [bytes_attribute(_ID, flow[_ID])] if _ID in flow else []
        with suppress(FileNotFoundError):  # it ended by itself
            netfilter.execute(CONNTRACK, _DELETE_FLOW, family=family, payload=b"".join(parts))
            count += 1
    return count


def _is_ended(flow: NetlinkAttributes, ended: EndedFlows) -> bool:
    return _flow_target(flow) not in ended.kept or not (ended.clients is None or _client_is_among(flow, ended.clients))


def _client_is_among(flow: NetlinkAttributes, networks: Iterable[str]) -> bool:
    _, addresses = _tuple_attributes(flow, _ORIGINAL)
    address = ipaddress.ip_address(next(_present_values(addresses, (_SOURCE4, _SOURCE6)), b"\0\0\0\0"))
    return any(address in ipaddress.ip_network(network) for network in networks)


def _address_family(service: VirtualService) -> int:
    return socket.AF_INET6 if address_family(service.address) == 6 else socket.AF_INET


def _service_selection(service: VirtualService) -> bytes:
    """Return the attributes that make the kernel (5.8 and later) dump the service's flows, and maybe others; an earlier
    kernel dumps all flows of the IP version.
    """
    address = ipaddress.ip_address(service.address)
    protocol = bytes_attribute(_NUMBER, bytes([PROTOCOL_NUMBERS[service.protocol]]))
    port = bytes_attribute(_DESTINATION_PORT, struct.pack("!H", service.port))
    parts, chosen = [nested_attribute(_TUPLE_PROTOCOL, protocol, port)], _SELECT_BY_PROTOCOL | _SELECT_BY_PORT
    # of IPv6, kernels (6.18, too) select the flows of all other addresses
    if address.version == 4:
        parts.append(nested_attribute(_TUPLE_IP, bytes_attribute(_DESTINATION4, address.packed)))
        chosen |= _SELECT_BY_ADDRESS
    return nested_attribute(_ORIGINAL, *parts) + nested_attribute(
        _FILTER, bytes_attribute(_FILTER_ORIGINAL, struct.pack("=I", chosen))
    )


def protocol_selection(protocol: str) -> bytes:
    """Return the attributes that make the kernel (5.8 and later) dump the flows of one protocol; an earlier kernel
    dumps all flows of the IP version.
    """
    number = bytes_attribute(_NUMBER, bytes([PROTOCOL_NUMBERS[protocol]]))
    chosen = nested_attribute(_FILTER, bytes_attribute(_FILTER_ORIGINAL, struct.pack("=I", _SELECT_BY_PROTOCOL)))
    return nested_attribute(_ORIGINAL, nested_attribute(_TUPLE_PROTOCOL, number)) + chosen


def _flow_service(flow: NetlinkAttributes) -> VirtualService | None:
    numbers, addresses = _tuple_attributes(flow, _ORIGINAL)
    name = _PROTOCOL_NAMES.get(numbers.get(_NUMBER, b"\0")[0])
    place = _parse_address_and_port(addresses, numbers, (_DESTINATION4, _DESTINATION6), _DESTINATION_PORT)
    if name is None or place is None:
        return None
    return VirtualService(protocol=name, address=place.address, port=place.port)  # type: ignore[arg-type]


def _flow_target(flow: NetlinkAttributes) -> FlowTarget | None:
    """Return the server that answers the flow, from the flow's reply direction; None if the flow's attributes
    lack it.
    """
    numbers, addresses = _tuple_attributes(flow, _REPLY)
    return _parse_address_and_port(addresses, numbers, (_SOURCE4, _SOURCE6), _SOURCE_PORT)


def _tuple_attributes(flow: NetlinkAttributes, direction: int) -> tuple[Mapping[int, bytes], Mapping[int, bytes]]:
    parts = decode_attributes(flow.get(direction, b""))
    return decode_attributes(parts.get(_TUPLE_PROTOCOL, b"")), decode_attributes(parts.get(_TUPLE_IP, b""))


def _parse_address_and_port(
    addresses: Mapping[int, bytes], numbers: Mapping[int, bytes], either: tuple[int, int], port: int
) -> FlowTarget | None:
    address = next(_present_values(addresses, either), None)
    if address is None or port not in numbers:
        return None
    return FlowTarget(address=str(ipaddress.ip_address(address)), port=int.from_bytes(numbers[port], "big"))


def _present_values(values: Mapping[int, bytes], keys: Iterable[int]) -> Iterator[bytes]:
    return (values[key] for key in keys if key in values)
