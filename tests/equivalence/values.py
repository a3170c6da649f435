"""Random values of every attribute that a service definition has.

An attribute whose type says which values there are (a switch, one of several words, a bounded number) is drawn from its
type; :data:`VALUES` has those that need values of this scenery: addresses, references, texts that requests match. What
a device type does not support is refused by :func:`.definitions.problem`, from its table of capabilities. So a new
attribute is drawn without a change here, or :func:`drawable` says that it needs values.
"""

import functools
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, get_args

import msgspec
from msgspec import inspect

from evenkeel.api.usecases.l7_requests import L7PolicyNew, L7RuleNew
from evenkeel.api.usecases.pool_requests import HealthMonitorNew, MemberNew, PoolNew
from evenkeel.api.usecases.requests import ListenerNew
from evenkeel.core.devices.capabilities import INSERT_HEADERS, TLS_INSERT_HEADERS
from evenkeel.core.resources.attributes import CHANGEABLE_ATTRIBUTES, attribute_shape, defaults_of, fields_of
from evenkeel.core.resources.model import (
    AlpnProtocol,
    HealthMonitor,
    HealthMonitorSpec,
    L7Policy,
    L7PolicySpec,
    L7Rule,
    L7RuleSpec,
    Listener,
    ListenerSpec,
    Member,
    MemberSpec,
    Pool,
    PoolSpec,
    SessionPersistence,
    TlsVersion,
)

KINDS: dict[str, tuple[type[Any], type[Any], type[Any]]] = {
    "listener": (ListenerSpec, Listener, ListenerNew),
    "pool": (PoolSpec, Pool, PoolNew),
    "member": (MemberSpec, Member, MemberNew),
    "monitor": (HealthMonitorSpec, HealthMonitor, HealthMonitorNew),
    "policy": (L7PolicySpec, L7Policy, L7PolicyNew),
    "rule": (L7RuleSpec, L7Rule, L7RuleNew),
}
"""Kind of object -> its attributes on the device, in the store, and in a request that creates it."""
NOT_DRAWN = frozenset({"id", "name", "description"})
"""What no device acts upon."""
CERTIFICATES = ("www", "www-rsa", "shop", "any")
"""References to listeners' certificates, of :data:`tests.devices.tls_behaviour.NAMED`."""
CHECK_ADDRESSES, CHECK_PORTS = "10.2.1.{place}", (9001, 9002)
"""Where members can be checked instead; see :mod:`.site`."""
SUITES = (
    None,
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_AES_256_GCM_SHA384:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384",
)
_VERSIONS = get_args(TlsVersion)
_SPANS = tuple(_VERSIONS[first:last] for first in range(1, 5) for last in range(first + 1, 6))
_ALPN = ((), *((one,) for one in get_args(AlpnProtocol)), ("h2", "http/1.1"), ("http/1.1", "http/1.0"))
_PERSISTENCES = (
    None,
    SessionPersistence(type="SOURCE_IP"),
    SessionPersistence(type="HTTP_COOKIE"),
    SessionPersistence(type="APP_COOKIE", cookie_name="SESSION"),
    SessionPersistence(type="APP_COOKIE", cookie_name="OTHER"),
)

VALUES: Mapping[tuple[str, str], Sequence[Any]] = {
    ("listener", "allowed_cidrs"): ((), (), ("127.0.0.0/8",), ("127.0.0.4/30", "10.0.0.0/8"), ("10.0.0.0/8",)),
    ("listener", "connection_limit"): (-1, 100, 1000),
    ("listener", "timeout_client_data"): (50_000, 20_000, 0),
    # a second for each connection that a member refuses, at most: see the retries of HAProxy
    ("listener", "timeout_member_connect"): (200, 300, 400),
    ("listener", "timeout_member_data"): (50_000, 20_000, 0),
    ("listener", "timeout_tcp_inspect"): (0, 100),
    ("listener", "default_tls_container_ref"): (None, *CERTIFICATES),
    ("listener", "sni_container_refs"): ((), ("shop",), ("www",), ("shop", "any"), ("any", "www-rsa"), ("www", "shop")),
    ("listener", "client_ca_tls_container_ref"): (None, "root"),
    ("listener", "client_crl_container_ref"): (None, "revoked"),
    ("listener", "tls_ciphers"): SUITES,
    ("listener", "tls_versions"): ((), *_SPANS),
    ("listener", "alpn_protocols"): _ALPN,
    ("listener", "hsts_max_age"): (None, 0, 31_536_000),
    ("pool", "session_persistence"): _PERSISTENCES,
    ("pool", "tls_container_ref"): (None, "balancer"),
    ("pool", "ca_tls_container_ref"): (None, "root"),
    ("pool", "crl_container_ref"): (None, "revoked"),
    ("pool", "tls_ciphers"): SUITES,
    ("pool", "tls_versions"): ((), *_SPANS),
    ("pool", "alpn_protocols"): _ALPN,
    ("member", "weight"): (0, 1, 1, 2, 3, 256),
    ("member", "monitor_port"): (None, *CHECK_PORTS),
    ("monitor", "delay"): (1, 2),
    ("monitor", "timeout"): (1, 2),
    ("monitor", "max_retries"): (1, 2),
    ("monitor", "max_retries_down"): (1, 2),
    ("monitor", "url_path"): ("/", "/check", "/code/418"),
    ("monitor", "http_method"): ("GET", "HEAD", "OPTIONS", "POST"),
    ("monitor", "expected_codes"): ("200", "200-204", "200,418", "418"),
    ("monitor", "http_version"): (None, 1.0, 1.1),
    ("monitor", "domain_name"): (None, None, "www.example.org", "shop.example.org"),
    ("policy", "redirect_url"): ("https://new.test/%20x?a=b", "http://other.test/"),
    ("policy", "redirect_prefix"): ("https://new.test", "http://other.test:81/p"),
    ("policy", "redirect_http_code"): (301, 302, 303, 307, 308),
}
"""Kind and attribute -> its values."""
TOGETHER: Mapping[str, Sequence[tuple[str, ...]]] = {
    "listener": (
        ("client_authentication", "client_ca_tls_container_ref", "client_crl_container_ref"),
        ("hsts_max_age", "hsts_include_subdomains", "hsts_preload"),
    ),
    "pool": (("ca_tls_container_ref", "crl_container_ref"),),
    "monitor": (("http_version", "domain_name"), ("url_path", "expected_codes")),
}
"""Kind -> attributes that are drawn together, because one means nothing without the others."""
HTTP_MONITORS = ("HTTP", "HTTPS")


