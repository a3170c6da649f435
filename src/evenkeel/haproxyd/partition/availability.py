"""Records whether a partition's HAProxy runs what is held, why not, and when it is restarted."""

from collections.abc import Iterable

from evenkeel.haproxyd.partition.restarts import RestartBackoff
from evenkeel.haproxyd.ports import OnEvent, PartitionEvent
from evenkeel.haproxyd.settings import DaemonSettings


class HaproxyAvailability:
    """Availability of one partition's HAProxy. Emits one event when HAProxy goes down and one when it serves again."""

    def __init__(self, partition: str, settings: DaemonSettings, on_event: OnEvent) -> None:
        self._partition = partition
        self._on_event = on_event
        self._down_event_sent = False
        self.restarts = RestartBackoff(settings)
        self.problem = ""
        """Reason, for operators, why HAProxy does not run as configured; empty if it does."""

    def record_exit(self, last_alert: str) -> float:
        """Record that HAProxy ended without being stopped, and emit an event if none is open; returns the
        seconds to wait before the restart. ``last_alert``: HAProxy's last error message; empty: none.
        """
        pause_seconds = self.restarts.record_exit()
        self.problem = f"HAProxy ended{f' ({last_alert})' if last_alert else ''}; {self.restarts.describe()}"
        if not self._down_event_sent:
            self._down_event_sent = True
            self._on_event(PartitionEvent(partition=self._partition, up=False, text=self.problem))
        return pause_seconds

    def record_failure(self, text: str, *, is_down: bool) -> None:
        """Record a failed attempt to apply changes; ``text`` becomes the problem unless HAProxy runs and has
        one already. ``is_down``: there is no HAProxy although load balancers are held.
        """
        self.problem = text if is_down else self.problem or text
        self.restarts.record_failed_start()

    def record_pass(self, left_out: Iterable[str], *, is_down: bool, is_up: bool) -> None:
        """Record the end of an attempt to apply changes, and emit an event if HAProxy serves again.

        ``left_out``: reasons for load balancers that HAProxy does not run. ``is_down``: there is no HAProxy
        although load balancers are held; ``is_up``: HAProxy runs.
        """
        problem = "; ".join(left_out)
        if is_down:
            # Without a newer reason, the one that `exited` recorded stays.
            self.problem = problem or self.problem
            self.restarts.record_failed_start()
            return
        self.problem = problem
        self.restarts.record_serving()
        if self._down_event_sent and is_up:
            self._down_event_sent = False
            self._on_event(PartitionEvent(partition=self._partition, up=True, text="HAProxy serves again"))
