"""What must hold at every moment, checked as things happen: every committed row, every write a device accepts.

* A load balancer's revision and applied revision only grow; ACTIVE means that its newest revision is applied, and a
  revision counts as applied only if a device had it. Nothing deleted comes back; a row goes only when the device has
  let go.
* A shard's epoch only grows, and each epoch belongs to one session of one agent.
* A device group takes no more tenants than its agents' capacity policy allows, as far as its devices kept what they
  were given: utilization is what is measured on them.
* A device accepts no write of an epoch older than one that it accepted, or whose takeover it confirmed, before; nor of
  the same epoch and another session than the last one.
* A session gives devices no definition of a load balancer that is older than one that it gave them at the same epoch.

A database that loses commits takes back what it said, and not what devices did: see :meth:`Watch.copy`.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from evenkeel.core.devices.device import Applied, PartitionBatch
from evenkeel.core.kit.ids import COMMON_PROJECT
from evenkeel.core.protocol.messages import ReportApplied
from tests.sim.process import Process

MAX_VIOLATIONS = 20
UNDERCOUNTED_SECONDS = 30.0
"""Until lost content is noticed, put back, measured and reported."""
OF_THE_DATABASE = frozenset(
    {"load_balancers", "gone", "shards", "pending_since", "_shard_ids", "_sessions", "_owners", "_last_acting"}
)


class LbRow(NamedTuple):
    """A load balancer's row, as the triggers tell it."""

    revision: int
    applied_revision: int
    status: str
    deleted: int
    shard_id: str | None
    change_id: str


class ShardRow(NamedTuple):
    """A shard's row."""

    epoch: int
    acting: str | None
    project_id: str
    group_number: int


