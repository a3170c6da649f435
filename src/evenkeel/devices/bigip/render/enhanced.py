"""Enhanced services on a virtual server: objects of the operator that replace or join the listener's own. Pure.

Services are applied last, to the attributes that the listener resulted in. The first service that has a tag decides it
(:mod:`evenkeel.core.resources.enhanced_services`). The listener's iRule and policies stay, before the operator's.
Settings that contradict the listener's protocol, its TLS or the tenant's own settings are a problem, as are services
(except optional ones) that the agent does not have: the load balancer stays as it is on the device then.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from evenkeel.config.esd import tags as t
from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.parts import parts_report
from evenkeel.core.devices.service import ServiceListener, ServicePool
from evenkeel.core.resources.enhanced_services import OPTIONAL
from evenkeel.core.resources.model import L7_PROTOCOLS, TLS_PROTOCOL
from evenkeel.devices.bigip.objects import COMPRESSION_PROFILE, Key, WantedObject
from evenkeel.devices.bigip.render.l7.sharing import connection_sharing_obstacle
from evenkeel.devices.bigip.render.transport import MEMBER_SIDE, connect_settings, idle_settings, profile_attributes
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.esd.selection import Definitions, chosen_definitions

_FAST_L4, _TCP, _HTTP, _UDP = "ltm/profile/fastl4", "ltm/profile/tcp", "ltm/profile/http", "ltm/profile/udp"
_ONE_CONNECT = "ltm/profile/one-connect"
_BUILT_IN = {
    "/Common/fastL4": _FAST_L4,
    "/Common/tcp": _TCP,
    "/Common/http": _HTTP,
    "/Common/udp": _UDP,
    "/Common/oneconnect": _ONE_CONNECT,
    "/Common/httpcompression": COMPRESSION_PROFILE,
}
"""``{path of a built-in profile that listeners use: its type}``."""
_TCP_BASED = ("HTTP", "TCP", "HTTPS", TLS_PROTOCOL)
# A listener with the API's default time-outs, which count as not set.
_DEFAULT_LISTENER = ServiceListener(id="", protocol="TCP", protocol_port=1)


class _TagSetting(NamedTuple):
    """Full paths that a tag names, and the definition that they come from."""

    definition: Definition
    paths: tuple[str, ...]

    @property
    def path(self) -> str:
        return next(iter(self.paths), "")


def tag_settings(names: Sequence[str], known: Definitions) -> dict[str, _TagSetting]:
    """Return ``{tag: setting}``, from the first of these services that has the tag; optional names without a
    definition do not count.

    Raises :class:`Unrenderable` for an unknown or unusable service.
    """
    found: dict[str, _TagSetting] = {}
    for definition in chosen_definitions(names, known):
        for tag, paths in definition.tags.items():
            found.setdefault(tag, _TagSetting(definition, paths))
    return found


class _VirtualDraft:
    """A virtual server while enhanced services change it."""

    def __init__(
        self,
        listener: ServiceListener,
        pool: ServicePool | None,
        virtual: WantedObject,
        own: Iterable[WantedObject],
        tunnel: int | None,
    ) -> None:
        self.listener = listener
        self.pool = pool
        self.tunnel = tunnel
        self.attributes: dict[str, Any] = dict(virtual.attributes)
        self.own = list(own)
        self.partition = str(virtual.attributes["destination"]).split("/")[1]
        self.profiles: list[dict[str, str]] = [dict(one) for one in virtual.attributes["profiles"]]
        theirs = (one["name"] for one in self.profiles if one["context"] == "serverside")
        self.encrypts_again = any(self.profile_type(name) != _TCP for name in theirs)
        """Whether connections to members use TLS because of a pool's settings."""

    # -- profiles

    def profile_type(self, path: str) -> str:
        """Return the type of one of the listener's profiles; empty: a type that enhanced services do not change."""
        types = {f"/{self.partition}/{item.key.name}": item.key.type for item in self.own}
        return types.get(path) or _BUILT_IN.get(path, "")

    def has_profile(self, type_: str) -> bool:
        return any(self.profile_type(one["name"]) == type_ for one in self.profiles)

    def own_profile(self, type_: str) -> WantedObject | None:
        return next((item for item in self.own if item.key.type == type_), None)

    def remove_profiles(self, type_: str) -> None:
        """Remove the virtual server's profiles of this type, and the listener's own profile objects of this type."""
        self.profiles = [one for one in self.profiles if self.profile_type(one["name"]) != type_]
        self.own = [item for item in self.own if item.key.type != type_]

    def add_profile(self, path: str, context: str = "all") -> None:
        self.profiles.append({"name": path, "context": context})

    def derive_profile(self, type_: str, parent: str, attributes: Mapping[str, Any] | None = None) -> None:
        """Make the listener's own profile of this type inherit from another parent; no effect if the listener
        has none.

        The profile's name contains a digest of the parent, because a device may refuse to change the parent
        in place.
        """
        old = self.own_profile(type_)
        if old is None:
            return
        digest = hashlib.sha256(parent.encode()).hexdigest()[:12]
        head, _, object_id = old.key.name.rpartition("_")
        key = Key(type=type_, name=f"{head}-{digest}_{object_id}")
        profile = replace(old, key=key, attributes={**old.attributes, **(attributes or {}), "defaultsFrom": parent})
        before = f"/{self.partition}/{old.key.name}"
        self.own = [profile if item is old else item for item in self.own]
        for one in self.profiles:
            if one["name"] == before:
                one["name"] = f"/{self.partition}/{key.name}"

    def make_full_proxy(self) -> None:
        """Turn a fastL4 virtual server into a full proxy, with the listener's time-outs in tcp profiles; no
        effect on others. Raises :class:`Unrenderable` for impossible time-outs.
        """
        if not self.has_profile(_FAST_L4):
            return
        old = self.own_profile(_FAST_L4)
        self.remove_profiles(_FAST_L4)
        if old is None:
            self.add_profile("/Common/tcp")
            return
        idle = idle_settings(self.listener, "tcp", self.tunnel)
        connect = connect_settings(self.listener, "tcp")
        path = self._add_tcp_profile(old, "tcp", idle) if idle else "/Common/tcp"
        self.add_profile(path, "clientside" if connect else "all")
        if connect:
            self.add_profile(self._add_tcp_profile(old, MEMBER_SIDE, idle | connect), "serverside")

    def _add_tcp_profile(self, old: WantedObject, kind: str, settings: Mapping[str, Any]) -> str:
        """Add a tcp profile that replaces the fastL4 profile ``old`` to the listener's objects, and return
        the new profile's path.
        """
        key = Key(type=_TCP, name=old.key.name.replace("_fastl4_", f"_{kind}_"))
        mark = str(old.attributes["description"]).replace(":fastl4:", f":{kind}:")
        attributes = {**profile_attributes(kind, settings), "description": mark}
        self.own.append(replace(old, key=key, attributes=attributes))
        return f"/{self.partition}/{key.name}"

    # -- problems

    def unrenderable_error(self, tag: str, setting: _TagSetting, reason: str) -> Unrenderable:
        named = ", ".join(setting.paths) or "none"
        return Unrenderable(
            f"listener {self.listener.id}: enhanced service {setting.definition.name!r}: {tag} {named}: {reason}"
        )


