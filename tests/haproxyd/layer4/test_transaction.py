"""Contents of the table, and the transactions between them."""

import re
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.layer4 import commands
from evenkeel.haproxyd.layer4.commands import SetDeclaration, TableCommand
from evenkeel.haproxyd.layer4.elements import SHARED_SETS, FlowTarget, VirtualService
from evenkeel.haproxyd.layer4.flows import EndedFlows, flows_ended_by_change
from evenkeel.haproxyd.layer4.ruleset import PartitionContent, object_name, partition_content
from evenkeel.haproxyd.layer4.statements import rule_text
from evenkeel.haproxyd.layer4.transaction import change_commands, replacement_commands

SERVERS = st.lists(
    st.builds(
        wire.BackendServer,
        name=st.sampled_from([f"m{number}" for number in range(5)]),
        address=st.just("10.0.0.1"),
        port=st.just(53),
        weight=st.integers(0, 3),
        admin_up=st.booleans(),
        backup=st.booleans(),
    ),
    unique_by=lambda server: server.name,
    max_size=5,
).map(lambda servers: tuple(_placed(server) for server in servers))
BALANCE = st.builds(
    wire.DatagramBalance,
    choice=st.sampled_from(["weight", "source", "source_port"]),
    sticky_seconds=st.sampled_from([0, 60, 90]),
    sticky_netmask=st.sampled_from(["", "255.255.255.0"]),
)


def _placed(server: wire.BackendServer) -> wire.BackendServer:
    number = int(server.name[1:])
    address = f"2001:db8::{number + 1}" if number == 4 else f"10.0.0.{number + 1}"
    return wire.BackendServer(
        **{field: getattr(server, field) for field in server.__struct_fields__} | {"address": address}
    )


@st.composite
def load_balancers(draw: st.DrawFn) -> tuple[wire.LoadBalancerConfig, ...]:
    made = []
    for number in sorted(draw(st.sets(st.integers(1, 3)))):
        pool = wire.Backend(name=f"pool{number}", servers=draw(SERVERS), datagrams=draw(BALANCE))
        listeners = tuple(
            wire.DatagramListener(
                name=f"l{number}-{port}",
                binds=tuple(wire.Bind(address=vip, port=port) for vip in draw(VIPS)),
                backend=draw(st.sampled_from(["", pool.name])),
                flows_max=draw(st.sampled_from([None, 5, 6])),
                allowed_cidrs=draw(CIDRS),
            )
            for port in sorted(draw(st.sets(st.sampled_from([number, number + 10]), min_size=1)))
        )
        made.append(
            wire.LoadBalancerConfig(id=f"lb{number}", revision=1, backends=(pool,), datagram_listeners=listeners)
        )
    return tuple(made)


VIPS = st.sampled_from([("192.0.2.1",), ("192.0.2.1", "2001:db8:2::1"), ("2001:db8:2::1",)])
CIDRS = st.sampled_from([(), ("10.0.0.0/8",), ("10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32"), ("2001:db8::/32",)])
DOWN = st.frozensets(st.tuples(st.sampled_from(["pool1", "pool2"]), st.sampled_from(["m0", "m1"])))
few = settings(max_examples=30)
CONTENTS = st.builds(lambda held, down: partition_content("dev_p:1", held, down), load_balancers(), DOWN)


class Table:
    """What commands make of a table; refuses what the kernel would refuse."""

    def __init__(self) -> None:
        self.chains: dict[str, list[str]] = {}
        self.sets: dict[str, Any] = {}
        self.counters: set[str] = set()
        self.elements: dict[str, dict[Any, Any]] = {}

    def run(self, steps: Iterable[TableCommand]) -> None:
        for step in steps:
            self._do(step)
            if isinstance(step, commands.DeleteChain | commands.DeleteSet | commands.DeleteCounter):
                self._refuse_dangling()
        self._refuse_dangling()

    def _do(self, step: TableCommand) -> None:
        match step:
            case commands.AddTable():
                pass
            case commands.DeleteTable():
                self.__init__()  # type: ignore[misc]
            case commands.AddChain(name):
                assert name not in self.chains
                self.chains[name] = []
            case commands.FlushChain(name):
                self.chains[name].clear()
            case commands.DeleteChain(name):
                assert not self.chains.pop(name)
            case commands.AddRule(name, rule):
                self.chains[name].append(rule_text(rule))
            case commands.AddSharedSet(name, family):
                self._add_set(f"{name}{family}", SHARED_SETS[name])
            case commands.AddSet(name, declared):
                self._add_set(name, (declared.family, declared.seconds))
            case commands.FlushSet(name):
                self.elements[name].clear()
            case commands.DeleteSet(name):
                del self.sets[name], self.elements[name]
            case commands.AddCounter(name):
                assert name not in self.counters
                self.counters.add(name)
            case commands.DeleteCounter(name):
                self.counters.remove(name)
            case commands.AddNetworks(name, networks):
                self._add(name, [(network, "") for network in networks])
            case commands.AddElements(name, elements):
                self._add(name, elements)
            case commands.DeleteElements(name, keys):
                for key in keys:
                    del self.elements[name][key]
            case _:
                raise AssertionError(step)

    def _add_set(self, name: str, kind: Any) -> None:
        assert name not in self.sets
        self.sets[name] = kind
        self.elements[name] = {}

    def _add(self, name: str, elements: Iterable[tuple[Any, Any]]) -> None:
        for key, data in elements:
            assert key not in self.elements[name]
            self.elements[name][key] = data

    def _refuse_dangling(self) -> None:
        for rule in (rule for each in self.chains.values() for rule in each):
            assert self.chains.keys() >= set(re.findall(r"goto (\S+)", rule)), rule
            assert self.sets.keys() >= set(re.findall(r"@(\S+)", rule)), rule
            assert self.counters >= set(re.findall(r'counter name "(\S+)"', rule)), rule
        for name, elements in self.elements.items():
            kind = self.sets[name][1]
            if kind == "verdict":
                assert self.chains.keys() >= set(elements.values()), name
            if kind == "counter":
                assert self.counters >= set(elements.values()), name

    def state(self) -> tuple[Any, ...]:
        return self.chains, self.sets, self.counters, self.elements


