"""TLS versions and ciphers for clients and members. Pure.

Ciphers are a cipher rule in a cipher group, because a BIG-IP refuses TLS 1.3 with a plain cipher string (K10251520).
Tenants use OpenSSL's cipher names, which differ in part from a BIG-IP's: :data:`CIPHERS`. As in OpenSSL, ciphers of
older versions do not restrict TLS 1.3: if no TLS 1.3 cipher is named, all three are allowed.
"""

from collections.abc import Iterable
from typing import Any

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener, ServicePool
from evenkeel.core.tls.tls import DEFAULT_CIPHERS, DEFAULT_VERSIONS, NEWEST_TLS_VERSION
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import CIPHER_GROUP, CIPHER_RULE, Key, WantedObject
from evenkeel.devices.errors import Unrenderable

DEFAULT_CIPHER_GROUP = "/Common/f5-default"
"""Cipher group of the device, used where no ciphers are named; built in since 13.0."""
_SWITCHES_BY_VERSION = {
    "SSLv3": "no-sslv3",
    "TLSv1": "no-tlsv1",
    "TLSv1.1": "no-tlsv1.1",
    "TLSv1.2": "no-tlsv1.2",
    NEWEST_TLS_VERSION: "no-tlsv1.3",
}
_CONSTANT_OPTION = "dont-insert-empty-fragments"
_NEWEST_CIPHERS = {
    "TLS_AES_128_GCM_SHA256": "TLS13-AES128-GCM-SHA256",
    "TLS_AES_256_GCM_SHA384": "TLS13-AES256-GCM-SHA384",
    "TLS_CHACHA20_POLY1305_SHA256": "TLS13-CHACHA20-POLY1305-SHA256",
}
_CIPHERS_NAMED_ALIKE = (
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-AES128-SHA256",
    "ECDHE-ECDSA-AES256-SHA384",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-ECDSA-AES256-SHA",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES128-SHA256",
    "ECDHE-RSA-AES256-SHA384",
    "ECDHE-RSA-DES-CBC3-SHA",
    "DHE-RSA-AES128-GCM-SHA256",
    "DHE-RSA-AES256-GCM-SHA384",
    "DHE-RSA-AES128-SHA256",
    "DHE-RSA-AES256-SHA256",
    "DHE-RSA-AES128-SHA",
    "DHE-RSA-AES256-SHA",
    "AES128-GCM-SHA256",
    "AES256-GCM-SHA384",
    "AES128-SHA256",
    "AES256-SHA256",
    "AES128-SHA",
    "AES256-SHA",
    "CAMELLIA128-SHA",
    "CAMELLIA256-SHA",
    "DES-CBC3-SHA",
)
CIPHERS = {
    **_NEWEST_CIPHERS,
    **{name: name for name in _CIPHERS_NAMED_ALIKE},
    "ECDHE-RSA-AES128-SHA": "ECDHE-RSA-AES128-CBC-SHA",
    "ECDHE-RSA-AES256-SHA": "ECDHE-RSA-AES256-CBC-SHA",
    "ECDHE-RSA-CHACHA20-POLY1305": "ECDHE-RSA-CHACHA20-POLY1305-SHA256",
    "ECDHE-ECDSA-CHACHA20-POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305-SHA256",
}
"""``{OpenSSL's cipher name: BIG-IP's name}``. Cipher rules contain only these values, so text from a tenant is never
parsed as a rule.
"""


ABSENT_DEFAULTS = frozenset(DEFAULT_CIPHERS.split(":")) - CIPHERS.keys()
"""Ciphers of the API's default that BIG-IPs do not have. They are left out, and clients choose another one."""


def tls_attributes(
    service: ServiceDefinition, speaker: ServiceListener | ServicePool, names: BigIpNames
) -> dict[str, Any]:
    """Return TLS versions and ciphers as attributes of a client-ssl or server-ssl profile. Raises
    :class:`Unrenderable` for an unknown version.
    """
    group = (
        f"/{names.partition_name(service.project_id)}/{_cipher_object_name(speaker, names)}"
        if speaker.tls_ciphers
        else DEFAULT_CIPHER_GROUP
    )
    return {"tmOptions": tls_profile_options(speaker), "cipherGroup": group, "ciphers": "none"}


def tls_profile_options(speaker: ServiceListener | ServicePool) -> str:
    """Return the profile options that disable all TLS versions not allowed, in the form in which a device
    returns them. Raises :class:`Unrenderable` for an unknown version.
    """
    wanted = _tls_versions(speaker)
    switches = (switch for version, switch in _SWITCHES_BY_VERSION.items() if version not in wanted)
    return f"{{ {' '.join((_CONSTANT_OPTION, *switches))} }}"


def cipher_objects(
    service: ServiceDefinition, speaker: ServiceListener | ServicePool, names: BigIpNames
) -> list[WantedObject]:
    """Build the cipher rule and the cipher group; empty if no ciphers are named. Raises :class:`Unrenderable`
    for a cipher that a BIG-IP does not have.
    """
    if not speaker.tls_ciphers:
        return []
    name = _cipher_object_name(speaker, names)
    mark = names.marked_description("ciphers", service.load_balancer_id, speaker.id)
    rule = {"cipher": ":".join(_cipher_names(speaker)), "description": mark}
    group = {"allow": [{"name": f"/{names.partition_name(service.project_id)}/{name}"}], "description": mark}
    return [
        WantedObject(key=Key(type=kind, name=name), owner=service.load_balancer_id, attributes=attributes)
        for kind, attributes in ((CIPHER_RULE, rule), (CIPHER_GROUP, group))
    ]


def _cipher_object_name(speaker: ServiceListener | ServicePool, names: BigIpNames) -> str:
    return names.auxiliary_object_name("ciphers", speaker.id)


def _tls_versions(speaker: ServiceListener | ServicePool) -> tuple[str, ...]:
    for version in speaker.tls_versions:
        if version not in _SWITCHES_BY_VERSION:
            possible = ", ".join(_SWITCHES_BY_VERSION)
            raise Unrenderable(f"{listener_or_pool_title(speaker)}: tls_versions {version}: {possible} are possible")
    return speaker.tls_versions or DEFAULT_VERSIONS


def _cipher_names(speaker: ServiceListener | ServicePool) -> Iterable[str]:
    requested = [name for name in (speaker.tls_ciphers or "").split(":") if name not in ABSENT_DEFAULTS]
    for name in requested:
        if name not in CIPHERS:
            raise Unrenderable(
                f"{listener_or_pool_title(speaker)}: tls_ciphers: {name!r} is no name of a cipher that a BIG-IP has"
            )
    # As in OpenSSL, a list without TLS 1.3 ciphers does not restrict TLS 1.3.
    if NEWEST_TLS_VERSION in _tls_versions(speaker) and not _NEWEST_CIPHERS.keys() & set(requested):
        requested = [*_NEWEST_CIPHERS, *requested]
    return dict.fromkeys(CIPHERS[name] for name in requested)


def listener_or_pool_title(speaker: ServiceListener | ServicePool) -> str:
    """Return the name of the listener or pool that an attribute belongs to, for messages."""
    return f"{'listener' if isinstance(speaker, ServiceListener) else 'pool'} {speaker.id}"