def apply_enhanced_services(
    virtuals: Iterable[WantedObject],
    own: Sequence[WantedObject],
    listener: ServiceListener,
    pool: ServicePool | None,
    known: Definitions,
    tunnel: int | None = None,
) -> tuple[Sequence[WantedObject], list[WantedObject]]:
    """Apply the listener's enhanced services to its objects (``own``) and virtual servers, and return both in
    this order.

    Every virtual server has all attributes that enhanced services can set, so that they are reset when a
    service is removed. ``tunnel``: time-out of tunnels in seconds, from the services' parts. Raises
    :class:`Unrenderable` for unusable services, and for settings that contradict the listener's.
    """
    servers = [
        replace(virtual, attributes={"policies": [], "fallbackPersistence": "", **virtual.attributes})
        for virtual in virtuals
    ]
    if not listener.enhanced_services and not listener.operator_irules:
        return own, servers
    found = tag_settings(listener.enhanced_services, known)
    changed = own
    for place, virtual in enumerate(servers):
        # Each virtual server begins from the listener's unchanged objects, so all of them result in the same ones.
        draft = _VirtualDraft(listener, pool, virtual, own, tunnel)
        _apply_settings(draft, found)
        servers[place] = replace(virtual, attributes={**draft.attributes, "profiles": draft.profiles})
        changed = draft.own
    return changed, servers


def _apply_settings(draft: _VirtualDraft, found: Mapping[str, _TagSetting]) -> None:
    _check_protocol(draft, found)
    # An operator's iRule may read the stream, like one of an enhanced service.
    if draft.listener.operator_irules or _needs_full_proxy(found):
        draft.make_full_proxy()
    for step in (
        _apply_transport_profiles,
        _apply_http_profile,
        _apply_tls_profiles,
        _apply_one_connect,
        _apply_compression_profile,
        _apply_persistence_profiles,
        _append_rules_and_policies,
    ):
        step(draft, found)


