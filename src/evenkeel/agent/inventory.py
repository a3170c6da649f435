"""Compares the configuration of a group's devices between observations: what vanished, what changed, and what is
missing.

The common shard's worker observes the whole group and has no service definitions. So it requests the load balancers
expected on the devices from the controllers, periodically and when something is wrong. What is missing in two
observations in a row, and was expected before the second one, is absent: load balancers created or deleted in between
are not reported.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeVar

from msgspec.structs import replace

from evenkeel.agent.incarnations import DeviceIncarnations
from evenkeel.core.devices.device import Observation
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value

REQUEST_SECONDS = 60.0
"""Interval of requests for the expected load balancers while no difference is known: only these find load balancers
lost between two observations.
"""
REPEAT = Backoff(initial_seconds=4.0, max_seconds=60.0)
"""Intervals at which a lasting difference is reported again, because the resulting hint may be lost."""
AGAIN_SECONDS = 10.0
"""Time after which a one-time event is reported once more, because nothing shows whether the shard's owner acted."""


T = TypeVar("T", bound=str)


class Findings(Value):
    """The differences to report after one observation. ``absent``: expected load balancers missing on the
    devices; ``present``: absent ones that are back; ``changed``: those whose configuration differs from
    the previous observation, whoever changed it; ``lacking``: incomplete ones, with the devices that lack
    a part. ``renewed``: names of devices that may have lost their state; ``renewed_before``: the second
    report of such devices.
    """

    absent: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    lacking: dict[str, str] = {}
    renewed: tuple[str, ...] = ()
    renewed_before: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        renewed = self.renewed or self.renewed_before
        return bool(self.absent or self.present or self.changed or self.lacking or renewed)


