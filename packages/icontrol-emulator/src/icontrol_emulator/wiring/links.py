"""Links of a device in its namespaces: TAP interfaces, whose frames go to cables and through tunnels."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from icontrol_emulator.wiring import frames
from icontrol_emulator.wiring.cables import Cable
from icontrol_emulator.wiring.layout import GRE, VXLAN, Tunnel, Vlan
from icontrol_emulator.wiring.namespaces import Namespace

FRAME_BYTES_MAX = 65_536
FRAMES_AT_ONCE_MAX = 64
IPPROTO_GRE = 47
BUFFER_BYTES = 4 << 20


class Tap:
    """An interface in a namespace, and the frames that come out of it."""

    def __init__(self, namespace: Namespace, name: str, sent: Callable[[bytes], None]) -> None:
        self.name = name
        self._sent = sent
        self._fd = namespace.tap(name)
        asyncio.get_running_loop().add_reader(self._fd, self._read)

    def deliver(self, frame: bytes) -> None:
        """Let a frame arrive there; one that finds no room is lost, and so is one while the interface is down."""
        with contextlib.suppress(OSError):
            os.write(self._fd, frame)

    def announce(self, frame: bytes) -> None:
        """Send a frame that the namespace's own stack does not see."""
        self._sent(frame)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)

    def _read(self) -> None:
        for _ in range(FRAMES_AT_ONCE_MAX):
            try:
                frame = os.read(self._fd, FRAME_BYTES_MAX)
            except OSError:
                return
            self._sent(frame)


class VlanSwitch:
    """Connects the device's VLANs with the cables of its interfaces."""

    def __init__(self, cables: Mapping[str, Cable]) -> None:
        self._cables = cables
        self._taps: dict[tuple[str, int], Tap] = {}
        for name, cable in cables.items():
            cable.received = lambda frame, name=name: self._arrived(name, frame)  # type: ignore[misc]

    def connect(self, vlan: Vlan, tap: Tap) -> None:
        for port in vlan.ports:
            self._taps[port] = tap

    def disconnect(self, vlan: Vlan) -> None:
        for port in vlan.ports:
            self._taps.pop(port, None)

    def send(self, vlan: Vlan, frame: bytes) -> None:
        for name, tag in vlan.ports:
            cable = self._cables.get(name)
            if cable is not None:
                cable.sent(frames.tagged(frame, tag) if tag else frame)

    def _arrived(self, name: str, frame: bytes) -> None:
        found = frames.untagged(frame)
        tap = self._taps.get((name, found.number)) if found is not None else None
        if found is not None and tap is not None:
            tap.deliver(found.frame)


@dataclass(slots=True)
class End:
    """One end of tunnels: a socket at an address of the device."""

    sock: socket.socket
    taps: dict[int, Tap] = field(default_factory=dict)
    """By the key of the tunnel."""


class TunnelEnds:
    """The ends of all tunnels of a device, each used by the tunnels with the same address."""

    def __init__(self) -> None:
        self._ends: dict[tuple[str, str, str, int], End] = {}
        self._tables: Mapping[str, Mapping[str, frozenset[str]]] = {}

    def know(self, tables: Mapping[str, Mapping[str, frozenset[str]]]) -> None:
        """The forwarding tables from now on."""
        self._tables = tables

    def connect(self, tunnel: Tunnel, tap: Tap, underlay: Namespace) -> None:
        """OSError if the device does not have the tunnel's local address."""
        end = self._ends.get(_place(tunnel))
        if end is None:
            end = self._ends[_place(tunnel)] = End(_bound(tunnel, underlay))
            asyncio.get_running_loop().add_reader(end.sock, self._receive, tunnel.kind, end)
        end.taps[tunnel.key] = tap

    def disconnect(self, tunnel: Tunnel) -> None:
        end = self._ends.get(_place(tunnel))
        if end is None:
            return
        end.taps.pop(tunnel.key, None)
        if not end.taps:
            self._end(_place(tunnel))

    def close(self) -> None:
        for place in list(self._ends):
            self._end(place)

    def _end(self, place: tuple[str, str, str, int]) -> None:
        sock = self._ends.pop(place).sock
        asyncio.get_running_loop().remove_reader(sock)
        sock.close()

    def send(self, tunnel: Tunnel, frame: bytes) -> None:
        """To the end point of the frame's target; broadcasts, and frames to unknown targets, to those for all."""
        end = self._ends.get(_place(tunnel))
        table = self._tables.get(tunnel.path, {})
        known = None if frames.is_for_many(frame) else table.get(frames.target_of(frame))
        data = frames.in_vxlan(frame, tunnel.key) if tunnel.kind == VXLAN else frames.in_gre(frame, tunnel.key)
        if end is None:
            return
        for host in known if known is not None else table.get(frames.EVERYBODY, ()):
            with contextlib.suppress(OSError):
                end.sock.sendto(data, (host, tunnel.port if tunnel.kind == VXLAN else 0))

    def _receive(self, kind: str, end: End) -> None:
        for _ in range(FRAMES_AT_ONCE_MAX):
            try:
                data = end.sock.recv(FRAME_BYTES_MAX)
            except OSError:
                return
            if kind == GRE and end.sock.family == socket.AF_INET:
                data = data[(data[0] & 0xF) * 4 :]  # a raw IPv4 socket receives the IP header, too
            found = frames.of_vxlan(data) if kind == VXLAN else frames.of_gre(data)
            tap = end.taps.get(found.number) if found is not None else None
            if found is not None and tap is not None:
                tap.deliver(found.frame)


def _place(tunnel: Tunnel) -> tuple[str, str, str, int]:
    return tunnel.kind, tunnel.underlay, tunnel.local, tunnel.port if tunnel.kind == VXLAN else 0


def _bound(tunnel: Tunnel, underlay: Namespace) -> socket.socket:
    family = socket.AF_INET6 if ":" in tunnel.local else socket.AF_INET
    raw = tunnel.kind == GRE
    sock = underlay.make_socket(family, socket.SOCK_RAW if raw else socket.SOCK_DGRAM, IPPROTO_GRE if raw else 0)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        sock.bind((tunnel.local, 0 if raw else tunnel.port))
    except BaseException:
        sock.close()
        raise
    return sock
