"""The data plane of one device: which virtual servers listen, depending on configuration and role.

A virtual server listens on the device that is active for the traffic group of its virtual address. A listener is
replaced only when its own destination changes; all other changes apply to the next connection.
"""

from __future__ import annotations

import errno
import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import structlog

from icontrol_emulator.config.builtins import LOCAL_ONLY
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.names import is_address, split_endpoint, split_path, strip_domain
from icontrol_emulator.config.rules.partition import FOLDER
from icontrol_emulator.config.rules.virtual import ADDRESS, destination, traffic_group_of
from icontrol_emulator.config.store import ChangeSet
from icontrol_emulator.dataplane.balance import Balancer
from icontrol_emulator.dataplane.counters import CounterBook
from icontrol_emulator.dataplane.datagrams import DatagramListener, Flows
from icontrol_emulator.dataplane.limits import RateLimits
from icontrol_emulator.dataplane.listener import Carrier, Listener
from icontrol_emulator.dataplane.networks import ONE_NETWORK, Networks
from icontrol_emulator.dataplane.persist import PersistenceTable
from icontrol_emulator.dataplane.probes import ProbeBoard
from icontrol_emulator.dataplane.script_counters import ScriptCounters
from icontrol_emulator.dataplane.sockets import SCTP, TCP, UDP, Address, SocketPool
from icontrol_emulator.dataplane.status import MemberStatus
from icontrol_emulator.device import Device
from icontrol_emulator.wiring.wires import Wires

log = structlog.get_logger(__name__)

VIRTUAL = "ltm/virtual"
HOST_MASKS = ("255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")

PROTOCOLS = {"tcp": (TCP,), "udp": (UDP,), "sctp": (SCTP,), "any": (TCP, UDP)}
"""`ipProtocol` of a virtual server -> what it receives here."""


@dataclass(slots=True)
class _Place:
    """A socket, and the virtual servers that receive on it: they differ in the clients that they are for."""

    listener: Listener | DatagramListener
    keys: list[Key]


