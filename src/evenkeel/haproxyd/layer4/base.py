"""The fixed part of the table: base chains, and rules for each range of numbers that new flows draw from.
Pure.

A new flow passes ``dispatch``, which visits the service's own chain if it has one, and goes on to ``deal``.
What has no server there is refused.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from evenkeel.haproxyd.layer4.statements import (
    DESTINATION_PORT,
    DROP_PACKET,
    FAMILIES,
    FLOW_INVALID,
    FLOW_MASQUERADED,
    FLOW_RELATED,
    FLOW_TRANSLATED,
    FLOW_UNASSIGNED,
    MASQUERADE_SOURCE,
    ORIGINAL_PORT,
    PACKET_PROTOCOL,
    REJECT_PORT_UNREACHABLE,
    REJECT_WITH_TCP_RESET,
    REPLY_PORT,
    SOURCE_PORT,
    AddKeyToSet,
    CountByMap,
    Family,
    FlowIsOfProtocol,
    HashedNumber,
    IsInDirection,
    IsOfFamily,
    IsOfProtocol,
    IsPortUnreachable,
    KeyInSet,
    KeyPart,
    RandomNumber,
    RuleStatements,
    TranslateByMap,
    VisitChainByMap,
    destination_address,
    goto_chain,
    original_destination_address,
    source_address,
)
from evenkeel.haproxyd.layer4.weighted_numbers import HASH_SEED, NUMBER_RANGES, NumberRange


class NetfilterHook(NamedTuple):
    """Attachment of a base chain in the kernel: chain type, name of the hook and the kernel's number for it,
    and priority.
    """

    kind: str
    name: str
    number: int
    priority: int


_PREROUTING, _OUTPUT, _POSTROUTING = ("prerouting", 0), ("output", 3), ("postrouting", 4)
BIND_CHAIN = "bind"
"""Name of the chain that binds clients to servers. The chain exists only while a pool binds clients, because each
packet of the host passes the chain.
"""
BASE_CHAIN_HOOKS: Mapping[str, NetfilterHook] = {
    "count-in": NetfilterHook("filter", *_PREROUTING, -150),
    "dispatch": NetfilterHook("nat", *_PREROUTING, -100),
    "dispatch-local": NetfilterHook("nat", *_OUTPUT, -100),
    # where packets of this host pass, too, and not only those of others
    BIND_CHAIN: NetfilterHook("filter", *_POSTROUTING, 0),
    "source": NetfilterHook("nat", *_POSTROUTING, 100),
    "count-out": NetfilterHook("filter", *_POSTROUTING, 150),
}
"""Hooks of the base chains, by chain name."""
LISTENER_PROTOCOLS = ("udp", "sctp", "tcp")
"""Protocols that listeners in the kernel may have."""


def service_key(family: Family) -> tuple[KeyPart, ...]:
    """Return the key parts that read the service a packet is sent to: destination address, protocol and port."""
    return destination_address(family), PACKET_PROTOCOL, DESTINATION_PORT


def number_key(family: Family, numbers: NumberRange) -> tuple[KeyPart, ...]:
    """Return the key parts that read the service of a packet, and a number that a new flow gets from this
    range: at random, or by a hash of the client.
    """
    if numbers.draw == "weight":
        return *service_key(family), RandomNumber(numbers.below, numbers.offset)
    # Port alone would be the same for many clients, address alone for all clients behind one translation.
    fields = (source_address(family), SOURCE_PORT) if numbers.draw == "source_port" else (source_address(family),)
    return *service_key(family), HashedNumber(fields, numbers.below, HASH_SEED, numbers.offset)


def _rule_for_each_family(make: Callable[[Family], RuleStatements]) -> tuple[RuleStatements, ...]:
    return tuple((IsOfFamily(family), *make(family)) for family in FAMILIES)


def _rule_for_each_protocol(
    make: Callable[[Family], RuleStatements], protocols: tuple[str, ...] = LISTENER_PROTOCOLS
) -> tuple[RuleStatements, ...]:
    """Return a rule for each protocol and family: conditions of both, then the parts from ``make(family)``.

    For rules that read the port of a flow's first packet, which nft lists only behind a condition of the protocol.
    """
    return tuple(
        (IsOfFamily(family), IsOfProtocol(protocol), *make(family)) for protocol in protocols for family in FAMILIES
    )


def _original_service_key(family: Family) -> tuple[KeyPart, ...]:
    return original_destination_address(family), PACKET_PROTOCOL, ORIGINAL_PORT


def _client_key(family: Family) -> tuple[KeyPart, ...]:
    return source_address(family), PACKET_PROTOCOL, SOURCE_PORT


def _translation_rules(numbers: NumberRange) -> tuple[RuleStatements, ...]:
    return _rule_for_each_family(
        lambda family: (TranslateByMap(family, number_key(family, numbers), f"slots{family}"),)
    )


_DISPATCH_RULES = (
    *_rule_for_each_family(lambda family: (VisitChainByMap(service_key(family), f"services{family}"),)),
    (goto_chain("deal"),),
)


BASE_CHAIN_RULES: Mapping[str, tuple[RuleStatements, ...]] = {
    # every packet, before translation; each base chain costs every packet of the host
    "count-in": (
        *_rule_for_each_family(
            lambda family: (IsInDirection("original"), CountByMap(service_key(family), f"in{family}"))
        ),
        (FLOW_UNASSIGNED, goto_chain("unassigned")),
    ),
    # A server's host sends few errors a second to this one, and most of them for clients' datagrams: without these,
    # checks of a server that has clients would find silence. An error counts if the server's address sent it, not
    # whoever forges one, and if the server saw this host as the client: it may refuse a client that it sees itself.
    # The kernel does not drop what it cannot assign to a flow, but lets it pass without translation: this host, or with
    # direct return the client, would answer, and end a connection.
    "unassigned": (
        *_rule_for_each_family(
            lambda family: (
                FLOW_RELATED,
                IsInDirection("reply"),
                IsPortUnreachable(family),
                FlowIsOfProtocol("udp"),
                FLOW_TRANSLATED,
                FLOW_MASQUERADED,
                AddKeyToSet((source_address(family), REPLY_PORT), f"refused{family}"),
            )
        ),
        *_rule_for_each_family(
            lambda family: (FLOW_INVALID, KeyInSet(service_key(family), f"owned{family}"), DROP_PACKET)
        ),
        *_rule_for_each_family(
            lambda family: (FLOW_INVALID, KeyInSet(_client_key(family), f"servers{family}"), DROP_PACKET)
        ),
        # what a server that left still answers would begin a flow to the client, from the server's address
        *_rule_for_each_family(lambda family: (KeyInSet(_client_key(family), f"gone{family}"), DROP_PACKET)),
    ),
    # the first packet of a flow only, from other hosts and from this one
    "dispatch": _DISPATCH_RULES,
    "dispatch-local": _DISPATCH_RULES,
    # A service has elements of one range. With the other ones, its key and number are in no map, and the next is tried.
    "deal": (
        *_rule_for_each_family(lambda family: (CountByMap(service_key(family), f"new{family}"),)),
        *(rule for numbers in NUMBER_RANGES for rule in _translation_rules(numbers)),
        # a connection whose server is gone must end at once, which no ICMP error does
        *_rule_for_each_family(
            lambda family: (IsOfProtocol("tcp"), KeyInSet(service_key(family), f"owned{family}"), REJECT_WITH_TCP_RESET)
        ),
        # What has no server is refused, and so leaves no entry in the connection table, which would pin this client's
        # port to "not translated" for as long as it sends.
        *_rule_for_each_family(
            lambda family: (KeyInSet(service_key(family), f"owned{family}"), REJECT_PORT_UNREACHABLE)
        ),
    ),
    # Members answer to this host. The last rules also make the kernel keep translating live flows, whatever else goes.
    "source": (
        *_rule_for_each_protocol(
            lambda family: (
                FLOW_TRANSLATED,
                KeyInSet(_original_service_key(family), f"owned{family}"),
                AddKeyToSet(service_key(family), f"servers{family}"),
            ),
            # no datagram is outside of a window
            ("sctp", "tcp"),
        ),
        *_rule_for_each_protocol(
            lambda family: (
                FLOW_TRANSLATED,
                KeyInSet(_original_service_key(family), f"owned{family}"),
                KeyInSet(_original_service_key(family), f"direct{family}", inverted=True),
                MASQUERADE_SOURCE,
            )
        ),
    ),
    # every answer, after its source was translated back
    "count-out": _rule_for_each_family(
        lambda family: (
            IsInDirection("reply"),
            CountByMap(_client_key(family), f"out{family}"),
        )
    ),
}
"""Rules of the base chains that are always there, by chain name."""
BIND_CHAIN_RULES = _rule_for_each_protocol(
    lambda family: (
        IsInDirection("original"),
        FLOW_TRANSLATED,
        VisitChainByMap(
            (*_original_service_key(family), destination_address(family), DESTINATION_PORT), f"bonds{family}"
        ),
    )
)
"""Rules of the chain ``bind``: the first packet of a flow binds its client to the server, and later ones keep it bound.
"""


def fixed_chain_rules(*, binds_clients: bool) -> Mapping[str, tuple[RuleStatements, ...]]:
    """Return ``{chain: rules}`` of the chains that do not depend on listeners. ``binds_clients``: whether a
    pool binds clients, which needs one more chain.
    """
    return {**BASE_CHAIN_RULES, BIND_CHAIN: BIND_CHAIN_RULES} if binds_clients else BASE_CHAIN_RULES
