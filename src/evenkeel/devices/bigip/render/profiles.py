"""A listener's headers and compression: own profiles, only where a value differs from the built-in profile's. Pure."""

from evenkeel.config.esd.parts import Compression
from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.core.resources.model import TLS_PROTOCOL
from evenkeel.devices.bigip.cookie_secret import EncryptedCookies
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import COMPRESSION_PROFILE, Key, WantedObject
from evenkeel.devices.bigip.render.headers import header_plan

_MINIMUM_SIZE = 1024
"""Bytes of a response below which the built-in profile does not compress it."""
_NO_HSTS: dict[str, str | int] = {
    "mode": "disabled",
    "maximumAge": 16_070_400,
    "includeSubdomains": "enabled",
    "preload": "disabled",
}
"""Values of the built-in http profile, which sends no Strict-Transport-Security."""


def http_profile(
    service: ServiceDefinition,
    listener: ServiceListener,
    names: BigIpNames,
    encryption: EncryptedCookies | None = None,
) -> list[WantedObject]:
    """Build the http profile of a listener that inserts headers without an iRule, encrypts members' cookies
    or sends Strict-Transport-Security; else empty. Raises :class:`Unrenderable` for impossible inserted
    headers.
    """
    plan = header_plan(listener, service.listeners)
    encrypted = () if encryption is None else encryption.cookies
    if not (plan.forwarded_for or plan.profile_header or listener.hsts_max_age is not None or encrypted):
        return []
    kind = "http" if encryption is None else encryption.object_kind("http")
    return [
        WantedObject(
            key=Key(type="ltm/profile/http", name=names.auxiliary_object_name(kind, listener.id)),
            owner=service.load_balancer_id,
            attributes={
                "defaultsFrom": "/Common/http",
                "insertXforwardedFor": "enabled" if plan.forwarded_for else "disabled",
                "headerInsert": plan.profile_header or "none",
                **({"hsts": _hsts_settings(listener)} if listener.protocol == TLS_PROTOCOL else {}),
                **({"encryptCookies": list(encrypted)} if encrypted else {}),
                "description": names.marked_description("http", service.load_balancer_id, listener.id),
            },
            immutables=frozenset({"defaultsFrom"}),
            secrets={} if encryption is None else {"encryptCookieSecret": encryption.passphrase},
        )
    ]


def compression_profile(
    service: ServiceDefinition, listener: ServiceListener, compression: Compression | None, names: BigIpNames
) -> list[WantedObject]:
    """Build the profile that compresses the listener's responses of these content types; empty without
    ``compression``.
    """
    if compression is None:
        return []
    return [
        WantedObject(
            key=Key(type=COMPRESSION_PROFILE, name=names.auxiliary_object_name("compression", listener.id)),
            owner=service.load_balancer_id,
            attributes={
                "defaultsFrom": "/Common/httpcompression",
                "contentTypeInclude": [_content_type_pattern(type_) for type_ in compression.types],
                "minSize": compression.minimum_size or _MINIMUM_SIZE,
                "description": names.marked_description("compression", service.load_balancer_id, listener.id),
            },
            immutables=frozenset({"defaultsFrom"}),
        )
    ]


def _content_type_pattern(content_type: str) -> str:
    """Return a regular expression for a content type, without its parameters. Special characters are in
    brackets, because a backslash would need quoting of its own.
    """
    name = content_type.partition(";")[0]
    return "".join(f"[{character}]" if character in ".+" else character for character in name)


def _hsts_settings(listener: ServiceListener) -> dict[str, str | int]:
    if listener.hsts_max_age is None:
        return dict(_NO_HSTS)
    return {
        "mode": "enabled",
        "maximumAge": listener.hsts_max_age,
        "includeSubdomains": "enabled" if listener.hsts_include_subdomains else "disabled",
        "preload": "enabled" if listener.hsts_preload else "disabled",
    }
