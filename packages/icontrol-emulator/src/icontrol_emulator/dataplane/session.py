"""State of one client connection: its virtual server's profiles, and its connections to members."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.rules.virtual import ADDRESS, PROFILES, destination, is_virtual_address
from icontrol_emulator.config.secrets import revealed
from icontrol_emulator.dataplane import streams
from icontrol_emulator.dataplane.balance import Balancer, address_of, member_path
from icontrol_emulator.dataplane.counters import CounterBook, Counters
from icontrol_emulator.dataplane.idle import idle_seconds
from icontrol_emulator.dataplane.networks import ONE_NETWORK, Network, Networks
from icontrol_emulator.dataplane.persist import Addresses, CookieToSet, Persistence, PersistenceTable, PersistKey
from icontrol_emulator.dataplane.queueing import PoolQueues
from icontrol_emulator.dataplane.service_down import RESELECT, MemberConnections
from icontrol_emulator.dataplane.snat import Source, SourceAddresses
from icontrol_emulator.dataplane.streams import Stream
from icontrol_emulator.dataplane.tls.choose import Profile, ServerNames, TlsChoice, default_of
from icontrol_emulator.dataplane.tls.plan import TlsPlan, server_side


@dataclass(frozen=True, slots=True)
class Profiles:
    """Effective properties of a virtual server's profiles, by kind (last segment of the type)."""

    by_kind: Mapping[str, Mapping[str, Any]]
    idle_seconds: float | None = None  # None: no idle timeout
    client_ssl: Sequence[Profile] = ()
    server_ssl: Sequence[Profile] = ()
    names: ServerNames | None = None

    @classmethod
    def of(cls, engine: Engine, virtual: Obj) -> Profiles:
        found: list[tuple[str, Mapping[str, Any]]] = []
        secure: dict[str, list[Profile]] = {"client-ssl": [], "server-ssl": []}
        for child in engine.store.children(PROFILES, virtual.key.path):
            profile = engine.store.find(Target("profile", child.key.path))
            if profile is not None:
                kind = profile.key.type.rpartition("/")[2]
                found.append((kind, engine.props(profile)))
                if kind in secure:
                    secure[kind].append((profile.key.path, found[-1][1]))
        clients = secure["client-ssl"]
        modes = dict(found).get("http2", {}).get("activationModes", ())
        protocols = ("h2", "http/1.1") if "alpn" in modes else ()
        names = ServerNames(engine, clients, protocols) if clients else None
        return cls(dict(found), idle_seconds(found), clients, secure["server-ssl"], names)

    @property
    def speaks_http(self) -> bool:
        return "http" in self.by_kind or "fasthttp" in self.by_kind

    @property
    def _http(self) -> Mapping[str, Any]:
        return self.by_kind.get("http") or self.by_kind.get("fasthttp") or {}

    @property
    def inserts_forwarded_for(self) -> bool:
        return self._http.get("insertXforwardedFor") == "enabled"

    @property
    def inserted_header(self) -> str:
        """The header line inserted into each request, empty if there is none."""
        given = str(self._http.get("headerInsert") or "none").strip().strip('"')
        return "" if given == "none" else given

    @property
    def encrypted_cookies(self) -> tuple[str, ...]:
        """The names of cookies that are encrypted for clients."""
        return tuple(map(str, self._http.get("encryptCookies") or ()))

    @property
    def cookie_passphrase(self) -> str:
        return revealed(self._http.get("encryptCookieSecret"))

    @property
    def transport_security(self) -> str:
        """The value of `Strict-Transport-Security` on TLS connections, empty if the profile does not enable it."""
        given = self._http.get("hsts")
        if not isinstance(given, Mapping) or given.get("mode") != "enabled" or not self.client_ssl:
            return ""
        parts = [f"max-age={given.get('maximumAge')}"]
        parts += ["includeSubDomains"] if given.get("includeSubdomains") == "enabled" else []
        return "; ".join([*parts, "preload"] if given.get("preload") == "enabled" else parts)

    def towards_clients(self) -> TlsChoice | None:
        """TLS towards clients, if any; application protocols (ALPN) are negotiated for HTTP/2 only."""
        if self.names is None or self.client_ssl[0][1].get("mode") == "disabled":
            return None
        return TlsChoice(self.names)

    def towards_members(self, engine: Engine) -> TlsPlan | None:
        return server_side(engine, default_of(self.server_ssl)[1]) if self.server_ssl else None

    @property
    def balances_requests(self) -> bool:
        return "one-connect" in self.by_kind


