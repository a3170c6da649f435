"""Persistence of clients: persistence profiles, and the algorithms that choose a member by the client. Pure.

===========================  =====================================================================================
Octavia                      BIG-IP
===========================  =====================================================================================
persistence SOURCE_IP        source-addr: a table; ``persistence_timeout`` is its timeout (180 s if not set),
                             ``persistence_granularity`` its mask
persistence HTTP_COOKIE      cookie, insert. A TCP listener in front of such a pool is rendered as an HTTP listener,
                             as F5's agent did: only with an http profile the device reads and inserts cookies
persistence APP_COOKIE       universal: a table of the values of the members' cookie, by an iRule of fixed code; the
                             name of the cookie is a record of a data group
algorithm SOURCE_IP          source-addr with the CARP hash: the same member for an address on every device, without a
                             table. CARP knows no weights: with different weights a table of one hour, for which
                             clients are distributed by weight. Beside a cookie persistence: its fallback
algorithm SOURCE_IP_PORT     ``persist carp`` with address and port, in the listener's iRule. With different weights, or
                             beside a session persistence, connections are distributed by weight or in turn instead,
                             and all requests of one connection go to one member
===========================  =====================================================================================

Names contain the kind, because persistence profiles of all types share one namespace.
"""

import ipaddress
import re
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener, ServicePool
from evenkeel.core.resources.model import COOKIE_PERSISTENCE as COOKIE_PERSISTENCES
from evenkeel.core.resources.model import L7_PROTOCOLS
from evenkeel.devices.bigip.cookie_secret import EncryptedCookies
from evenkeel.devices.bigip.naming import COMMON, BigIpNames
from evenkeel.devices.bigip.objects import (
    COOKIE_PERSISTENCE,
    RULE,
    SOURCE_PERSISTENCE,
    UNIVERSAL_PERSISTENCE,
    Key,
    WantedObject,
)
from evenkeel.devices.bigip.render.addresses import virtual_ips
from evenkeel.devices.bigip.render.data_groups import data_group
from evenkeel.devices.bigip.render.rule_parts import Order, RulePart
from evenkeel.devices.errors import Unrenderable

COOKIE_KIND, SOURCE_KIND, APP_COOKIE_KIND = "cookie", "source", "appcookie"
TABLE_SECONDS = 3_600
"""Lifetime in seconds of an entry of a persistence table, where the API has no attribute for it."""
COOKIE_RECORD = "cookie"
_COOKIE_NAME = re.compile(r"[A-Za-z0-9!#$&'*+.^_`|~-]{1,255}")
_PORT_OF_CLIENT = {"UDP": "UDP::client_port", "SCTP": "SCTP::client_port"}


def has_different_weights(pool: ServicePool) -> bool:
    """Whether members that get clients (weight above 0) have different weights."""
    return len({member.weight for member in pool.members if member.weight}) > 1


def chooses_member_per_connection(pool: ServicePool) -> bool:
    """Whether all requests of a connection must go to one member, chosen without a hash of the client's port."""
    return pool.lb_algorithm == "SOURCE_IP_PORT" and not _hashes_port(pool)


def _hashes_port(pool: ServicePool) -> bool:
    return (
        pool.lb_algorithm == "SOURCE_IP_PORT" and pool.session_persistence is None and not has_different_weights(pool)
    )


# -- objects


def persistence_objects(
    service: ServiceDefinition, pool: ServicePool, names: BigIpNames, encryption: EncryptedCookies | None = None
) -> list[WantedObject]:
    """Build the pool's own persistence profiles, with the objects that they refer to; empty if built-in
    profiles suffice. ``encryption``: that of the listeners that encrypt the pool's cookie.

    Raises :class:`Unrenderable` for an impossible cookie name or netmask.
    """
    return [
        *_cookie_profiles(service, pool, names, encryption),
        *_app_cookie_objects(service, pool, names),
        *_source_profile(service, pool, names),
    ]


def _cookie_profiles(
    service: ServiceDefinition, pool: ServicePool, names: BigIpNames, encryption: EncryptedCookies | None
) -> Iterator[WantedObject]:
    wanted = pool.session_persistence
    if wanted is None or wanted.type != "HTTP_COOKIE":
        return
    named = {"cookieName": _cookie_name(pool)} if wanted.cookie_name else {}
    if named:
        yield _persistence_profile(service, pool, COOKIE_PERSISTENCE, COOKIE_KIND, "/Common/cookie", named, names)
    if encryption is not None:
        kind = encryption.object_kind(COOKIE_KIND)
        settings = {"cookieEncryption": "required"} | named
        made = _persistence_profile(service, pool, COOKIE_PERSISTENCE, kind, "/Common/cookie", settings, names)
        yield replace(made, secrets={"cookieEncryptionPassphrase": encryption.passphrase})


