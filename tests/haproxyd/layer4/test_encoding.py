"""Messages to the kernel, as ``nft`` lists what they have made."""

import os
import re
from collections.abc import Iterator

import pytest
from hypothesis import Phase, given, settings

from evenkeel.haproxyd.layer4.base import fixed_chain_rules
from evenkeel.haproxyd.layer4.commands import network_spans
from evenkeel.haproxyd.layer4.elements import FlowTarget, element_data_text
from evenkeel.haproxyd.layer4.kernel import KernelTable
from evenkeel.haproxyd.layer4.kernel_table import (
    CounterValue,
    TableOutline,
    decode_counter,
    expected_outline,
    read_table_outline,
)
from evenkeel.haproxyd.layer4.netlink import (
    NetfilterSocket,
    bytes_attribute,
    number32_attribute,
    number64_attribute,
    text_attribute,
)
from evenkeel.haproxyd.layer4.ruleset import PartitionContent
from evenkeel.haproxyd.layer4.statements import rule_text
from tests.haproxyd.layer4.lab import in_namespace, ip, remove_namespace
from tests.haproxyd.layer4.libnftables import Libnftables
from tests.haproxyd.layer4.test_transaction import CONTENTS

_BLOCK = re.compile(r"^\t(chain|set|map|counter) (\S+) \{\n(.*?)^\t\}$", re.DOTALL | re.MULTILINE)
_ELEMENTS = re.compile(r"elements = \{(.*?)\}", re.DOTALL)


@pytest.fixture(scope="module")
def namespace(possible: None) -> Iterator[str]:
    name = f"eke{os.getpid()}"
    ip("netns", "add", name)
    yield name
    remove_namespace(name)


def listed(namespace: str) -> dict[str, list[str]]:
    """Rules of chains, elements of sets and maps, in nft's words."""
    text = in_namespace(namespace, lambda: Libnftables().run("list table inet encoding"))
    found: dict[str, list[str]] = {}
    for kind, name, body in _BLOCK.findall(text):
        if kind == "chain":
            rules = [line.strip() for line in body.splitlines() if not line.strip().startswith("type ")]
            found[name] = [_plain(rule) for rule in rules]
        else:
            found[name] = sorted(one.strip() for each in _ELEMENTS.findall(body) for one in each.split(","))
    return found


def outline() -> TableOutline:
    """The table as the daemon reads it."""
    with NetfilterSocket() as netfilter:
        return read_table_outline(netfilter, "encoding")


def _plain(rule: str) -> str:
    """A rule in one notation: nft prints protocols' names of fields, and omits conditions that these contain."""
    rule = re.sub(r"^(meta nfproto ipv[46] )?(meta l4proto (udp|sctp|tcp) )?", "", rule)
    return re.sub(r"\b(udp|sctp|tcp) (dport|sport)\b", r"th \2", rule).strip()


def expected(content: PartitionContent) -> dict[str, list[str]]:
    chains = {**fixed_chain_rules(binds_clients=content.binds_clients), **content.chains}
    found: dict[str, list[str]] = {name: [_plain(rule_text(rule)) for rule in rules] for name, rules in chains.items()}
    for name in content.counters:
        found[name] = []
    for name, declared in content.sets.items():
        found[name] = sorted(declared.networks)
    for (name, key), data in content.elements.items():
        quoted = f'"{data}"' if name[:-1] in ("in", "out", "new") else element_data_text(data)
        jump = f"jump {quoted}" if name[:-1] in ("services", "bonds") else quoted
        found.setdefault(name, []).append(f"{key.text} : {jump}" if data or isinstance(data, FlowTarget) else key.text)
    return {name: each if name in chains else sorted(each) for name, each in found.items()}


@settings(max_examples=15, phases=[Phase.generate], deadline=None)
@given(CONTENTS, CONTENTS)
def test_nft_lists_what_was_sent(namespace: str, first: PartitionContent, second: PartitionContent) -> None:
    table = KernelTable("encoding")
    in_namespace(namespace, table.open)
    in_namespace(namespace, lambda: table.adopt({}))
    try:
        for content in (first, second):
            in_namespace(namespace, lambda content=content: table.apply("p", content))
            if content != PartitionContent() or table._exists:
                found = {name: each for name, each in listed(namespace).items() if each}
                assert found == {name: each for name, each in expected(content).items() if each}
                assert in_namespace(namespace, outline) == expected_outline({"p": content})
    finally:
        in_namespace(namespace, table.clear)
        table.close()


def test_networks_are_spans_without_gaps_and_without_overlaps() -> None:
    spans = list(network_spans(["10.0.0.0/24", "10.0.1.0/25", "255.0.0.0/8"]))
    assert spans == [
        (bytes([10, 0, 0, 0]), bytes([10, 0, 1, 128])),
        (bytes([255, 0, 0, 0]), b""),
    ]
    assert list(network_spans(["::/0"])) == [(bytes(16), b"")]


@pytest.mark.parametrize("in_usual_order", [True, False])
def test_counters_are_read_whatever_the_order_of_their_attributes(in_usual_order: bool) -> None:
    head, name = text_attribute(1, "t"), text_attribute(2, "in-p/l")
    others = [number32_attribute(3, 1), number64_attribute(6, 9), number32_attribute(5, 1)]
    data = bytes_attribute(4, number64_attribute(1, 77) + number64_attribute(2, 5))
    content = b"".join((head, name, *(others if in_usual_order else others[:1]), data))
    assert decode_counter(content, len(head)) == ("in-p/l", CounterValue(packets=5, bytes=77))
