"""The provider agent: copies what Octavia has committed to the controllers, and reports statuses back.

Octavia's database is the to-do list: load balancers that are PENDING. Each is written to the controllers, and when its
devices have that content, its rows are read again and exactly those that are PENDING are reported. A report that is
lost leaves them PENDING, so it is repeated. The agent keeps nothing that it could not lose: what it remembers only
saves requests.

Parts run one after the other in one thread, each at its own pace. A part that fails is logged, and repeated after a
pause that doubles; the other parts go on. Reports on settled load balancers are made in threads of their own, because
one takes long: meanwhile others are written, and those that settle are the next report.
"""

import itertools
import logging
import random
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from evenkeel_octavia import convert, drift, reports
from evenkeel_octavia.batches import WorkBatches
from evenkeel_octavia.controllers import ControllerError, RequestRefused
from evenkeel_octavia.drift import ListedLoadBalancer
from evenkeel_octavia.mirror import MAX_IDS_PER_REQUEST, Mirror, WrittenState, split_ids
from evenkeel_octavia.reports import MirroredStatus, StatusReport
from evenkeel_octavia.settings import AgentSettings
from evenkeel_octavia.trees import PENDING_STATUSES, LoadBalancerTree, OctaviaSnapshot

LOG = logging.getLogger(__name__)
LOAD_BALANCERS_PER_QUERY = 100
"""Maximum number of load balancers that one query reads from Octavia's database."""
FIRST_POLL_SECONDS, LAST_POLL_SECONDS = 0.05, 2.0
"""First and longest pause between requests for the status of a load balancer; each pause is half as long again as the
one before.
"""
BRISK_SECONDS, BRISK_POLL_SECONDS = 5.0, 0.05
"""After its last work the agent polls Octavia's database at the second interval for the first time: a client that
waited for one change often makes the next one.
"""
SHORT_PAUSE_WAITING_MAX = 3
"""Maximum number of waiting load balancers with which the short pause applies. With more, the usual pause makes larger
batches, which cost less each.
"""
REPORTS_AT_ONCE, PATIENCE_SECONDS = 2, 5.0
"""Maximum number of concurrent reports, and how long a running one delays the next: a report that hangs does not block
others, and a report that is slow on a busy host does not get company.
"""
MAX_PAUSE_SECONDS = 30.0
_STALE, _LEAVING = "stale_snapshot", "being_deleted"
"""Reasons of the controllers' conflicts that end by themselves."""
STATUS_COMPARISON_SECONDS = 300.0
"""Interval at which the statuses of all load balancers are compared, in case the controllers did not name a change."""
_FINAL_REFUSAL_STATUSES = frozenset((400, 404, 409, 413, 422, 501))
"""HTTP statuses with which the controllers refuse a load balancer's content for good; other failures are temporary."""


class OctaviaSource(Protocol):
    """Reads of Octavia's database."""

    def pending(self, providers: Collection[str]) -> dict[str, str]: ...

    def trees(self, ids: Collection[str]) -> OctaviaSnapshot: ...

    def page(self, providers: Collection[str], marker: str, limit: int) -> OctaviaSnapshot: ...

    def known_statuses(self, providers: Collection[str]) -> tuple[float, Mapping[str, str]]: ...


class StatusReporter(Protocol):
    """Reports of statuses to Octavia's driver-agent."""

    def settle(self) -> None:
        """Wait until no earlier report can be applied any more. Raises if one may still be applied; try again later."""

    def statuses(self, report: StatusReport) -> None: ...

    def statistics(self, listeners: list[dict[str, Any]]) -> None: ...


class RecurringTask:
    """A recurring task of the agent: when it is due, and how long it pauses after a failure."""

    def __init__(self, name: str, action: Callable[[], float]) -> None:
        """Initialize. ``action`` returns the seconds until it is due again."""
        self.name = name
        self._action = action
        self._failures = 0
        self.due_at = 0.0

    def run(self, now: Callable[[], float]) -> None:
        """Run the task if it is due; ``now``: monotonic time in seconds. An exception is logged, and delays
        the next run by a pause that doubles up to :data:`MAX_PAUSE_SECONDS`.
        """
        if now() < self.due_at:
            return
        try:
            pause = self._action()
            self._failures = 0
        except Exception as error:
            # errors of the database, of HTTP and of driver-agent have no common base; none may end the agent
            self._failures += 1
            # hosts that failed together do not come back together
            pause = min(MAX_PAUSE_SECONDS, 0.25 * 2**self._failures) * random.uniform(0.5, 1.0)  # noqa: S311
            LOG.warning("%s failed (%d times), again in %.1f s: %s", self.name, self._failures, pause, error)
            LOG.debug("%s failed", self.name, exc_info=True)
        self.due_at = now() + pause


