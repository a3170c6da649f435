"""Faults that are planted: each takes out one mend for as long as its context lasts.

``python -m tests.equivalence --fault NAME`` looks for histories that find one.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple
from unittest.mock import patch

from evenkeel.core import health
from evenkeel.core.statuses import OperatingStatus
from evenkeel.haproxyd.haproxy.config.bindability import with_bindable_peer
from evenkeel.haproxyd.haproxy.runner import HaproxyRunner


class Fault(NamedTuple):
    """What is broken, and how. ``found_by``: a seed that finds it."""

    text: str
    plant: Callable[[], AbstractContextManager[Any]]
    found_by: str


def _draining_hides_a_dead_member() -> AbstractContextManager[Any]:
    right = health.member_status

    def status(*, enabled: bool, draining: bool, monitored: bool, up: bool) -> OperatingStatus:
        return right(enabled=enabled, draining=draining, monitored=monitored and not draining, up=up)

    return patch.object(health, "member_status", status)


def _unknown_is_not_checked() -> AbstractContextManager[Any]:
    """What an unknown HAProxy is to listen on is not tried before."""
    right = HaproxyRunner._bindable

    def bindable(self: HaproxyRunner, config: Any) -> Any:
        if self._state.known or not self.process.up:
            return right(self, config)
        config, self._peer_problem = with_bindable_peer(config, self._state.binds)
        return config, {}

    return patch.object(HaproxyRunner, "_bindable", bindable)


FAULTS: Mapping[str, Fault] = {
    "draining": Fault("DRAINING hides a dead member", _draining_hides_a_dead_member, ""),
    "unknown_binds": Fault(
        "an unbindable load balancer interrupts others while it is not known what runs", _unknown_is_not_checked, ""
    ),
}
