"""UDP virtual servers: flows of datagrams between clients and members.

A flow belongs to a client's address and port; it ends when idle for the profile's timeout, or, if datagrams are
balanced one by one, with the first answer. Answers come from the virtual server's address. Nobody is told about a
datagram that cannot be delivered.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import OrderedDict
from collections.abc import Callable

import structlog

from icontrol_emulator.config.model import Key, Obj
from icontrol_emulator.dataplane.counters import Counters
from icontrol_emulator.dataplane.listener import Carrier
from icontrol_emulator.dataplane.persist import Addresses
from icontrol_emulator.dataplane.rules import RuleFailed, Rules
from icontrol_emulator.dataplane.session import Session
from icontrol_emulator.dataplane.sockets import Address

log = structlog.get_logger(__name__)

DATAGRAM_BYTES_MAX = 65_535
DATAGRAMS_AT_ONCE_MAX = 64
FLOWS_MAX = 8_192
IMMEDIATE_SECONDS = 1.0
"""How long a flow without idle time (`immediate`) waits for its answer."""

Peer = tuple[str, int]


class Flows:
    """The flows of a device, the least recently used first; it is closed when there are too many."""

    def __init__(self) -> None:
        self._flows: OrderedDict[DatagramFlow, None] = OrderedDict()

    def add(self, flow: DatagramFlow) -> None:
        self._flows[flow] = None
        while len(self._flows) > FLOWS_MAX:
            next(iter(self._flows)).close()

    def used(self, flow: DatagramFlow) -> None:
        self._flows.move_to_end(flow)

    def remove(self, flow: DatagramFlow) -> None:
        self._flows.pop(flow, None)

    def close(self) -> None:
        for flow in list(self._flows):
            flow.close()


class DatagramFlow:
    """One client's datagrams to one member, and the answers."""

    def __init__(
        self, upstream: socket.socket, client: Counters, server: tuple[Counters, ...], idle_seconds: float | None,
        *, ends_with_answer: bool, answer: Callable[[bytes], None], ended: Callable[[DatagramFlow], None],
    ) -> None:  # fmt: skip
        self._upstream = upstream
        self._client = client
        self._server = server
        self._idle_seconds = idle_seconds
        self._ends_with_answer = ends_with_answer
        self._answer = answer
        self._ended = ended
        self._open = True
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        for counters in (client, *server):
            counters.opened()
        self._loop.add_reader(upstream, self._receive)
        self._look()

    def send(self, data: bytes) -> None:
        """Pass a datagram to the member; one that its socket cannot take is lost."""
        self._last = self._loop.time()
        self._client.took_in(len(data))
        for _ in range(2):  # the first call may only report that an earlier datagram was not delivered
            with contextlib.suppress(OSError):
                self._upstream.send(data)
                for counters in self._server:
                    counters.gave_out(len(data))
                return

    def member_down(self, action: str) -> None:
        """Whatever the action, the flow ends; the client's next datagram starts another one."""
        self.close()

    def close(self) -> None:
        if not self._open:
            return
        self._open = False
        if self._timer is not None:
            self._timer.cancel()
        self._loop.remove_reader(self._upstream)
        self._upstream.close()
        for counters in (self._client, *self._server):
            counters.closed()
        self._ended(self)

    def _receive(self) -> None:
        for _ in range(DATAGRAMS_AT_ONCE_MAX):
            try:
                data = self._upstream.recv(DATAGRAM_BYTES_MAX)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:  # the member's host says that nobody listens; the flow stays, as on a device
                return
            self._last = self._loop.time()
            for counters in self._server:
                counters.took_in(len(data))
            self._client.gave_out(len(data))
            self._answer(data)
            if self._ends_with_answer:
                self.close()
                return

    def _look(self) -> None:
        if self._idle_seconds is None:
            return
        due = self._last + self._idle_seconds
        if due <= self._loop.time():
            self.close()
        else:
            self._timer = self._loop.call_at(due, self._look)