def _app_cookie_objects(service: ServiceDefinition, pool: ServicePool, names: BigIpNames) -> list[WantedObject]:
    wanted = pool.session_persistence
    if wanted is None or wanted.type != "APP_COOKIE":
        return []
    group, rule = f"{APP_COOKIE_KIND}-name", f"{APP_COOKIE_KIND}-rule"
    folder = f"/{names.partition_name(service.project_id)}"
    mark = names.marked_description(rule, service.load_balancer_id, pool.id)
    code = _app_cookie_code(f"{folder}/{names.auxiliary_object_name(group, pool.id)}")
    return [
        data_group(service, group, pool.id, {COOKIE_RECORD: _cookie_name(pool)}, names),
        WantedObject(
            key=Key(type=RULE, name=names.auxiliary_object_name(rule, pool.id)),
            owner=service.load_balancer_id,
            attributes={"apiAnonymous": "\n".join((f"# {mark}", *code))},
        ),
        _persistence_profile(
            service,
            pool,
            UNIVERSAL_PERSISTENCE,
            APP_COOKIE_KIND,
            "/Common/universal",
            {"rule": f"{folder}/{names.auxiliary_object_name(rule, pool.id)}", "timeout": str(TABLE_SECONDS)},
            names,
        ),
    ]


def _app_cookie_code(path: str) -> tuple[str, ...]:
    """Return the iRule code for APP_COOKIE. ``path``: path of the data group with the cookie's name."""
    name = f'set app_cookie [class match -value "{COOKIE_RECORD}" equals "{path}"]'
    return (
        "when HTTP_REQUEST {",
        f"    {name}",
        "    if { [HTTP::cookie exists $app_cookie] } {",
        f"        persist uie [HTTP::cookie value $app_cookie] {TABLE_SECONDS}",
        "    }",
        "}",
        "when HTTP_RESPONSE {",
        f"    {name}",
        "    if { [HTTP::cookie exists $app_cookie] } {",
        f"        persist add uie [HTTP::cookie value $app_cookie] {TABLE_SECONDS}",
        "    }",
        "}",
    )


def _source_profile(service: ServiceDefinition, pool: ServicePool, names: BigIpNames) -> list[WantedObject]:
    settings = _source_settings(service, pool)
    if not settings:
        return []
    parent = "/Common/source_addr"
    return [_persistence_profile(service, pool, SOURCE_PERSISTENCE, SOURCE_KIND, parent, settings, names)]


def _source_settings(service: ServiceDefinition, pool: ServicePool) -> dict[str, str]:
    """Return the attributes that differ from the built-in source-addr profile; empty: none do. Raises
    :class:`Unrenderable` for an impossible ``persistence_granularity``.
    """
    wanted = pool.session_persistence
    if wanted is not None and wanted.type == "SOURCE_IP":
        if wanted.persistence_timeout is None and wanted.persistence_granularity is None:
            return {}
        seconds = wanted.persistence_timeout
        return {
            # 0: no time-out, as of the listener's time-outs
            "timeout": "180" if seconds is None else str(seconds) if seconds else "indefinite",
            "mask": _persistence_mask(service, pool) if wanted.persistence_granularity else "none",
            "hashAlgorithm": "default",
        }
    if pool.lb_algorithm != "SOURCE_IP":
        return {}
    # The CARP hash knows no weights: members of different weights need a table of clients.
    weighted = has_different_weights(pool)
    return {
        "timeout": str(TABLE_SECONDS) if weighted else "180",
        "mask": "none",
        "hashAlgorithm": "default" if weighted else "carp",
    }


def _persistence_mask(service: ServiceDefinition, pool: ServicePool) -> str:
    """Return ``persistence_granularity`` in canonical form. Raises :class:`Unrenderable` if it is no address
    of the VIPs' IP version.
    """
    wanted = pool.session_persistence.persistence_granularity if pool.session_persistence else None
    what = f"pool {pool.id}: persistence_granularity {wanted!r}"
    try:
        mask = ipaddress.ip_address(wanted or "")
    except ValueError as error:
        raise Unrenderable(f"{what} is no netmask") from error
    for vip in virtual_ips(service):
        if vip.version != mask.version:
            address = vip.address.partition("%")[0]
            raise Unrenderable(f"{what}: a netmask of IPv{mask.version} does not fit {address}")
    return str(mask)


