"""The daemon's table in the kernel and this process's view of it. Blocks; safe for several threads.

A transaction and what follows from it, the removal of flows, are one step: no thread sees the middle. Every transaction
on the host raises a number, the generation; while it is unchanged, so is the table.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import structlog

from evenkeel.core.kit.errors import EvenKeelError
from evenkeel.haproxyd.layer4.active_flows import count_flows
from evenkeel.haproxyd.layer4.commands import DeleteTable, TableCommand
from evenkeel.haproxyd.layer4.elements import FlowTarget, VirtualService
from evenkeel.haproxyd.layer4.flow_table import FlowTableState, read_flow_table
from evenkeel.haproxyd.layer4.flows import EndedFlows, flows_ended_by_change, remove_flows
from evenkeel.haproxyd.layer4.forwarding import TableLock
from evenkeel.haproxyd.layer4.kernel_table import (
    CounterValue,
    expected_outline,
    read_counters,
    read_generation,
    read_refusing_servers,
    read_table_outline,
)
from evenkeel.haproxyd.layer4.netlink import NetfilterSocket, NetlinkMessage, TransactionRefused
from evenkeel.haproxyd.layer4.ruleset import PartitionContent
from evenkeel.haproxyd.layer4.transaction import change_commands, replacement_commands

log = structlog.get_logger(__name__)

PartitionContents = Mapping[str, PartitionContent]
_EMPTY_CONTENT = PartitionContent()


class KernelRefused(EvenKeelError):
    """The kernel refused a request, or cannot be reached; the text gives the cause. Nothing of a refused
    transaction was carried out.
    """


class KernelTable:
    """The daemon's nftables table in the kernel. Methods block, and may be called from several threads."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._table_lock = TableLock(table)
        self._lock = threading.Lock()
        self._contents: dict[str, PartitionContent] = {}
        """Content that the kernel holds for each partition; while ``_known`` is False, the content that it should hold.
        """
        self._exists = False
        self._known = True
        """Whether the kernel's table is known to equal ``_contents``."""
        self._generation = -1
        """The kernel's generation at which its table was last known to equal ``_contents``; -1: there is none."""
        self._lacking = ""
        """The reason why the kernel refused an empty table when that was last tried; empty: it did not."""
        self._pending: list[EndedFlows] = []
        """Flows that could not be removed yet."""

    def open(self, *, needed: bool = True) -> None:
        """Check the daemon's permission and the kernel's features, and lock the table for this process. May
        be repeated.

        ``needed`` False: a kernel that lacked a feature is not tried again. Raises :class:`KernelRefused` if
        permission or a feature is missing, or another daemon has the lock.
        """
        with self._lock, _open_netfilter() as netfilter:
            read_generation(netfilter)
            if not self._table_lock.try_acquire():
                raise KernelRefused(f"another daemon in this network namespace has the nftables table {self._table}")
            if self._lacking and not needed:
                raise KernelRefused(self._lacking)
            self._try_empty_table(netfilter)

    def _try_empty_table(self, netfilter: NetfilterSocket) -> None:
        """Have the kernel check an empty table without creating it. Raises :class:`KernelRefused` with the
        feature that is missing, and then the table is unlocked.
        """
        try:
            self._send_transaction(netfilter, replacement_commands(()), dry_run=True)
        except TransactionRefused as error:
            # a daemon that cannot use the table leaves it to another one
            self._table_lock.release()
            self._lacking = f"nftables: {error}"
            raise KernelRefused(self._lacking) from error
        self._lacking = ""

    def adopt(self, contents: PartitionContents) -> bool:
        """Take over the table of an earlier daemon. ``contents``: what it should contain, by partition.

        Returns whether it contains exactly that, and then removes flows to other servers; else it is left as
        it is until the next change or :meth:`restore`. Raises :class:`KernelRefused` if it cannot be read.
        """
        with self._lock:
            self._contents = {name: one for name, one in contents.items() if one != _EMPTY_CONTENT}
            with _open_netfilter() as netfilter:
                self._generation, found = read_generation(netfilter), read_table_outline(netfilter, self._table)
                self._exists = bool(found.rules)
                self._known = found == expected_outline(self._contents) or not (self._exists or self._contents)
                if self._known:
                    self._remove_ended_flows(netfilter, _all_ended_flows(self._contents))
            return self._known

    def apply(self, partition: str, wanted: PartitionContent) -> bool:
        """Change one partition's content of the table to ``wanted`` in one transaction, and then remove flows
        to servers that left; a table that another program changed is replaced as a whole.

        Returns whether anything was to be changed. Raises :class:`KernelRefused` if the kernel refuses the
        change, and then nothing has changed, or if it does not answer, and then the table is uncertain.
        """
        with self._lock:
            before = self._contents.get(partition, _EMPTY_CONTENT)
            if before == wanted and self._known:
                return False
            contents = {name: one for name, one in self._contents.items() if name != partition}
            if wanted != _EMPTY_CONTENT:
                contents[partition] = wanted
            ended = flows_ended_by_change(before, wanted)
            binds = any(one.binds_clients for name, one in contents.items() if name != partition)
            if not (self._known and self._exists and self._change_content(before, wanted, ended, others_bind=binds)):
                self._run_transaction(
                    replacement_commands(contents.values()), (*ended, *_all_ended_flows(contents)), replaces_table=True
                )
            self._contents = contents
            self._exists = self._known = True
            return True

    def _change_content(
        self, before: PartitionContent, wanted: PartitionContent, ended: tuple[EndedFlows, ...], *, others_bind: bool
    ) -> bool:
        """Change one partition's content from ``before`` to ``wanted``. Returns False if another program
        changed the table, which must then be replaced. Raises :class:`KernelRefused` if the kernel refuses
        the change.
        """
        try:
            self._run_transaction(change_commands([(before, wanted)], others_bind=others_bind), ended)
        except KernelRefused:
            if self._known and self._is_unchanged():
                raise
            self._known = False
        return self._known

    def restore(self) -> bool:
        """Replace the kernel's table if it is not what it should be; returns whether it was replaced. Raises
        :class:`KernelRefused` if that fails.
        """
        with self._lock:
            if self._known and not self._exists:
                return False
            if self._known and self._is_unchanged():
                return False
            # Until this works the table is uncertain: the next attempt must not take its generation for good.
            self._known = False
            self._run_transaction(
                replacement_commands(self._contents.values()), _all_ended_flows(self._contents), replaces_table=True
            )
            self._exists = self._known = True
            return True

    @property
    def is_content_known(self) -> bool:
        """Whether the kernel's table is known to have held what it should when it was last changed or
        compared.
        """
        return self._known

    def clear(self) -> None:
        """Remove the table and the flows of its services, so that nothing is forwarded any more. Raises
        :class:`KernelRefused` if the table cannot be removed.
        """
        with self._lock:
            if self._exists:
                gone = {service: targets for one in self._contents.values() for service, targets in one.flows.items()}
                self._run_transaction(
                    [DeleteTable()], flows_ended_by_change(PartitionContent(flows=gone), _EMPTY_CONTENT)
                )
                self._contents, self._exists = {}, False

    def partition_flow_targets(self, partition: str) -> Mapping[VirtualService, frozenset[FlowTarget]]:
        """Return the servers whose flows may go on, by service, in the partition's present content; empty for
        an unknown partition.
        """
        return self._contents.get(partition, _EMPTY_CONTENT).flows

    def read_counters(self) -> dict[str, CounterValue]:
        """Read the table's named counters, ``{name: values}``; empty without a table. Raises
        :class:`KernelRefused` if they cannot be read.
        """
        if not self._exists:
            return {}
        with _open_netfilter() as netfilter:
            return read_counters(netfilter, self._table)

    def refusing_servers(self) -> frozenset[FlowTarget]:
        """Read which servers refused a client's datagram in the last seconds; empty without a table. Raises
        :class:`KernelRefused` if they cannot be read.
        """
        if not self._exists:
            return frozenset()
        with _open_netfilter() as netfilter:
            return read_refusing_servers(netfilter, self._table)

    def count_active_flows(self) -> Mapping[VirtualService, int]:
        """Count the flows in the connection table by service; services without flows are left out. Raises
        :class:`KernelRefused` if it cannot be read.
        """
        services = [service for one in self._contents.values() for service in one.flows]
        with _open_netfilter() as netfilter:
            return count_flows(netfilter, services)

    def read_flow_table_state(self) -> FlowTableState:
        """Read how full the kernel's connection table is. Raises :class:`KernelRefused` if it cannot be read."""
        try:
            with NetfilterSocket() as netfilter:
                return read_flow_table(netfilter)
        except (OSError, ValueError) as error:
            raise KernelRefused(f"connection table: {error}") from error

    def retry_flow_removals(self) -> None:
        """Try again to remove the flows whose removal failed; another failure is logged and repeated later."""
        with self._lock:
            if self._pending:
                pending, self._pending = self._pending, []
                self._remove_ended_flows(None, pending)

    def close(self) -> None:
        """Unlock the table for other processes; the kernel goes on forwarding."""
        self._table_lock.release()

    def _run_transaction(
        self, commands: Iterable[TableCommand], ended: tuple[EndedFlows, ...], *, replaces_table: bool = False
    ) -> None:
        """Run a transaction, and then remove the ended flows. ``replaces_table``: the transaction replaces the whole
        table, so that its content is known whatever it was before. Raises :class:`KernelRefused`; after a
        failure other than a refusal the table is uncertain.
        """
        try:
            with NetfilterSocket() as netfilter:
                before = read_generation(netfilter)
                after = before + self._send_transaction(netfilter, commands)
                # Another program's transaction may have been on our table: the next look compares it.
                alone = read_generation(netfilter) == after
                self._generation = after if alone and (replaces_table or before == self._generation) else -1
                self._remove_ended_flows(netfilter, ended)
        except TransactionRefused as error:
            raise _kernel_refusal(error) from error
        except OSError as error:
            # it is not known whether the transaction came first
            self._known = False
            raise _kernel_refusal(error) from error

    def _send_transaction(
        self, netfilter: NetfilterSocket, commands: Iterable[TableCommand], *, dry_run: bool = False
    ) -> bool:
        """Send the commands' messages as one transaction; returns whether there were any. Raises
        :class:`TransactionRefused`, whose text names the refused command.
        """
        messages: list[NetlinkMessage] = []
        ends: list[tuple[int, TableCommand]] = []
        for command in commands:
            messages.extend(command.messages(self._table))
            ends.append((len(messages), command))
        try:
            netfilter.transact(messages, dry_run=dry_run)
        except TransactionRefused as error:
            failed = next((command for end, command in ends if error.place < end), None)
            raise TransactionRefused(error.errno, f"{failed}: {error.strerror}", error.place) from error
        return bool(messages)

    def _is_unchanged(self) -> bool:
        with _open_netfilter() as netfilter:
            now = read_generation(netfilter)
            if now == self._generation:
                return True
            found = read_table_outline(netfilter, self._table)
            if read_generation(netfilter) != now:
                return True  # it changes just now; the next look finds out
        same = found == expected_outline(self._contents)
        if same:
            self._generation = now
        return same

    def _remove_ended_flows(
        self, netfilter: NetfilterSocket | None, ended: tuple[EndedFlows, ...] | list[EndedFlows]
    ) -> None:
        """Remove flows from the connection table. A failure is logged and the removal repeated later, because
        the new rules are already in force. ``netfilter`` None: open a connection for it.
        """
        if not ended:
            return
        try:
            if netfilter is None:
                with NetfilterSocket() as opened:
                    remove_flows(opened, ended)
            else:
                remove_flows(netfilter, ended)
        except OSError as error:
            log.error("flows not removed; retrying", services=len(ended), reason=error.strerror)
            self._pending.extend(ended)


@contextmanager
def _open_netfilter() -> Iterator[NetfilterSocket]:
    """Return a context with a connection to netfilter, in which :class:`OSError` becomes
    :class:`KernelRefused`.
    """
    try:
        with NetfilterSocket() as netfilter:
            yield netfilter
    except OSError as error:
        raise _kernel_refusal(error) from error


def _kernel_refusal(error: OSError) -> KernelRefused:
    advice = ": the daemon needs CAP_NET_ADMIN" if isinstance(error, PermissionError) else ""
    return KernelRefused(f"nftables: {error.strerror or error}{advice}")


def _all_ended_flows(contents: PartitionContents) -> tuple[EndedFlows, ...]:
    """Return, for each service of the contents, the flows that have to end: to servers that the service does
    not have, and of clients that it does not allow.
    """
    return tuple(
        EndedFlows(service=service, kept=targets, clients=content.clients.get(service))
        for content in contents.values()
        for service, targets in content.flows.items()
    )
