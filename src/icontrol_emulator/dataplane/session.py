"""State of one client connection: its virtual server's profiles, and its connections to members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.rules.virtual import PROFILES
from icontrol_emulator.dataplane import streams
from icontrol_emulator.dataplane.balance import Balancer, address_of, cookie_name, cookie_value, member_path
from icontrol_emulator.dataplane.counters import CounterBook, Counters
from icontrol_emulator.dataplane.idle import idle_seconds
from icontrol_emulator.dataplane.persist import PersistenceTable, masked
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


@dataclass(slots=True)
class Upstream:
    """An open connection to a member."""

    member: Obj
    stream: Stream
    counters: tuple[Counters, ...]
    open: bool = True

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
            self.stream.writer.close()


@dataclass(slots=True)
class Session:
    """One client connection: selects members, keeps persistence records, counts."""

    engine: Engine
    balancer: Balancer
    counters: CounterBook
    table: PersistenceTable
    virtual: Obj
    client: str
    profiles: Profiles
    tls_to_members: TlsPlan | None = None
    name_for_member: Callable[[], str] = str
    """Called before each handshake with a member: a server name that overrides the profile's; empty: no override."""

    @property
    def pool(self) -> str:
        return str(self.virtual.props.get("pool") or "")

    def _persistence(self, kind: str) -> Mapping[str, Any] | None:
        for entry in self.virtual.props.get("persist") or ():
            found = self.engine.store.find(Target("persistence", f"/{entry['partition']}/{entry['name']}"))
            if found is not None and found.key.type == f"ltm/persistence/{kind}":
                return self.engine.props(found)
        return None

    def preferred(self, cookies: str = "") -> Key | None:
        """The member in a persistence record or cookie of this client."""
        cookie = self._persistence("cookie")
        if cookie is not None:
            return self._by_cookie(cookie, cookies)
        source = self._persistence("source-addr")
        if source is None:
            return None
        return self.table.look_up(self.virtual.key.path, masked(self.client, str(source.get("mask"))))

    def _by_cookie(self, profile: Mapping[str, Any], cookies: str) -> Key | None:
        name = cookie_name(profile, self.pool)
        for pair in cookies.split(";"):
            key, _, value = pair.strip().partition("=")
            if key == name:
                members = self.balancer.members(self.pool)
                return next((member.key for member in members if cookie_value(member) == value.strip('"')), None)
        return None

    def remember(self, member: Obj) -> None:
        source = self._persistence("source-addr")
        if source is not None:
            client = masked(self.client, str(source.get("mask")))
            timeout = str(source.get("timeout", "180"))
            seconds = float(timeout) if timeout.isdigit() else 86_400.0
            self.table.remember(self.virtual.key.path, client, member.key, seconds)

    def set_cookie(self, member: Obj, cookies: str) -> str | None:
        """The Set-Cookie value to add to a response, if any."""
        profile = self._persistence("cookie")
        if profile is None or profile.get("method") != "insert":
            return None
        if self._by_cookie(profile, cookies) == member.key and profile.get("alwaysSend") != "enabled":
            return None
        flags = "; HttpOnly" if profile.get("httponly") == "enabled" else ""
        if profile.get("secure") == "enabled" and "client-ssl" in self.profiles.by_kind:
            flags += "; Secure"
        return f"{cookie_name(profile, self.pool)}={cookie_value(member)}; path=/{flags}"

    async def connect(self, cookies: str = "", pool: str = "") -> Upstream | None:
        """A connection to a member of the given pool, or of the virtual server's own; tries the next member if one
        refuses."""
        tried: set[Key] = set()
        preferred = self.preferred(cookies) if pool in ("", self.pool) else None
        while (member := self.balancer.choose(pool or self.pool, tried, preferred)) is not None:
            tried.add(member.key)
            counted = self._counted(member)
            for counters in counted:
                counters.opened()
            try:
                sock = await streams.dial(*address_of(member))
            except (OSError, TimeoutError):
                for counters in counted:
                    counters.closed()
                    counters.total -= 1
                continue
            except BaseException:
                for counters in counted:
                    counters.closed()
                raise
            try:
                # the selection is final once TCP is connected: a failed TLS handshake ends the client's connection
                stream = await streams.talk(sock, self._plan())
            except BaseException:
                for counters in counted:
                    counters.closed()
                raise
            self.remember(member)
            return Upstream(member, stream, counted)
        return None

    def _plan(self) -> TlsPlan | None:
        if self.tls_to_members is None:
            return None
        name = self.name_for_member()
        return replace(self.tls_to_members, name=name) if name else self.tls_to_members

    def _counted(self, member: Obj) -> tuple[Counters, ...]:
        return (
            self.counters.of("member", member_path(member)),
            self.counters.of("pool", member.key.parent),
            self.counters.of("node", self.balancer.node_path(member)),
        )