@dataclass(frozen=True, kw_only=True)
class _RefusedContent:
    """The controllers refused a load balancer for good."""

    digest: str
    """Digest of the refused content."""


_ReportedOutcome = MirroredStatus | _RefusedContent | None
"""Outcome to report for a load balancer: its statuses, or that it was refused; None: it was deleted."""


@dataclass(kw_only=True)
class _SentLoadBalancer:
    """A load balancer that was written to or deleted at the controllers, and whose result is not known yet."""

    digest: str | None
    """Digest of the content that was written; None: the load balancer was deleted."""
    poll_at: float
    pause: float = FIRST_POLL_SECONDS


class Agent:
    """Copies committed load balancers from Octavia's database to the controllers, and reports their statuses back."""

    def __init__(
        self,
        settings: AgentSettings,
        source: OctaviaSource,
        mirror: Mirror,
        reporter: StatusReporter,
        *,
        is_active: Callable[[str], bool],
        now: Callable[[], float] = time.monotonic,
        reporters: Executor | None = None,
    ) -> None:
        """Initialize. ``is_active``: whether this agent has the lease of an environment; ``reporters``: runs reports,
        by default in threads.
        """
        self._settings = settings
        self._source = source
        self._mirror = mirror
        self._reporter = reporter
        self._is_active = is_active
        self._now = now
        self._sent: dict[str, _SentLoadBalancer] = {}
        self._held_back: dict[str, float] = {}
        """Load balancers whose write or report failed, each with the monotonic time at which it is tried again."""
        self._stuck: set[str] = set()
        """Load balancers that are not PENDING themselves, but have a child that is."""
        self._ahead_seconds = 0.0
        """Seconds that are added to the time of each snapshot, because the database's clock was set back, or the
        database failed over to a server with another clock. Added to the clock, so that of two snapshots, also of two
        agents, the later one still has the later time.
        """
        self._ahead_of_refused = 0.0
        """Seconds that were added to the time of the snapshot being written now."""
        self._overtaking = threading.Lock()
        self._cursors: dict[str, str] = {}
        self._compare_statuses: set[str] = set()
        self._statuses_at: dict[str, float] = {}
        self._totals: dict[str, tuple[Any, ...]] = {}
        self._writers = ThreadPoolExecutor(settings.puts_at_once, thread_name_prefix="evenkeel-write")
        self._reporters = reporters or ThreadPoolExecutor(REPORTS_AT_ONCE, thread_name_prefix="evenkeel-report")
        self._outcomes = WorkBatches[_ReportedOutcome](
            self._report_outcomes,
            self._reporters,
            at_once=REPORTS_AT_ONCE,
            patience_seconds=PATIENCE_SECONDS,
            now=now,
        )
        self._brisk_until = 0.0
        self._parts = [
            RecurringTask("work on pending load balancers", self._work_on_pending),
            RecurringTask("report of changed statuses", self._report_changes),
            *(
                RecurringTask(f"comparison of {name}", _ProviderComparison(self, name).step)
                for name in settings.environments
            ),
        ]
        if settings.statistics_seconds:
            self._parts.append(RecurringTask("report of statistics", self._report_statistics))

    def run(self, wait: Callable[[float], bool]) -> None:
        """Copy and report until ``wait`` returns True, which means that the process must end. ``wait``: pauses for the
        given seconds.
        """
        while not wait(self.step()):
            pass
        self._writers.shutdown(wait=False, cancel_futures=True)
        self._reporters.shutdown(wait=False, cancel_futures=True)

    def step(self) -> float:
        """Run each recurring task that is due; return the seconds until the next one is due. Without any
        lease drop what is queued and run nothing.
        """
        if self._active_providers():
            for part in self._parts:
                part.run(self._now)
            due = min(part.due_at for part in self._parts)
            return min(max(due - self._now(), 0.01), 1.0)
        self._sent.clear()
        self._outcomes.clear()
        return min(self._settings.poll_seconds, 0.25)

    def _active_providers(self) -> list[str]:
        """Return the providers for whose environments this agent has the lease."""
        return [name for name, environment in self._settings.environments.items() if self._is_active(environment)]

    # -- pending load balancers

    def _work_on_pending(self) -> float:
        """Write pending load balancers to the controllers, and queue reports of those that are settled;
        return the seconds until the next call.
        """
        # before the list is read: a load balancer whose report ends in between may be on it, and is left for the next
        reported = self._outcomes.ids
        waiting = self._source.pending(self._active_providers())
        waiting |= dict.fromkeys(self._stuck, "PENDING_UPDATE")
        now = self._now()
        self._sent = {id: sent for id, sent in self._sent.items() if id in waiting}
        # in place, of a copy: threads that report add to it
        for id, until in list(self._held_back.items()):
            if until <= now:
                self._held_back.pop(id, None)
        left_out = reported | self._sent.keys() | self._held_back.keys()
        fresh = [id for id in waiting if id not in left_out]
        refused = self._write_pending(fresh[:LOAD_BALANCERS_PER_QUERY]) if fresh else {}
        polled = [id for id, sent in self._sent.items() if sent.poll_at <= self._now()]
        settled = self._read_settled(polled)
        for id in settled:
            del self._sent[id]
            self._stuck.discard(id)
        self._outcomes.add({**refused, **settled})
        if fresh or settled:
            self._brisk_until = self._now() + BRISK_SECONDS if len(waiting) <= SHORT_PAUSE_WAITING_MAX else 0.0
            return 0.01
        return self._pause_seconds()

    def _pause_seconds(self) -> float:
        """Return the seconds until Octavia's database, or a load balancer that was written, is read again."""
        now = self._now()
        seconds = self._settings.poll_seconds
        if now < self._brisk_until:
            seconds = min(seconds, BRISK_POLL_SECONDS)
        soonest = min((sent.poll_at for sent in self._sent.values()), default=now + seconds)
        return min(seconds, max(soonest - now, 0.02))

    def _write_pending(self, ids: Sequence[str]) -> Mapping[str, _ReportedOutcome]:
        snapshot = self._source.trees(ids)
        self._stuck -= set(ids) - set(snapshot.trees)
        return self.write(snapshot)

    def write(self, snapshot: OctaviaSnapshot, *, is_drift: bool = False) -> Mapping[str, _ReportedOutcome]:
        """Write load balancers to the controllers, or delete them there. Returns, by id, those that the
        controllers refuse for good.

        ``is_drift``: no client waits for them, so their results are not reported. Raises the first error
        (ControllerError) if all fail; otherwise failed ones are tried again later.
        """
        self._ahead_of_refused = self._ahead_seconds
        seconds = snapshot.seconds + self._ahead_seconds
        found = list(
            self._writers.map(lambda tree: self._try_to_write(tree, seconds, is_drift), snapshot.trees.values())
        )
        failures = [each for each in found if isinstance(each, Exception)]
        if failures and len(failures) == len(found):
            raise failures[0]  # the controllers are ill, not a load balancer
        tried = zip(snapshot.trees, found, strict=True)
        return {id: each for id, each in tried if isinstance(each, _RefusedContent)}

    def _try_to_write(
        self, tree: LoadBalancerTree, seconds: float, is_drift: bool
    ) -> _RefusedContent | Exception | None:
        """Write one load balancer, or delete it. Returns the refusal if it is refused for good, or the error if it
        failed and is tried again later; None: it was written, or a newer state will be.
        """
        try:
            digest = self._write_or_delete(tree, seconds)
        except RequestRefused as refusal:
            try:
                return self._handle_refusal(tree, seconds, refusal)
            except ControllerError as error:
                return self._retry_later(tree, error)
        except ControllerError as error:
            return self._retry_later(tree, error)
        if not is_drift:
            self._sent[tree.id] = _SentLoadBalancer(digest=digest, poll_at=self._now())
        return None

    def _retry_later(self, tree: LoadBalancerTree, error: ControllerError) -> ControllerError:
        self._held_back[tree.id] = self._now() + 2.0
        LOG.warning("load balancer %s can't be written: %s", tree.id, error)
        return error

    def _write_or_delete(self, tree: LoadBalancerTree, seconds: float) -> str | None:
        if tree.is_leaving:
            self._mirror.delete(tree.id, self._environment_of(tree), seconds)
            return None
        body = self._mirror_body(tree)
        digest = convert.body_digest(body)
        self._mirror.put(tree.id, WrittenState(snapshot=seconds, digest=digest, change=tree.change), body)
        return digest

    def _mirror_body(self, tree: LoadBalancerTree) -> convert.RequestBody:
        return {**convert.loadbalancer_body(tree), "provider": self._environment_of(tree)}

    def _environment_of(self, tree: LoadBalancerTree) -> str:
        return self._settings.environments[str(tree.loadbalancer["provider"])]

    def content_digest(self, tree: LoadBalancerTree) -> str:
        """Return the digest of the load balancer's content as the agent writes it to the controllers."""
        return convert.body_digest(self._mirror_body(tree))

    def _handle_refusal(
        self, tree: LoadBalancerTree, seconds: float, refusal: RequestRefused
    ) -> _RefusedContent | None:
        """Return the refusal if it is final; None if the controllers have a newer state or are deleting the load
        balancer. Raises ``refusal`` if it may be temporary.
        """
        if refusal.reason == _STALE:
            # rows that are read from now on are at least as new as what was written then
            written = self._mirror.snapshot_of(tree.id)
            self._advance_snapshots(written or seconds, seconds)
            return None
        if refusal.reason == _LEAVING:
            self._held_back[tree.id] = self._now() + 1.0
            return None
        if refusal.status not in _FINAL_REFUSAL_STATUSES or tree.is_leaving:
            raise refusal
        LOG.warning("load balancer %s is refused: %s", tree.id, refusal.message)
        return _RefusedContent(digest=self.content_digest(tree))

    def _advance_snapshots(self, written: float, refused: float) -> None:
        """Make later snapshots newer than ``written``, the time of the controllers' state, for which time ``refused``
        was too old.
        """
        with self._overtaking:
            # several writers are refused at once: each is overtaken, none twice
            self._ahead_seconds = max(self._ahead_seconds, self._ahead_of_refused + written - refused + 1e-6)

    def _read_settled(self, ids: Sequence[str]) -> dict[str, MirroredStatus | None]:
        """Return ``{load balancer id: statuses}`` for those of ``ids`` whose devices have, or failed to take, what was
        written; None as statuses: it was deleted.
        """
        found = self._mirror.statuses(ids) if ids else {}
        settled: dict[str, MirroredStatus | None] = {}
        for id in ids:
            sent, status = self._sent[id], found.get(id)
            if sent.digest is None and (status is None or status.is_deleted(id)):
                settled[id] = None
            elif sent.digest is not None and (status is None or status.digest != sent.digest):
                del self._sent[id]  # somebody wrote something else
            elif sent.digest is not None and status is not None and status.is_settled:
                settled[id] = status
            else:
                sent.poll_at, sent.pause = self._now() + sent.pause, min(sent.pause * 1.5, LAST_POLL_SECONDS)
        return settled

    def _report_outcomes(self, outcomes: Mapping[str, _ReportedOutcome]) -> None:
        """Report the outcomes to Octavia. If that fails, the load balancers are written and reported again later."""
        try:
            # before the rows are read: once an earlier report is applied, tenants may change what is PENDING now
            self._reporter.settle()
            one_by_one = (report for id, each in outcomes.items() for report in self._build_reports({id: each}))
            self._send_reports(self._build_reports(outcomes), one_by_one)
        except Exception as error:
            for id in outcomes:
                self._held_back[id] = self._now() + random.uniform(1.0, 5.0)  # noqa: S311
            LOG.warning("%d load balancers can't be reported: %s", len(outcomes), error)
            LOG.debug("report failed", exc_info=True)

    def _build_reports(self, outcomes: Mapping[str, _ReportedOutcome]) -> list[StatusReport]:
        """Build the reports of load balancers, from rows that are read again now.

        Only load balancers whose rows still have the content that the controllers have are reported.
        """
        found: list[StatusReport] = []
        for ids in _split_into_batches(outcomes, LOAD_BALANCERS_PER_QUERY):
            for id, tree in self._source.trees(ids).trees.items():
                outcome = outcomes[id]
                if outcome is None:
                    if tree.is_leaving:
                        found.append(reports.report_deleted(tree))
                elif not tree.is_leaving and self.content_digest(tree) == outcome.digest:
                    found.append(self._build_report(tree, outcome))
        return found

    def _build_report(self, tree: LoadBalancerTree, outcome: MirroredStatus | _RefusedContent) -> StatusReport:
        if isinstance(outcome, _RefusedContent):
            return reports.report_refused(tree)
        return reports.report_applied(tree, outcome, with_operating=self._reports_operating)

    @property
    def _reports_operating(self) -> bool:
        return self._settings.statuses_seconds > 0

    def _send_reports(self, found: Iterable[StatusReport], one_by_one: Iterable[StatusReport]) -> None:
        """Send reports to Octavia in batches. If Octavia refuses a record, the reports ``one_by_one`` are
        sent instead, each built from rows that are read just before, so that one load balancer does not
        block the others. Nothing is sent without a lease, and after any other failure the load balancers
        are written again later.
        """
        for batch in reports.merge_reports(listed := [report for report in found if report]):
            if not self._active_providers():
                # this process stood still until another agent took over: what it has read may be out of date
                return None
            try:
                self._reporter.statuses(batch)
            except reports.BadRecordError:
                return self._send_each_report(one_by_one)
            except Exception as error:
                # driver-agent does not answer: another call could wait 30 s, too
                for report in listed:
                    self._hold_back(report, error)
                return None
        return None

    def _send_each_report(self, reports: Iterable[StatusReport]) -> None:
        for report in filter(None, reports):
            try:
                self._reporter.statuses(report)
            except Exception as error:
                self._hold_back(report, error)

    def _hold_back(self, report: StatusReport, error: Exception) -> None:
        for record in report.get("loadbalancers", []):
            self._held_back[record["id"]] = self._now() + random.uniform(1.0, 5.0)  # noqa: S311
        LOG.warning("Octavia did not take a report of %s: %s", report.get("loadbalancers"), error)

    # -- changed statuses

    def _report_changes(self) -> float:
        for provider in self._active_providers():
            environment = self._settings.environments[provider]
            cursor = self._cursors.get(environment, "")
            changes = self._mirror.changes(environment, cursor)
            if changes.all:
                self._compare_statuses.add(provider)
            for ids in split_ids(changes.ids):
                self.report_operating(self._source.trees(ids))
            self._cursors[environment] = changes.cursor
        return self._settings.statuses_seconds or 5.0

    def report_operating(self, snapshot: OctaviaSnapshot) -> None:
        """Report the operating statuses of load balancers that differ from those in Octavia's database, of
        load balancers whose content is the controllers'. Raises ControllerError and ReportError.
        """
        found = self._mirror.statuses(list(snapshot.trees))
        listed = [
            reports.report_operating(tree, found[id], with_operating=self._reports_operating)
            for id, tree in snapshot.trees.items()
            if id in found and found[id].digest == self.content_digest(tree)
        ]
        if any(listed):
            self._reporter.settle()
            self._send_reports(listed, listed)

    def compares_statuses_now(self, provider: str) -> bool:
        """Whether the comparison of a provider that begins now has to compare statuses too. A True resets the request
        for that.
        """
        is_due = self._statuses_at.get(provider, 0.0) <= self._now()
        if provider not in self._compare_statuses and not is_due:
            return False
        self._compare_statuses.discard(provider)
        self._statuses_at[provider] = self._now() + STATUS_COMPARISON_SECONDS
        return True

    # -- statistics

    def _report_statistics(self) -> float:
        totals: dict[str, tuple[Any, ...]] = {}
        for provider in self._active_providers():
            ids = list(self._mirror.listing(self._settings.environments[provider]))
            for some in split_ids(ids):
                found = {each["id"]: each for each in self._mirror.statistics(some)}
                values = {id: tuple(each[name] for name in sorted(each)) for id, each in found.items()}
                changed = [each for id, each in found.items() if self._totals.get(id) != values[id]]
                for begin in range(0, len(changed), MAX_IDS_PER_REQUEST):
                    self._reporter.statistics(changed[begin : begin + MAX_IDS_PER_REQUEST])
                totals |= values
        self._totals = totals
        return self._settings.statistics_seconds