class ServerSide(NamedTuple):
    """A connection to a member, before its first byte: addresses and ports of both ends."""

    member: Obj
    local: tuple[str, int]
    remote: tuple[str, int]


@dataclass(slots=True, eq=False)
class Upstream:
    """An open connection to a server; a member, unless it was chosen without a pool."""

    member: Obj | None
    stream: Stream
    counters: tuple[Counters, ...]
    open: bool = True
    siblings: MemberConnections | None = None
    """The registry that has it while it is open."""
    queues: PoolQueues | None = None
    """The queues of clients that wait for its end."""
    ends_client: Callable[[str], None] = lambda action: None
    """Ends the client's connection in the way of an action on service down."""
    by: PersistKey | None = None
    """A rule's key of persistence, in place of that of the profiles."""
    moved: bool = False
    """Whether the client is to go on with another member: at once, or with its next request."""
    interrupt: Callable[[], object] = lambda: None
    """Called when it has moved."""

    def member_down(self, action: str) -> None:
        if action == RESELECT:
            self.moved = True
            self.interrupt()
        else:
            self.ends_client(action)

    def took_in(self, count: int) -> None:
        for counters in self.counters:
            counters.took_in(count)

    def gave_out(self, count: int) -> None:
        for counters in self.counters:
            counters.gave_out(count)

    def request(self) -> None:
        for counters in self.counters:
            counters.requests += 1

    def close(self) -> None:
        if self.open:
            self.open = False
            for counters in self.counters:
                counters.closed()
            if self.siblings is not None and self.member is not None:
                self.siblings.remove(self.member.key, self)
            if self.queues is not None and self.member is not None:
                self.queues.released(self.member.key.parent)
            self.stream.writer.close()


