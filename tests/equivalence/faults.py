"""Faults that are planted: each takes out one mend for as long as its context lasts.

``python -m tests.equivalence --fault NAME`` looks for histories that find one.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

from msgspec.structs import replace

from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.core.status import health
from evenkeel.haproxyd.haproxy import reloader
from evenkeel.haproxyd.haproxy.config import server_arguments
from evenkeel.haproxyd.haproxy.config.bindability import drop_unbindable_peer
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.runner import HaproxyRunner
from evenkeel.haproxyd.haproxy.runtime import drift, file_changes, state_file
from evenkeel.haproxyd.haproxy.runtime.worker_state import canonical_notation
from evenkeel.haproxyd.layer4.balancer import DatagramBalancer
from evenkeel.haproxyd.layer4.kernel import KernelTable
from evenkeel.haproxyd.layer4.ruleset import PartitionContent


class Fault(NamedTuple):
    """What is broken, and how. ``seed`` and ``steps``: of a history that finds it."""

    text: str
    plant: Callable[[], AbstractContextManager[Any]]
    seed: str
    steps: int


def _draining_hides_a_dead_member() -> AbstractContextManager[Any]:
    right = health.member_status

    def status(*, enabled: bool, draining: bool, monitored: bool, up: bool) -> OperatingStatus:
        return right(enabled=enabled, draining=draining, monitored=monitored and not draining, up=up)

    return patch.object(health, "member_status", status)


def _everything_kept(config: HaproxyConfig, shown: str) -> str:
    """The states of all servers that have the address they had, as HAProxy shows them."""
    wanted = {
        (backend.name, server.name): (canonical_notation(server.address), str(server.port))
        for one in config.load_balancers.values()
        for backend in one.backends
        for server in backend.servers
    }
    version, columns, *lines = shown.strip().splitlines()
    names = columns.removeprefix("# ").split()
    rows = ((line, dict(zip(names, line.split(), strict=False))) for line in lines)
    kept = [
        line
        for line, row in rows
        if wanted.get((row["be_name"], row["srv_name"])) == (canonical_notation(row["srv_addr"]), row["srv_port"])
    ]
    return "".join(f"{line}\n" for line in (version, columns, *kept))


@contextmanager
def _old_states_win() -> Iterator[None]:
    """A server's TLS and the target of its checks are those of the worker before."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(reloader, "state_file_content", _everything_kept))
        stack.enter_context(patch.object(drift, "_argument_repairs", lambda *_: ()))
        yield


@contextmanager
def _down_without_a_judge() -> Iterator[None]:
    """A server that was down stays so, whether or not anything can raise it."""
    with ExitStack() as stack:
        for module in (state_file, drift):
            stack.enter_context(patch.object(module, "has_health_source", lambda *_: True))
        yield


def _unknown_is_not_checked() -> AbstractContextManager[Any]:
    """What an unknown HAProxy is to listen on is not tried before."""
    right = HaproxyRunner._bindable_config

    def bindable(self: HaproxyRunner, config: Any) -> Any:
        if self._state.known or not self.process.is_running:
            return right(self, config)
        config, self._peer_problem = drop_unbindable_peer(config, self._state.binds)
        return config, {}

    return patch.object(HaproxyRunner, "_bindable_config", bindable)


def _added_members_are_checked_in_clear_text() -> AbstractContextManager[Any]:
    """Checks of a member added at runtime speak neither TLS nor the PROXY protocol."""
    return patch.object(server_arguments, "_arguments_implied_in_checks", lambda _: ())


def _dead_members_get_datagrams() -> AbstractContextManager[Any]:
    """The kernel is not told of members' health."""
    return patch.object(DatagramBalancer, "observe", lambda *_: None)


def _challenges_of_before() -> AbstractContextManager[Any]:
    """A map in memory stays as the worker has read it."""
    return patch.object(file_changes, "_map_changes", lambda *_: ())


def _removed_servers_stay() -> AbstractContextManager[Any]:
    """The kernel goes on dealing connections to servers that left."""
    right = KernelTable.apply

    def apply(self: KernelTable, partition: str, wanted: PartitionContent) -> bool:
        before = self._contents.get(partition, PartitionContent())
        kept = {
            (name, key): data
            for (name, key), data in before.elements.items()
            if name.startswith(("owned", "slots")) and key.service.protocol == "tcp"
        }
        wanted = replace(wanted, elements={**kept, **wanted.elements}) if wanted.counters else wanted
        return right(self, partition, wanted)

    return patch.object(KernelTable, "apply", apply)


FAULTS: Mapping[str, Fault] = {
    "removed_servers": Fault("connections go on to be dealt to servers that left", _removed_servers_stay, "1", 6),
    "dead_datagrams": Fault("dead members get datagrams", _dead_members_get_datagrams, "5", 6),
    "old_states": Fault("what a worker was told before wins over its configuration", _old_states_win, "5013", 12),
    "down_for_ever": Fault(
        "a member that was found down stays down without a monitor", _down_without_a_judge, "7674", 8
    ),
    "draining": Fault("DRAINING hides a dead member", _draining_hides_a_dead_member, "7060", 8),
    "unknown_binds": Fault(
        "an unbindable load balancer interrupts others while it is not known what runs",
        _unknown_is_not_checked,
        "1011",
        6,
    ),
    "added_checks": Fault(
        "members added at runtime are checked in clear text", _added_members_are_checked_in_clear_text, "10258", 8
    ),
    "challenges": Fault("challenges are those of the last reload", _challenges_of_before, "7", 4),
}
IN_THE_KERNEL = ("dead_datagrams", "removed_servers")
"""Faults of what the kernel forwards."""
