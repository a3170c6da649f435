"""The composition root: devices, their servers, the data plane and the control API in one process."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import structlog

from icontrol_emulator import tls, vcmp
from icontrol_emulator.cluster import DEVICES_MAX, Cluster
from icontrol_emulator.config.builtins import GUEST_PLATFORM, HOST_PLATFORM, Platform
from icontrol_emulator.config.releases import USUAL, release_of
from icontrol_emulator.config.types import load_registry
from icontrol_emulator.control import ControlServer
from icontrol_emulator.dataplane.plane import DataPlane
from icontrol_emulator.device import OFFLINE, SNAPSHOTS_MAX, Device, DeviceSpec
from icontrol_emulator.faults import Fault, FaultBook
from icontrol_emulator.latency import latency_named
from icontrol_emulator.rest.dispatch import Dispatcher
from icontrol_emulator.rest.extensions import MakesExtension
from icontrol_emulator.server import DeviceServer
from icontrol_emulator.stats.documents import StatsDocuments
from icontrol_emulator.wiring.cables import Cable
from icontrol_emulator.wiring.wires import Wires
from icontrol_emulator.writelog import RequestCounts, WriteLog

RESTARTS = {"mcpd": ("mcpd_lost",), "restjavad": ("restarting", "unregistered")}
"""Daemon: the faults that its restart consists of, one after the other."""

log = structlog.get_logger(__name__)


class Emulator:
    """One or more devices. Use `async with`, or `start` and `stop`.

    The networks of a device with `cables` (by its name, then by those of its interfaces) are those of its objects; the
    data plane of one without uses those of this host. `version`: the release of TMOS that the devices have.
    `extensions`: functions that make the iControl LX extensions that are installed on all devices.
    """

    def __init__(
        self,
        devices: Sequence[str | DeviceSpec] = ("bigip-1",),
        *,
        users: Mapping[str, str] | None = None,
        ha: str = "standalone",
        latency: str = "none",
        data_plane: bool = True,
        state_dir: Path | str | None = None,
        control: tuple[str, int] = ("127.0.0.1", 0),
        tls_files: tls.TlsFiles | None = None,
        open_transactions_max: int = 50,
        monitor_scale: float = 1.0,
        version: str = USUAL.version,
        vcmp_host: str = "",
        cables: Mapping[str, Mapping[str, Cable]] = MappingProxyType({}),
        extensions: Sequence[MakesExtension] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._specs = [DeviceSpec(each) if isinstance(each, str) else each for each in devices]
        names = [spec.name for spec in self._specs]
        if len(set(names)) != len(names) or not names:
            raise ValueError("device names must be given and differ")
        if vcmp_host and (vcmp_host not in names or len(names) < 2):
            raise ValueError("vcmp_host is one of several devices; the others are its guests")
        self._vcmp_host = vcmp_host
        counts = {"standalone": range(1, 1000), "pair": range(2, 3), "cluster": range(2, DEVICES_MAX + 1)}
        if len(names) - bool(vcmp_host) not in counts.get(ha, ()):
            raise ValueError(f"ha is standalone, pair with two devices, or cluster with 2 to {DEVICES_MAX}")
        self._temporary = state_dir is None
        self._state_dir = Path(state_dir or tempfile.mkdtemp(prefix="icontrol-emulator-"))
        self._control_address = control
        self._tls_files = tls_files
        self._tasks: set[asyncio.Task[None]] = set()
        self._planes: dict[str, DataPlane] = {}
        self._cables = cables
        self.faults = FaultBook()
        self.write_log = WriteLog(clock)
        self._counts = RequestCounts(names)
        self._release = release_of(version)
        self._extensions = [make() for make in extensions]
        self._build(names, users or {"admin": "admin"}, ha, latency, data_plane, open_transactions_max,
                    monitor_scale, clock)  # fmt: skip

    def _build(
        self, names: list[str], users: Mapping[str, str], ha: str, latency: str, data_plane: bool,
        open_transactions_max: int, monitor_scale: float, clock: Callable[[], float],
    ) -> None:  # fmt: skip
        registry = load_registry(self._release)
        built = []
        # devices at addresses of their own are found there by their peers
        hosts = {spec.name: spec.host for spec in self._specs}
        addresses = hosts if len(set(hosts.values())) == len(hosts) > 1 else {}
        wires = {name: Wires(each) for name, each in self._cables.items()}
        planes = DataPlane.family(names, carry=data_plane, monitor_scale=monitor_scale, clock=clock, wires=wires)
        host = self._vcmp_host
        for name in names:
            peers = [other for other in names if other not in (name, host)] if ha != "standalone" else []
            device = Device(
                name, registry, clock, planes[name].status, peers if name != host else [], users,
                open_transactions_max, self._serial, addresses, self._platform(name, names),
            )  # fmt: skip
            planes[name].attach(device)
            built.append(device)
        self._planes = planes
        self.cluster = Cluster(built, clustered=ha != "standalone", apart=host)
        if host:
            guests = [device for device in built if device.name != host]
            self._vcmp = vcmp.Host(next(device for device in built if device.name == host), guests)
        self.cluster.roles_changed = self._roles_changed
        self.devices = self.cluster.devices
        stats = StatsDocuments(planes)
        dispatcher = Dispatcher(self.cluster, stats.document, self._extensions)
        self._servers = {
            device.name: DeviceServer(device, dispatcher, self.faults, self.write_log, self._counts,
                                      latency_named(latency))
            for device in built
        }  # fmt: skip
        self._control = ControlServer(self)

    def _platform(self, name: str, names: list[str]) -> Platform:
        numbers = {each: number for number, each in enumerate(sorted(names))}
        if not self._vcmp_host:
            return Platform(numbers[name], numbers=numbers)
        if name != self._vcmp_host:
            return Platform(numbers[name], *GUEST_PLATFORM, numbers=numbers)
        guests = tuple(each for each in names if each != name)
        return Platform(numbers[name], *HOST_PLATFORM, guests=guests, numbers=numbers)

    # -- start and stop

    async def start(self) -> None:
        self._state_dir.mkdir(parents=True, exist_ok=True)
        names = [name for spec in self._specs for name in (spec.name, spec.host)]
        files = self._tls_files or tls.make_files(self._state_dir, names)
        self.ca_file = files.ca
        context = tls.server_context(files)
        for spec in self._specs:
            await self._servers[spec.name].start(spec.host, spec.port, context)
        await self._control.start(*self._control_address)
        for plane in self._planes.values():
            plane.start()
        self._roles_changed()

    async def stop(self) -> None:
        self.faults.clear()
        for task in self._tasks:
            task.cancel()
        for task in list(self._tasks):
            with contextlib.suppress(asyncio.CancelledError):
                await task
        for plane in self._planes.values():
            await plane.stop()
        await self._control.stop()
        for server in self._servers.values():
            await server.stop()
        if self._temporary:
            await asyncio.to_thread(shutil.rmtree, self._state_dir, ignore_errors=True)

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    # -- observation

    @property
    def control_url(self) -> str:
        return self._control.url

    @property
    def request_counts(self) -> dict[str, dict[str, int]]:
        return self._counts.counts

    def reset_counts(self) -> None:
        self._counts.reset()

    def endpoints(self) -> dict[str, Any]:
        """The content of `endpoints.json`."""
        return {
            "devices": [{"name": device.name, "url": device.url} for device in self.devices.values()],
            "ca_file": str(self.ca_file),
            "control_url": self.control_url,
        }

    def status(self) -> dict[str, Any]:
        first = next(iter(self.devices))
        shown = [
            {
                "name": device.name, "url": device.url, "failover_state": device.failover_state,
                "reachable": device.reachable, "generation": device.engine.store.generation,
                "objects": len(device.engine.store), "open_transactions": len(device.transactions),
                "tokens": len(device.tokens),
            }
            for device in self.devices.values()
        ]  # fmt: skip
        return {"devices": shown, "sync_status": self.cluster.sync_of(first).state(first).status}

    # -- control

    async def failover(self, device: str) -> None:
        """Make the device standby and a peer active; returns when the peer serves the traffic."""
        self.cluster.stand_by(device)

    async def reboot(self, device: str, *, seconds: float = 5.0, lose_unsaved: bool = True) -> None:
        """Take the device offline for a while; its peer becomes active at once."""
        if not self.devices[device].reachable:
            raise ValueError(f"{device} is already rebooting")
        task = asyncio.create_task(self._reboot(device, seconds, lose_unsaved))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.sleep(0)

    async def _reboot(self, name: str, seconds: float, lose_unsaved: bool) -> None:
        await self.power_off(name)
        await asyncio.sleep(seconds)
        await self.power_on(name, lose_unsaved=lose_unsaved)

    async def power_off(self, name: str) -> None:
        """Switch a device off: a peer becomes active, and it does not answer until it is switched on."""
        device = self.devices[name]
        device.reachable = False
        self.cluster.stand_by(name, OFFLINE)
        self._planes[name].drop_connections()
        await self._servers[name].down()
        device.forget_sessions()

    async def power_on(self, name: str, *, lose_unsaved: bool = True) -> None:
        """Switch a device on again, with the configuration that it saved last."""
        device = self.devices[name]
        if lose_unsaved:
            device.boot()
        device.reachable = True
        await self._servers[name].up()
        self.cluster.sync_of(name).came_back(name)
        self.cluster.come_back(name)

    async def restart(self, device: str, daemon: str, *, seconds: float = 5.0) -> None:
        """Restart `mcpd` or `restjavad` of a device; it answers errors for that time, and forgets its sessions."""
        if daemon not in RESTARTS:
            raise ValueError(f"daemon is one of {', '.join(RESTARTS)}")
        target = self.devices[device]
        target.transactions.forget_everything()
        if daemon == "restjavad":
            target.tokens.forget_everything()
        kinds = RESTARTS[daemon]
        numbers = [self.faults.add(Fault(kind=kinds[0], device=device))]
        task = asyncio.create_task(self._finish_restart(device, kinds[1:], numbers, seconds / len(kinds)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _finish_restart(self, device: str, later: Sequence[str], numbers: list[int], seconds: float) -> None:
        try:
            for kind in later:
                await asyncio.sleep(seconds)
                numbers.append(self.faults.add(Fault(kind=kind, device=device)))
                self.faults.remove(numbers[-2])
            await asyncio.sleep(seconds)
        finally:
            self.faults.remove(numbers[-1])

    def fill_disk(self, device: str, *, full: bool) -> None:
        """While the disk is full, nothing can be saved."""
        self.devices[device].disk_is_full = full

    def set_member_state(self, device: str, pool: str, member: str, state: str | None) -> None:
        """Override the monitors' result; None removes the override."""
        if state not in ("up", "down", None):
            raise ValueError("state is up, down or null")
        self.devices[device]
        self._planes[device].status.override(pool, member, state)

    def snapshot(self, device: str, name: str) -> None:
        target = self.devices[device]
        if len(target.snapshots) >= SNAPSHOTS_MAX:
            raise ValueError("too many snapshots")
        target.snapshots[name] = target.engine.store.snapshot()

    def restore(self, device: str, name: str) -> None:
        target = self.devices[device]
        target.replace(target.snapshots[name])

    def wipe(self, device: str) -> None:
        """Reset to factory defaults, as after a replacement of the device."""
        target = self.devices[device]
        target.forget_sessions()
        target.uploads.clear()
        target.replace(target.factory)

    def _serial(self, device: str) -> str:
        """A serial number that is unique across devices and emulators; stored in the state directory."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self._state_dir}/{device}"))

    def _roles_changed(self) -> None:
        """Pass the listening sockets from the previously active devices to the new ones."""
        log.info("roles", **{name: device.failover_state for name, device in self.devices.items()})
        for name, plane in self._planes.items():
            plane.give_up(self.devices[name].active_for)
        for name, plane in self._planes.items():
            plane.set_active(self.devices[name].active_for)
        for plane in self._planes.values():
            plane.sockets.close_unclaimed()
