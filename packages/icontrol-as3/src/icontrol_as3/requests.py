"""Reads requests: the body with or without its AS3 frame, the query, and tenants in the path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

import msgspec

from icontrol_as3.errors import Refused, invalid
from icontrol_as3.schema.checks import boolean, fields, integer, one_of, text

ACTIONS = ("deploy", "dry-run", "patch", "remove", "retrieve")
TENANTS_IN_PATH_MAX = 100
_FRAME = {
    "class": one_of("AS3"), "action": one_of(*ACTIONS), "persist": boolean, "historyLimit": integer(0, 15),
    "logLevel": text(), "trace": boolean, "syncToGroup": one_of(""), "declaration": lambda value, path: iter(()),
    "patchBody": lambda value, path: iter(()), "$schema": text(), "controls": lambda value, path: iter(()),
}  # fmt: skip
_QUERY = frozenset({"async", "show", "showHash", "controls.dryRun", "controls.logLevel", "controls.trace"})


@dataclass(frozen=True, slots=True, kw_only=True)
class As3Request:
    """A request to `declare`, whether its parameters are in its body, query or path."""

    action: str
    declaration: Any = None
    patch: Any = None
    persist: bool = True
    dry_run: bool = False
    tenants: tuple[str, ...] = ()
    """Tenants named in the path; empty for all."""
    show_hash: bool = False
    wait: bool = True
    """Whether the answer has the outcome."""


_ACTION_OF = {"GET": "retrieve", "POST": "deploy", "PATCH": "patch", "DELETE": "remove"}


def read_request(method: str, rest: list[str], query: str, raw: bytes) -> As3Request:
    """The request to `declare`; raises `Refused` for one that AS3 does not take."""
    if method not in _ACTION_OF:
        raise Refused(405, f"Method {method} is not allowed")
    named = _tenants(rest)
    options = _options(query)
    body = _json(raw) if method in ("POST", "PATCH") else None
    shared: dict[str, Any] = {
        "tenants": named, "show_hash": options.get("showHash") == "true",
        "wait": options.get("async") != "true", "dry_run": options.get("controls.dryRun") == "true",
    }  # fmt: skip
    if method == "PATCH":
        return As3Request(**shared, action="patch", patch=body)
    if method != "POST":
        return As3Request(**shared, action=_ACTION_OF[method])
    if isinstance(body, dict) and body.get("class") == "ADC":
        return As3Request(**_with_trial(shared, body.get("controls")), action="deploy", declaration=body)
    return _framed(body, shared)


def _framed(body: Any, shared: dict[str, Any]) -> As3Request:
    found = list(fields(_FRAME, ("class",))(body, "")) if isinstance(body, dict) else ["(root): should be object"]
    if found:
        raise invalid(found)
    action = body.get("action", "deploy")
    declaration = body.get("declaration")
    if action in ("deploy", "dry-run") and declaration is None:
        raise Refused(400, f'for action "{action}", a declaration is required.')
    if action not in ("deploy", "dry-run") and declaration is not None:
        raise Refused(400, f'for action "{action}", a declaration is not allowed.')
    if (action == "patch") != ("patchBody" in body):
        raise Refused(400, "patchBody is needed for action 'patch', and allowed only there")
    shared = _with_trial(shared, body.get("controls"))
    shared = _with_trial(shared, declaration.get("controls") if isinstance(declaration, dict) else None)
    dry = shared.pop("dry_run") or action == "dry-run"
    return As3Request(
        **shared, action="deploy" if action == "dry-run" else action, declaration=declaration, dry_run=dry,
        persist=body.get("persist", True), patch=body.get("patchBody"),
    )  # fmt: skip


def _with_trial(shared: Mapping[str, Any], controls: Any) -> dict[str, Any]:
    """The options, with those of a trial (`dryRun`) from the controls of a document."""
    dry = isinstance(controls, dict) and controls.get("dryRun") is True
    return {**shared, "dry_run": shared["dry_run"] or dry}


def _tenants(rest: list[str]) -> tuple[str, ...]:
    if len(rest) > 1:
        raise Refused(404, f"declare/{'/'.join(rest)} is not emulated: tenants only")
    named = tuple(dict.fromkeys(name.strip() for name in (rest[0] if rest else "").split(",") if name.strip()))
    if len(named) > TENANTS_IN_PATH_MAX:
        raise Refused(400, f"more than {TENANTS_IN_PATH_MAX} tenants in the path")
    return named


def _options(query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if not name:
            continue
        if name not in _QUERY:
            raise Refused(400, f'unrecognized URL query parameter "{name}"')
        options[name] = unquote_plus(value)
    if options.get("show", "base") != "base":
        raise Refused(400, f'show "{options["show"]}" is not emulated: base only')
    for name in ("async", "showHash", "controls.dryRun"):
        if options.get(name, "false") not in ("true", "false"):
            raise Refused(400, f'{name.removeprefix("controls.")} must be "true" or "false"')
    return options


def _json(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refused(400, "the body is no JSON document") from None