class DatagramListener:
    """Receives on a socket that it does not own; its flows end when it is detached."""

    def __init__(
        self, sock: socket.socket, address: Address, choose: Callable[[str], Key | None], carrier: Carrier, flows: Flows
    ) -> None:
        self.address = address
        self._sock = sock
        self._choose = choose
        self._carrier = carrier
        self._all = flows
        self._flows: dict[Peer, DatagramFlow] = {}
        self._alone: set[DatagramFlow] = set()
        asyncio.get_running_loop().add_reader(sock, self._receive)

    def detach(self) -> None:
        asyncio.get_running_loop().remove_reader(self._sock)
        for flow in [*self._flows.values(), *self._alone]:
            flow.close()

    def _receive(self) -> None:
        for _ in range(DATAGRAMS_AT_ONCE_MAX):
            try:
                data, peer = self._sock.recvfrom(DATAGRAM_BYTES_MAX)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                log.warning("receive failed", address=self.address.host, error=str(error))
                return
            self._take(data, peer)

    def _take(self, data: bytes, peer: Peer) -> None:
        flow = self._flows.get(peer)
        if flow is None:
            flow = self._open(data, peer)
        if flow is not None:
            self._all.used(flow)
            flow.send(data)

    def _open(self, data: bytes, peer: Peer) -> DatagramFlow | None:
        """Open a flow for a client; None if no member serves it."""
        key = self._choose(peer[0])
        session = self._carrier.session(key, Addresses(peer[0], self.address.host)) if key is not None else None
        if session is None or not self._carrier.admits(session):
            return None
        udp = session.profiles.by_kind.get("udp", {})
        if not data and udp and udp.get("allowNoPayload") != "enabled":
            return None
        pool = self._decided(session, peer)
        reached = _reach(session, pool) if pool is not None else None
        if reached is None:
            return None
        member, upstream, counted = reached
        session.persistence.remember(member, "", None)
        alone = udp.get("datagramLoadBalancing") == "enabled"
        immediate = udp.get("idleTimeout") == "immediate"
        flow = DatagramFlow(
            upstream, self._carrier.counters.of("virtual", session.virtual.key.path), counted,
            IMMEDIATE_SECONDS if immediate else session.profiles.idle_seconds, ends_with_answer=alone or immediate,
            answer=lambda answer: self._answer(answer, peer), ended=lambda flow: self._forget(flow, peer, member.key),
        )  # fmt: skip
        self._carrier.siblings.add(member.key, flow)
        if alone:
            self._alone.add(flow)
        else:
            self._flows[peer] = flow
        self._all.add(flow)
        return flow

    def _decided(self, session: Session, peer: Peer) -> str | None:
        """The pool that rules and policies select when a flow begins (CLIENT_ACCEPTED), None if they refuse it."""
        try:
            rules = Rules(self._carrier.scripts, session, None, peer[:2], (self.address.host, self.address.port))
            if not rules.connected(secure=False, asked_for_certificate=False):
                return None
        except RuleFailed:
            return None
        return rules.decision.pool or session.pool

    def _answer(self, data: bytes, peer: Peer) -> None:
        with contextlib.suppress(OSError):
            self._sock.sendto(data, peer)

    def _forget(self, flow: DatagramFlow, peer: Peer, member: Key) -> None:
        self._carrier.siblings.remove(member, flow)
        self._alone.discard(flow)
        if self._flows.get(peer) is flow:
            del self._flows[peer]
        self._all.remove(flow)


def _reach(session: Session, pool: str) -> tuple[Obj, socket.socket, tuple[Counters, ...]] | None:
    """The member for a flow, a socket towards it, and the counters of the connection; None if there is none."""
    for member in session.candidates(pool):
        try:
            source, network = session.source_of(member), session.network_of(member)
            host, port = session.target_of(member)
            sock = network.make_socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
        except OSError:
            continue
        try:
            sock.setblocking(False)
            network.bind(sock, source.host)
            sock.connect((host, port))
        except OSError:
            sock.close()
            continue
        return member, sock, session.counted(member) + source.counters
    return None
