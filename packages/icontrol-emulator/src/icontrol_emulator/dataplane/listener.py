"""A listening virtual server: accepts connections, and serves each with the configuration at that moment."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable

import structlog
from OpenSSL import SSL

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.rules.virtual import ADDRESS, destination
from icontrol_emulator.dataplane import streams
from icontrol_emulator.dataplane.balance import Balancer, is_full
from icontrol_emulator.dataplane.counters import CounterBook, Counters
from icontrol_emulator.dataplane.http2_proxy import Http2Proxy
from icontrol_emulator.dataplane.http_proxy import HttpProxy, NoMember
from icontrol_emulator.dataplane.http_wire import BadMessage
from icontrol_emulator.dataplane.idle import ClientSide, IdleLimit
from icontrol_emulator.dataplane.limits import RateLimits
from icontrol_emulator.dataplane.networks import Networks
from icontrol_emulator.dataplane.persist import Addresses, PersistenceTable, masked
from icontrol_emulator.dataplane.policies.program import Programs
from icontrol_emulator.dataplane.queueing import PoolQueues
from icontrol_emulator.dataplane.rules import RuleFailed, Rules, Scripts
from icontrol_emulator.dataplane.script_counters import ScriptCounters
from icontrol_emulator.dataplane.server_side import Chooser, Handed, Handovers
from icontrol_emulator.dataplane.service_down import DROP, MemberConnections
from icontrol_emulator.dataplane.session import Profiles, Session, Upstream
from icontrol_emulator.dataplane.sockets import Address, reset
from icontrol_emulator.dataplane.streams import Stream
from icontrol_emulator.dataplane.tls.transport import TlsTransport
from icontrol_emulator.irules.tables import SessionTable

log = structlog.get_logger(__name__)

ACCEPTS_AT_ONCE_MAX = 64
CONNECTIONS_MAX = 20_000
DROPPED_SECONDS_MAX = 300.0
VIRTUALS_KEPT_MAX = 2_000


class Carrier:
    """Shared by the listeners of one device: member selection, counters, open connections."""

    def __init__(
        self,
        engine: Engine,
        balancer: Balancer,
        counters: CounterBook,
        table: PersistenceTable,
        rates: RateLimits,
        script_counters: ScriptCounters,
        networks: Networks,
    ) -> None:
        self.engine = engine
        self.balancer = balancer
        self.counters = counters
        self.table = table
        self.rates = rates
        self.networks = networks
        self.siblings = MemberConnections(engine)
        self._queues = PoolQueues(engine)
        self.scripts = Scripts(engine, balancer, Programs(engine), script_counters, SessionTable(table.clock))
        self._handovers = Handovers()
        self._connections: set[asyncio.Task[None]] = set()
        self._profiles: dict[Key, tuple[tuple[int, Obj], Profiles]] = {}

    def serve(self, virtual: Key, conn: socket.socket, addresses: Addresses) -> None:
        if len(self._connections) >= CONNECTIONS_MAX:
            reset(conn)
            return
        task = asyncio.get_running_loop().create_task(self._serve(virtual, conn, addresses))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    def drop_connections(self) -> None:
        for task in list(self._connections):
            task.cancel()

    async def stop(self) -> None:
        self.drop_connections()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self.scripts.logs.stop()

    async def _serve(self, key: Key, conn: socket.socket, addresses: Addresses) -> None:
        came = self._handovers.take(_peer(conn, addresses))
        session = self.session(key, addresses._replace(client=came.client[0]))
        if session is None:
            reset(conn)
            return
        if not self.admits(session):
            reset(conn)
            return
        counters = self.counters.of("virtual", key.path)
        counters.opened()
        stream: Stream | None = None
        tls: Counters | None = None
        task = asyncio.current_task()
        dropped = False

        def end(action: str) -> None:
            nonlocal dropped
            dropped = action == DROP
            if task is not None:
                task.cancel()

        session.ends_client = end
        chooser = session.profiles.towards_clients()
        try:
            stream = await streams.wrap(conn, chooser)
            if chooser is not None:
                tls = self.counters.of("client-ssl", chooser.chosen)
                tls.opened()
            async with IdleLimit(session.profiles.idle_seconds) as limit:
                await self._carry(session, stream, ClientSide(counters, limit), came)
            await streams.close(stream)
        except (NoMember, BadMessage, OSError, ssl.SSLError, ExceptionGroup, asyncio.CancelledError):
            if stream is not None:
                if dropped:
                    await _wait_for_more(stream, session.profiles.idle_seconds)
                streams.abort(stream)
            elif chooser is None:
                reset(conn)
        finally:
            counters.closed()
            if tls is not None:
                tls.closed()

    def admits(self, session: Session) -> bool:
        """Whether the limits of the virtual server and its address allow another connection, which this counts."""
        virtual = session.virtual
        if is_full(virtual, self.counters.peek("virtual", virtual.key.path).current):
            return False
        place = destination(virtual)
        address = self.engine.store.get(Key(ADDRESS, "", place.host)) if place is not None else None
        if address is not None and int(address.props.get("connectionLimit", 0)) and self._is_crowded(address):
            return False
        limit = str(virtual.props.get("rateLimit", "disabled"))
        name = rated_name(virtual, session.addresses)
        if not self.rates.has_room(name, limit):
            return False
        self.rates.count(name, limit)
        return True

    def _is_crowded(self, address: Obj) -> bool:
        users = self.engine.store.users(Target(ADDRESS, address.key.path))
        return is_full(address, sum(self.counters.peek("virtual", user.path).current for user in users))

    def _profiles_of(self, virtual: Obj) -> Profiles:
        """From the current configuration; cached until the next change, because there may be hundreds."""
        generation = self.engine.store.generation
        known = self._profiles.get(virtual.key)
        if known is not None and known[0] == (generation, virtual):
            return known[1]
        if len(self._profiles) >= VIRTUALS_KEPT_MAX:
            self._profiles.clear()
        found = Profiles.of(self.engine, virtual)
        self._profiles[virtual.key] = ((generation, virtual), found)
        return found

    def session(self, key: Key, addresses: Addresses) -> Session | None:
        virtual = self.engine.store.get(key)
        if virtual is None:
            return None
        if not (virtual.props.get("pool") or virtual.props.get("rules") or self.scripts.programs.of(virtual)):
            return None
        profiles = self._profiles_of(virtual)
        plan = profiles.towards_members(self.engine)
        return Session(self.engine, self.balancer, self.counters, self.table, virtual, addresses, profiles, plan,
                       self.siblings, self.networks, self._queues)  # fmt: skip

    async def _carry(self, session: Session, client: Stream, counters: ClientSide, came: Handed) -> None:
        tls = client.writer.get_extra_info("tls")
        rules = Rules(self.scripts, session, client, came.client, carried_bytes=counters.carried_bytes)
        secure = isinstance(tls, TlsTransport)
        asked = secure and tls.connection.get_verify_mode() != SSL.VERIFY_NONE
        try:
            if not rules.connected(secure=secure, asked_for_certificate=asked):
                raise NoMember
            session.name_for_member, session.greeting = rules.name_for_member, rules.server_connected
            port = client.writer.get_extra_info("sockname")[1]
            chooser = Chooser(session, self._handovers, rules, came, port)
            if secure and tls.protocol_chosen == "h2":
                await Http2Proxy(session, client, counters, rules, chooser).run()
            elif session.profiles.speaks_http:
                await HttpProxy(session, client, counters, rules, chooser).run()
            else:
                await self._carry_bytes(client, counters, rules, chooser)
        except (RuleFailed, NoMember):
            if rules.dropped:
                await _wait_for_more(client, session.profiles.idle_seconds)
            raise
        finally:
            rules.closed("CLIENT_CLOSED")

    async def _carry_bytes(self, client: Stream, counters: ClientSide, rules: Rules, chooser: Chooser) -> None:
        """Copy in both directions, after the bytes that rules collected; again with each member that it moves to."""
        while rules.awaits_hello:
            data = await client.reader.read(streams.CHUNK_BYTES)
            counters.took_in(len(data))
            rules.hello(data)
        while rules.collects:
            data = await client.reader.read(streams.CHUNK_BYTES)
            counters.took_in(len(data))
            rules.collected(data)
            if not data:
                break
        if answer := rules.said(to_server=False):
            await streams.send(client, answer, counters.gave_out)
        while (upstream := await chooser.connect(rules.decision)) is not None:
            try:
                if collected := rules.collected_data():
                    await streams.send(upstream.stream, collected, upstream.gave_out)
                await _splice(client, upstream, counters)
                if not upstream.moved:
                    return
            finally:
                upstream.close()
                rules.closed("SERVER_CLOSED")
        raise NoMember


async def _wait_for_more(stream: Stream, idle_seconds: float | None) -> None:
    """Wait for a dropped connection's client to send something more; until then it gets nothing."""
    with contextlib.suppress(OSError, TimeoutError, asyncio.CancelledError):
        async with asyncio.timeout(idle_seconds or DROPPED_SECONDS_MAX):
            await stream.reader.read(1)


