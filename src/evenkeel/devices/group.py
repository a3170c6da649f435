"""One piece of work on all devices of a group at once: what every driver of several devices does alike.

Devices that are out of reach hold up nobody: see :mod:`evenkeel.devices.reach`.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from evenkeel.core.errors import DeviceUnavailable, GuardLost, StaleOwner
from evenkeel.devices.reach import Reach
from evenkeel.devices.waiting import ended

T = TypeVar("T")


class GroupDevice(Protocol):
    """One device of a group."""

    @property
    def host(self) -> str:
        """Its name in the group."""
        ...

    @property
    def reach(self) -> Reach:
        """Whether it can be reached."""
        ...

    async def watched(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work`` on this device, given up if the device is found dead meanwhile."""
        ...


D = TypeVar("D", bound=GroupDevice)


async def on_all(
    devices: Sequence[D], work: Callable[[D], Coroutine[Any, Any, T]]
) -> tuple[dict[str, T], dict[str, DeviceUnavailable]]:
    """Results of the devices that were reached, errors of those that were not, by host.

    Raises :class:`StaleOwner` if any device says so, else :class:`GuardLost` if any does, any other failure as it
    is, and :class:`DeviceUnavailable` if no device was reached.
    """
    doubted = [device for device in devices if device.reach.doubt is not None]
    tasks = {device: asyncio.create_task(device.watched(work(device))) for device in devices}
    try:
        await _enough(tasks, doubted)
    finally:
        await ended(*tasks.values())
    done: dict[str, T] = {}
    lost: dict[str, DeviceUnavailable] = {}
    failures: list[BaseException] = []
    for device, task in tasks.items():
        error = _given_up(device) if task.cancelled() else task.exception()
        if isinstance(error, DeviceUnavailable):
            lost[device.host] = error
        elif error is not None:
            failures.append(error)
        else:
            done[device.host] = task.result()
    if failures:
        raise max(failures, key=_weight)
    if not done:
        raise _all_lost(lost)
    return done, lost


def fullest(readings: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Of a group: every device holds the same objects and has the same limits, so the fullest one decides."""
    most: dict[str, float] = {}
    for reading in readings:
        for metric, value in reading.items():
            most[metric] = max(value, most.get(metric, value))
    return most


async def _enough(tasks: Mapping[D, asyncio.Task[T]], doubted: Iterable[D]) -> None:
    """Wait for all devices, but for those that were out of reach lately only if they are back."""
    trusted = [task for device, task in tasks.items() if device not in doubted]
    if trusted:
        await asyncio.wait(trusted)
        for device in doubted:
            await asyncio.wait({tasks[device]}, timeout=device.reach.patience_seconds)
    left = [task for device, task in tasks.items() if not trusted or device.reach.doubt is None]
    if left:
        await asyncio.wait(left)


def _given_up(device: GroupDevice) -> DeviceUnavailable:
    return device.reach.doubt or DeviceUnavailable(device.host, "no answer")


def _all_lost(lost: Mapping[str, DeviceUnavailable]) -> DeviceUnavailable:
    """One error that names every device."""
    if len(lost) == 1:
        return next(iter(lost.values()))
    if len({error.reason for error in lost.values()}) == 1:
        return DeviceUnavailable(", ".join(lost), next(iter(lost.values())).reason)
    first, *others = lost.values()
    return DeviceUnavailable(first.device, "; ".join((first.reason, *(str(error) for error in others))))


def _weight(failure: BaseException) -> tuple[int, int]:
    """Somebody newer outweighs everything, the newest most; then a device that has to be taken over again."""
    if isinstance(failure, StaleOwner):
        return 2, failure.seen_epoch or 0
    return int(isinstance(failure, GuardLost)), 0
