"""Persistence: which member a client came to, and who may come to the same one.

`Persistence` is the part of one client connection. A rule's `persist` command names a `PersistKey`, which goes to
`Session.connect`, and edits records by `add`, `look_up` and `delete`; without one the virtual server's profiles decide.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.names import entry_path, split_endpoint, strip_domain
from icontrol_emulator.config.rules.pool import MEMBERS
from icontrol_emulator.dataplane import cookies

RECORDS_MAX = 100_000
VALUE_CHARACTERS_MAX = 1024
INDEFINITE_SECONDS = 10 * 365 * 86_400.0
DEFAULT_SECONDS = 180.0
NONE = "none"
"""The mode of `persist none`: no persistence for this connection."""
CARP = "carp"
"""The mode of `persist carp`: the key itself decides among the members, without records."""
COOKIE = "cookie"
"""The mode of `persist cookie`, and the type of a profile."""
SYSTEM_COOKIE = Target("persistence", "/Common/cookie")
BY_PROFILE: Mapping[str, str] = {
    "uie": "universal", "source_addr": "source-addr", "dest_addr": "dest-addr", "simple": "source-addr",
    "sticky": "dest-addr",
}  # fmt: skip
"""Names of persistence in the rules' language, where they differ from those of the profiles' types."""


@dataclass(frozen=True, slots=True)
class PersistKey:
    """The trait by which a client is recognised. `mode` is a profile's type (`source-addr`, `universal`), `none` or
    `carp`.
    """

    mode: str
    value: str = ""
    timeout_seconds: float = DEFAULT_SECONDS
    across: frozenset[str] = frozenset()
    """Scope of the record, of `pools`, `services` and `virtuals`: other objects that may use it."""
    over_limit: bool = False
    """Whether the client may exceed its member's connection limit."""
    cookie: Mapping[str, Any] = field(default_factory=dict)
    """For the mode `cookie`: a profile's properties, as the rule changes them."""


@dataclass(slots=True)
class Record:
    mode: str
    value: str
    virtual: str
    member: Key
    address: str
    timeout_seconds: float
    used: float


class CookieToSet(NamedTuple):
    """The value of the header `Set-Cookie`."""

    value: str
    rewrites: bool
    """Whether it takes the place of a server's own cookie (method `rewrite`)."""


class Found(NamedTuple):
    """The member that a client belongs to."""

    member: Key
    over_limit: bool


@dataclass(slots=True)
class PersistenceTable:
    """The records of a device; one expires when unused for its timeout, the oldest goes when there are too many."""

    clock: Callable[[], float]
    _records: OrderedDict[tuple[str, str, str], Record] = field(default_factory=OrderedDict)

    def look_up(self, key: tuple[str, str, str]) -> Record | None:
        record = self._records.get(key)
        if record is not None and record.used + record.timeout_seconds <= self.clock():
            del self._records[key]
            return None
        return record

    def remember(self, key: tuple[str, str, str], record: Record) -> None:
        record.used = self.clock()
        self._records[key] = record
        self._records.move_to_end(key)
        while len(self._records) > RECORDS_MAX:
            self._records.popitem(last=False)

    def delete(self, key: tuple[str, str, str]) -> None:
        self._records.pop(key, None)

    def records(self) -> Iterator[Record]:
        now = self.clock()
        return (each for each in list(self._records.values()) if each.used + each.timeout_seconds > now)

    def delete_where(self, matches: Callable[[Record], bool]) -> None:
        for key in [key for key, record in self._records.items() if matches(record)]:
            del self._records[key]


class Addresses(NamedTuple):
    """The addresses of a client connection: the client's, and the one that it connected to."""

    client: str
    destination: str = ""


