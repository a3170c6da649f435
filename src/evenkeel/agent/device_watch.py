"""What one agent itself sees of its devices: whether they are fit at start, and which of them it reaches."""

from collections.abc import Callable, Sequence

import structlog

from evenkeel.agent.incarnations import Incarnations
from evenkeel.agent.settings import AgentSettings
from evenkeel.core.device import DeviceState
from evenkeel.core.errors import EvenKeelError
from evenkeel.core.ports import Clock, Device

log = structlog.get_logger(__name__)


class DevicesUnfit(EvenKeelError):
    """Devices do not meet the minimum, and waiting did not help."""


class DeviceWatch:
    """The states of the devices as they were checked last. ``on_change``: which of them are reached has changed, or may
    have. ``on_renewed``: one of them may hold something else than it was told. The observer of the group tells that to
    all agents, but only of what happened while it observed."""

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
        """Return when every device that answers is fit and at least one does. Raises :class:`DevicesUnfit`."""
        give_up_at = self._clock.monotonic() + self._settings.device_check_timeout_seconds
        while True:
            await self._check()
            problems = [f"{state.name}: {state.problem}" for state in self.states if state.problem]
            unfit = any(state.reachable and state.problem for state in self.states)
            if not unfit and any(state.reachable for state in self.states):
                for problem in problems:
                    log.warning("device out of reach at start", problem=problem)
                return
            if self._clock.monotonic() > give_up_at:
                raise DevicesUnfit("devices do not meet the minimum: " + "; ".join(problems))
            log.error("devices do not meet the minimum; looking again", problems=problems)
            await self._clock.sleep(self._settings.keepalive_interval_seconds * 2)

    def doubt(self) -> None:
        """Look at them again, and tell without waiting for the next report: others may reach them."""
        self._in_doubt = True
        self._on_change()

    async def look(self, *, observed: bool) -> None:
        """Before every report, unless they are ``observed`` anyway: what one agent cannot reach, another may."""
        if self._in_doubt or not observed:
            self._in_doubt = False
            await self._check()

    async def run(self, observed: Callable[[], tuple[DeviceState, ...] | None]) -> None:
        """See a device go or come back as soon as the one who observes them for the group: only what all agents say
        is believed of a device that is out of reach. ``observed``: what is seen by this agent as the observer; None: it
        is another one."""
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
        self.states = await self._device.check()
        renewed = self.incarnations.renewed(self.states)
        if renewed:
            log.warning(
                "devices may have lost their configuration; looking at everything again", devices=sorted(renewed)
            )
            self._on_renewed()


def identities_of(endpoints: Sequence[str], devices: Sequence[DeviceState]) -> dict[str, str]:
    """Who the devices are, by endpoint, as far as they were seen and could tell. Drivers check in the order of their
    endpoints."""
    if len(endpoints) != len(devices):
        return {}
    return {endpoint: state.identity for endpoint, state in zip(endpoints, devices, strict=True) if state.identity}


def _reached(devices: tuple[DeviceState, ...]) -> frozenset[str]:
    return frozenset(device.name for device in devices if device.reachable)
