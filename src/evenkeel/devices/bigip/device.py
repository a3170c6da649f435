"""One BIG-IP of a device group: what is remembered of its partitions, and whether it can be reached."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from evenkeel.core.device import PartitionBatch
from evenkeel.core.errors import DeviceRejected, DeviceUnavailable
from evenkeel.devices.bigip import guard
from evenkeel.devices.bigip.icontrol import IControl
from evenkeel.devices.bigip.naming import Names
from evenkeel.devices.bigip.objects import Rendered
from evenkeel.devices.bigip.options import BigIpOptions
from evenkeel.devices.bigip.partition import PartitionPass, PassOutcome, View

log = structlog.get_logger(__name__)

PROBE = "/mgmt/tm/cm/device"
PROBE_SECONDS = 3.0
LAST_SAVE_SECONDS = 3.0


class BigIpDevice:
    """One device. Passes over different partitions may run at once, over one partition they wait for each other."""

    def __init__(self, host: str, options: BigIpOptions, names: Names) -> None:
        self.host = host
        self.icontrol = IControl(host, options)
        self._options = options
        self._names = names
        self._views: dict[str, View] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._pending: dict[str, set[str]] = {}
        self._suspect = False
        self._saving: asyncio.Task[None] | None = None

    async def take_over(self, project_id: str, epoch: int) -> None:
        """Move this device's guard. Raises as :meth:`evenkeel.core.ports.Device.take_over`."""
        async with self._alone(project_id) as partition:
            await self._guarded(partition, epoch)

    async def apply(self, batch: PartitionBatch, rendered: tuple[Rendered, ...]) -> PassOutcome:
        """Make this device's partition so. Raises :class:`StaleOwner`, :class:`DeviceUnavailable`."""
        async with self._alone(batch.project_id) as partition:
            outcome = await PartitionPass(
                self.icontrol,
                self._options,
                self._names,
                batch,
                rendered,
                view=await self._guarded(partition, batch.epoch),
                pending=self._pending_of(partition),
            ).run()
        if outcome.writes:
            self._save_soon()
        return outcome

    def forget(self, project_id: str) -> None:
        """Remember nothing of the partition."""
        self._views.pop(self._names.partition(project_id), None)

    async def probe(self) -> None:
        """Ask a device that was silent something small before it is trusted with a long wait again.

        Raises :class:`DeviceUnavailable`.
        """
        if self._suspect:
            timeout_seconds = min(PROBE_SECONDS, self._options.connect_timeout_seconds)
            await self.icontrol.send("GET", PROBE, timeout_seconds=timeout_seconds)
            self._suspect = False

    def lost(self, error: DeviceUnavailable) -> None:
        """It was out of reach: whatever is remembered may have changed."""
        self._views.clear()
        self._suspect = True
        log.warning("device out of reach", device=self.host, reason=str(error))

    async def close(self) -> None:
        """Save what is not yet saved, and disconnect."""
        if self._saving is not None and not self._saving.done():
            self._saving.cancel()
            with contextlib.suppress(DeviceUnavailable, DeviceRejected, TimeoutError):
                async with asyncio.timeout(LAST_SAVE_SECONDS):
                    await self._save()
        await self.icontrol.close()

    # -- how

    @asynccontextmanager
    async def _alone(self, project_id: str) -> AsyncIterator[str]:
        """The partition, for one pass. Whatever ends the pass early, what was remembered is in doubt."""
        partition = self._names.partition(project_id)
        async with self._locks.setdefault(partition, asyncio.Lock()):
            try:
                await self.probe()
                yield partition
            except DeviceUnavailable as error:
                self.lost(error)
                raise
            except BaseException:
                self._views.pop(partition, None)
                raise

    async def _guarded(self, partition: str, epoch: int) -> View:
        """What is known of the partition at this epoch, with the guard moved if need be."""
        view = self._views.get(partition)
        if view is not None and view.epoch == epoch:
            return view
        new = await guard.take_over(
            self.icontrol,
            partition,
            epoch,
            self._names,
            owner=self._options.agent_host,
            pending=self._pending_of(partition),
            timeout_seconds=self._options.commit_timeout_seconds,
        )
        self._views[partition] = view = View(epoch, new=new)
        return view

    def _pending_of(self, partition: str) -> set[str]:
        return self._pending.setdefault(partition, set())

    # -- saving: the running configuration does not survive a reboot

    def _save_soon(self) -> None:
        if self._options.save_delay_seconds and (self._saving is None or self._saving.done()):
            self._saving = asyncio.create_task(self._save_later())

    async def _save_later(self) -> None:
        while True:
            await asyncio.sleep(self._options.save_delay_seconds)
            try:
                await self._save()
                return
            except (DeviceUnavailable, DeviceRejected) as error:
                log.warning("configuration not saved; trying again", device=self.host, reason=str(error))

    async def _save(self) -> None:
        await self.icontrol.write(
            "POST",
            "/mgmt/tm/sys/config",
            {"command": "save"},
            timeout_seconds=self._options.commit_timeout_seconds,
        )
        log.info("configuration saved", device=self.host)