class _ProviderComparison:
    """Compares all load balancers of one provider with the controllers', page by page, so that pending ones do not wait
    for it.
    """

    def __init__(self, agent: Agent, provider: str) -> None:
        self._agent = agent
        self._provider = provider
        self._listed: dict[str, ListedLoadBalancer] | None = None
        self._marker = ""
        self._takes_statuses = False
        self._began = 0.0
        self._unknown: tuple[str, ...] = ()
        """Ids of load balancers that the last log message named as unknown to Octavia."""

    def step(self) -> float:
        """Compare the next page of load balancers; return the seconds until the next call."""
        agent = self._agent
        if self._provider not in agent._active_providers():
            self._listed = None
            return 1.0
        environment = agent._settings.environments[self._provider]
        if self._listed is None:
            self._listed = agent._mirror.listing(environment)
            self._marker, self._began = "", agent._now()
            self._takes_statuses = agent.compares_statuses_now(self._provider)
        snapshot = agent._source.page([self._provider], self._marker, LOAD_BALANCERS_PER_QUERY)
        if snapshot.trees:
            self._marker = max(snapshot.trees)
            self._write_differences(snapshot)
            return 0.05
        self._delete_leftovers(self._listed)
        self._listed = None
        if self._provider in agent._compare_statuses:
            return 0.05
        return max(1.0, agent._settings.drift_seconds - (agent._now() - self._began))

    def _write_differences(self, snapshot: OctaviaSnapshot) -> None:
        agent, listed = self._agent, self._listed or {}
        calm = {id: tree for id, tree in snapshot.trees.items() if tree.status not in PENDING_STATUSES}
        agent._stuck.update(id for id, tree in calm.items() if _has_pending_child(tree))
        digests = {id: agent.content_digest(tree) for id, tree in calm.items()}
        if different := drift.differing_ids(digests, listed):
            LOG.info("%d load balancers differ from Octavia's and are written: %s", len(different), different[:10])
            agent.write(
                OctaviaSnapshot(seconds=snapshot.seconds, trees={id: calm[id] for id in different}), is_drift=True
            )
        if self._takes_statuses:
            agent.report_operating(snapshot)

    def _delete_leftovers(self, listed: Mapping[str, ListedLoadBalancer]) -> None:
        """Delete load balancers at the controllers that Octavia has deleted or never committed, from rows that are read
        now. Those of which Octavia knows nothing are logged and kept.
        """
        agent, environment = self._agent, self._agent._settings.environments[self._provider]
        # before the rows are read: a port that is in the list is older than those
        makes_ports = agent._settings.makes_vip_ports
        ports = agent._mirror.unused_ports(environment, drift.PORT_GRACE_SECONDS) if makes_ports else []
        now, statuses = agent._source.known_statuses([self._provider])
        for id in drift.rolled_back_ids(statuses, ports):
            LOG.info("load balancer %s was never committed in Octavia, and its VIP port is given back", id)
            agent._mirror.delete(id, environment, now)
        found = drift.find_leftovers(statuses, listed, now)
        for id in found.deleted:
            LOG.info("load balancer %s is deleted in Octavia, and now at the controllers", id)
            agent._mirror.delete(id, environment, max(now, listed[id].snapshot))
        if found.unknown != self._unknown and found.unknown:
            LOG.error(
                "Octavia's database knows nothing of %d load balancers in environment %s, which are kept: %s; see "
                "'evenkeel-octavia leftovers'",
                len(found.unknown),
                environment,
                ", ".join(found.unknown[:10]),
            )
        self._unknown = found.unknown


def _has_pending_child(tree: LoadBalancerTree) -> bool:
    return any(row["provisioning_status"] in PENDING_STATUSES for _, row in tree.objects())


def _split_into_batches(ids: Iterable[str], size: int) -> Iterable[tuple[str, ...]]:
    """Split ids into tuples of at most ``size``; ``itertools.batched`` is missing in Python 3.11."""
    rest = iter(ids)
    while some := tuple(itertools.islice(rest, size)):
        yield some