@dataclass(slots=True)
class Persistence:
    """Finds the member that a client connection belongs to, and records the one that it got."""

    engine: Engine
    table: PersistenceTable
    virtual: Obj
    addresses: Addresses
    profiles: tuple[tuple[str, Mapping[str, Any]], ...] = field(init=False)
    """Kind and effective properties of the virtual server's persistence profile, then of its fallback."""

    def __post_init__(self) -> None:
        paths = [entry_path(each) for each in self.virtual.props.get("persist") or ()]
        paths.append(str(self.virtual.props.get("fallbackPersistence") or ""))
        found = (self.engine.store.find(Target("persistence", path)) for path in paths)
        self.profiles = tuple(
            (obj.key.type.rpartition("/")[2], self.engine.props(obj)) for obj in found if obj is not None
        )

    # -- for rules

    def key(self, mode: str, value: str = "", timeout_seconds: float | None = None) -> PersistKey:
        """The key of a `persist` command; parts that it omits come from the profile of that kind, if there is one."""
        kind = BY_PROFILE.get(mode, mode)
        props = next((props for each, props in self.profiles if each == kind), {})
        if not value and kind in ("source-addr", "dest-addr"):
            host = self.addresses.client if kind == "source-addr" else self.addresses.destination
            value = masked(host, str(props.get("mask", "none")))
        return _key(kind, value, props, timeout_seconds)

    def cookie_key(self, method: str, name: str, expiration: str) -> PersistKey:
        """The key of `persist cookie`: the virtual server's profile, else the device's, as the rule changes it."""
        props = self._cookie_profile
        if not props and (system := self.engine.store.find(SYSTEM_COOKIE)) is not None:
            props = self.engine.props(system)
        said = {"method": method, "cookieName": name, "expiration": expiration}
        return PersistKey(COOKIE, cookie={**props, **{key: value for key, value in said.items() if value}})

    def look_up(self, key: PersistKey, pool: str) -> Record | None:
        return self.table.look_up(self._place(key, pool))

    def add(self, key: PersistKey, member: Obj) -> None:
        if not key.value or key.mode in (NONE, CARP) or len(key.value) > VALUE_CHARACTERS_MAX:
            return
        record = Record(
            key.mode, key.value, self.virtual.key.path, member.key, strip_domain(str(member.props["address"])),
            key.timeout_seconds, 0.0,
        )  # fmt: skip
        self.table.remember(self._place(key, member.key.parent), record)

    def delete(self, key: PersistKey, pool: str) -> None:
        self.table.delete(self._place(key, pool))

    # -- for connections

    def found(self, pool: str, cookie: str, by: PersistKey | None) -> Found | None:
        """The client's member: by a rule's key, else by the profiles in turn."""
        if by is not None:
            return self._by_cookie(by.cookie, pool, cookie) if by.mode == COOKIE else self._by_key(by, pool)
        for kind, props in self.profiles:
            found = self._by_cookie(props, pool, cookie) if kind == "cookie" else None
            key = self._key_of(kind, props, pool, cookie)
            found = found or (self._by_key(key, pool) if key is not None else None)
            if found is not None:
                return found
        return None

    def hashed(self, by: PersistKey | None) -> str:
        """The text whose hash selects the member, empty if the pool's method does."""
        if by is not None:
            return by.value if by.mode == CARP else ""
        for kind, props in self.profiles:
            key = self._key_of(kind, props, "", "") if props.get("hashAlgorithm") == CARP else None
            if key is not None:
                return key.value
        return ""

    def remember(self, member: Obj, cookie: str, by: PersistKey | None) -> None:
        """Record the member that the client got."""
        if by is not None:
            self.add(by, member)
            return
        for kind, props in self.profiles:
            key = self._key_of(kind, props, member.key.parent, cookie)
            if key is not None and props.get("hashAlgorithm") != CARP:
                self.add(key, member)

    @property
    def _cookie_profile(self) -> Mapping[str, Any]:
        return next((props for kind, props in self.profiles if kind == "cookie"), {})

    def set_cookie(self, member: Obj, cookie: str, by: PersistKey | None, *, secure: bool) -> CookieToSet | None:
        """The cookie to add to a response, if any, or to put in place of the server's (method `rewrite`)."""
        props = self._cookie_profile if by is None else by.cookie
        pool, rewrites = member.key.parent, props.get("method") == "rewrite"
        if props.get("method") not in ("insert", "rewrite"):
            return None
        found = self._by_cookie(props, pool, cookie) if not rewrites else None
        if found is not None and found.member == member.key and props.get("alwaysSend") != "enabled":
            return None
        name = cookies.cookie_name(props, pool)
        value = cookies.set_cookie(
            props, name, cookies.shown_value(props, member), secure=secure, now=self.table.clock()
        )
        return CookieToSet(value, rewrites)

    def _key_of(self, kind: str, props: Mapping[str, Any], pool: str, cookie: str) -> PersistKey | None:
        """The key under which a profile of this kind keeps the client; None if it recognises it by something else."""
        if kind in ("source-addr", "dest-addr"):
            host = self.addresses.client if kind == "source-addr" else self.addresses.destination
            return _key(kind, masked(host, str(props.get("mask", "none"))), props, None)
        if kind == "cookie" and props.get("method") == "hash":
            start, length = int(props.get("hashOffset", 0)), int(props.get("hashLength", 0))
            values = cookies.sent_values(cookie, cookies.cookie_name(props, pool))
            part = values[0][start : start + length if length else None] if values else ""
            return _key(kind, part, props, None) if part else None
        return None

    def _by_cookie(self, props: Mapping[str, Any], pool: str, cookie: str) -> Found | None:
        if props.get("method") == "hash":
            return None
        for value in cookies.sent_values(cookie, cookies.cookie_name(props, pool)):
            wanted = cookies.named_by(cookies.accepted_value(props, value))
            for member in self.engine.store.children(MEMBERS, pool) if wanted is not None else ():
                if cookies.endpoint_of(member) == wanted:
                    return Found(member.key, props.get("overrideConnectionLimit") == "enabled")
        return None

    def _by_key(self, key: PersistKey, pool: str) -> Found | None:
        record = self.look_up(key, pool) if key.mode != NONE else None
        if record is None:
            return None
        if record.member.parent == pool or "pools" in key.across:
            return Found(record.member, key.over_limit)
        same = [
            member.key for member in self.engine.store.children(MEMBERS, pool)
            if strip_domain(str(member.props["address"])) == record.address
        ]  # fmt: skip
        return Found(same[0], key.over_limit) if same else None

    def _place(self, key: PersistKey, pool: str) -> tuple[str, str, str]:
        """The record's key in the table: shared as widely as the profile's `matchAcross` settings require."""
        path = self.virtual.key.path
        if "virtuals" in key.across:
            path = ""
        elif "services" in key.across:
            endpoint = split_endpoint(str(self.virtual.props.get("destination", "")))
            path = endpoint.host if endpoint is not None else path
        elif "pools" not in key.across:
            path = f"{path} {pool}"
        return key.mode, path, key.value


def _key(kind: str, value: str, props: Mapping[str, Any], timeout_seconds: float | None) -> PersistKey:
    across = {
        word for word in ("pools", "services", "virtuals")
        if props.get(f"matchAcross{word.capitalize()}") == "enabled"
    }  # fmt: skip
    if timeout_seconds is None:
        timeout_seconds = _seconds(str(props.get("timeout", "180")))
    over_limit = props.get("overrideConnectionLimit") == "enabled"
    return PersistKey(kind, value, timeout_seconds, frozenset(across), over_limit)


def _seconds(text: str) -> float:
    if text == "indefinite":
        return INDEFINITE_SECONDS
    return float(text) if text.isdigit() else DEFAULT_SECONDS


def masked(address: str, mask: str) -> str:
    """The client address with the profile's mask applied."""
    if mask in ("", "none"):
        return address
    try:
        return str(ipaddress.ip_network(f"{address}/{mask}", strict=False).network_address)
    except ValueError:
        return address
