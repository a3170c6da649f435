"""Applies changes to one partition: to HAProxy, then to the kernel's forwarding of datagrams, then to disk and memory.

Not safe for concurrent calls; :mod:`partition.supervisor` serializes them.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.config.loaded import LoadedPartsCache, remove_unused_backends
from evenkeel.haproxyd.haproxy.runner import ApplyResult, HaproxyRunner
from evenkeel.haproxyd.haproxy.worker_users import PartitionUser, WorkerUsers
from evenkeel.haproxyd.layer4.balancer import DatagramBalancer
from evenkeel.haproxyd.network.binds import BindRegistry
from evenkeel.haproxyd.network.forbidden_addresses import ForbiddenAddresses
from evenkeel.haproxyd.network.peer_ports import PeerPorts
from evenkeel.haproxyd.partition.change_queue import QueuedChange
from evenkeel.haproxyd.partition.drains import ConnectionDrains
from evenkeel.haproxyd.partition.guard import PartitionGuard
from evenkeel.haproxyd.partition.held import HeldLoadBalancers
from evenkeel.haproxyd.partition.merge import MergedChanges
from evenkeel.haproxyd.settings import DaemonSettings


class HostResources(NamedTuple):
    """Resources that all partitions of this host share."""

    settings: DaemonSettings
    binds: BindRegistry
    peer_ports: PeerPorts
    worker_users: WorkerUsers
    forbidden_addresses: ForbiddenAddresses
    datagrams: DatagramBalancer


class ChangeApplier:
    """Applies changes to one partition; holds its guard, its load balancers, its workers' user, and its HAProxy."""

    def __init__(self, partition: str, storage: PartitionStorage, host: HostResources, runner: HaproxyRunner) -> None:
        self._partition = partition
        self._storage = storage
        self._host = host
        self._user = PartitionUser(partition, storage, host.worker_users)
        self.guard = PartitionGuard(partition, host.settings, storage, host.peer_ports)
        self.held = HeldLoadBalancers(partition, storage.change_log, host.binds)
        self.runner = runner
        self.drains = ConnectionDrains(partition, storage, runner.process)
        self._loaded = LoadedPartsCache()

    async def load(self) -> None:
        """Read the partition's directory; whatever can be read is loaded, and its addresses are reserved.

        Raises :class:`~evenkeel.haproxyd.disk.files.StorageBroken` or :class:`OSError` if a file cannot be
        read, and then the partition is loaded in part.
        """
        try:
            await asyncio.to_thread(self._read_directory)
        finally:
            # Also after a failed read: this partition's HAProxy may be running, and no other partition may get its
            # addresses.
            self.held.claim_binds()
            # An empty partition has no HAProxy that could use its peer port, so another partition may have it.
            self.guard.claim_port(is_needed=bool(self.held))

    def _read_directory(self) -> None:
        self._storage.prepare()
        # these also if the rest is not readable: its HAProxy keeps running
        self._user.read()
        self.runner.read_saved_state()
        self.held.read()
        self.guard.read()
        self.drains.read(self.held.by_id)

    async def rewrite_files(self) -> None:
        """Write the partition's directories, guard, user and load balancers from memory, and have the next
        pass compare HAProxy's files. Raises :class:`OSError`.
        """
        await asyncio.to_thread(self._storage.prepare)
        await self.guard.rewrite()
        await self._user.rewrite()
        await self.held.rewrite()
        self.runner.forget_files()

    def select_admitted(
        self, changes: list[QueuedChange], admit: Callable[[wire.PartitionChange], None]
    ) -> MergedChanges:
        """Return the changes whose sender still owns the partition, ready to be merged; the owner may have
        changed while they waited. Others are refused by the error that ``admit`` raises.
        """
        merged = MergedChanges(
            self.held.by_id,
            changes,
            settings=self._host.settings,
            registry=self._host.binds,
            forbidden_addresses=self._host.forbidden_addresses,
            datagrams=self._host.datagrams,
            peers=self.guard.peers,
            partition=self._partition,
        )
        merged.refuse_unguarded(admit)
        return merged

    async def apply(self, merged: MergedChanges, *, verify: bool) -> ApplyResult:
        """Apply the merged changes to HAProxy and the kernel, and store what HAProxy then runs; adds
        HAProxy's refusals to ``merged.errors``.

        ``verify``: also undo manual changes. Raises :class:`~evenkeel.haproxyd.errors.HaproxyDown`,
        :class:`~evenkeel.haproxyd.errors.PartitionFailed`, :class:`OSError`.
        """
        if merged.wanted:
            await self.guard.ensure_port()
            await self._user.ensure_assigned()
        peers = self.guard.peers if merged.peers is None else merged.peers
        applied = await self.runner.apply(self._build_config(merged.wanted, peers), verify=verify)
        # Only load balancers that a change names have an outcome; errors of others become the partition's problem.
        merged.errors.update({name: words for name, words in applied.errors.items() if name in merged.named})
        target = merged.target_state({**self.held.by_id, **self._add_unused_backends(applied.kept)})
        # HAProxy first: what it refuses must not be forwarded either.
        if await self._host.datagrams.forward_datagrams(self._partition, target) and applied.how == "nothing":
            applied = msgspec.structs.replace(applied, how="runtime")
        # HAProxy runs the change before it is stored: if the daemon dies here, no receipt was sent, and the owner sends
        # everything again after the restart.
        # Before that, so that no server is forgotten whose removal is stored.
        await self.drains.record_change(self.held.by_id, target)
        await self.held.replace(target)
        await self.guard.set_peers(peers)
        return applied

    def would_drop_incomplete(self, merged: MergedChanges) -> bool:
        """Whether HAProxy would run without some held load balancers, because their contents were lost and no
        change sends them.
        """
        # The merge keeps the object of a load balancer that no change replaces, so identity shows that nothing was sent
        # for it.
        return any(merged.wanted.get(name) is self.held.by_id[name] for name in self.held.incomplete)

    async def finish_deferred_work(self) -> None:
        """Do the work that can wait until after the response to a change: write HAProxy's outdated files and
        record, compact the log, and release port and user of an empty partition. Raises :class:`OSError`.
        """
        await self.runner.write_outdated_files()
        await self.runner.save_state_again()
        await self.held.compact()
        # The timer that retires an empty partition is set only while HAProxy runs; after one that ended by itself, port
        # and user id are released here.
        if not self.held and not self.runner.process.is_running:
            await self.release_resources()

    async def release_resources(self) -> None:
        """Release peer port, HAProxy's files and workers' user id of a partition that needs no HAProxy and
        has none. Raises :class:`OSError`.
        """
        await self.guard.release_port()
        await asyncio.to_thread(self._storage.remove_unused_files, ())
        await self._user.release()

    def describe_left_out(self, merged: MergedChanges, applied: ApplyResult) -> list[str]:
        """Describe, one text each, the load balancers and other parts that the partition holds but HAProxy
        does not run; empty: none.

        Errors of load balancers that the current changes name are not included, because the receipts have
        them; load balancers whose certificates were lost are included, whether a change names them or not.
        """
        left_out = [
            f"load balancer {name} is left out: {words}"
            for name, words in sorted(applied.errors.items())
            if name in self.held.by_id and name not in merged.named
        ]
        left_out += [
            f"load balancer {name} is left out: its certificates were lost, as after a restart of the host; "
            "its agent sends them"
            for name in sorted(self.held.incomplete)
        ]
        return [*left_out, applied.problem] if applied.problem else left_out

    def current_config(self) -> HaproxyConfig:
        """Return the configuration that HAProxy should run now."""
        return self._build_config(self.held.by_id, self.guard.peers)

    def _build_config(
        self, load_balancers: Mapping[str, wire.LoadBalancerConfig], peers: tuple[wire.HaproxyPeer, ...]
    ) -> HaproxyConfig:
        incomplete = {name for name in self.held.incomplete if load_balancers.get(name) is self.held.by_id[name]}
        return HaproxyConfig(
            load_balancers=self._loaded.loaded_parts(
                {name: one for name, one in load_balancers.items() if name not in incomplete}
            ),
            peer=self.guard.peer,
            peer_key=self.guard.peer_key,
            peers=peers,
            user=self._user.user,
        )

    def _add_unused_backends(
        self, kept_load_balancers: Mapping[str, wire.LoadBalancerConfig]
    ) -> dict[str, wire.LoadBalancerConfig]:
        """Return ``kept_load_balancers`` (the configurations that HAProxy runs, by id), with the held load balancer in
        place of each that is the loaded part of it.
        """
        held = self.held.by_id
        return {
            name: held[name] if name in held and remove_unused_backends(held[name]) == one else one
            for name, one in kept_load_balancers.items()
        }
