"""Merges several queued changes into one target state. Pure, except that it answers those it refuses."""

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from evenkeel.core.errors import EvenKeelError
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.runner import ApplyResult
from evenkeel.haproxyd.network.binds import BindRegistry, in_the_way, places
from evenkeel.haproxyd.network.forbidden_addresses import ForbiddenAddresses
from evenkeel.haproxyd.partition.validation import problem_of
from evenkeel.haproxyd.ports import InvalidChange
from evenkeel.haproxyd.settings import DaemonSettings


class QueuedChange:
    """A change that waits for its turn."""

    def __init__(self, change: wire.PartitionChange, *, complete: bool) -> None:
        self.change = change
        self.complete = complete
        self.receipt: asyncio.Future[wire.Receipt] = asyncio.get_running_loop().create_future()
        self.receipt.add_done_callback(_look_at)

    def fail(self, error: EvenKeelError) -> None:
        """It came to nothing."""
        if not self.receipt.done():
            self.receipt.set_exception(error)

    def answer(
        self,
        merge: "MergedChanges",
        applied: ApplyResult,
        peer: wire.HaproxyPeer | None,
        peers: tuple[wire.HaproxyPeer, ...],
    ) -> None:
        """It was carried out, but for what the outcomes say."""
        revisions = {one.id: one.revision for one in self.change.load_balancers}
        outcomes = tuple(
            wire.LoadBalancerOutcome(
                load_balancer_id=name, revision=revisions.get(name, 0), error=merge.errors.get(name, "")
            )
            for name in (*revisions, *self.change.removed)
        )
        if not self.receipt.done():
            self.receipt.set_result(wire.Receipt(outcomes=outcomes, how=applied.how, peer=peer, peers=peers))


def _look_at(receipt: "asyncio.Future[wire.Receipt]") -> None:
    """Whoever asked may have gone."""
    if not receipt.cancelled():
        receipt.exception()


class MergedChanges:
    """What a partition is to hold after all of these requests."""

    def __init__(
        self,
        held: Mapping[str, wire.LoadBalancerConfig],
        requests: list[QueuedChange],
        *,
        settings: DaemonSettings,
        registry: BindRegistry,
        forbidden_addresses: ForbiddenAddresses,
        peers: tuple[wire.HaproxyPeer, ...],
        partition: str,
    ) -> None:
        """``peers``: as they are."""
        self._before = held
        self._settings = settings
        self._registry = registry
        self._forbidden_addresses = forbidden_addresses
        self._peers_before = peers
        self._partition = partition
        self.requests = requests
        self.wanted: dict[str, wire.LoadBalancerConfig] = dict(held)
        self.named: set[str] = set()
        """Load balancers that a request names or removes."""
        self.errors: dict[str, str] = {}
        self.peers: tuple[wire.HaproxyPeer, ...] | None = None
        self.moved = True
        """Does anybody get or give up a name or a place?"""

    def refuse_unguarded(self, admit: Callable[[wire.PartitionChange], None]) -> None:
        """The guard moved on while some waited. ``admit`` raises what they are told."""
        for request in self.requests:
            try:
                admit(request.change)
            except EvenKeelError as error:
                request.fail(error)
        self.requests = [request for request in self.requests if not request.receipt.done()]

    def merge(self) -> None:
        """Later requests win."""
        for request in self.requests:
            wanted = self._after(request)
            if len(wanted) > self._settings.load_balancers_max:
                most = self._settings.load_balancers_max
                request.fail(InvalidChange(f"load_balancers: the partition would hold {len(wanted)}; at most {most}"))
                continue
            self.named |= {one.id for one in request.change.load_balancers}
            self.named |= self.wanted.keys() - wanted.keys() | set(request.change.removed)
            self.wanted = wanted
            self.peers = self.peers if request.change.peers is None else request.change.peers
        self.requests = [request for request in self.requests if not request.receipt.done()]
        self._refuse_unfit()

    def accepted(self, held: Mapping[str, wire.LoadBalancerConfig]) -> dict[str, wire.LoadBalancerConfig]:
        """What is wanted, but for those with errors, which stay as they were held."""
        good = {name: one for name, one in self.wanted.items() if name not in self.errors}
        return good | {name: one for name, one in held.items() if name in self.errors}

    def _after(self, request: QueuedChange) -> dict[str, wire.LoadBalancerConfig]:
        change = request.change
        wanted = {} if request.complete else {k: v for k, v in self.wanted.items() if k not in change.removed}
        return wanted | {one.id: _with_certificates(one, self.wanted.get(one.id)) for one in change.load_balancers}

    def _refuse_unfit(self) -> None:
        """Put back those that cannot be taken, and whoever is in the way of one that was put back."""
        changed = [one for name, one in self.wanted.items() if self._before.get(name) != one]
        self.moved = not (self._before.keys() <= self.wanted.keys() and all(map(self._stays, changed)))
        while changed:
            problems = self._problems(changed)
            for name, problem in problems.items():
                self._put_back(name, problem)
            changed = [one for one in changed if one.id not in problems] if problems else []

    def _problem(self, one: wire.LoadBalancerConfig) -> str:
        peers = self._peers_before if self.peers is None else (*self._peers_before, *self.peers)
        return problem_of(one, self._settings) or self._forbidden_addresses.problem_of(one, peers)

    def _stays(self, one: wire.LoadBalancerConfig) -> bool:
        """Has it the names and places already that it wants?"""
        before = self._before.get(one.id)
        return before is not None and _names(before) == _names(one) and places(before) == places(one)

    def _put_back(self, name: str, problem: str) -> None:
        self.errors[name] = problem
        if name in self._before:
            self.wanted[name] = self._before[name]
        else:
            del self.wanted[name]

    def _problems(self, changed: list[wire.LoadBalancerConfig]) -> dict[str, str]:
        """Those that stay as they are have the older right to names and places."""
        if not self.moved:  # most changes are of this kind, and need no look at everybody else
            return {one.id: problem for one in changed if (problem := self._problem(one))}
        ids = {one.id for one in changed}
        still = [one for name, one in self.wanted.items() if name not in ids]
        problems = {one.id: problem for one in changed if (problem := self._problem(one))}
        fit = [one for one in changed if one.id not in problems]
        problems |= in_the_way(still, fit)
        taken = {key: one.id for one in still for key in _names(one)}
        for one in fit:
            problem = problems.get(one.id) or _name_taken(one, taken) or self._registry.take(self._partition, one)
            if problem:
                problems[one.id] = problem
            else:
                taken |= dict.fromkeys(_names(one), one.id)
        return problems


def _with_certificates(one: wire.LoadBalancerConfig, held: wire.LoadBalancerConfig | None) -> wire.LoadBalancerConfig:
    """A certificate that is sent without content stays as it is held: whoever reads a partition is not told keys."""
    kept = {file.name: file for file in held.files if file.kind == "certificate"} if held else {}
    files = tuple(
        kept.get(file.name, file) if file.kind == "certificate" and not file.content else file for file in one.files
    )
    return one if files == one.files else msgspec.structs.replace(one, files=files)


def _names(one: wire.LoadBalancerConfig) -> list[tuple[str, str]]:
    return [
        *(("frontend", item.name) for item in one.frontends),
        *(("backend", item.name) for item in one.backends),
        *(("file", item.name) for item in one.files),
    ]


def _name_taken(one: wire.LoadBalancerConfig, taken: Mapping[tuple[str, str], str]) -> str:
    for kind, name in _names(one):
        if taken.get((kind, name), one.id) != one.id:
            return f"{kind} {name} is load balancer {taken[kind, name]}'s; names are unique in a partition"
    return ""