class Watch:
    """See the module."""

    def __init__(
        self, note: Callable[..., None], now: Callable[[], float], tenant_limits: Mapping[int, float] | None = None
    ) -> None:
        self.tenant_limits = tenant_limits or {}
        self.violations: list[str] = []
        self.over = False
        self.load_balancers: dict[str, LbRow] = {}
        self.gone: set[str] = set()
        """Load balancers whose row has been removed."""
        self.shards: dict[str, ShardRow] = {}
        self.counts: Counter[str] = Counter()
        self.history: list[tuple[float, str, int, int, str]] = []
        """Every transition of a load balancer: (time, id, revision, applied revision, status)."""
        self.pending_since: dict[str, float] = {}
        """When the newest revision of a load balancer was accepted."""
        self._shard_ids: dict[tuple[int, str], str] = {}
        self._undercounted: dict[tuple[int, str], float] = {}
        """Until when a group's figures may lack a tenant, because its devices lost it."""
        self._note = note
        self._now = now
        self._sessions: dict[str, str | None] = {}
        self._owners: dict[tuple[str, int], tuple[str, str | None]] = {}
        self._last_acting: dict[str, str] = {}
        self._applied: dict[str, set[int]] = {}
        self._applied_changes: set[tuple[str, int, str]] = set()
        self._let_go: set[tuple[str, int, str]] = set()
        self._epochs: dict[tuple[str, str], int] = {}
        self._guards: dict[tuple[str, str], tuple[int, str]] = {}
        """Epoch and session of the last write that a device took."""
        self._wrote: defaultdict[tuple[int, str, int], set[str | None]] = defaultdict(set)
        """Sessions that wrote at an epoch of a tenant's shard, in whatever history."""
        self._given: dict[tuple[str, int, str], int] = {}
        """By session, epoch and load balancer: the newest revision that devices took."""
        self._loses = False
        """The database has lost commits: revisions begin anew."""
        self._ever: defaultdict[tuple[int, str, int], set[str]] = defaultdict(set)
        """Agents that an epoch of a tenant's shard ever belonged to, in whatever history."""
        self.writers: dict[tuple[int, str], Any] = {}
        """The process that wrote last to a tenant's partition."""
        self.protected: dict[str, set[str]] = {}
        """By device: load balancers and networks that must stay on it, because the database may be the wrong one."""
        self._pending: list[tuple[str, str, str | None, str | None]] = []

    def violation(self, text: str) -> None:
        """Something that must never be."""
        if self.over:
            return
        if len(self.violations) < MAX_VIOLATIONS:
            self.violations.append(f"[{self._now():.3f}] {text}")
        self._note("VIOLATION", text)

    # -- the database

    def copy(self) -> dict[str, Any]:
        """What is known of the database as it is now."""
        return {name: value.copy() for name, value in vars(self).items() if name in OF_THE_DATABASE}

    def lost(self, copy: dict[str, Any]) -> None:
        """The database is again as it was then."""
        self._loses = True
        vars(self).update(copy)

    def replaced(self, copy: Mapping[str, Any], rename: Callable[[str], str]) -> None:
        """Another database took its place. ``copy``: of this one, which with other names is the other one; empty: the
        other one is."""
        for values in (self._applied, self._applied_changes, self._let_go):
            values.update(_renamed(values, rename))
        self.lost({name: _renamed(copy.get(name, type(vars(self)[name])()), rename) for name in OF_THE_DATABASE})

    def begin(self) -> None:
        """A transaction begins; what it says counts when it commits."""
        self._pending.clear()

    def row(self, kind: str, row_id: str, old: str | None, new: str | None) -> None:
        """Called by triggers."""
        self._pending.append((kind, row_id, old, new))

    def commit(self) -> None:
        """The transaction is committed."""
        for kind, row_id, _, new in self._pending:
            if kind == "lb":
                self._load_balancer(row_id, LbRow(*json.loads(new)) if new else None)
            elif kind == "shard":
                self._shard(row_id, ShardRow(*json.loads(new)) if new else None)
            elif new:
                self._sessions[row_id] = json.loads(new)[0]
        self._pending.clear()

    def _load_balancer(self, row_id: str, new: LbRow | None) -> None:
        old = self.load_balancers.get(row_id)
        if new == old:
            return
        if new is None:
            self._removed(row_id, old)
            return
        doubted = old is not None and old.status == "ACTIVE" != new.status
        if old is None or new.revision != old.revision or new.shard_id != old.shard_id or doubted:
            self.pending_since[row_id] = self._now()
        self.load_balancers[row_id] = new
        self.history.append((self._now(), row_id, new.revision, new.applied_revision, new.status))
        self._note("row", row_id, *new[:4])
        where = f"load balancer {row_id}: {old} -> {new}"
        if row_id in self.gone:
            self.violation(f"a deleted one came back: {where}")
        if new.applied_revision > new.revision:
            self.violation(f"applied more than there is: {where}")
        if new.status == "ACTIVE" and new.applied_revision != new.revision:
            self.violation(f"ACTIVE for a revision that is not applied: {where}")
        if new.status == "PENDING_CREATE" and new.applied_revision:
            self.violation(f"PENDING_CREATE although it was applied: {where}")
        if new.applied_revision and new.applied_revision not in self._applied.get(row_id, ()):
            self.violation(f"applied revision that no device ever had: {where}")
        newest = (row_id, new.revision, new.change_id)
        if new.applied_revision == new.revision and newest not in self._applied_changes:
            self.violation(f"applied, and no device ever had what this change made: {where}")
        if old is not None:
            self._compare(old, new, where)
        if new.shard_id is not None and (old is None or old.shard_id is None):
            self._placed(new.shard_id)

    def _compare(self, old: LbRow, new: LbRow, where: str) -> None:
        if new.revision < old.revision or new.applied_revision < old.applied_revision:
            self.violation(f"went backwards: {where}")
        if old.deleted and not new.deleted:
            self.violation(f"undeleted: {where}")
        if old.shard_id is not None and new.shard_id != old.shard_id:
            self.violation(f"moved to another shard: {where}")
        if new.deleted and new.status not in ("PENDING_DELETE", "ERROR"):
            self.violation(f"deleted, and {new.status}: {where}")
        if new.status == "ERROR" != old.status:
            self.counts["errors"] += 1

    def _placed(self, shard_id: str) -> None:
        shard = self.shards.get(shard_id)
        if shard is None or shard.group_number not in self.tenant_limits:
            return
        used = {row.shard_id for row in self.load_balancers.values() if row.shard_id is not None}
        tenants = {
            other.project_id
            for id_, other in self.shards.items()
            if id_ in used
            and other.group_number == shard.group_number
            and self._undercounted.get((other.group_number, other.project_id), 0.0) < self._now()
        }
        if len(tenants) > self.tenant_limits[shard.group_number]:
            self.violation(f"group {shard.group_number} is overfilled: {sorted(tenants)}")

    def _removed(self, row_id: str, old: LbRow | None) -> None:
        self._note("row", row_id, "removed")
        self.gone.add(row_id)
        self.load_balancers.pop(row_id, None)
        if old is None:
            return
        if not old.deleted:
            self.violation(f"load balancer {row_id} was removed though nobody deleted it: {old}")
        if old.shard_id is not None and (row_id, old.revision, old.change_id) not in self._let_go:
            self.violation(f"load balancer {row_id} was removed before any device let go of it: {old}")

    def _shard(self, row_id: str, new: ShardRow | None) -> None:
        old = self.shards.get(row_id)
        if new is None:
            self.violation(f"shard {row_id} was removed: its epochs would begin anew")
            return
        if new == old:
            return
        self.shards[row_id] = new
        self._shard_ids[new.group_number, new.project_id] = row_id
        self._note("shard", row_id, new.epoch, new.acting)
        if old is not None and new.epoch < old.epoch:
            self.violation(f"epoch went backwards: shard {row_id}: {old} -> {new}")
        if new.acting is None:
            return
        owner = (new.acting, self._sessions.get(new.acting))
        if self._wrote[new.group_number, new.project_id, new.epoch] - {owner[1]}:
            self.counts["epochs in use given again"] += 1
        self._ever[new.group_number, new.project_id, new.epoch].add(new.acting)
        former = self._owners.setdefault((row_id, new.epoch), owner)
        if former != owner:
            self.violation(f"shard {row_id} at epoch {new.epoch} belongs to {former} and to {owner}")
        if self._last_acting.get(row_id, new.acting) != new.acting:
            self.counts["takeovers"] += 1
        self._last_acting[row_id] = new.acting

    def reported(self, report: ReportApplied, stale: bool) -> None:
        """A report of outcomes was committed."""
        self.counts["stale reports" if stale else "reports"] += 1
        shard = self.shards.get(report.shard_id)
        if not stale and (shard is None or (shard.acting, shard.epoch) != (report.agent_id, report.epoch)):
            self.violation(f"a stale report was taken: epoch {report.epoch} of {report.agent_id}; shard {shard}")
        session = self._sessions.get(report.agent_id)
        if not stale and report.session_id != session:
            self.violation(f"a report of session {report.session_id} was taken; {report.agent_id} is in {session}")

    # -- the devices

    def accepted(
        self, box: str, group_number: int, project_id: str, epoch: int, process: Process, session_id: str = ""
    ) -> None:
        """A device accepted a write, or confirmed a takeover."""
        agent_id = process.identity
        self.writers[group_number, project_id] = process
        owners = self._ever[group_number, project_id, epoch]
        if agent_id not in owners:
            self.violation(f"{box} accepted a write of {agent_id} on {project_id}; epoch {epoch} belongs to {owners}")
        self._wrote[group_number, project_id, epoch].add(session_id)
        key = (box, project_id)
        guard = self._guards.get(key, (0, ""))
        if session_id and guard[0] == epoch and guard[1] != session_id:
            self.violation(f"{box} accepted a write of {agent_id} in {session_id} at the epoch of {guard}")
        self._guards[key] = (epoch, session_id)
        newest = self._epochs.get(key, 0)
        if epoch < newest:
            self.violation(f"{box} accepted a write of {agent_id} at epoch {epoch} on {project_id} after {newest}")
        else:
            self._epochs[key] = epoch
        self.counts["device writes"] += 1

    def applied(self, batch: PartitionBatch, outcomes: Iterable[Applied]) -> None:
        """What the devices hold now."""
        services = {service.load_balancer_id: service for service in batch.services}
        for outcome in outcomes:
            service = services[outcome.load_balancer_id]
            self._note("applied", batch.project_id, batch.epoch, outcome.load_balancer_id, outcome.revision)
            self._compare_given(batch, service.load_balancer_id, service.revision)
            if service.deleted:
                self._let_go.add((service.load_balancer_id, service.revision, service.change_id))
            # also of one without a VIP, which the devices hold nothing of
            self._applied.setdefault(service.load_balancer_id, set()).add(service.revision)
            self._applied_changes.add((service.load_balancer_id, service.revision, service.change_id))

    def _compare_given(self, batch: PartitionBatch, load_balancer_id: str, revision: int) -> None:
        if batch.project_id == COMMON_PROJECT:  # a network that is used again begins with revision 1
            return
        key = (batch.session_id, batch.epoch, load_balancer_id)
        newest = self._given.get(key, 0)
        if 0 < revision < newest and not self._loses:  # 0: of what the database does not know
            self.violation(f"revision {revision} of {load_balancer_id} was applied after {newest}")
        self._given[key] = max(newest, revision)

    def still_held(self, box: str, held: set[str]) -> None:
        """A device holds these load balancers and networks after a write."""
        for gone in sorted(self.protected.get(box, set()) - held):
            self.protected[box].discard(gone)
            self.violation(
                f"{gone} was removed from {box} by a database that does not know it, and nobody accepted that"
            )

    def contents_lost(self, group_number: int, project_ids: Iterable[str]) -> None:
        """Devices lost what they held of these tenants: utilization is measured, so the group seems emptier now."""
        for project_id in project_ids:
            self._undercounted[group_number, project_id] = self._now() + UNDERCOUNTED_SECONDS

    def restored(self, box: str, guards: dict[str, int | None]) -> None:
        """An older backup: its guards count from now on."""
        for project_id in [project for name, project in self._epochs if name == box]:
            self._epochs[box, project_id] = guards.get(project_id) or 0
            self._guards.pop((box, project_id), None)

    def guard_moved(self, box: str, project_id: str, epoch: int) -> None:
        """Somebody moved a guard by hand."""
        self._guards.pop((box, project_id), None)
        self._epochs[box, project_id] = epoch


def _renamed(value: Any, rename: Callable[[str], str]) -> Any:
    """The value with every string in it renamed."""
    match value:
        case str():
            return rename(value)
        case dict():
            return {_renamed(key, rename): _renamed(each, rename) for key, each in value.items()}
        case set():
            return {_renamed(each, rename) for each in value}
        case tuple():
            items = [_renamed(each, rename) for each in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        case _:
            return value
