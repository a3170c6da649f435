"""Objects of listeners that F5's agent made beside virtual servers and pools in a tenant's partition. Pure.

In an adopted partition such objects are removed as soon as nothing refers to them, in the order that a device needs:
Even Keel's have replaced them, and an L7 policy or iRule of F5's would hold the pool to which it sends. F5's agent (9.8
to 9.10) gives these names, always with a UUID:

=========================  ========================================================================================
object                     name
=========================  ========================================================================================
ltm/policy                 ``wrapper_policy_<listener>``, ``redirect-policy-<prefix>_<listener>``
ltm/rule                   ``irule_<L7 rule>``, ``bwc_irule_<load balancer>``, ``TOA_<listener>``,
                           ``acl_irule_<listener>``, ``app_cookie_<prefix>_<listener>``
ltm/persistence/universal  ``app_cookie_<prefix>_<listener>``
ltm/persistence/cookie,    ``http_cookie_<prefix>_<listener>``, ``source_addr_<prefix>_<listener>``
/source-addr
ltm/profile/http, /http2   ``http_profile_<prefix>_<listener>``, ``http2_profile_…``, ``http2tls_profile_…``
ltm/profile/tcp            ``tcp_profile_<listener>``, also after ``server_`` or ``client_``
ltm/profile/ftp            ``ftp_profile_<listener>``
net/bwc/policy             ``bwc_policy_<load balancer>``
=========================  ========================================================================================
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evenkeel.devices.bigip import canonical
from evenkeel.devices.bigip.objects import (
    BANDWIDTH_POLICY,
    COOKIE_PERSISTENCE,
    FTP_PROFILE,
    HTTP2_PROFILE,
    PERSISTENCE,
    POLICY,
    PROFILES,
    ROUTE_DOMAIN,
    RULE,
    SOURCE_PERSISTENCE,
    UNIVERSAL_PERSISTENCE,
    VIRTUAL,
    Key,
    Observed,
)

_PROFILES = (*PROFILES, FTP_PROFILE)
F5_TYPES = (POLICY, RULE, *PERSISTENCE, *_PROFILES, BANDWIDTH_POLICY)
"""Types of objects of F5's agent that this module finds."""
_ID = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_HTTP_PROFILE, _TCP_PROFILE = "ltm/profile/http", "ltm/profile/tcp"
_NAME_PATTERNS: Mapping[str, str] = {
    POLICY: "wrapper_policy_{id}|redirect-policy-{prefix}_{id}",
    RULE: "(?:irule|bwc_irule|TOA|acl_irule)_{id}|app_cookie_{prefix}_{id}",
    UNIVERSAL_PERSISTENCE: "app_cookie_{prefix}_{id}",
    COOKIE_PERSISTENCE: "http_cookie_{prefix}_{id}",
    SOURCE_PERSISTENCE: "source_addr_{prefix}_{id}",
    _HTTP_PROFILE: "http_profile_{prefix}_{id}",
    HTTP2_PROFILE: "http2(?:tls)?_profile_{prefix}_{id}",
    _TCP_PROFILE: "(?:server_|client_)?tcp_profile_{id}",
    FTP_PROFILE: "ftp_profile_{id}",
    BANDWIDTH_POLICY: "bwc_policy_{id}",
}
_BANDWIDTH_PATTERN = re.compile(r"BWC::policy\s+attach\s+(/\S+)")
_KINDS_BY_ATTRIBUTE = {"rules": "rule", "policies": "policy", "profiles": "profile", "persist": "persist"}
"""``{attribute of a virtual server that lists other objects: their kind}``. Names are unique within a kind."""
_KINDS_BY_TYPE = {
    POLICY: "policy",
    RULE: "rule",
    BANDWIDTH_POLICY: "bandwidth",
    **dict.fromkeys(_PROFILES, "profile"),
    **dict.fromkeys(PERSISTENCE, "persist"),
}

Attributes = Mapping[str, Any]


def is_f5_key(key: Key, prefix: str) -> bool:
    """Whether F5's agent gives an object of this type this name. ``prefix``: first part of F5's names."""
    pattern = _NAME_PATTERNS.get(key.type)
    return pattern is not None and bool(re.fullmatch(pattern.format(id=_ID, prefix=re.escape(prefix)), key.name))


def is_f5_rule_name(name: str) -> bool:
    """Whether F5's agent gives an iRule this name, with any prefix."""
    return re.fullmatch(_NAME_PATTERNS[RULE].format(id=_ID, prefix=".+"), name) is not None


def f5_object_keys(observed: Observed, prefix: str) -> list[Key]:
    """Return the keys of the objects that have a name given by F5's agent and have no mark."""
    return [key for key, seen in observed.items() if seen.mark is None and is_f5_key(key, prefix)]


def unreferenced_keys(theirs: Iterable[Key], left: Mapping[Key, Attributes], partition: str) -> list[Key]:
    """Return those of ``theirs`` to which no object that will exist refers, sorted by type and name.
    ``left``: attributes of all objects that will exist.
    """
    gone: set[Key] = set()
    # Persistence first: a universal one refers to an iRule, which nothing needs after it, nor what the iRule names.
    for types in (PERSISTENCE, (POLICY, RULE, *_PROFILES), (BANDWIDTH_POLICY,)):
        used = set(_referenced_paths(item for item in left.items() if item[0] not in gone))
        gone.update(
            key
            for key in theirs
            if key.type in types and (_KINDS_BY_TYPE[key.type], f"/{partition}/{key.name}") not in used
        )
    return sorted(gone, key=lambda key: (key.type, key.name))


def _referenced_paths(items: Iterable[tuple[Key, Attributes]]) -> Iterator[tuple[str, str]]:
    """Yield kind and path of the iRules, policies, profiles, persistence profiles and bandwidth policies to
    which virtual servers, route domains, iRules, profiles and persistence profiles refer; an unset
    reference yields an empty path.
    """
    for key, attributes in items:
        if key.type == VIRTUAL:
            for name, kind in _KINDS_BY_ATTRIBUTE.items():
                yield from ((kind, canonical.full_path(each)) for each in attributes.get(name) or ())
            yield "persist", canonical.full_path(attributes.get("fallbackPersistence") or "")
            yield "bandwidth", canonical.full_path(attributes.get("bwcPolicy") or "")
        elif key.type == ROUTE_DOMAIN:
            yield "bandwidth", canonical.full_path(attributes.get("bwcPolicy") or "")
        elif key.type == RULE:
            # A device finds a policy by its path in an iRule only when the iRule runs.
            yield from (
                ("bandwidth", path) for path in _BANDWIDTH_PATTERN.findall(str(attributes.get("apiAnonymous", "")))
            )
        elif key.type in (*_PROFILES, *PERSISTENCE):
            yield _KINDS_BY_TYPE[key.type], canonical.full_path(attributes.get("defaultsFrom") or "")
            yield "rule", canonical.full_path(attributes.get("rule") or "")
