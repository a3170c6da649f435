"""The *floor*, the minimum epoch of new guards: a data group in /Common named after the newest guard that was removed.

Where a partition was removed, no guard refuses a former owner that was suspended and resumes. The floor does: an agent
that creates the first guard of a partition must have a newer epoch than the floor, or be the owner that the floor
names. The removal of a guard raises the floor, and the creation of a first guard refers to the floor that was read,
each in its transaction: so the device refuses a first guard that was decided before the floor was raised. As with
guards, a sentinel of fixed name is created with the first floor, so that only one agent can be the first.

One floor covers all partitions of the device group; an owner whose epoch is not above it requests a higher one. A name
with an epoch out of range (:mod:`evenkeel.core.control.epochs`) has no owner: the next raise removes it.
"""

import contextlib
from typing import Any

import structlog

from evenkeel.core.control.epochs import is_epoch_in_range
from evenkeel.core.kit.errors import StaleOwner
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.responses import ObjectExists
from evenkeel.devices.bigip.icontrol.transaction import Command
from evenkeel.devices.bigip.naming import COMMON, BigIpNames, Guard, uri_segment
from evenkeel.devices.bigip.objects import DATA_GROUP

log = structlog.get_logger(__name__)

MINIMUM_EPOCH_MARK_KIND = "floor"
NO_MINIMUM = Guard(epoch=0)
"""Minimum epoch before any guard was removed: every owner is above it."""


class MinimumEpoch:
    """The floor (minimum epoch of new guards) of one device, as last read."""

    def __init__(self, device: IControl, names: BigIpNames) -> None:
        self._device = device
        self._names = names
        self._found: tuple[Guard, ...] | None = None
        self._sentinel = False

    def forget(self) -> None:
        """Drop the cached minimum epoch, because it may have changed on the device."""
        self._found = None

    async def prepare(self) -> None:
        """Create the floor's data group before it is needed, if there is none.

        Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        if await self._read_guards():
            return
        self._found = None
        for name in (self._names.minimum_epoch_sentinel, self._names.minimum_epoch_guard_name(NO_MINIMUM)):
            command = self._create_data_group_command(name)
            # Another agent may create the same objects at the same time.
            with contextlib.suppress(ObjectExists):
                await self._device.write(command.method, command.path, command.body)
        await self._read_guards()

    async def first_guard_check_commands(self, partition: str, mine: Guard) -> list[Command]:
        """Return commands for the transaction with a partition's first guard, which make the transaction fail
        if the minimum epoch is raised meanwhile.

        Raises :class:`StaleOwner` if ``mine`` is neither above the minimum epoch nor the guard that it names,
        and :class:`DeviceUnavailable`.
        """
        found = await self._read_guards()
        newest = _newest_guard(found)
        if newest != NO_MINIMUM and mine.epoch <= newest.epoch and mine != newest:
            self._found = None  # it is read again before the next attempt
            raise StaleOwner(partition, newest.epoch)
        return self._keep_newest_commands(found)

    async def raise_commands(self, mine: Guard) -> list[Command]:
        """Return commands that raise the minimum epoch to that of ``mine``, for the transaction that removes
        this guard.

        If the minimum epoch is as high already, the commands do not raise it, but make the transaction fail
        if the minimum epoch is changed meanwhile. Raises :class:`DeviceUnavailable`.
        """
        found = await self._read_guards()
        newest = _newest_guard(found)
        if mine.epoch <= newest.epoch:
            return self._keep_newest_commands(found)
        # Whether the transaction is committed is not known here, so the floor is read again.
        self._found = None
        first = [] if self._sentinel else [self._create_data_group_command(self._names.minimum_epoch_sentinel)]
        return [
            *first,
            *(self._delete_guard_command(old) for old in found),
            self._create_data_group_command(self._names.minimum_epoch_guard_name(mine)),
        ]

    def _keep_newest_commands(self, found: tuple[Guard, ...]) -> list[Command]:
        newest = _newest_guard(found)
        if newest in found:
            return [self._touch_guard_command(newest)]
        self._found = None  # read again: it exists after this
        lone = [] if self._sentinel else [self._create_data_group_command(self._names.minimum_epoch_sentinel)]
        return [*lone, self._create_data_group_command(self._names.minimum_epoch_guard_name(newest))]

    async def _read_guards(self) -> tuple[Guard, ...]:
        if self._found is None:
            items = await self._device.collection(DATA_GROUP, partition=COMMON)
            ours = (item for item in items if not item.get("subPath") and self._names.own_mark(item.get("description")))
            names = [str(item.get("name")) for item in ours]
            self._sentinel = self._names.minimum_epoch_sentinel in names
            self._found = tuple(
                guard for name in names if (guard := self._names.parse_minimum_epoch_guard_name(name)) is not None
            )
            if impossible := [guard.name for guard in self._found if not is_epoch_in_range(guard.epoch)]:
                log.error("floor with an impossible epoch; ignoring it", device=self._device.host, guards=impossible)
        return self._found

    def _touch_guard_command(self, guard: Guard) -> Command:
        return Command(
            method="PATCH",
            path=self._guard_path(guard),
            body={"description": self._names.marked_description(MINIMUM_EPOCH_MARK_KIND)},
        )

    def _delete_guard_command(self, guard: Guard) -> Command:
        return Command(method="DELETE", path=self._guard_path(guard))

    def _create_data_group_command(self, name: str) -> Command:
        body: dict[str, Any] = {
            "name": name,
            "partition": COMMON,
            "type": "string",
            "description": self._names.marked_description(MINIMUM_EPOCH_MARK_KIND),
        }
        return Command(method="POST", path=f"/mgmt/tm/{DATA_GROUP}", body=body)

    def _guard_path(self, guard: Guard) -> str:
        return f"/mgmt/tm/{DATA_GROUP}/{uri_segment(COMMON, self._names.minimum_epoch_guard_name(guard))}"


def _newest_guard(found: tuple[Guard, ...]) -> Guard:
    return max(
        (guard for guard in found if is_epoch_in_range(guard.epoch)), key=lambda guard: guard.epoch, default=NO_MINIMUM
    )