@dataclass(slots=True)
class Session:
    """One client connection: selects members, keeps persistence records, counts."""

    engine: Engine
    balancer: Balancer
    counters: CounterBook
    table: PersistenceTable
    virtual: Obj
    addresses: Addresses
    profiles: Profiles
    tls_to_members: TlsPlan | None = None
    siblings: MemberConnections | None = None
    networks: Networks = ONE_NETWORK
    queues: PoolQueues | None = None
    ends_client: Callable[[str], None] = lambda action: None
    persistence: Persistence = field(init=False)
    sources: SourceAddresses = field(init=False)
    greeting: Callable[[ServerSide], bytes] = lambda side: b""
    """Called for each connection to a member (the event SERVER_CONNECTED): what is sent first, before any handshake."""
    name_for_member: Callable[[], str] = str
    """Called before each handshake with a member. Returns a server name that overrides the profile's, empty for no
    override.
    """

    def __post_init__(self) -> None:
        self.persistence = Persistence(self.engine, self.table, self.virtual, self.addresses)
        self.sources = SourceAddresses(self.engine, self.counters)

    @property
    def client(self) -> str:
        return self.addresses.client

    @property
    def pool(self) -> str:
        return str(self.virtual.props.get("pool") or "")

    def set_cookie(self, upstream: Upstream, cookies: str) -> CookieToSet | None:
        """The cookie to add to a response from there, if any."""
        if upstream.member is None:
            return None
        secure = "client-ssl" in self.profiles.by_kind
        return self.persistence.set_cookie(upstream.member, cookies, upstream.by, secure=secure)

    def candidates(self, pool: str, cookies: str = "", by: PersistKey | None = None) -> Iterator[Obj]:
        """Members for the client in the order to try them; the next one is chosen only when it is needed."""
        tried: set[Key] = set()
        found, hashed = self.persistence.found(pool, cookies, by), self.persistence.hashed(by)
        while (member := self.balancer.choose(pool, tried, found, hashed)) is not None:
            tried.add(member.key)
            self.balancer.count(member)
            yield member

    async def connect(self, cookies: str = "", pool: str = "", by: PersistKey | None = None) -> Upstream | None:
        """A connection to a member of the given pool, or of the virtual server's own, after a wait in its queue if it
        has one. `by` is a rule's key of persistence, in place of that of the profiles."""
        path = pool or self.pool
        if self.queues is None:
            return await self._connect_now(cookies, path, by)
        turn = self.queues.turn(path)
        others_wait = turn.others_wait
        upstream = None if others_wait else await self._connect_now(cookies, path, by)
        # a client that no member accepts for another reason than its limit does not wait
        while upstream is None and (others_wait or self.balancer.is_full(path)) and await turn.wait():
            others_wait = False
            upstream = await self._connect_now(cookies, path, by)
        return upstream

    async def _connect_now(self, cookies: str, pool: str, by: PersistKey | None) -> Upstream | None:
        """A connection to a member that has room; tries the next member if one refuses."""
        for member in self.candidates(pool, cookies, by):
            counted: tuple[Counters, ...] = ()
            try:
                source, network = self.source_of(member), self.network_of(member)
                counted = self.counted(member) + source.counters
                for counters in counted:
                    counters.opened()
                sock = await streams.dial(*self.target_of(member), source.host, self._protocol, network)
            except (OSError, TimeoutError):
                for counters in counted:
                    counters.closed()
                    counters.total -= 1
                if self.queues is not None:
                    self.queues.released(pool)
                continue
            except BaseException:
                for counters in counted:
                    counters.closed()
                raise
            try:
                # the selection is final once TCP is connected: a failed TLS handshake ends the client's connection
                side = ServerSide(member, sock.getsockname()[:2], sock.getpeername()[:2])
                stream = await self.talk(sock, side, counted)
            except BaseException:
                sock.close()
                for counters in counted:
                    counters.closed()
                raise
            self.persistence.remember(member, cookies, by)
            upstream = Upstream(
                member, stream, counted,
                siblings=self.siblings, queues=self.queues, ends_client=self.ends_client, by=by,
            )  # fmt: skip
            if self.siblings is not None:
                self.siblings.add(member.key, upstream)
            return upstream
        return None

    async def talk(self, sock: socket.socket, side: ServerSide, counted: tuple[Counters, ...]) -> Stream:
        """Streams over a connected socket, after what is sent first and with TLS if there is a plan."""
        first = self.greeting(side)
        if first:
            await asyncio.get_running_loop().sock_sendall(sock, first)
            for counters in counted:
                counters.gave_out(len(first))
        return await streams.talk(sock, self._plan())

    @property
    def _protocol(self) -> int:
        return socket.IPPROTO_SCTP if self.virtual.props.get("ipProtocol") == "sctp" else socket.IPPROTO_TCP

    def target_of(self, member: Obj) -> tuple[str, int]:
        """The address to connect to: with the member's port, unless it has none (any) or ports are not translated."""
        host, port = address_of(member)
        place = destination(self.virtual)
        if place is not None and (not port or self.virtual.props.get("translatePort") == "disabled"):
            return host, place.port
        return host, port

    def source_of(self, member: Obj) -> Source:
        return self.sources.choose(self.virtual, member, self.client)

    def network(self) -> Network:
        """The network of the virtual server. Raises OSError if its route domain is gone."""
        place = destination(self.virtual)
        address = self.engine.store.get(Key(ADDRESS, "", place.host)) if place is not None else None
        text = str(address.props.get("address", address.name)) if address is not None else ""
        return self.networks.of(self.virtual.partition, text)

    def network_of(self, member: Obj) -> Network:
        """The network of a member. Raises OSError if traffic of the virtual server may not go there.

        What is sent to a virtual address of the same device arrives nowhere (sapcc/octavia-f5-provider-driver, pull
        request 112); the iRule command `virtual` reaches its virtual server.
        """
        if is_virtual_address(self.engine, member.partition, str(member.props["address"])):
            raise OSError(f"{member.key.path}: the device itself answers for its address")
        found = self.networks.of(member.partition, str(member.props["address"]))
        self.networks.check_crossing(self.network(), found)
        return found

    def _plan(self) -> TlsPlan | None:
        if self.tls_to_members is None:
            return None
        name = self.name_for_member()
        return replace(self.tls_to_members, name=name) if name else self.tls_to_members

    def counted(self, member: Obj) -> tuple[Counters, ...]:
        return (
            self.counters.of("member", member_path(member)),
            self.counters.of("pool", member.key.parent),
            self.counters.of("node", self.balancer.node_path(member)),
        )