def _persistence_profile(
    service: ServiceDefinition,
    pool: ServicePool,
    kind: str,
    name: str,
    parent: str,
    settings: dict[str, Any],
    names: BigIpNames,
) -> WantedObject:
    return WantedObject(
        key=Key(type=kind, name=names.auxiliary_object_name(name, pool.id)),
        owner=service.load_balancer_id,
        attributes={
            "defaultsFrom": parent,
            **settings,
            "description": names.marked_description(name, service.load_balancer_id, pool.id),
        },
        immutables=frozenset({"defaultsFrom"}),
    )


def _cookie_name(pool: ServicePool) -> str:
    name = (pool.session_persistence.cookie_name if pool.session_persistence else None) or ""
    if not _COOKIE_NAME.fullmatch(name):
        raise Unrenderable(f"pool {pool.id}: cookie_name {name!r} is no name of a cookie")
    return name


# -- their use by virtual servers


def read_cookies_over_http(service: ServiceDefinition) -> ServiceDefinition:
    """Return the definition with TCP listeners changed to HTTP where the default pool keeps clients by a cookie."""
    by_cookie = {
        pool.id
        for pool in service.pools
        if pool.session_persistence is not None and pool.session_persistence.type in COOKIE_PERSISTENCES
    }
    listeners = tuple(
        replace(listener, protocol="HTTP")
        if listener.protocol == "TCP" and listener.default_pool_id in by_cookie
        else listener
        for listener in service.listeners
    )
    return replace(service, listeners=listeners) if listeners != service.listeners else service


def persistence_attributes(
    service: ServiceDefinition,
    listener: ServiceListener,
    pool: ServicePool | None,
    names: BigIpNames,
    encryption: EncryptedCookies | None = None,
) -> dict[str, Any]:
    """Return ``persist`` and ``fallbackPersistence`` of the listener's virtual servers, both empty without
    persistence. ``pool``: the pool whose persistence all requests get; None: no persistence.
    ``encryption``: that of the listener's cookies.

    Raises :class:`Unrenderable` for a persistence by cookie at a listener without HTTP, and for an impossible
    netmask.
    """
    if pool is None:
        return {"persist": [], "fallbackPersistence": ""}
    partition = names.partition_name(service.project_id)
    wanted = pool.session_persistence
    by_source = (
        (names.auxiliary_object_name(SOURCE_KIND, pool.id), partition)
        if _source_settings(service, pool)
        else ("source_addr", COMMON)
    )
    if wanted is None or wanted.type == "SOURCE_IP":
        uses_source = wanted is not None or pool.lb_algorithm == "SOURCE_IP"
        return {"persist": [_default_profile(*by_source)] if uses_source else [], "fallbackPersistence": ""}
    if listener.protocol not in L7_PROTOCOLS:
        raise Unrenderable(
            f"pool {pool.id}: session_persistence {wanted.type} needs an HTTP listener; {listener.id} is "
            f"{listener.protocol}"
        )
    fallback = f"/{by_source[1]}/{by_source[0]}" if pool.lb_algorithm == "SOURCE_IP" else ""
    return {
        "persist": [_default_profile(*_cookie_profile_location(pool, partition, names, encryption))],
        "fallbackPersistence": fallback,
    }


def _cookie_profile_location(
    pool: ServicePool, partition: str, names: BigIpNames, encryption: EncryptedCookies | None
) -> tuple[str, str]:
    wanted = pool.session_persistence
    if wanted is not None and wanted.type == "APP_COOKIE":
        return names.auxiliary_object_name(APP_COOKIE_KIND, pool.id), partition
    if encryption is not None:
        return names.auxiliary_object_name(encryption.object_kind(COOKIE_KIND), pool.id), partition
    if wanted is not None and wanted.cookie_name:
        return names.auxiliary_object_name(COOKIE_KIND, pool.id), partition
    return "cookie", COMMON


def _default_profile(name: str, partition: str) -> dict[str, Any]:
    return {"name": name, "partition": partition, "tmDefault": "yes"}


def persistence_rule_parts(listener: ServiceListener, pool: ServicePool | None) -> Iterator[RulePart]:
    """Yield the part of the listener's iRule that chooses a member by the client's address and port; nothing
    for pools that do not need it. ``pool``: the listener's first pool.
    """
    if pool is None or not _hashes_port(pool):
        return
    port = _PORT_OF_CLIENT.get(listener.protocol, "TCP::client_port")
    yield RulePart(
        event="CLIENT_ACCEPTED",
        order=Order.PERSISTENCE,
        lines=(f'    persist carp "[IP::client_addr] [{port}]"',),
    )