def _check_protocol(draft: _VirtualDraft, found: Mapping[str, _TagSetting]) -> None:
    """Raise :class:`Unrenderable` for tags that the listener's protocol does not allow."""
    protocol = draft.listener.protocol
    for tag, setting in found.items():
        if tag == t.UDP:
            allowed: tuple[str, ...] = ("UDP",)
        elif tag in (t.HTTP, t.ONE_CONNECT, t.COMPRESSION):
            allowed = (*L7_PROTOCOLS, "TCP")
        elif tag in (t.RULES, t.POLICIES, t.PERSISTENCE, t.FALLBACK):
            continue
        else:
            allowed = _TCP_BASED
        if setting.paths and protocol not in allowed:
            words = ", ".join(sorted(allowed))
            raise draft.unrenderable_error(tag, setting, f"the listener's protocol is {protocol}; allowed are {words}")


def _needs_full_proxy(found: Mapping[str, _TagSetting]) -> bool:
    """Whether any setting needs a full proxy.

    Only persistence by address works without one: TCP, TLS and HTTP profiles, iRules and policies may read the stream.
    An empty ``lbaas_fastl4`` requests a full proxy explicitly.
    """
    for tag, setting in found.items():
        if tag == t.FAST_L4 and not setting.paths:
            return True
        if tag in (t.PERSISTENCE, t.FALLBACK):
            if setting.definition.types.get(tag) not in t.ADDRESS_PERSISTENCE:
                return True
        elif tag != t.FAST_L4 and setting.paths:
            return True
    return False


def _apply_transport_profiles(draft: _VirtualDraft, found: Mapping[str, _TagSetting]) -> None:
    for tag, type_ in ((t.FAST_L4, _FAST_L4), (t.UDP, _UDP)):
        if tag in found and found[tag].paths and draft.has_profile(type_):
            _refuse_listener_timeouts(draft, tag, found[tag])
            draft.remove_profiles(type_)
            draft.add_profile(found[tag].path)
    client, server = found.get(t.CLIENT_TCP), found.get(t.SERVER_TCP)
    for tag, setting in ((t.CLIENT_TCP, client), (t.SERVER_TCP, server)):
        if setting is not None:
            _refuse_listener_timeouts(draft, tag, setting)
    if client is None and server is None:
        return
    draft.remove_profiles(_TCP)
    # as F5's agent: without a profile for the members, the clients' is used for both
    draft.add_profile(client.path if client else "/Common/tcp", "clientside" if server else "all")
    if server:
        draft.add_profile(server.path, "serverside")


def _refuse_listener_timeouts(draft: _VirtualDraft, tag: str, setting: _TagSetting) -> None:
    """Raise :class:`Unrenderable` if the listener sets time-outs, because the operator's profile already has its
    own.
    """
    for name in ("timeout_client_data", "timeout_member_data", "timeout_member_connect"):
        value = getattr(draft.listener, name)
        if value != getattr(_DEFAULT_LISTENER, name):
            reason = f"{name} {value} cannot be set beside it; only {getattr(_DEFAULT_LISTENER, name)} is allowed"
            raise draft.unrenderable_error(tag, setting, reason)
    if draft.tunnel is not None:
        raise draft.unrenderable_error(
            tag, setting, f"timeouts.tunnel {draft.tunnel} cannot be set beside it; none is allowed"
        )


def _apply_http_profile(draft: _VirtualDraft, found: Mapping[str, _TagSetting]) -> None:
    setting = found.get(t.HTTP)
    if setting is None:
        return
    if draft.own_profile(_HTTP) is not None:
        draft.derive_profile(_HTTP, setting.path)
        return
    draft.remove_profiles(_HTTP)
    draft.add_profile(setting.path)


def _apply_tls_profiles(draft: _VirtualDraft, found: Mapping[str, _TagSetting]) -> None:
    client, server = found.get(t.CLIENT_TLS), found.get(t.SERVER_TLS)
    if client is not None:
        if draft.listener.protocol == TLS_PROTOCOL:
            raise draft.unrenderable_error(
                t.CLIENT_TLS, client, "the listener has certificates of its own (TERMINATED_HTTPS)"
            )
        if draft.listener.protocol == "HTTPS" and server is None:
            raise draft.unrenderable_error(
                t.CLIENT_TLS, client, f"members of an HTTPS listener expect TLS; {t.SERVER_TLS} is needed"
            )
        draft.add_profile(client.path, "clientside")
    if server is not None:
        if draft.encrypts_again:
            raise draft.unrenderable_error(
                t.SERVER_TLS, server, "a pool of the listener has TLS settings of its own (tls_enabled)"
            )
        if draft.listener.protocol == "HTTPS" and client is None:
            raise draft.unrenderable_error(
                t.SERVER_TLS, server, f"clients of an HTTPS listener bring TLS; {t.CLIENT_TLS} is needed"
            )
        draft.add_profile(server.path, "serverside")


