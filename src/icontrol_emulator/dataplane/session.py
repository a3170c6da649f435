"""What one client connection needs to know of its virtual server, and the connections it opens to members."""

from __future__ import annotations

import functools
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.rules.files import key_text, text_of
from icontrol_emulator.config.rules.ssl import chain_of
from icontrol_emulator.config.rules.virtual import PROFILES
from icontrol_emulator.dataplane import streams
from icontrol_emulator.dataplane.balance import Balancer, address_of, cookie_name, cookie_value, member_path
from icontrol_emulator.dataplane.counters import CounterBook, Counters
from icontrol_emulator.dataplane.idle import idle_seconds
from icontrol_emulator.dataplane.persist import PersistenceTable, masked
from icontrol_emulator.dataplane.streams import Stream

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Profiles:
    """Effective properties of a virtual's profiles, by kind (last segment of the type)."""

    by_kind: Mapping[str, Mapping[str, Any]]
    idle_seconds: float | None = None  # None: connections may be idle for ever
    client_ssl: str = ""  # path of the client-ssl profile

    @classmethod
    def of(cls, engine: Engine, virtual: Obj) -> Profiles:
        found: list[tuple[str, Mapping[str, Any]]] = []
        client_ssl = ""
        for child in engine.store.children(PROFILES, virtual.key.path):
            profile = engine.store.find(Target("profile", child.key.path))
            if profile is not None:
                found.append((profile.key.type.rpartition("/")[2], engine.props(profile)))
                if profile.key.type == "ltm/profile/client-ssl":
                    client_ssl = profile.key.path
        return cls(dict(found), idle_seconds(found), client_ssl)

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
        """The header line added to each request, empty if there is none."""
        given = str(self._http.get("headerInsert") or "none").strip().strip('"')
        return "" if given == "none" else given

    @property
    def balances_requests(self) -> bool:
        return "one-connect" in self.by_kind


def client_tls(engine: Engine, profiles: Profiles) -> ssl.SSLContext | None:
    """The TLS context of the client-ssl profile, if there is one."""
    props = profiles.by_kind.get("client-ssl")
    if props is None:
        return None
    pair = chain_of(props)[0]
    cert = engine.store.get(Key("sys/file/ssl-cert", "", str(pair.get("cert"))))
    key = engine.store.get(Key("sys/file/ssl-key", "", str(pair.get("key"))))
    if cert is None or key is None:
        return None
    try:
        return server_context(text_of(cert), key_text(key, str(pair.get("_passphrase") or "")))
    except ssl.SSLError:
        log.warning("certificate unusable", cert=cert.key.path)
        return None


@functools.lru_cache(maxsize=256)
def server_context(cert: str, key: str) -> ssl.SSLContext:
    """A server-side TLS context; raises ssl.SSLError when the pair cannot be used."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.TemporaryDirectory() as folder:
        cert_file, key_file = Path(folder, "cert.pem"), Path(folder, "key.pem")
        cert_file.write_text(cert)
        key_file.write_text(key)
        context.load_cert_chain(cert_file, key_file, password=lambda: b"")
    return context


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
    """One client connection: picks members, remembers persistence, counts."""

    engine: Engine
    balancer: Balancer
    counters: CounterBook
    table: PersistenceTable
    virtual: Obj
    client: str
    profiles: Profiles
    tls_to_servers: ssl.SSLContext | None = field(default=None)

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
        """The member a persistence record or cookie of this client names."""
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

    async def connect(self, cookies: str = "") -> Upstream | None:
        """A connection to a member; the next one is tried when connecting fails."""
        tried: set[Key] = set()
        preferred = self.preferred(cookies)
        while (member := self.balancer.choose(self.pool, tried, preferred)) is not None:
            tried.add(member.key)
            counted = self._counted(member)
            for counters in counted:
                counters.opened()
            try:
                stream = await streams.connect(*address_of(member), self.tls_to_servers)
            except (OSError, TimeoutError):
                for counters in counted:
                    counters.closed()
                    counters.total -= 1
                continue
            except BaseException:
                for counters in counted:
                    counters.closed()
                raise
            self.remember(member)
            return Upstream(member, stream, counted)
        return None

    def _counted(self, member: Obj) -> tuple[Counters, ...]:
        return (
            self.counters.of("member", member_path(member)),
            self.counters.of("pool", member.key.parent),
            self.counters.of("node", self.balancer.node_path(member)),
        )
