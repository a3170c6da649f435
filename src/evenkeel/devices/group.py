"""A group of devices that all get the same configuration: the part common to drivers of several devices.

The agent writes to every device of the group directly and concurrently, unless a driver has a mode in which
devices copy their configuration to each other (BIG-IP's config-sync). Unreachable devices are ``lagging`` and
do not delay the others (:mod:`evenkeel.devices.reachability`). So are devices that refuse all writes. A load
balancer is refused only if a device that responded refused it.
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
    PartitionRetirement,
    Repair,
    service_outcome,
    truncated_repair,
)
from evenkeel.core.devices.plans import DevicePlan
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable, OwnershipGuardLost, StaleOwner
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId, SessionId
from evenkeel.core.networking.networks import ROUTED_NETWORK_LAYOUT, NetworkLayout
from evenkeel.core.resources.statuses import HaType, RescheduleMode
from evenkeel.devices.absence import AbsenceOnDevice
from evenkeel.devices.errors import NoAnswer, PartitionUnavailable
from evenkeel.devices.reachability import DeviceClient, DeviceReachability
from evenkeel.devices.waiting import cancel_and_wait

T = TypeVar("T")
R = TypeVar("R")
log = structlog.get_logger(__name__)


class GroupDevice(ABC, Generic[R]):
    """One device of a group. ``R`` is the type of one reading (result of :meth:`observe`)."""

    def __init__(self, client: DeviceClient, connect_timeout_seconds: float) -> None:
        self.host = client.host
        """Name of the device in its group."""
        self.own_name = ""
        """Value of :attr:`DeviceState.own_name` (the device's name for itself) at the last contact."""
        self.reach = DeviceReachability(client, connect_timeout_seconds)

    @abstractmethod
    async def check(self) -> DeviceState:
        """Read the device's state. An unmet requirement, or a device that cannot be read, is the state's
        ``problem`` and not raised.
        """

    @abstractmethod
    async def observe(self) -> R:
        """Read statuses and statistics of the objects that this driver made on the device. Raises
        :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """

    @abstractmethod
    async def capacity(self, metrics: Collection[str]) -> dict[str, float]:
        """Read the device's utilization, ``{metric: value}``; requested metrics that the device does not
        report are left out. Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """

    @abstractmethod
    async def close(self) -> None:
        """Close all connections."""

    async def run_while_responding(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` on this device and return its result; cancel it if the device stops responding
        meanwhile.

        Raises :class:`NoAnswer` then, and marks the device as doubted; other errors of ``work`` are raised
        unchanged.
        """
        try:
            return await self.reach.watch(work)
        except NoAnswer as error:
            self.mark_unreachable_suspected(error)
            raise

    async def silence_reason(self) -> str:
        """Return the reason why the device does not answer now, and mark the device as doubted; empty if it
        answers, or did so within the last second.
        """
        error = await self.reach.silence_error()
        if error is None:
            return ""
        self.mark_unreachable_suspected(error)
        return error.reason

    @asynccontextmanager
    async def require_reachable(self) -> AsyncIterator[None]:
        """Require, as a context, that the device is trusted or answers a probe; raises
        :class:`DeviceUnavailable` if not.

        A :class:`DeviceUnavailable` inside the context marks the device as doubted, except
        :class:`PartitionUnavailable`.
        """
        try:
            await self.reach.require_answer()
            yield
        except PartitionUnavailable:
            raise
        except DeviceUnavailable as error:
            self.mark_unreachable_suspected(error)
            raise

    def mark_unreachable_suspected(self, error: DeviceUnavailable) -> None:
        """Mark the device as doubted (unreachable), with ``error`` as the newest reason; logged when the
        device was trusted.
        """
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
        self, driver: str, ha_type: HaType, devices: Sequence[D], network_layout: NetworkLayout = ROUTED_NETWORK_LAYOUT
    ) -> None:
        self._absences: frozenset[AbsenceOnDevice] = frozenset()
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
        """Return the group's facts. Any agent of the group may take over, because the devices are reached
        over the network.
        """
        return self._facts

    async def check(self) -> tuple[DeviceState, ...]:
        """Read the current state of each device, in the group's order; errors are problems in the states and
        not raised.
        """
        return tuple(await asyncio.gather(*map(_state_with_last_own_name, self._devices)))

    async def probe_silent_devices(self) -> Mapping[str, str]:
        """Return ``{host: reason}`` of the devices that do not answer now, and mark these as doubted."""
        reasons = await asyncio.gather(*(device.silence_reason() for device in self._devices))
        return {device.host: reason for device, reason in zip(self._devices, reasons, strict=True) if reason}

    async def observe(self) -> Observation:
        """Read statuses and statistics of all reachable devices, and merge them; unreachable devices have a
        state with a problem.

        Objects that a device lacked at the previous observation too make their load balancers DEGRADED.
        Raises :class:`DeviceUnavailable` if no device was reached, :class:`DeviceRejected`.
        """
        done, lost = await run_on_all(self._devices, lambda device: device.observe())
        names = {device.host: device.own_name for device in self._devices}
        away = [
            DeviceState(name=host, reachable=False, problem=str(error), own_name=names[host])
            for host, error in lost.items()
        ]
        # A difference seen only once is most likely a write in progress.
        before, self._absences = self._absences, self._find_absences(done)
        return self._merge_readings(done, away, absent=self._absences, persistent_absences=before & self._absences)

    async def capacity(self, metrics: Collection[str]) -> Mapping[str, float]:
        """Return ``{metric: maximum over all devices that were reached}``, for those requested metrics that
        devices report. Raises :class:`DeviceUnavailable` if none was reached, :class:`DeviceRejected`.
        """
        done, _ = await run_on_all(self._devices, lambda device: device.capacity(metrics))
        return maximum_by_metric(done.values())

    async def retire(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> PartitionRetirement:
        """Remove nothing, and return all devices as holding the partition: most device types keep an empty
        partition with its guard.
        """
        return PartitionRetirement(left=self.facts.endpoints)

    async def tenants(self) -> frozenset[ProjectId]:
        """Return an empty set; drivers that can list the projects with objects on the devices override this."""
        return frozenset()

    async def enhanced_services(self) -> EnhancedServices | None:
        """Return None: most device types have no enhanced services."""
        return None

    async def close(self) -> None:
        """Close the connections to all devices."""
        await asyncio.gather(*(device.close() for device in self._devices))

    @abstractmethod
    def _find_absences(self, readings: Mapping[str, R]) -> frozenset[AbsenceOnDevice]:
        """Find what one device lacks, or holds differently, compared with the other devices. ``readings``: by
        host.
        """

    @abstractmethod
    def _merge_readings(
        self,
        readings: Mapping[str, R],
        unreachable: Sequence[DeviceState],
        *,
        absent: Collection[AbsenceOnDevice],
        persistent_absences: Collection[AbsenceOnDevice],
    ) -> Observation:
        """Merge the devices' readings, by host, into one observation.

        ``absent``: objects that a device lacks and others have; ``persistent_absences``: those of ``absent`` that were
        also found by the previous observation.
        """


async def run_on_all(
    devices: Sequence[D], work: Callable[[D], Coroutine[Any, Any, T]]
) -> tuple[dict[str, T], dict[str, DeviceUnavailable]]:
    """Run ``work`` on all devices. Returns results of reached devices and errors of the others, by host. A
    doubted device is cancelled if it does not answer its probe soon after the others have ended.

    Raises :class:`StaleOwner` if any device raised it, else :class:`OwnershipGuardLost` if any did, else any other
    failure unchanged, and :class:`DeviceUnavailable` if no device was reached.
    """
    # Taken before the tasks start, because a task may begin or end a doubt.
    doubted = [device for device in devices if device.reach.doubt is not None]
    tasks = {device: asyncio.create_task(device.run_while_responding(work(device))) for device in devices}
    try:
        await _wait_for_trusted_devices(tasks, doubted)
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


async def _state_with_last_own_name(device: GroupDevice[Any]) -> DeviceState:
    state = await _read_state(device)
    # A device out of reach keeps the name that it reported last.
    device.own_name = state.own_name or device.own_name
    return replace(state, own_name=device.own_name)


async def _read_state(device: GroupDevice[Any]) -> DeviceState:
    try:
        # under the liveness probe: a check of a silent device must not last as long as its request's time-out
        return await device.run_while_responding(device.check())
    except DeviceUnavailable as error:
        return DeviceState(name=device.host, reachable=False, problem=str(error))
    except Exception as error:  # one unexpected answer of a device must not end the agent
        log.exception("device not checked because of an unexpected error", device=device.host)
        return DeviceState(name=device.host, reachable=device.reach.doubt is None, problem=_unexpected_problem(error))


def _unexpected_problem(error: Exception) -> str:
    """Return the problem of a device whose check raised an error that no driver should raise."""
    return f"its check failed on an unexpected {type(error).__name__}: see the agent's log"


async def plan_on_each(
    devices: Sequence[D], work: Callable[[D], Coroutine[Any, Any, DevicePlan]]
) -> tuple[DevicePlan, ...]:
    """Plan on each device, and return the plans in the devices' order. A device that cannot be read, or
    refuses, gets a plan with the reason as its problem; other errors of ``work`` are raised.
    """

    async def plan_device(device: D) -> DevicePlan:
        try:
            return await device.run_while_responding(work(device))
        except (DeviceUnavailable, DeviceRejected) as error:
            return DevicePlan(device=device.host, problem=str(error))

    return tuple(await asyncio.gather(*(plan_device(device) for device in devices)))


def service_outcomes(
    services: Iterable[ServiceDefinition],
    refusals: Iterable[Mapping[LoadBalancerId, str]],
    problems: Mapping[LoadBalancerId, str] | None = None,
) -> Iterable[Applied]:
    """Yield the outcome of each service: its problem, else the reason of the first device that refused it,
    else success.

    ``refusals``: for each device, reasons by load balancer; ``problems``: of load balancers that were sent to
    no device.
    """
    errors: dict[LoadBalancerId, str] = {}
    for refusal in (problems or {}, *refusals):
        errors = {**refusal, **errors}
    return (service_outcome(service, errors.get(service.load_balancer_id, "")) for service in services)


def build_repairs(found: Mapping[str, Mapping[LoadBalancerId, Sequence[str]]]) -> Iterable[Repair]:
    """Yield one repair for each device and load balancer, at most :data:`REPAIRS_MAX`. ``found``: ``{device:
    {load balancer id: texts}}``.
    """
    every = ((device, *item) for device, texts_by_id in found.items() for item in texts_by_id.items())
    for device, load_balancer_id, texts in itertools.islice(every, REPAIRS_MAX):
        yield truncated_repair(load_balancer_id, device, texts)


def maximum_by_metric(readings: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the maximum of each metric over the readings: all devices hold the same objects and have the
    same limits, so the fullest device decides.
    """
    most: dict[str, float] = {}
    for reading in readings:
        for metric, value in reading.items():
            most[metric] = max(value, most.get(metric, value))
    return most


async def _wait_for_trusted_devices(tasks: Mapping[D, asyncio.Task[T]], doubted: Iterable[D]) -> None:
    """Wait until the tasks of all trusted devices have ended, then for each doubted device at most its
    ``patience_seconds``.

    The task of a doubted device that has responded again is waited for without limit; so are all tasks if no
    device is trusted.
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
    """Return the only error, or one error that names the devices and their reasons. ``lost``: errors by host."""
    if len(lost) == 1:
        return next(iter(lost.values()))
    if len({error.reason for error in lost.values()}) == 1:
        return DeviceUnavailable(", ".join(lost), next(iter(lost.values())).reason)
    first, *others = lost.values()
    return DeviceUnavailable(first.device, "; ".join((first.reason, *(str(error) for error in others))))


def error_precedence(failure: BaseException) -> tuple[int, int]:
    """Return a sort key: the failure with the greatest key is raised. :class:`StaleOwner` of the newest epoch
    comes before :class:`OwnershipGuardLost`, and that before all others.
    """
    if isinstance(failure, StaleOwner):
        return 2, failure.seen_epoch or 0
    return int(isinstance(failure, OwnershipGuardLost)), 0
