"""The data plane of one device: which virtual servers listen, depending on configuration and role.

Only the active device listens. A listener is replaced only when its own destination changes; all other changes apply to
the next connection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import structlog

from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.names import is_address, split_endpoint, split_path, strip_domain
from icontrol_emulator.config.rules.virtual import ADDRESS
from icontrol_emulator.config.store import ChangeSet
from icontrol_emulator.dataplane.balance import Balancer
from icontrol_emulator.dataplane.counters import CounterBook
from icontrol_emulator.dataplane.listener import Carrier, Listener
from icontrol_emulator.dataplane.persist import PersistenceTable
from icontrol_emulator.dataplane.probes import ProbeBoard
from icontrol_emulator.dataplane.sockets import Address, SocketPool
from icontrol_emulator.dataplane.status import MemberStatus
from icontrol_emulator.device import Device

log = structlog.get_logger(__name__)

VIRTUAL = "ltm/virtual"
HOST_MASKS = ("255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")


class DataPlane:
    def __init__(
        self, name: str, *, carry: bool, board: ProbeBoard | None, sockets: SocketPool, monitor_scale: float,
        clock: Callable[[], float],
    ) -> None:  # fmt: skip
        self.name = name
        self.sockets = sockets
        self.status = MemberStatus(board, monitor_scale)
        self.counters = CounterBook()
        self._board = board
        self._carry = carry
        self._clock = clock
        self._active = False
        self._listeners: dict[Key, Listener] = {}
        self._failed: dict[Key, str] = {}

    @classmethod
    def family(
        cls, names: Sequence[str], *, carry: bool, monitor_scale: float, clock: Callable[[], float]
    ) -> dict[str, DataPlane]:
        """One data plane per device; probes and listening sockets are shared."""
        board = ProbeBoard(clock) if carry else None
        sockets = SocketPool()
        return {
            name: cls(name, carry=carry, board=board, sockets=sockets, monitor_scale=monitor_scale, clock=clock)
            for name in names
        }

    def attach(self, device: Device) -> None:
        self._device = device
        self.status.attach(device.engine)
        self.balancer = Balancer(device.engine, self.status, self.counters)
        self._carrier = Carrier(device.engine, self.balancer, self.counters, PersistenceTable(self._clock))
        device.changed_listeners.append(self._configuration_changed)

    def start(self) -> None:
        """Nothing to start: listeners start with the active role, probes with the configuration."""

    async def stop(self) -> None:
        self.set_active(False)
        self.sockets.close_unclaimed()
        await self._carrier.stop()
        if self._board is not None:
            await self._board.stop()

    def set_active(self, active: bool) -> None:
        """Take or release the listening sockets; the caller closes those that remain unclaimed."""
        self._active = active and self._carry
        for obj in self._device.engine.store.top(VIRTUAL):
            self._reconcile(obj.key)

    def drop_connections(self) -> None:
        self._carrier.drop_connections()

    def failure(self, virtual: Obj) -> str:
        """Why a virtual server that should listen does not."""
        return self._failed.get(virtual.key, "")

    # -- following the configuration

    def _configuration_changed(self, changes: ChangeSet) -> None:
        if not self._carry:
            return
        self.status.follow(changes)
        keys = dict.fromkeys(each for key in changes.before for each in self._virtuals(key))
        for key in keys:
            if self._leaves(key):
                self._drop(key)
        for key in keys:
            self._reconcile(key)
        if self._active:
            self.sockets.close_unclaimed()

    def _virtuals(self, key: Key) -> list[Key]:
        if key.type == VIRTUAL:
            return [key]
        if key.type == ADDRESS:
            users = self._device.engine.store.users(Target(ADDRESS, key.path))
            return [user for user in users if user.type == VIRTUAL]
        return []

    def _leaves(self, key: Key) -> bool:
        listener = self._listeners.get(key)
        return listener is not None and listener.address != self._wanted(key)

    def _drop(self, key: Key) -> None:
        listener = self._listeners.pop(key, None)
        if listener is not None:
            listener.detach()
            self.sockets.release(listener.address, self._owner(key))

    def _owner(self, key: Key) -> object:
        return self.name, key

    def _reconcile(self, key: Key) -> None:
        wanted = self._wanted(key)
        current = self._listeners.get(key)
        if current is not None and current.address == wanted:
            return
        self._drop(key)
        self._failed.pop(key, None)
        if wanted is None:
            return
        try:
            sock = self.sockets.claim(wanted, self._owner(key))
        except OSError as error:
            self._failed[key] = str(error)
            log.warning("cannot listen", device=self.name, virtual=key.path, address=wanted.host, port=wanted.port,
                        error=str(error))  # fmt: skip
            return
        self._listeners[key] = Listener(sock, wanted, partial(self._carrier.serve, key))

    def _wanted(self, key: Key) -> Address | None:
        """Where a virtual server should listen now; None if nowhere."""
        virtual = self._device.engine.store.get(key) if self._active else None
        if virtual is None or virtual.props.get("disabled") or virtual.props.get("mask") not in HOST_MASKS:
            return None
        if virtual.props.get("ipProtocol", "any") not in ("tcp", "any"):
            return None
        parts = split_path(str(virtual.props.get("destination", "")))
        endpoint = split_endpoint(parts.name)
        if endpoint is None or endpoint.port == 0:
            return None
        address = self._device.engine.store.get(Key(ADDRESS, "", f"{parts.folder}/{endpoint.host}"))
        if address is None or self._device.engine.props(address).get("enabled") == "no":
            return None
        host = strip_domain(str(address.props.get("address", endpoint.host)))
        return Address(host, endpoint.port) if is_address(host) else None
