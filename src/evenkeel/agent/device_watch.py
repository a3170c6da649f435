"""The agent's own view of its devices: whether they meet the requirements at start, and which of them it reaches."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence

import structlog
from msgspec.structs import replace

from evenkeel.agent.incarnations import DeviceIncarnations
from evenkeel.agent.settings import AgentSettings
from evenkeel.core.devices.device import DeviceState
from evenkeel.core.kit.errors import EvenKeelError
from evenkeel.core.ports import Clock, Device
from evenkeel.core.ports.device import SilentDeviceProber

log = structlog.get_logger(__name__)

CertificateEnds = Callable[[Sequence[str]], Mapping[str, float]]
"""Returns the Unix times at which the certificates of devices expire, by endpoint; endpoints without a known time are
left out.
"""
PROBE_INTERVAL_SECONDS = 1.0
"""Interval between probes of devices that have not answered since the last one."""


class DevicesUnfit(EvenKeelError):
    """Devices do not meet the requirements within the time limit. The text lists the problems."""


class DeviceWatch:
    """States of the devices at the last check, and which of them do not answer at this moment.

    ``on_change`` is called when the set of reachable devices has changed, or may have changed. ``on_renewed``
    is called when the configuration of a device may have been lost: the observer of the group reports that to
    all agents, but only for events while it observed.

    Reports never wait for a device: checks and probes run in loops of their own.
    """

    def __init__(
        self,
        device: Device,
        clock: Clock,
        settings: AgentSettings,
        on_change: Callable[[], None],
        on_renewed: Callable[[], None],
        certificate_ends: CertificateEnds = lambda _endpoints: {},
    ) -> None:
        self._device = device
        self._clock = clock
        self._settings = settings
        self._on_change = on_change
        self._on_renewed = on_renewed
        self._certificate_ends = certificate_ends
        self.incarnations = DeviceIncarnations()
        self._in_doubt = asyncio.Event()
        self._silent: Mapping[str, str] = {}
        self._checked: tuple[DeviceState, ...] = ()

    @property
    def states(self) -> tuple[DeviceState, ...]:
        """The states of the devices at the last check; a device that is silent now is not reachable. Empty
        before the first check.
        """
        return self.current_states(None)

    def current_states(self, observed: tuple[DeviceState, ...] | None) -> tuple[DeviceState, ...]:
        """Return the states of the devices for a report.

        ``observed``: states that this agent, as the observer, read after its last check; None: another agent observes.
        """
        return tuple(
            replace(state, reachable=False, problem=f"device {state.name}: {self._silent[state.name]}")
            if state.reachable and state.name in self._silent
            else state
            for state in self._add_certificate_ends(observed or self._checked)
        )

    def _add_certificate_ends(self, states: tuple[DeviceState, ...]) -> Iterator[DeviceState]:
        """Return the states, which are in the order of the driver's endpoints, with the expiry times of the
        devices' certificates; unchanged if the numbers of states and endpoints differ.
        """
        endpoints = self._device.facts.endpoints
        ends = self._certificate_ends(endpoints) if len(endpoints) == len(states) else {}
        if not ends:
            return iter(states)
        return (
            replace(state, certificate_ends_at=ends.get(endpoint))
            for endpoint, state in zip(endpoints, states, strict=True)
        )

    async def wait_until_fit(self) -> None:
        """Check the devices until at least one answers and all that answer meet the requirements. Raises
        :class:`DevicesUnfit` after ``device_check_timeout_seconds``.
        """
        give_up_at = self._clock.monotonic() + self._settings.device_check_timeout_seconds
        while True:
            await self._check_devices()
            problems = [f"{state.name}: {state.problem}" for state in self.states if state.problem]
            unfit = any(state.reachable and state.problem for state in self.states)
            # A device out of reach may be repaired later; one that answers and does not meet the requirements must be
            # corrected first.
            if not unfit and any(state.reachable for state in self.states):
                for problem in problems:
                    log.warning("device unreachable at start", problem=problem)
                return
            if self._clock.monotonic() > give_up_at:
                raise DevicesUnfit("devices do not meet the requirements: " + "; ".join(problems))
            log.error("devices do not meet the requirements; checking again", problems=problems)
            await self._clock.sleep(self._settings.keepalive_interval_seconds * 2)

    def check_now(self) -> None:
        """Request a check of the devices without waiting for the next interval, and call ``on_change`` at
        once: other agents may reach the devices.
        """
        self._in_doubt.set()
        self._on_change()

    async def run(self, observed: Callable[[], tuple[DeviceState, ...] | None]) -> None:
        """Probe devices that are quiet, and check all of them as often as the group's observer, until
        cancelled: a device counts as unreachable only if all agents report it. ``observed`` returns the
        states that this agent read as the observer, which replace a check of its own; None: another agent
        observes.
        """
        await asyncio.gather(self._probe_repeatedly(), self._check_repeatedly(observed))

    async def _probe_repeatedly(self) -> None:
        device = self._device
        while isinstance(device, SilentDeviceProber):
            try:
                silent = await device.probe_silent_devices()
            except Exception:  # one unexpected answer of a device must not end the agent
                log.exception("devices not probed because of an unexpected error")
                # Keeping the last answer avoids a false alarm: the probe has failed, not the device.
                silent = self._silent
            before, self._silent = self._silent, silent
            if before.keys() != silent.keys():
                self.check_now()
            await self._clock.sleep(min(PROBE_INTERVAL_SECONDS, self._settings.status_interval_seconds))

    async def _check_repeatedly(self, observed: Callable[[], tuple[DeviceState, ...] | None]) -> None:
        while True:
            await self._wait_until_due()
            states = observed()
            # The observer of the group has just read all devices, so a check of its own would only add load.
            if states is not None and not self._in_doubt.is_set():
                self.incarnations.record_and_compare(states)
                continue
            self._in_doubt.clear()
            before = _reached_devices(self.states)
            await self._check_devices()
            if _reached_devices(self.states) != before:
                self._on_change()

    async def _wait_until_due(self) -> None:
        """Return after the interval between checks, or as soon as a check is requested."""
        reasons = {
            asyncio.ensure_future(self._clock.sleep(self._settings.status_interval_seconds)),
            asyncio.create_task(self._in_doubt.wait()),
        }
        try:
            await asyncio.wait(reasons, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for reason in reasons:
                reason.cancel()

    async def _check_devices(self) -> None:
        try:
            self._checked = await self._device.check()
        except Exception as error:  # one unexpected answer of a device must not end the agent
            log.exception("devices not checked because of an unexpected error")
            # Reachability stays as it was: an error of this program must not look like the loss of the devices.
            self._checked = tuple(
                replace(state, problem=_unexpected_error_text(error)) for state in self._states_of_last_check()
            )
            return
        renewed = self.incarnations.record_and_compare(self._checked)
        if renewed:
            log.warning("devices may have lost their configuration; checking everything", devices=sorted(renewed))
            self._on_renewed()

    def _states_of_last_check(self) -> tuple[DeviceState, ...]:
        """Return the states from the last check; before the first one all devices are unreachable."""
        endpoints = self._device.facts.endpoints
        return self._checked or tuple(DeviceState(name=each, reachable=False) for each in endpoints)


def _unexpected_error_text(error: Exception) -> str:
    return f"the check failed on an unexpected {type(error).__name__}: see the agent's log"


def device_identities(endpoints: Sequence[str], devices: Sequence[DeviceState]) -> dict[str, str]:
    """Return the known identities of the devices, by endpoint; empty if the numbers differ. ``devices``:
    states in the order of ``endpoints``.
    """
    # Without one state for each endpoint, identities cannot be assigned by order.
    if len(endpoints) != len(devices):
        return {}
    return {endpoint: state.identity for endpoint, state in zip(endpoints, devices, strict=True) if state.identity}


def _reached_devices(devices: tuple[DeviceState, ...]) -> frozenset[str]:
    return frozenset(device.name for device in devices if device.reachable)