class LastingDifferenceSchedule:
    """Schedule for reporting lasting differences again, with growing intervals."""

    def __init__(self) -> None:
        self._waits: dict[str, tuple[float, int]] = {}
        """Time of the next report, and number of reports so far, by id."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._waits)

    def due_ids(self, ids: Collection[T], now: float) -> tuple[T, ...]:
        """Return the sorted ids to report now (monotonic seconds), and schedule their next report. Ids that
        are not in ``ids`` are forgotten, so that they are due at once if they come back.
        """
        self._waits = {id_: wait for id_, wait in self._waits.items() if id_ in ids}
        found = tuple(sorted(id_ for id_ in ids if id_ not in self._waits or now >= self._waits[id_][0]))
        for id_ in found:
            times = self._waits[id_][1] + 1 if id_ in self._waits else 1
            self._waits[id_] = (now + REPEAT.nominal_seconds(times), times)
        return found

    def next_due(self) -> float:
        """Return the monotonic time, in seconds, at which the next id is due; infinity if there is none."""
        return min((at for at, _ in self._waits.values()), default=math.inf)


class OneTimeRepetition:
    """Schedule for reporting one-time events a second time, ``AGAIN_SECONDS`` after their first report."""

    def __init__(self) -> None:
        self._due_findings: dict[str, float] = {}

    def mark_reported(self, ids: Iterable[str], now: float) -> None:
        """Record that the events of these ids are reported now (monotonic seconds), so that they are due once
        more later.
        """
        self._due_findings.update(dict.fromkeys(ids, now + AGAIN_SECONDS))

    def take_due(self, now: float) -> set[str]:
        """Remove and return the ids that are due now (monotonic seconds)."""
        found = {id_ for id_, at in self._due_findings.items() if now >= at}
        for id_ in found:
            del self._due_findings[id_]
        return found


class Inventory:
    """Compares successive observations of one device group, and keeps what is to be reported.

    For each observation call :meth:`observe`, then :meth:`compare_with_expected` if :meth:`is_expected_list_due` is
    True, then :meth:`findings`.
    """

    def __init__(self, incarnations: DeviceIncarnations | None = None) -> None:
        """``incarnations``: identities and incarnations of the devices from earlier checks; None: unknown."""
        self._held: Mapping[str, str] | None = None
        self._lacking: Mapping[LoadBalancerId, str] = {}
        self._incarnations = DeviceIncarnations() if incarnations is None else incarnations
        self._reached: frozenset[str] | None = None
        self._request_at = 0.0
        self._requested_at = -math.inf
        self._suspects: frozenset[str] = frozenset()
        """Load balancers that are expected and were missing in the previous observation."""
        self._absent: set[str] = set()
        """Load balancers reported as absent, or recorded as absent by the controllers."""
        self._reported_absent = LastingDifferenceSchedule()
        self._reported_lacking = LastingDifferenceSchedule()
        self._reported_changed = OneTimeRepetition()
        self._reported_renewed = OneTimeRepetition()
        self._unexpected_since: dict[str, float] = {}
        """Monotonic time since which load balancers on devices have not been expected."""
        self._found = Findings()
        self._unreported = Findings()

    def observe_unreachable(self) -> None:
        """Record that no device was reachable: the configuration of a device that comes back is unknown."""
        self._reached = frozenset()

    def observe(self, seen: Observation, now: float) -> None:
        """Compare an observation with the previous one and update the findings. ``now`` is monotonic, in seconds."""
        renewed = self._incarnations.record_and_compare(seen.devices)
        reached = frozenset(device.name for device in seen.devices if device.reachable)
        # Digests can be compared only between observations of the same devices in the same incarnations.
        same_devices = reached == self._reached and not renewed
        renewed |= self._returned_with_unknown_state(reached)
        changed = self._changed_load_balancers(seen.configurations) if same_devices else ()
        if renewed or self._has_load_balancer_vanished(seen.configurations):
            self._request_at = now
        self._found = self._due_findings(changed, renewed, self._lacking_twice_in_a_row(seen.lacking), now)
        self._held, self._lacking, self._reached = seen.configurations, seen.lacking, reached

    def _returned_with_unknown_state(self, reached: frozenset[str]) -> set[str]:
        """Return the names of devices that became reachable again and report no incarnation, which would show
        whether they lost their state.
        """
        if self._reached is None:
            return set()
        # A device with an incarnation shows by it whether it lost its state; any other may have, and is checked.
        return {name for name in reached - self._reached if not self._incarnations.reports_incarnation(name)}

    def _changed_load_balancers(self, held: Mapping[str, str] | None) -> tuple[str, ...]:
        """Return the load balancers, sorted, whose configuration differs from the previous observation; those
        that are new on the devices are left out. ``held``: digests by load balancer; None: not observed.
        """
        if held is None or self._held is None:
            return ()
        before = self._held
        # A load balancer that is new on the devices is no change of an old one.
        return tuple(sorted(id_ for id_, digest in held.items() if before.get(id_, digest) != digest))

    def _has_load_balancer_vanished(self, held: Mapping[str, str] | None) -> bool:
        """Return whether a load balancer of the previous observation is missing now; False if either was not
        observed.
        """
        return held is not None and self._held is not None and bool(self._held.keys() - held.keys())

    def _lacking_twice_in_a_row(self, lacking: Mapping[LoadBalancerId, str]) -> dict[LoadBalancerId, str]:
        """Return the load balancers that are incomplete on devices now and were in the previous observation,
        with what is missing.
        """
        # An observation may fall between two steps of a pass; what is lacking twice in a row is not under way.
        return {id_: names for id_, names in lacking.items() if id_ in self._lacking}

    def _due_findings(
        self, changed: Iterable[str], renewed: Collection[str], lasting: Mapping[LoadBalancerId, str], now: float
    ) -> Findings:
        """Return the findings to report: new ones, those of the previous observation whose report failed, and
        due repetitions. Schedules further repetitions.
        """
        # Only differences that last are repeated; one-time events are repeated once, by RepeatOnce.
        due = self._reported_lacking.due_ids(lasting, now)
        unreported, self._unreported = self._unreported, Findings()
        renewed = {*renewed, *unreported.renewed}
        self._reported_changed.mark_reported((*changed, *unreported.changed), now)
        self._reported_renewed.mark_reported((*renewed, *unreported.renewed_before), now)
        return Findings(
            changed=tuple(sorted({*changed, *unreported.changed, *self._reported_changed.take_due(now)})),
            lacking={id_: lasting[id_] for id_ in due},
            renewed=tuple(sorted(renewed)),
            renewed_before=tuple(
                sorted(self._reported_renewed.take_due(now).union(unreported.renewed_before) - renewed)
            ),
        )

    def is_expected_list_due(self, now: float) -> bool:
        """Return whether to request the expected load balancers from controllers now (monotonic seconds). The
        answer has the whole group, so lasting absences need a request only when they end or are due for
        repetition.
        """
        if self._held is None:
            return False
        if now >= self._request_at or self._suspects - self._absent or self._absent & self._held.keys():
            return True
        # The second term keeps a repetition that is due from requesting the whole list at every observation.
        return now >= max(self._reported_absent.next_due(), self._requested_at + REPEAT.initial_seconds)

    def compare_with_expected(
        self, expected: Collection[str] | None, shown_absent: Collection[str], now: float
    ) -> None:
        """Compare the last observation with the answer of a controller, and add absent and returned load
        balancers to the findings.

        ``expected``: the load balancers that must be on the devices; None: the controller could not answer.
        ``shown_absent``: the expected ones that the database shows as absent. ``now``: monotonic seconds.
        """
        held = self._held
        if held is None or expected is None:
            self._suspects = frozenset()
            return
        self._request_at = now + REQUEST_SECONDS
        self._requested_at = now
        before = self._unexpected_since
        self._unexpected_since = {id_: before.get(id_, now) for id_ in sorted(held.keys() - frozenset(expected))}
        missing = frozenset(expected) - held.keys()
        # Missing twice in a row: one that was created or deleted between two answers is not reported.
        absent = missing & (self._suspects | self._absent)
        # The database may show absences of a former observer, which this process has never seen.
        known = self._absent | set(shown_absent)
        self._suspects = missing
        self._absent = set(absent)
        self._found = replace(
            self._found,
            absent=self._reported_absent.due_ids(absent, now),
            present=tuple(sorted(known & held.keys())),
        )

    def unexpected_load_balancers(self, now: float) -> dict[str, float]:
        """Return for how many seconds devices have held each load balancer that controllers do not expect: an
        orphan, or one that is being created or deleted. ``now``: monotonic seconds.
        """
        return {id_: now - since for id_, since in self._unexpected_since.items()}

    def findings(self) -> Findings:
        """Return the findings to report after the last observation."""
        return self._found

    def mark_unreported(self) -> None:
        """Report changed load balancers and renewed devices again with the findings of the next observation,
        because the report may not have arrived; the expected load balancers are requested again. Absent
        and incomplete load balancers are reported again when they are next due.
        """
        self._unreported = self._found
        # The absences of the failed report are only part of the findings after another answer with expectations.
        self._request_at = 0.0

    @property
    def must_recheck_missing_load_balancers_soon(self) -> bool:
        """Whether something was missing for the first time, so that the next observation must confirm it
        soon.
        """
        return bool(self._suspects - self._absent or self._lacking.keys() - set(self._reported_lacking))