class DataPlane:
    def __init__(
        self, name: str, *, carry: bool, board: ProbeBoard | None, sockets: SocketPool, monitor_scale: float,
        clock: Callable[[], float], wires: Wires | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.sockets = sockets
        self.status = MemberStatus(board, monitor_scale)
        self.counters = CounterBook()
        self.script_counters = ScriptCounters()
        self._board = board
        self._carry = carry
        self._clock = clock
        self._wires = wires
        self._networks: Networks = wires or ONE_NETWORK
        self._active: frozenset[str] = frozenset()
        """Traffic groups that this device is active for."""
        self._places: dict[Address, _Place] = {}
        self._served: dict[Key, list[Address]] = {}
        self._flows = Flows()
        self._failed: dict[Key, str] = {}

    @classmethod
    def family(
        cls, names: Sequence[str], *, carry: bool, monitor_scale: float, clock: Callable[[], float],
        wires: Mapping[str, Wires] = MappingProxyType({}),
    ) -> dict[str, DataPlane]:  # fmt: skip
        """One data plane per device; probes and listening sockets are shared."""
        board = ProbeBoard(clock) if carry else None
        sockets = SocketPool()
        return {
            name: cls(
                name,
                carry=carry,
                board=board,
                sockets=sockets,
                monitor_scale=monitor_scale,
                clock=clock,
                wires=wires.get(name),
            )
            for name in names
        }

    def attach(self, device: Device) -> None:
        self._device = device
        if self._wires is not None:
            self._wires.attach(device.engine)
        self.status.attach(device.engine, self._networks)
        rates = RateLimits(self._clock)
        self.records = PersistenceTable(self._clock)
        self.balancer = Balancer(device.engine, self.status, self.counters, rates)
        self._carrier = Carrier(device.engine, self.balancer, self.counters, self.records, rates, self.script_counters,
                                self._networks)  # fmt: skip
        self.status.on_down = self._carrier.siblings.went_down
        device.changed_listeners.append(self._configuration_changed)

    def start(self) -> None:
        """Nothing to start: listeners start with the active role, probes with the configuration."""

    async def stop(self) -> None:
        self.set_active(frozenset())
        self.sockets.close_unclaimed()
        await self._carrier.stop()
        if self._board is not None:
            await self._board.stop()
        if self._wires is not None:
            self._wires.close()
            self._wires = None

    def give_up(self, kept: frozenset[str]) -> None:
        """Release the listening sockets of all traffic groups but these."""
        self.set_active(self._active & kept)

    def set_active(self, traffic_groups: frozenset[str]) -> None:
        """Take or release the listening sockets; the caller closes those that remain unclaimed."""
        self._active = traffic_groups if self._carry else frozenset()
        self._wire()
        for obj in self._device.engine.store.top(VIRTUAL):
            self._reconcile(obj.key)

    def drop_connections(self) -> None:
        self._flows.close()
        self._carrier.drop_connections()

    def failure(self, virtual: Obj) -> str:
        """Why a virtual server that should listen does not."""
        return self._failed.get(virtual.key, "")

    # -- following the configuration

    def _configuration_changed(self, changes: ChangeSet) -> None:
        if not self._carry:
            return
        self._wire()
        self.status.follow(changes)
        keys = dict.fromkeys(each for key in changes.before for each in self._virtuals(key))
        for key in keys:
            self._leave_unwanted(key)
        for key in keys:
            self._reconcile(key)
        if self._active:
            self.sockets.close_unclaimed()

    def _wire(self) -> None:
        if self._wires is not None:
            self._wires.follow(self._active)

    def _virtuals(self, key: Key) -> list[Key]:
        if key.type == VIRTUAL:
            return [key]
        if key.type == FOLDER:
            found = self._device.engine.store.top(VIRTUAL)
            return [obj.key for obj in found if obj.key.path.startswith(f"{key.path}/")]
        if key.type == ADDRESS:
            users = self._device.engine.store.users(Target(ADDRESS, key.path))
            return [user for user in users if user.type == VIRTUAL]
        return []

    def _leave_unwanted(self, key: Key) -> None:
        """Take a virtual server off the sockets that it no longer wants."""
        wanted = self._wanted(key)
        for address in [address for address in self._served.get(key, ()) if address not in wanted]:
            self._leave(key, address)

    def _leave(self, key: Key, address: Address) -> None:
        self._served[key].remove(address)
        place = self._places[address]
        place.keys.remove(key)
        if not place.keys:
            del self._places[address]
            place.listener.detach()
            self.sockets.release(address, self.name)

    def _reconcile(self, key: Key) -> None:
        self._leave_unwanted(key)
        self._failed.pop(key, None)
        served = self._served.setdefault(key, [])
        wanted = self._wanted(key)
        for address in wanted:
            if address in served:
                continue
            try:
                self._join(key, address)
            except OSError as error:
                if address == wanted[0]:
                    self._failed[key] = str(error)
                log.warning("cannot listen", device=self.name, virtual=key.path, address=address.host,
                            port=address.port, protocol=address.protocol, error=str(error))  # fmt: skip
        if not served:
            del self._served[key]

    def _join(self, key: Key, address: Address) -> None:
        """Receive on the address, alone or beside virtual servers for other clients."""
        place = self._places.get(address)
        if place is None:
            sock = self.sockets.claim(address, self.name)
            choose = partial(self._virtual_for, address)
            listener: Listener | DatagramListener
            if address.protocol == UDP:
                listener = DatagramListener(sock, address, choose, self._carrier, self._flows)
            else:
                listener = Listener(sock, address, choose, self._carrier.serve)
            place = self._places[address] = _Place(listener, [])
        elif self._domain(key) != self._domain(place.keys[0]):
            raise OSError(errno.EADDRINUSE, "a virtual server of another route domain listens here")
        place.keys.append(key)
        self._served[key].append(address)

    def _domain(self, key: Key) -> str:
        virtual = self._device.engine.store.get(key)
        place = destination(virtual) if virtual is not None else None
        address = self._device.engine.store.get(Key(ADDRESS, "", place.host)) if place is not None else None
        return str(address.props.get("address", "")).partition("%")[2] if address is not None else ""

    def _virtual_for(self, address: Address, client: str) -> Key | None:
        """The virtual server for a client: of those whose source allows it, the one with the most specific source,
        then the one for this protocol only."""
        store = self._device.engine.store
        fitting = []
        for key in self._places[address].keys:
            virtual = store.get(key)
            network = source_network(virtual) if virtual is not None else None
            if virtual is not None and (network is None or ipaddress.ip_address(client.split("%")[0]) in network):
                bits = network.prefixlen if network is not None else 0
                fitting.append((bits, virtual.props.get("ipProtocol", "any") != "any", key))
        return max(fitting)[2] if fitting else None

    def _wanted(self, key: Key) -> tuple[Address, ...]:
        """Addresses at which a virtual server should receive now, its main protocol first."""
        virtual = self._device.engine.store.get(key) if self._active else None
        if virtual is None or virtual.props.get("disabled") or virtual.props.get("mask") not in HOST_MASKS:
            return ()
        protocols = PROTOCOLS.get(str(virtual.props.get("ipProtocol", "any")), ())
        parts = split_path(str(virtual.props.get("destination", "")))
        endpoint = split_endpoint(parts.name)
        if endpoint is None or endpoint.port == 0:
            return ()
        address = self._device.engine.store.get(Key(ADDRESS, "", f"{parts.folder}/{endpoint.host}"))
        if address is None or self._device.engine.props(address).get("enabled") == "no":
            return ()
        group = traffic_group_of(self._device.engine.store, address)
        if group != LOCAL_ONLY and group not in self._active:
            return ()
        text = str(address.props.get("address", endpoint.host))
        host = strip_domain(text)
        try:
            network = self._networks.of(address.partition, text)
        except OSError:
            return ()
        return tuple(Address(host, endpoint.port, each, network) for each in protocols) if is_address(host) else ()


def source_network(virtual: Obj) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """The clients that a virtual server serves; None: any."""
    host, _, bits = str(virtual.props.get("source", "")).partition("/")
    try:
        return ipaddress.ip_network(f"{strip_domain(host)}/{bits}", strict=False)
    except ValueError:
        return None
