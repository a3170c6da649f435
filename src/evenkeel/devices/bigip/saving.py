"""Saves the running configuration of one device: several changes by one save, at most one save per
``interval_seconds``.

A reboot loses unsaved changes. A failed save is repeated after the same interval, and is reported as a
problem of the device until a save succeeds.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.waiting import cancel_and_wait

log = structlog.get_logger(__name__)

SAVE_PATH = "/mgmt/tm/sys/config"
CLOSING_SAVE_SECONDS = 3.0


class ConfigSaver:
    """Saves a device's running configuration at intervals.

    ``interval_seconds`` 0: never saves. ``on_saved``: called after each save; its device errors are ignored.
    """

    def __init__(
        self,
        device: IControl,
        *,
        interval_seconds: float,
        timeout_seconds: float,
        on_saved: Callable[[], Awaitable[object]],
    ) -> None:
        self._device = device
        self._interval_seconds = interval_seconds
        self._timeout_seconds = timeout_seconds
        self._on_saved = on_saved
        self._dirty = False
        self._task: asyncio.Task[None] | None = None
        self.problem = ""
        """Reason, for operators, why the last save failed; empty: it succeeded, or there was none."""

    def record_change(self) -> None:
        """Record that the running configuration changed; it is saved within one interval, or never if the
        interval is 0.
        """
        if not self._interval_seconds:
            return
        self._dirty = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._save_pending_changes())

    async def close(self) -> None:
        """Save unsaved changes, with one attempt of at most ``CLOSING_SAVE_SECONDS``, and stop. A failure is
        only logged.
        """
        if self._task is not None:
            # A task that is cancelled during a save leaves the change unsaved, and it is saved below.
            await cancel_and_wait(self._task)
        if not self._dirty:
            return
        try:
            async with asyncio.timeout(CLOSING_SAVE_SECONDS):
                await self._save_config()
        except (DeviceUnavailable, DeviceRejected, TimeoutError) as error:
            log.warning("configuration not saved at the end", device=self._device.host, reason=str(error))

    async def _save_pending_changes(self) -> None:
        # A change made during a save keeps the loop going.
        while self._dirty:
            await asyncio.sleep(self._interval_seconds)
            try:
                await self._save_config()
            except (DeviceUnavailable, DeviceRejected) as error:
                self.problem = f"running configuration not saved, a reboot would lose changes: {error.reason}"
                log.warning("configuration not saved; trying again", device=self._device.host, reason=str(error))

    async def _save_config(self) -> None:
        self._dirty = False  # a change made meanwhile may be missing in what is saved
        try:
            await self._device.write("POST", SAVE_PATH, {"command": "save"}, timeout_seconds=self._timeout_seconds)
        # A save that is cancelled, too, leaves the change unsaved.
        except BaseException:
            self._dirty = True
            raise
        self.problem = ""
        log.info("configuration saved", device=self._device.host)
        try:
            await self._on_saved()
        except (DeviceUnavailable, DeviceRejected) as error:
            log.info("save not counted", device=self._device.host, reason=str(error))
