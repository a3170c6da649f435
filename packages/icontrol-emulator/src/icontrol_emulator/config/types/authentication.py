"""Authentication of administrators (auth) and of clients of virtual servers (ltm/auth). Defaults from memory, but for
auth/password-policy (14.1.2.1 in CiscoTestAutomation/genieparser)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from icontrol_emulator.config.schema import TypeSpec
from icontrol_emulator.config.types.tables import open_type, settings

_LDAP: dict[str, Any] = {
    "bindTimeout": 30, "bindDn": "none", "bindPw": "none", "checkHostAttr": "disabled", "checkRolesGroup": "disabled",
    "debug": "disabled", "idleTimeout": 3600, "ignoreAuthInfoUnavail": "no", "ignoreUnknownUser": "disabled",
    "port": "ldap", "searchTimeout": 30, "ssl": "disabled", "version": 3, "warnings": "enabled",
}  # fmt: skip
_TACACS: dict[str, Any] = {
    "accounting": "send-to-first-server", "authentication": "use-first-server", "debug": "disabled", "encryption":
    "enabled", "service": "ppp",
}  # fmt: skip
_RADIUS: dict[str, Any] = {"accountingBug": "disabled", "debug": "disabled", "retries": 3, "serviceType": "default"}
_RADIUS_SERVER: dict[str, Any] = {"port": 1812, "timeout": 3}


def _ldap(path: str, word: str) -> TypeSpec:
    """With the property ``scope``, which is no scope of the type."""
    spec = open_type(path, word, **_LDAP)
    return replace(spec, defaults={**spec.defaults, "scope": "sub"})


SPECS = [
    settings("auth/password-policy", expirationWarning=7, maxDuration=99999, maxLoginFailures=0, minDuration=0,
             minimumLength=6, passwordMemory=0, policyEnforcement="enabled", requiredLowercase=0, requiredNumeric=0,
             requiredSpecial=0, requiredUppercase=0),
    settings("auth/remote-user", defaultPartition="all", defaultRole="no-access", remoteConsoleAccess="disabled"),
    settings("auth/source", fallback="false", type="local"),
    settings("auth/remote-role", subs=("role-info",)),
    open_type("auth/remote-role/role-info", "remote role", console="disabled", deny="disabled",
              lineOrder=1, role="no-access", userPartition="Common"),
    _ldap("auth/ldap", "LDAP configuration"),
    _ldap("auth/cert-ldap", "certificate LDAP configuration"),
    open_type("auth/radius", "RADIUS configuration", **_RADIUS),
    open_type("auth/radius-server", "RADIUS server", **_RADIUS_SERVER),
    open_type("auth/tacacs", "TACACS+ configuration", **_TACACS),
    open_type("ltm/auth/crldp-server", "CRLDP server", port=389, reverseDn="disabled"),
    open_type("ltm/auth/kerberos-delegation", debugLogging="disabled"),
    _ldap("ltm/auth/ldap", "LDAP authentication"),
    open_type("ltm/auth/ocsp-responder", "OCSP responder", allowCerts="enabled", caFile="none", chain="enabled",
              checkCerts="enabled", signDigest="sha1", statusAge=0, validityPeriod=300),
    open_type("ltm/auth/profile", "authentication profile", idleTimeout=300, credentialSource="http-basic-auth"),
    open_type("ltm/auth/radius", "RADIUS authentication", **_RADIUS),
    open_type("ltm/auth/radius-server", "RADIUS server", **_RADIUS_SERVER),
    open_type("ltm/auth/ssl-cc-ldap", cacheSize=20000, cacheTimeout=300, secure="disabled"),
    open_type("ltm/auth/ssl-crldp", cacheTimeout=86400, connectionTimeout=15, updateInterval=0, useIssuer="disabled"),
    open_type("ltm/auth/ssl-ocsp"),
    open_type("ltm/auth/tacacs", "TACACS+ authentication", **_TACACS),
]  # fmt: skip