async def _splice(client: Stream, upstream: Upstream, counters: ClientSide) -> None:
    """Copy in both directions until one ends, or the client moves to another member: what it sends then is kept."""
    counts = (counters.took_in, counters.gave_out, upstream.took_in, upstream.gave_out)
    copying = asyncio.ensure_future(streams.splice(client, upstream.stream, counts))
    upstream.interrupt = copying.cancel
    try:
        await asyncio.wait([copying])
    finally:
        copying.cancel()
        await asyncio.wait([copying])
    if not copying.cancelled():
        copying.result()


def rated_name(virtual: Obj, addresses: Addresses) -> str:
    """The key by which a virtual server's rate limit counts: its `rateLimitMode` may name client and destination."""
    mode = str(virtual.props.get("rateLimitMode", "object"))
    parts = [virtual.key.path] if "object" in mode else []
    for word, host, mask in (("source", addresses.client, "Src"), ("destination", addresses.destination, "Dst")):
        if word in mode:
            bits = int(virtual.props.get(f"rateLimit{mask}Mask", 0))
            parts.append(masked(host, str(bits)) if bits else host)
    return " ".join(["virtual", *parts])


def _peer(conn: socket.socket, addresses: Addresses) -> tuple[str, int]:
    """Address and port of the client, which may have gone already."""
    try:
        host, port = conn.getpeername()[:2]
    except OSError:
        return addresses.client, 0
    return str(host), int(port)


class Listener:
    """Accepts on a socket that it does not own: after detaching, the socket keeps listening for its next owner."""

    def __init__(
        self, sock: socket.socket, address: Address, choose: Callable[[str], Key | None],
        serve: Callable[[Key, socket.socket, Addresses], None],
    ) -> None:  # fmt: skip
        self.address = address
        self._sock = sock
        self._choose = choose
        self._serve = serve
        asyncio.get_running_loop().add_reader(sock, self._accept)

    def detach(self) -> None:
        asyncio.get_running_loop().remove_reader(self._sock)

    def _accept(self) -> None:
        # accept in the callback: a cancelled accept could lose a connection that was already accepted
        for _ in range(ACCEPTS_AT_ONCE_MAX):
            try:
                conn, peer = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.warning("accept failed", address=self.address.host, error=str(error))
                return
            conn.setblocking(False)
            with contextlib.suppress(OSError):
                conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            virtual = self._choose(peer[0])
            if virtual is None:
                reset(conn)
                continue
            self._serve(virtual, conn, Addresses(peer[0], self.address.host))