def _apply_one_connect(draft: _VirtualDraft, found: Mapping[str, _TagSetting]) -> None:
    setting = found.get(t.ONE_CONNECT)
    if setting is None:
        return
    shared = draft.has_profile(_ONE_CONNECT)
    draft.remove_profiles(_ONE_CONNECT)
    if not setting.paths:
        if shared and draft.listener.l7policies:
            raise draft.unrenderable_error(
                t.ONE_CONNECT, setting, "the listener's l7policies choose a pool for each request"
            )
        return
    if draft.listener.protocol in L7_PROTOCOLS and not shared and draft.listener.l7policies:
        raise draft.unrenderable_error(
            t.ONE_CONNECT, setting, "a pool of the listener's l7policies needs connections of its own"
        )
    if reason := connection_sharing_obstacle(draft.listener, draft.pool):
        raise draft.unrenderable_error(t.ONE_CONNECT, setting, f"{reason}, so clients cannot share connections to them")
    _require_http(draft, t.ONE_CONNECT, setting, found)
    draft.add_profile(setting.path)


def _apply_compression_profile(draft: _VirtualDraft, found: Mapping[str, _TagSetting]) -> None:
    setting = found.get(t.COMPRESSION)
    if setting is None:
        return
    draft.remove_profiles(COMPRESSION_PROFILE)
    if setting.paths:
        _require_http(draft, t.COMPRESSION, setting, found)
        draft.add_profile(setting.path)


def _require_http(draft: _VirtualDraft, tag: str, setting: _TagSetting, found: Mapping[str, _TagSetting]) -> None:
    if draft.listener.protocol not in L7_PROTOCOLS and t.HTTP not in found:
        raise draft.unrenderable_error(tag, setting, f"a {draft.listener.protocol} listener needs {t.HTTP} too")


def _apply_persistence_profiles(draft: _VirtualDraft, found: Mapping[str, _TagSetting]) -> None:
    setting, fallback = found.get(t.PERSISTENCE), found.get(t.FALLBACK)
    if setting is not None:
        if draft.attributes.get("persist") or (draft.pool and draft.pool.lb_algorithm == "SOURCE_IP_PORT"):
            pool = draft.pool.id if draft.pool else ""
            reason = f"pool {pool} has session persistence of its own, by session_persistence or lb_algorithm"
            raise draft.unrenderable_error(t.PERSISTENCE, setting, reason)
        if setting.definition.types.get(t.PERSISTENCE) == "ltm/persistence/cookie":
            _require_http(draft, t.PERSISTENCE, setting, found)
        draft.attributes["persist"] = [{"name": setting.path, "tmDefault": "yes"}]
    if fallback is not None:
        if not draft.attributes.get("persist"):
            raise draft.unrenderable_error(
                t.FALLBACK, fallback, f"it needs session persistence: of the pool, or {t.PERSISTENCE}"
            )
        draft.attributes["fallbackPersistence"] = fallback.path


def _append_rules_and_policies(draft: _VirtualDraft, found: Mapping[str, _TagSetting]) -> None:
    """Append the enhanced services' iRules and policies to the virtual server's own, which keep their place
    before them.
    """
    if t.RULES in found:
        draft.attributes["rules"] = [*draft.attributes.get("rules", ()), *found[t.RULES].paths]
    if t.POLICIES in found:
        ours = draft.attributes.get("policies", ())
        theirs = [{"name": path} for path in found[t.POLICIES].paths]
        draft.attributes["policies"] = [*ours, *theirs]


def _definition_content(definition: Definition) -> list[tuple[str, tuple[str, ...]]]:
    parts = [(part, (text,)) for part, text in parts_report(definition.parts).items()]
    secret = [("secret", (definition.secret_digest,))] if definition.secret_digest else []
    return sorted((*definition.tags.items(), *parts, *secret))


def enhanced_services_digest(listeners: Iterable[ServiceListener], known: Definitions) -> str:
    """Return a digest of everything that enhanced services contribute to these listeners; empty if the
    listeners name none, or only optional ones without a definition.
    """
    named = {name for listener in listeners for name in listener.enhanced_services}
    names = sorted(name for name in named if not name.startswith(OPTIONAL) or name in known)
    if not names:
        return ""
    text = repr([(name, _definition_content(known[name]) if name in known else None) for name in names])
    return hashlib.sha256(text.encode()).hexdigest()
