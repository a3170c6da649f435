"""Constraints between the TLS profiles of one virtual server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import Obj, Target
from icontrol_emulator.config.rules import ciphers
from icontrol_emulator.config.rules.ssl import CLIENT_SSL
from icontrol_emulator.config.schema import Context

SERVER_SSL = "ltm/profile/server-ssl"
HTTP2 = "ltm/profile/http2"
HTTP2_SUITE = "ECDHE-RSA-AES128-GCM-SHA256"


def check_tls(ctx: Context, virtual: Obj, profiles: list[str]) -> None:
    clients = _of_type(ctx, profiles, CLIENT_SSL)
    for found in (clients, _of_type(ctx, profiles, SERVER_SSL)):
        _check_names(virtual, list(found.values()))
    for http2 in _of_type(ctx, profiles, HTTP2).values():
        _check_http2(ctx, virtual, http2, clients)


def _of_type(ctx: Context, profiles: list[str], type_path: str) -> dict[str, Mapping[str, Any]]:
    """Effective properties of the profiles of a type, by path."""
    found = ((path, ctx.store.find(Target("profile", path))) for path in profiles)
    return {path: ctx.props(obj) for path, obj in found if obj is not None and obj.key.type == type_path}


def _check_names(virtual: Obj, profiles: list[Mapping[str, Any]]) -> None:
    defaults = sum(props.get("sniDefault") == "true" for props in profiles)
    if defaults > 1:
        text = "has more than one clientssl/serverssl profile that is default for SNI."
        raise errors.mcpd(400, "01071809", f"Virtual Server {virtual.key.path} {text}")
    if len(profiles) > 1 and not defaults:
        raise errors.no_sni_default(virtual.key.path)
    names = [str(props.get("serverName")).lower() for props in profiles if props.get("serverName") not in NAMELESS]
    if len(set(names)) < len(names):
        raise errors.same_server_name(virtual.key.path)


NAMELESS = (None, "", "none")


def _check_http2(
    ctx: Context, virtual: Obj, http2: Mapping[str, Any], clients: Mapping[str, Mapping[str, Any]]
) -> None:
    modes = http2.get("activationModes") or []
    if "always" in modes:
        return
    if not clients:
        raise errors.configuration_error(
            f"In Virtual Server ({virtual.key.path}) http2 specified activation mode requires a client ssl profile"
        )
    if http2.get("enforceTlsRequirements") != "enabled":
        return
    for path, props in clients.items():
        if props.get("renegotiation") != "disabled":
            raise errors.http2_and_client_ssl(virtual.key.path, path, "regenotiation must be disabled")
        if not any(choice.suite.name == HTTP2_SUITE for choice in ciphers.of_profile(ctx, props)):
            reason = f"cipher {HTTP2_SUITE} must be available"
            raise errors.http2_and_client_ssl(virtual.key.path, path, reason)
