"""A group of devices that all get the same configuration: the part common to drivers of several devices.

The agent writes to every device of the group directly and concurrently; no device copies configuration to another.
Unreachable devices are ``lagging`` and do not delay the others (:mod:`evenkeel.devices.reach`). So are devices that
refuse all writes. A load balancer is refused only if a device that responded refused it.
"""

import asyncio
import itertools
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

import structlog
from msgspec.structs import replace

from evenkeel.core.devices.device import (
    REPAIRS_MAX,
    Applied,
    DeviceFacts,
    DeviceState,
    EnhancedServices,
    Observation,
    Repair,
    Retirement,
    repair,
    service_outcome,
)
from evenkeel.core.devices.plans import DevicePlan
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable, GuardLost, StaleOwner
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId, SessionId
from evenkeel.core.networking.networks import NOT_ADJACENT, NetworkLayout
from evenkeel.core.resources.statuses import HaType, RescheduleMode
from evenkeel.devices.absence import Absence
from evenkeel.devices.errors import NoAnswer, PartitionUnavailable
from evenkeel.devices.reach import DeviceClient, DeviceReach
from evenkeel.devices.waiting import cancel_and_wait

T = TypeVar("T")
R = TypeVar("R")
log = structlog.get_logger(__name__)


class GroupDevice(ABC, Generic[R]):
    """One device of a group. ``R`` is the type of one reading of the device."""

    def __init__(self, client: DeviceClient, connect_timeout_seconds: float) -> None:
        self.host = client.host
        """Name of the device in its group."""
        self.own_name = ""
        """Value of :attr:`DeviceState.own_name` (the device's name for itself) at the last contact."""
        self.reach = DeviceReach(client, connect_timeout_seconds)

    @abstractmethod
    async def check(self) -> DeviceState:
        """Read the device's state with unmet requirements. A device error is part of the state, not raised."""

    @abstractmethod
    async def observe(self) -> R:
        """Read statuses and statistics of this device group's objects on the device. Raises
        :class:`DeviceUnavailable`.
        """

    @abstractmethod
    async def capacity(self, metrics: Collection[str]) -> dict[str, float]:
        """Read the utilization of the device, ``{metric: value}``. Raises :class:`DeviceUnavailable`."""

    @abstractmethod
    async def close(self) -> None:
        """Close all connections."""

    async def run_watched(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` on this device; cancel it if the device stops responding meanwhile."""
        try:
            return await self.reach.watch(work)
        except NoAnswer as error:
            self.lost(error)
            raise

    async def silence(self) -> str:
        """Return the reason if the device does not answer now, and mark the device as doubted; empty if it answers.
        Never raises.
        """
        error = await self.reach.silence_error()
        if error is None:
            return ""
        self.lost(error)
        return error.reason

    @asynccontextmanager
    async def required_reachable(self) -> AsyncIterator[None]:
        """Require, as a context, that the device is trusted or responds, and mark it as doubted if it fails inside the
        context.

        A :class:`PartitionUnavailable` does not make the device doubted.
        """
        try:
            await self.reach.confirm()
            yield
        except PartitionUnavailable:
            raise
        except DeviceUnavailable as error:
            self.lost(error)
            raise

    def lost(self, error: DeviceUnavailable) -> None:
        """Record that the device is unreachable."""
        if self.reach.doubt is None:
            log.warning("device out of reach", device=self.host, reason=str(error))
        # the newest error is kept: it is the reason that operators see
        self.reach.doubt = error


D = TypeVar("D", bound=GroupDevice[Any])


class DeviceGroup(ABC, Generic[D, R]):
    """Base class of device groups: the part of the :class:`evenkeel.core.ports.Device` port common to all device
    types.
    """

    def __init__(
        self, driver: str, ha_type: HaType, devices: Sequence[D], network_layout: NetworkLayout = NOT_ADJACENT
    ) -> None:
        self._uneven: frozenset[Absence] = frozenset()
        self._devices: tuple[D, ...] = ()
        self._facts = DeviceFacts(
            driver=driver,
            ha_type=ha_type,
            reschedule=RescheduleMode.CONTROL,
            endpoints=(),
            network_layout=network_layout,
        )
        self._set_devices(devices)

    def _set_devices(self, devices: Sequence[D]) -> None:
        self._devices = tuple(devices)
        self._facts = replace(self._facts, endpoints=tuple(device.host for device in devices))

    @property
    def facts(self) -> DeviceFacts:
        """Return the group's facts. Its devices are reached over the network, so any agent of the group may take
        over.
        """
        return self._facts

    async def check(self) -> tuple[DeviceState, ...]:
        """Read the current state of each device."""
        return tuple(await asyncio.gather(*map(_state_with_name, self._devices)))

    async def silent(self) -> Mapping[str, str]:
        """Return ``{host: reason}`` of the devices that do not answer now."""
        reasons = await asyncio.gather(*(device.silence() for device in self._devices))
        return {device.host: reason for device, reason in zip(self._devices, reasons, strict=True) if reason}

    async def observe(self) -> Observation:
        """Read statuses and statistics of all reachable devices."""
        done, lost = await run_on_all(self._devices, lambda device: device.observe())
        names = {device.host: device.own_name for device in self._devices}
        away = [
            DeviceState(name=host, reachable=False, problem=str(error), own_name=names[host])
            for host, error in lost.items()
        ]
        # A difference seen only once is most likely a write in progress.
        before, self._uneven = self._uneven, self._find_absences(done)
        return self._merge_readings(done, away, absent=self._uneven, uneven=before & self._uneven)

    async def capacity(self, metrics: Collection[str]) -> Mapping[str, float]:
        """Return the maximum of each metric over all devices that were reached."""
        done, _ = await run_on_all(self._devices, lambda device: device.capacity(metrics))
        return maximum_figures(done.values())

    async def retire(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> Retirement:
        """Do nothing: most device types keep an empty partition, with its guard."""
        return Retirement(left=self.facts.endpoints)

    async def tenants(self) -> frozenset[ProjectId]:
        """Return the projects with objects on the devices; empty if the device type does not report them."""
        return frozenset()

    async def enhanced_services(self) -> EnhancedServices | None:
        """Return None: most device types have no enhanced services."""
        return None

    async def close(self) -> None:
        """Close the connections to all devices."""
        await asyncio.gather(*(device.close() for device in self._devices))

    @abstractmethod
    def _find_absences(self, readings: Mapping[str, R]) -> frozenset[Absence]:
        """Find objects that one device lacks and another device of the group has."""

    @abstractmethod
    def _merge_readings(
        self,
        readings: Mapping[str, R],
        unreachable: Sequence[DeviceState],
        *,
        absent: Collection[Absence],
        uneven: Collection[Absence],
    ) -> Observation:
        """Merge the devices' readings into one observation.

        ``absent``: objects that a device lacks and others have; ``uneven``: objects that it also lacked at the previous
        observation.
        """


async def run_on_all(
    devices: Sequence[D], work: Callable[[D], Coroutine[Any, Any, T]]
) -> tuple[dict[str, T], dict[str, DeviceUnavailable]]:
    """Run ``work`` on all devices. Returns results of reached devices and errors of the others, by host.

    Raises :class:`StaleOwner` if any device raised it, else :class:`GuardLost` if any did, else any other failure
    unchanged, and :class:`DeviceUnavailable` if no device was reached.
    """
    # Taken before the tasks start, because a task may begin or end a doubt.
    doubted = [device for device in devices if device.reach.doubt is not None]
    tasks = {device: asyncio.create_task(device.run_watched(work(device))) for device in devices}
    try:
        await _wait_for_trusted(tasks, doubted)
    finally:
        # also of doubted devices that did not answer in time: nothing may go on after the caller has the outcome
        await cancel_and_wait(*tasks.values())
    done: dict[str, T] = {}
    lost: dict[str, DeviceUnavailable] = {}
    failures: list[BaseException] = []
    for device, task in tasks.items():
        error = _timeout_error(device) if task.cancelled() else task.exception()
        if isinstance(error, DeviceUnavailable):
            lost[device.host] = error
            if isinstance(error, PartitionUnavailable):  # others are logged when they become out of reach
                log.warning("device lags", device=device.host, reason=error.reason)
        elif error is not None:
            failures.append(error)
        else:
            done[device.host] = task.result()
    if failures:
        # a stale owner must stop, whatever the other devices replied
        raise max(failures, key=error_precedence)
    if not done:
        raise _all_unreachable_error(lost)
    return done, lost


async def _state_with_name(device: GroupDevice[Any]) -> DeviceState:
    state = await _state(device)
    # A device out of reach keeps the name that it reported last.
    device.own_name = state.own_name or device.own_name
    return replace(state, own_name=device.own_name)


async def _state(device: GroupDevice[Any]) -> DeviceState:
    try:
        # under the liveness probe: a check of a silent device must not last as long as its request's time-out
        return await device.run_watched(device.check())
    except DeviceUnavailable as error:
        return DeviceState(name=device.host, reachable=False, problem=str(error))
    except Exception as error:  # one unexpected answer of a device must not end the agent
        log.exception("device not checked because of an unexpected error", device=device.host)
        return DeviceState(name=device.host, reachable=device.reach.doubt is None, problem=_unexpected_problem(error))


def _unexpected_problem(error: Exception) -> str:
    """Log the traceback of an error that no driver should raise, and return the problem of the device whose check
    failed.
    """
    return f"its check failed on an unexpected {type(error).__name__}: see the agent's log"


async def plan_on_each(
    devices: Sequence[D], work: Callable[[D], Coroutine[Any, Any, DevicePlan]]
) -> tuple[DevicePlan, ...]:
    """Plan on each device. A device that cannot be read gets a plan that has the reason as its problem."""

    async def one(device: D) -> DevicePlan:
        try:
            return await device.run_watched(work(device))
        except (DeviceUnavailable, DeviceRejected) as error:
            return DevicePlan(device=device.host, problem=str(error))

    return tuple(await asyncio.gather(*(one(device) for device in devices)))


def service_outcomes(
    services: Iterable[ServiceDefinition],
    refusals: Iterable[Mapping[LoadBalancerId, str]],
    problems: Mapping[LoadBalancerId, str] | None = None,
) -> Iterable[Applied]:
    """Return the outcome of each service: its problem, else the refusal of the first device that refused it, else
    success.

    ``refusals``: for each device, reasons by load balancer; ``problems``: of load balancers that were sent to no
    device.
    """
    errors: dict[LoadBalancerId, str] = {}
    for refusal in (problems or {}, *refusals):
        errors = {**refusal, **errors}
    return (service_outcome(service, errors.get(service.load_balancer_id, "")) for service in services)


def build_repairs(found: Mapping[str, Mapping[LoadBalancerId, Sequence[str]]]) -> Iterable[Repair]:
    """Return repairs from texts by device and load balancer id; at most :data:`REPAIRS_MAX`."""
    every = ((device, *item) for device, texts_by_id in found.items() for item in texts_by_id.items())
    for device, load_balancer_id, texts in itertools.islice(every, REPAIRS_MAX):
        yield repair(load_balancer_id, device, texts)


def maximum_figures(readings: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the maximum of each metric: all devices hold the same objects and have the same limits, so the fullest
    decides.
    """
    most: dict[str, float] = {}
    for reading in readings:
        for metric, value in reading.items():
            most[metric] = max(value, most.get(metric, value))
    return most


async def _wait_for_trusted(tasks: Mapping[D, asyncio.Task[T]], doubted: Iterable[D]) -> None:
    """Wait until the tasks of all trusted devices have ended, then for each doubted device at most
    ``patience_seconds``.

    For a doubted device that has responded again, or if no device is trusted, wait until the task has ended.
    """
    trusted = [task for device, task in tasks.items() if device not in doubted]
    if trusted:
        # first all trusted devices, however slow: a device that answers is never abandoned
        await asyncio.wait(trusted)
        for device in doubted:
            await asyncio.wait({tasks[device]}, timeout=device.reach.patience_seconds)
    left = [task for device, task in tasks.items() if not trusted or device.reach.doubt is None]
    if left:
        await asyncio.wait(left)


def _timeout_error(device: GroupDevice[Any]) -> DeviceUnavailable:
    return device.reach.doubt or DeviceUnavailable(device.host, "no answer")


def _all_unreachable_error(lost: Mapping[str, DeviceUnavailable]) -> DeviceUnavailable:
    """Return one error that names all devices, of which none was reached."""
    if len(lost) == 1:
        return next(iter(lost.values()))
    if len({error.reason for error in lost.values()}) == 1:
        return DeviceUnavailable(", ".join(lost), next(iter(lost.values())).reason)
    first, *others = lost.values()
    return DeviceUnavailable(first.device, "; ".join((first.reason, *(str(error) for error in others))))


def error_precedence(failure: BaseException) -> tuple[int, int]:
    """Return the precedence of an error: :class:`StaleOwner` first, the newest epoch before others, then
    :class:`GuardLost`.
    """
    if isinstance(failure, StaleOwner):
        return 2, failure.seen_epoch or 0
    return int(isinstance(failure, GuardLost)), 0
