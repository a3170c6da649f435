"""Session persistence profiles. All kinds share one name space.

Defaults as recorded from 14.1.2.1 in CiscoTestAutomation/genieparser; those of `sip`, `ssl` and `host`, and the allowed
values, are from memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icontrol_emulator.config.rules.persistence import PersistenceRules
from icontrol_emulator.config.schema import Ref, TypeSpec, names

_ON_OFF = names("enabled disabled")
_SHARED = {
    "appService": "none", "description": "none", "matchAcrossPools": "disabled", "matchAcrossServices": "disabled",
    "matchAcrossVirtuals": "disabled", "mirror": "disabled", "overrideConnectionLimit": "disabled", "timeout": "180",
}  # fmt: skip
_HASH = {
    "hashAlgorithm": "default", "hashBufferLimit": 0, "hashEndPattern": "none", "hashLength": 0, "hashOffset": 0,
    "hashStartPattern": "none", "rule": "none",
}  # fmt: skip
_COOKIE = {
    "alwaysSend": "disabled", "cookieEncryption": "disabled", "cookieName": "none", "encryptCookiePoolname": "disabled",
    "expiration": "0", "hashLength": 0, "hashOffset": 0, "httponly": "enabled", "method": "insert",
    "secure": "enabled",
}  # fmt: skip
_CHOICES = {
    **dict.fromkeys(
        ("matchAcrossPools", "matchAcrossServices", "matchAcrossVirtuals", "mirror", "overrideConnectionLimit",
         "alwaysSend", "encryptCookiePoolname", "httponly", "secure", "mapProxies"), _ON_OFF),
    "cookieEncryption": names("disabled preferred required"), "hashAlgorithm": names("default carp"),
    "hasSessionDir": names("yes no"), "method": names("hash insert passive rewrite"),
}  # fmt: skip
_HASHED = (0, 65_535)


def _persistence(path: str, root: str, own: Mapping[str, Any] | None = None, optional: str = "") -> TypeSpec:
    defaults = {**_SHARED, **(own or {})}
    return TypeSpec(
        path=f"ltm/persistence/{path}", word="persistence profile", family="persistence", rules=PersistenceRules(),
        defaults=defaults, inherits=True, root=f"/Common/{root}", optional=names(optional),
        choices={name: words for name, words in _CHOICES.items() if name in defaults},
        ranges={name: _HASHED for name in ("hashLength", "hashOffset", "hashBufferLimit") if name in defaults},
        refs=(Ref(name="rule", family="ltm/rule"),),
    )  # fmt: skip


SPECS = [
    _persistence("cookie", "cookie", _COOKIE, "cookieEncryptionPassphrase"),
    _persistence("source-addr", "source_addr", {
        "hashAlgorithm": "default", "mapProxies": "enabled", "mapProxyAddress": "none", "mapProxyClass": "none",
        "mask": "none",
    }),
    _persistence("dest-addr", "dest_addr", {"hashAlgorithm": "default", "mask": "none"}),
    _persistence("hash", "hash", _HASH),
    _persistence("ssl", "ssl", {"timeout": "300"}),
    _persistence("sip", "sip_info", {"sipInfo": "Call-ID"}),
    _persistence("msrdp", "msrdp", {"hasSessionDir": "yes", "timeout": "300"}),
    _persistence("universal", "universal", {"rule": "none"}),
    _persistence("host", "host"),
]  # fmt: skip

ROOTS = {spec.root: spec.path for spec in SPECS}
