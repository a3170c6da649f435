"""Leases that make one of several hosts' agents the active one of a provider.

A lease is renewed by a thread of its own, three times in its life, and counted from before its request on the own
monotonic clock, so that this agent ends being active before another one begins.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection

from evenkeel_octavia.controllers import ControllerError
from evenkeel_octavia.mirror import Mirror

LOG = logging.getLogger(__name__)


class EnvironmentLeases:
    """Leases by which this agent, of several hosts' agents, is the active one for environments."""

    def __init__(
        self,
        mirror: Mirror,
        environments: Collection[str],
        *,
        holder: str,
        seconds: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._mirror = mirror
        self._environments = tuple(environments)
        self._holder = holder
        self._seconds = seconds
        self._now = now
        self._until: dict[str, float] = {}
        self._failures: dict[str, str] = {}
        self._logged: dict[str, bool] = {}
        """Whether this agent was active, by environment, when that was last logged. A lease may end between two
        renewals.
        """
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def is_held(self, environment: str) -> bool:
        """Whether this agent has the lease of the environment, and so is the active one."""
        return self._until.get(environment, 0.0) > self._now()

    def renew(self) -> None:
        """Take or renew each lease once. Failures are logged; a lease that is not renewed runs out by itself."""
        for environment in self._environments:
            asked = self._now()
            try:
                held = self._mirror.lease(environment, self._holder, self._seconds)
            except (ControllerError, OSError, ValueError, KeyError, TypeError) as error:
                self._report_failure(environment, str(error))
                continue
            self._failures.pop(environment, None)
            self._until[environment] = asked + self._seconds if held else 0.0
            if held != self._logged.get(environment):
                self._logged[environment] = held
                LOG.info("this agent is %s for environment %s", "active" if held else "standing by", environment)

    def start(self) -> None:
        """Renew the leases in a thread until :meth:`stop`."""
        self._thread = threading.Thread(target=self._renew_repeatedly, name="evenkeel-leases", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop renewing the leases and give them up, so that another agent takes over at once. Failures are
        only logged.
        """
        self._ended.set()
        if self._thread is not None:
            self._thread.join(timeout=self._seconds)
        for environment in self._environments:
            if self.is_held(environment):
                try:
                    self._mirror.lease(environment, self._holder, 0.0)
                except (ControllerError, OSError, ValueError, KeyError, TypeError) as error:
                    LOG.info("the lease of environment %s can't be given up: %s", environment, error)

    def _report_failure(self, environment: str, reason: str) -> None:
        """Log a failed renewal once, although a lease is renewed three times in its life."""
        if self._failures.get(environment) != reason:
            self._failures[environment] = reason
            LOG.warning("the lease of environment %s can't be renewed: %s", environment, reason)

    def _renew_repeatedly(self) -> None:
        while True:
            self.renew()
            if self._ended.wait(self._seconds / 3):
                return
