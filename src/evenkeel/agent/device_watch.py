"""The agent's own view of its devices: whether they meet the requirements at start, and which of them it reaches."""

from collections.abc import Callable, Sequence

import structlog
from msgspec.structs import replace

from evenkeel.agent.incarnations import Incarnations
from evenkeel.agent.settings import AgentSettings
from evenkeel.core.device import DeviceState
from evenkeel.core.errors import EvenKeelError
from evenkeel.core.ports import Clock, Device

log = structlog.get_logger(__name__)


class DevicesUnfit(EvenKeelError):
    """Devices do not meet the requirements within the time limit."""


class DeviceWatch:
    """The states of the devices at the last check. ``on_change``: called when the reachable devices changed, or may
    have. ``on_renewed``: called when the configuration of a device may have been lost. The observer of the group
    reports that to all agents, but only for events while it observed.
    """

    def __init__(
        self,
        device: Device,
        clock: Clock,
        settings: AgentSettings,
        on_change: Callable[[], None],
        on_renewed: Callable[[], None],
    ) -> None:
        self._device = device
        self._clock = clock
        self._settings = settings
        self._on_change = on_change
        self._on_renewed = on_renewed
        self.incarnations = Incarnations()
        self._in_doubt = False
        self.states: tuple[DeviceState, ...] = ()

    async def wait_until_fit(self) -> None:
        """Return when at least one device answers and all that answer meet the requirements. Raises
        :class:`DevicesUnfit`.
        """
        give_up_at = self._clock.monotonic() + self._settings.device_check_timeout_seconds
        while True:
            await self._check()
            problems = [f"{state.name}: {state.problem}" for state in self.states if state.problem]
            unfit = any(state.reachable and state.problem for state in self.states)
            if not unfit and any(state.reachable for state in self.states):
                for problem in problems:
                    log.warning("device unreachable at start", problem=problem)
                return
            if self._clock.monotonic() > give_up_at:
                raise DevicesUnfit("devices do not meet the requirements: " + "; ".join(problems))
            log.error("devices do not meet the requirements; checking again", problems=problems)
            await self._clock.sleep(self._settings.keepalive_interval_seconds * 2)

    def doubt(self) -> None:
        """Check them again, and report without waiting for the next interval: other agents may reach them."""
        self._in_doubt = True
        self._on_change()

    async def look(self, *, observed: bool) -> None:
        """Check the devices before a report, unless this agent has ``observed`` them: one agent may reach a device that
        another cannot.
        """
        if self._in_doubt or not observed:
            self._in_doubt = False
            await self._check()

    async def run(self, observed: Callable[[], tuple[DeviceState, ...] | None]) -> None:
        """Check the devices as often as the group's observer: a device counts as unreachable only if all agents report
        it. ``observed``: the states that this agent read as the observer; None: another agent observes.
        """
        while True:
            await self._clock.sleep(self._settings.status_interval_seconds)
            if (states := observed()) is not None:
                self.incarnations.renewed(states)
                continue
            before = _reached(self.states)
            await self._check()
            if _reached(self.states) != before:
                self._on_change()

    async def _check(self) -> None:
        try:
            self.states = await self._device.check()
        except Exception as error:  # one unexpected answer of a device must not end the agent
            log.exception("devices not checked because of an unexpected error")
            self.states = tuple(replace(state, problem=_unexpected(error)) for state in self._known_states())
            return
        renewed = self.incarnations.renewed(self.states)
        if renewed:
            log.warning("devices may have lost their configuration; checking everything", devices=sorted(renewed))
            self._on_renewed()

    def _known_states(self) -> tuple[DeviceState, ...]:
        """Those of the last check. Before the first one no device counts as reachable."""
        endpoints = self._device.facts.endpoints
        return self.states or tuple(DeviceState(name=each, reachable=False) for each in endpoints)


def _unexpected(error: Exception) -> str:
    return f"the check failed on an unexpected {type(error).__name__}: see the agent's log"


def identities_of(endpoints: Sequence[str], devices: Sequence[DeviceState]) -> dict[str, str]:
    """The known identities of the devices, by endpoint. Drivers check devices in the order of their endpoints."""
    if len(endpoints) != len(devices):
        return {}
    return {endpoint: state.identity for endpoint, state in zip(endpoints, devices, strict=True) if state.identity}


def _reached(devices: tuple[DeviceState, ...]) -> frozenset[str]:
    return frozenset(device.name for device in devices if device.reachable)
