"""Merges several queued changes into one target state.

Reads and writes no files. The merge looks up this host's addresses, reserves new listening addresses in the
registry, and completes the changes that are refused.
"""

from collections.abc import Callable, Mapping

from evenkeel.core.kit.errors import EvenKeelError
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.errors import InvalidChange
from evenkeel.haproxyd.layer4.balancer import DatagramBalancer
from evenkeel.haproxyd.network.binds import BindRegistry, conflicting_load_balancers, listen_endpoints
from evenkeel.haproxyd.network.forbidden_addresses import ForbiddenAddresses
from evenkeel.haproxyd.partition.change_queue import QueuedChange
from evenkeel.haproxyd.partition.contents import fill_in_held_contents, missing_contents
from evenkeel.haproxyd.partition.validation import load_balancer_problem
from evenkeel.haproxyd.settings import DaemonSettings


class MergedChanges:
    """Target contents and peers of a partition after all queued changes, and the errors of load balancers
    that are refused; filled by :meth:`merge`.
    """

    def __init__(
        self,
        held: Mapping[str, wire.LoadBalancerConfig],
        changes: list[QueuedChange],
        *,
        settings: DaemonSettings,
        registry: BindRegistry,
        forbidden_addresses: ForbiddenAddresses,
        datagrams: DatagramBalancer,
        peers: tuple[wire.HaproxyPeer, ...],
        partition: str,
    ) -> None:
        """Prepare the merge of ``changes``. ``held`` (by id) and ``peers`` are the partition's before the
        changes.
        """
        self._before = held
        self._settings = settings
        self._registry = registry
        self._forbidden_addresses = forbidden_addresses
        self._datagrams = datagrams
        self._peers_before = peers
        self._partition = partition
        self.changes = changes
        self.wanted: dict[str, wire.LoadBalancerConfig] = dict(held)
        self.named: set[str] = set()
        """Ids of load balancers that a change sets or removes."""
        self.errors: dict[str, str] = {}
        self.lacking: dict[str, tuple[str, ...]] = {}
        """Digests of contents that are neither sent nor held, by load balancer id."""
        self.peers: tuple[wire.HaproxyPeer, ...] | None = None
        self.moved = True
        """Whether any load balancer gets or gives up a name or an address."""

    def refuse_unguarded(self, admit: Callable[[wire.PartitionChange], None]) -> None:
        """Refuse changes whose sender is no longer the owner. ``admit`` raises the error for such a sender."""
        for queued in self.changes:
            try:
                admit(queued.change)
            except EvenKeelError as error:
                queued.refuse(error)
        self.changes = [queued for queued in self.changes if not queued.receipt.done()]

    def merge(self) -> None:
        """Merge all queued changes in order, later ones over earlier ones, into ``wanted`` and ``peers``; set
        ``errors``, ``lacking`` and ``moved``, and reserve new addresses.

        A change that would exceed the maximum of load balancers is refused; a load balancer that is not
        acceptable keeps its previous configuration.
        """
        for queued in self.changes:
            wanted = self._load_balancers_after(queued)
            if len(wanted) > self._settings.load_balancers_max:
                most = self._settings.load_balancers_max
                queued.refuse(InvalidChange(f"load_balancers: the partition would hold {len(wanted)}; at most {most}"))
                continue
            self.named |= {one.id for one in queued.change.load_balancers}
            # A complete change (PUT) removes what it leaves out, so that counts as named too.
            self.named |= self.wanted.keys() - wanted.keys() | set(queued.change.removed)
            self.wanted = wanted
            self.peers = self.peers if queued.change.peers is None else queued.change.peers
        self.changes = [queued for queued in self.changes if not queued.receipt.done()]
        self._refuse_unacceptable()

    def target_state(self, held: Mapping[str, wire.LoadBalancerConfig]) -> dict[str, wire.LoadBalancerConfig]:
        """Return the target state, ``{id: load balancer}``; load balancers with errors are as in ``held``, or
        absent if ``held`` lacks them.
        """
        good = {name: one for name, one in self.wanted.items() if name not in self.errors}
        return good | {name: one for name, one in held.items() if name in self.errors}

    def _load_balancers_after(self, queued: QueuedChange) -> dict[str, wire.LoadBalancerConfig]:
        change = queued.change
        wanted = {} if queued.complete else {k: v for k, v in self.wanted.items() if k not in change.removed}
        # Contents may come from an earlier change of the same pass, not only from what is held.
        return wanted | {one.id: fill_in_held_contents(one, self.wanted.get(one.id)) for one in change.load_balancers}

    def _refuse_unacceptable(self) -> None:
        """Set ``lacking``, ``moved`` and ``errors``, and take back load balancers that cannot be accepted, or
        that conflict with what stays instead of those.
        """
        self.lacking = {name: lacked for name in self.named if (lacked := missing_contents(self.wanted.get(name)))}
        # A load balancer equal to the held one may still lack contents that were lost with the host's memory.
        changed = [one for name, one in self.wanted.items() if name in self.lacking or self._before.get(name) != one]
        self.moved = not (
            self._before.keys() <= self.wanted.keys() and all(map(self._keeps_names_and_addresses, changed))
        )
        # a reverted load balancer gets its old names and addresses back, which another change may want: check the rest
        # again
        while changed:
            problems = self._refusal_reasons(changed)
            for name, problem in problems.items():
                self._keep_previous(name, problem)
            changed = [one for one in changed if one.id not in problems] if problems else []

    def _load_balancer_problem(self, load_balancer: wire.LoadBalancerConfig) -> str:
        # Members may reach neither the present peers nor the new ones, because both are in use during the pass.
        peers = self._peers_before if self.peers is None else (*self._peers_before, *self.peers)
        return (
            load_balancer_problem(load_balancer, self._settings)
            or self._forbidden_addresses.refusal_reason(load_balancer, peers)
            or self._datagrams.refusal_reason(load_balancer)
        )

    def _keeps_names_and_addresses(self, load_balancer: wire.LoadBalancerConfig) -> bool:
        """Whether the load balancer uses exactly the names and addresses that it had before the changes."""
        before = self._before.get(load_balancer.id)
        return (
            before is not None
            and _names_used(before) == _names_used(load_balancer)
            and listen_endpoints(before) == listen_endpoints(load_balancer)
        )

    def _keep_previous(self, name: str, problem: str) -> None:
        self.errors[name] = problem
        if name in self._before:
            self.wanted[name] = self._before[name]
        else:
            del self.wanted[name]

    def _refusal_reasons(self, changed: list[wire.LoadBalancerConfig]) -> dict[str, str]:
        """Return ``{id: reason}`` for changed load balancers that are refused, and reserve the addresses of
        the others.

        Load balancers that stay unchanged have priority for names and addresses.
        """
        if not self.moved:  # most changes move nothing, and need no comparison with other load balancers
            return {one.id: problem for one in changed if (problem := self._load_balancer_problem(one))}
        ids = {one.id for one in changed}
        still = [one for name, one in self.wanted.items() if name not in ids]
        problems = {one.id: problem for one in changed if (problem := self._load_balancer_problem(one))}
        fit = [one for one in changed if one.id not in problems]
        problems |= conflicting_load_balancers(still, fit)
        taken = {key: one.id for one in still for key in _names_used(one)}
        # An address that is reserved here and not used in the end is released after the pass (`keep_only_held_binds`).
        for one in fit:
            problem = (
                problems.get(one.id) or _taken_name_problem(one, taken) or self._registry.reserve(self._partition, one)
            )
            if problem:
                problems[one.id] = problem
            else:
                taken |= dict.fromkeys(_names_used(one), one.id)
        return problems


def _names_used(load_balancer: wire.LoadBalancerConfig) -> list[tuple[str, str]]:
    return [
        *(("frontend", item.name) for item in load_balancer.listeners),
        *(("backend", item.name) for item in load_balancer.backends),
        *(("file", item.name) for item in load_balancer.files),
    ]


def _taken_name_problem(load_balancer: wire.LoadBalancerConfig, taken: Mapping[tuple[str, str], str]) -> str:
    for kind, name in _names_used(load_balancer):
        if taken.get((kind, name), load_balancer.id) != load_balancer.id:
            return f"{kind} {name} is load balancer {taken[kind, name]}'s; names are unique in a partition"
    return ""