@functools.cache
def attributes(kind: str, *, changeable: bool = True) -> list[str]:
    """Attributes that are drawn: of an object that is there, or of a new one."""
    spec, stored, _ = KINDS[kind]
    found = [name for name in fields_of(spec) if name not in NOT_DRAWN]
    return [name for name in found if name in CHANGEABLE_ATTRIBUTES[stored]] if changeable else found


def drawable(kind: str, name: str) -> bool:
    """Whether there are values of this attribute."""
    return bool(values_of(kind, name)) or (kind, name) in DRAWN_IN_PLACE


DRAWN_IN_PLACE = frozenset(
    {
        *(("listener", name) for name in ("protocol", "protocol_port", "default_pool_id", "insert_headers")),
        *(("member", name) for name in ("address", "protocol_port", "monitor_address")),
        ("policy", "redirect_pool_id"),
        *(("rule", name) for name in ("type", "compare_type", "value", "key", "invert")),
    }
)
"""Attributes whose values depend on what is around the object: see :mod:`.definitions`."""


@functools.cache
def values_of(kind: str, name: str) -> Sequence[Any]:
    """The values of an attribute, wherever the object is; none: they depend on what is around it."""
    if (kind, name) in VALUES:
        return VALUES[kind, name]
    if (kind, name) in DRAWN_IN_PLACE:
        return ()
    spec, _, request = KINDS[kind]
    field = fields_of(spec)[name]
    shape = attribute_shape(field.type)
    found = _of_type(shape.node, _bounds(request, name), defaults_of(spec).get(name))
    return (*((None,) if shape.optional else ()), *found)


def _of_type(node: inspect.Type, bounds: inspect.Type | None, default: Any) -> tuple[Any, ...]:
    if isinstance(node, inspect.BoolType):
        return (False, True)
    if isinstance(node, inspect.LiteralType):
        return tuple(node.values)
    if isinstance(node, inspect.IntType):
        return _numbers(bounds, default)
    return ()


def _numbers(bounds: inspect.Type | None, default: Any) -> tuple[int, ...]:
    """The default and its neighbours, within the bounds of a request."""
    middle = 1 if default is None else int(default)
    least, greatest = getattr(bounds, "ge", None), getattr(bounds, "le", None)
    wanted = (middle, middle + 1, 2 * middle + 2)
    fitting = (one for one in wanted if (least is None or one >= least) and (greatest is None or one <= greatest))
    return tuple(dict.fromkeys(fitting))


def _bounds(request: type[Any], name: str) -> inspect.Type | None:
    field = next((one for one in msgspec.structs.fields(request) if one.name == name), None)
    if field is None:
        return None
    node = inspect.type_info(field.type)
    parts = node.types if isinstance(node, inspect.UnionType) else (node,)
    return next((one for one in parts if isinstance(one, inspect.IntType)), None)


def together(kind: str, name: str) -> tuple[str, ...]:
    """The attribute and those that are drawn with it."""
    return next((group for group in TOGETHER.get(kind, ()) if name in group), (name,))


def headers(rng: Random, protocol: str) -> dict[str, str]:
    """Headers to insert, as a listener of the protocol may."""
    known = (*INSERT_HEADERS, *(TLS_INSERT_HEADERS if protocol == "TERMINATED_HTTPS" else ()))
    return {name: "true" for name in known if rng.random() < 0.4}