def table_of(*contents: PartitionContent) -> Table:
    made = Table()
    made.run(replacement_commands(contents))
    return made


@few
@given(CONTENTS, CONTENTS)
def test_a_change_leads_to_the_table_that_is_made_anew(old: PartitionContent, new: PartitionContent) -> None:
    changed = table_of(old)
    changed.run(change_commands([(old, new)]))
    assert changed.state() == table_of(new).state()


@pytest.mark.parametrize(("direct", "left"), [(True, ["10.0.0.1 . udp . 53"]), (False, [])])
def test_servers_that_leave_are_remembered_with_direct_return(direct: bool, left: list[str]) -> None:
    def content(*numbers: int) -> PartitionContent:
        servers = tuple(wire.BackendServer(name=f"m{each}", address=f"10.0.0.{each}", port=53) for each in numbers)
        pool = wire.Backend(name="pool", servers=servers, datagrams=wire.DatagramBalance())
        binds = (wire.Bind(address="192.0.2.1", port=1), wire.Bind(address="192.0.2.2", port=1))
        listener = wire.DatagramListener(name="l", binds=binds, backend="pool")
        one = wire.LoadBalancerConfig(id="lb", revision=1, backends=(pool,), datagram_listeners=(listener,))
        return partition_content("p", [one], direct_return=direct)

    changed = table_of(content(1, 2))
    changed.run(change_commands([(content(1, 2), content(2))]))
    assert [key.text for key in changed.elements["gone4"]] == left


@few
@given(CONTENTS)
def test_no_change_is_no_transaction(content: PartitionContent) -> None:
    assert list(change_commands([(content, content)])) == []


@few
@given(CONTENTS, load_balancers())
def test_tenants_share_no_object(one: PartitionContent, others: tuple[wire.LoadBalancerConfig, ...]) -> None:
    other = partition_content("dev_p", others)
    assert one.chains.keys().isdisjoint(other.chains)
    assert one.sets.keys().isdisjoint(other.sets)
    assert one.counters.isdisjoint(other.counters)


@few
@given(CONTENTS, CONTENTS)
def test_flows_end_where_their_server_is_gone_or_their_client_may_be_disallowed(
    old: PartitionContent, new: PartitionContent
) -> None:
    ended = {each.service: each for each in flows_ended_by_change(old, new)}
    for service, targets in old.flows.items():
        kept = new.flows.get(service, frozenset())
        narrowed = service in new.clients and new.clients[service] != old.clients.get(service)
        assert (service in ended) == (service not in new.flows or not targets <= kept or narrowed)
    for service, one in ended.items():
        assert one == EndedFlows(
            service=service, kept=new.flows.get(service, frozenset()), clients=new.clients.get(service)
        )
    assert ended.keys() >= new.flows.keys() - old.flows.keys()


def test_only_a_new_service_ends_flows_that_are_not_translated() -> None:
    service = VirtualService(protocol="udp", address="192.0.2.1", port=53)
    targets = frozenset({FlowTarget(address="10.0.0.1", port=53)})
    wanted = PartitionContent(flows={service: targets})
    assert flows_ended_by_change(PartitionContent(), wanted) == (EndedFlows(service=service, kept=targets),)
    assert flows_ended_by_change(wanted, wanted) == ()


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("dev_p", "l1"), "vs-dev_p/l1"),
        (("dev_p:", "l1"), "vs-dev_p///l1"),
        (("dev_p", "a.b", "c"), "vs-dev_p/a.b/c"),
    ],
)
def test_names_contain_the_partition(parts: tuple[str, ...], name: str) -> None:
    assert object_name("vs", *parts) == name


NAMES = st.from_regex(wire.NAME_REGEX, fullmatch=True)


@given(NAMES, NAMES, NAMES, NAMES)
def test_names_of_different_objects_differ(one: str, other: str, third: str, fourth: str) -> None:
    made = object_name("vs", one, other)
    assert (made == object_name("vs", third, fourth)) == ((one, other) == (third, fourth))
    assert re.fullmatch(r"vs-[A-Za-z0-9/_.-]{1,117}", made)


def test_networks_that_overlap_are_merged() -> None:
    listener = wire.DatagramListener(
        name="l", binds=(wire.Bind(address="192.0.2.1", port=1),), allowed_cidrs=("10.0.0.0/8", "10.9.0.0/16", "::/0")
    )
    content = partition_content("p", [wire.LoadBalancerConfig(id="lb", revision=1, datagram_listeners=(listener,))])
    assert content.sets["al4-p/l"] == SetDeclaration(family=4, networks=("10.0.0.0/8",))
