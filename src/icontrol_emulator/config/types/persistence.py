"""Session persistence profiles. All kinds share one name space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icontrol_emulator.config.rules.misc import BuiltInRules
from icontrol_emulator.config.schema import Ref, TypeSpec, names

_MATCH = {
    "matchAcrossPools": "disabled", "matchAcrossServices": "disabled", "matchAcrossVirtuals": "disabled",
    "mirror": "disabled", "overrideConnectionLimit": "disabled",
}  # fmt: skip
_HASH = {"hashAlgorithm": "default", "hashBufferLimit": 0, "hashEndPattern": "none", "hashLength": 0,
         "hashOffset": 0, "hashStartPattern": "none"}  # fmt: skip
_MAP = {"hashAlgorithm": "default", "mapProxies": "enabled", "mapProxyAddress": "none", "mask": "none"}


def _persistence(path: str, root: str, defaults: Mapping[str, Any]) -> TypeSpec:
    return TypeSpec(
        path=f"ltm/persistence/{path}", word="persistence profile", family="persistence", rules=BuiltInRules(),
        defaults={**_MATCH, "timeout": "180", **defaults}, inherits=True, root=f"/Common/{root}",
        optional=names("rule mapProxyClass ruleReference"),
        refs=(Ref(name="rule", family="ltm/rule"),),
    )  # fmt: skip


SPECS = [
    _persistence("cookie", "cookie", {
        "alwaysSend": "disabled", "cookieEncryption": "disabled", "cookieEncryptionPassphrase": "none",
        "cookieName": "none", "expiration": "0", "hashLength": 0, "hashOffset": 0, "httponly": "enabled",
        "method": "insert", "secure": "enabled", "encryptCookiePoolname": "disabled",
    }),
    _persistence("source-addr", "source_addr", _MAP),
    _persistence("dest-addr", "dest_addr", {"hashAlgorithm": "default", "mask": "none"}),
    _persistence("hash", "hash", _HASH),
    _persistence("ssl", "ssl", {"timeout": "300"}),
    _persistence("sip", "sip_info", {"sipInfo": "Call-ID"}),
    _persistence("msrdp", "msrdp", {"timeout": "300", "hasSessionDir": "yes"}),
    _persistence("universal", "universal", {}),
    _persistence("host", "host", {}),
]  # fmt: skip

ROOTS = {spec.root: spec.path for spec in SPECS}
