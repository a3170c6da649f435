"""Measures the devices' utilization by the operator's ``capacity_policy``, once per report interval.

While a measurement fails, the last figures stay valid, with their age; the failure is logged once.
"""

import asyncio
from collections.abc import Mapping

import structlog

from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.core.kit.values import Value
from evenkeel.core.ports import Clock, Device
from evenkeel.core.resources import capacity
from evenkeel.core.resources.capacity import CapacityFigure

log = structlog.get_logger(__name__)


class CapacityMeasurement(Value):
    """The capacity figures of a state report, by metric, with their score and their age in seconds."""

    figures: dict[str, CapacityFigure] = {}
    score: float = 0.0
    seconds_ago: float = 0.0
    unknown: bool = False
    """True: there is a capacity policy, but no measurement yet."""


class CapacityGauge:
    """Measures the metrics of the operator's capacity policy on the devices, and keeps the last figures.
    Without a policy the devices are not read.
    """

    def __init__(self, policy: Mapping[str, float], device: Device, clock: Clock, *, interval_seconds: float) -> None:
        self._policy = policy
        self._device = device
        self._clock = clock
        self._interval_seconds = interval_seconds
        self._figures: dict[str, CapacityFigure] = {}
        self._measured_at = 0.0
        self._looked_at: float | None = None
        self._failing = False

    @property
    def figures(self) -> dict[str, CapacityFigure]:
        """The last measured capacity figures, by metric; empty before the first measurement."""
        return self._figures

    async def run(self) -> None:
        """Measure once per interval, until cancelled; returns at once without a policy."""
        while self._policy:
            await self.measure()
            await self._clock.sleep(self._interval_seconds)

    async def measure(self) -> CapacityMeasurement:
        """Return the capacity figures, measured now unless the last attempt was less than 0.9 intervals ago.
        Never raises: if the devices cannot be read, the last figures are returned; empty without a policy.
        """
        now = self._clock.monotonic()  # before the devices are read: later changes may be missing
        # 0.9: a timer that fires a little early must not skip a whole interval.
        if self._policy and (self._looked_at is None or now - self._looked_at >= self._interval_seconds * 0.9):
            # Set before the devices are read, so that a failed measurement waits for the next interval, too.
            self._looked_at = now
            await self._measure_devices(now)
        return self.last_measured

    @property
    def last_measured(self) -> CapacityMeasurement:
        """The last capacity figures, with their age now; empty without a capacity policy, and marked as
        unknown if nothing was measured yet.
        """
        if not self._policy:
            return CapacityMeasurement()
        return CapacityMeasurement(
            figures=self._figures,
            score=capacity.capacity_score(self._figures),
            seconds_ago=max(0.0, self._clock.monotonic() - self._measured_at) if self._figures else 0.0,
            unknown=not self._figures,
        )

    async def _measure_devices(self, now: float) -> None:
        try:
            async with asyncio.timeout(self._interval_seconds):
                found = capacity.capacity_figures(self._policy, await self._device.capacity(tuple(self._policy)))
        except (DeviceUnavailable, DeviceRejected, TimeoutError) as error:
            if not self._failing:
                log.warning("capacity not measured; the last figures stand", reason=str(error) or "no answer in time")
            self._failing = True
            return
        except Exception:  # one unexpected answer of a device must not end the agent
            if not self._failing:
                log.exception("capacity not measured because of an unexpected error; the last figures stand")
            self._failing = True
            return
        if self._failing:
            log.info("capacity measured again")
        self._failing = False
        self._figures, self._measured_at = found, now
