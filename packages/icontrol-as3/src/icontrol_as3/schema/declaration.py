"""The frame of a declaration: ADC, tenants and applications, and the objects in them by their class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from icontrol_as3.schema.checks import Check, boolean, fields, integer, is_name, one_of, text
from icontrol_as3.schema.classes import CLASSES, TEXTS

TENANTS_MAX = 100
_FLAGS = fields({"trace": boolean, "logLevel": text(), "traceResponse": boolean, "dryRun": boolean,
                 "userAgent": text(), "archiveTimestamp": text(), "class": one_of("Controls")})  # fmt: skip
_ADC: Mapping[str, Check] = {
    "class": one_of("ADC"), "schemaVersion": text(), "id": text(255), **TEXTS,
    "updateMode": one_of("complete", "selective"), "controls": _FLAGS,
}  # fmt: skip
_TENANT: Mapping[str, Check] = {
    "class": one_of("Tenant"), **TEXTS, "defaultRouteDomain": integer(0, 65_535), "enable": one_of(True),
    "optimisticLockKey": text(128),
}  # fmt: skip
_APPLICATION: Mapping[str, Check] = {
    "class": one_of("Application"), **TEXTS, "enable": one_of(True),
    "template": one_of("generic", "http", "https", "l4", "shared", "tcp", "udp"),
}  # fmt: skip
_MAIN = {
    "http": ("Service_HTTP",), "https": ("Service_HTTPS",), "tcp": ("Service_TCP",), "udp": ("Service_UDP",),
    "l4": ("Service_L4",),
}  # fmt: skip
SHARED = "Shared"


def tenants(declaration: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The tenants of a declaration by name; /Common first, because others refer to it."""
    found = {
        name: value for name, value in declaration.items() if isinstance(value, dict) and value.get("class") == "Tenant"
    }
    return dict(sorted(found.items(), key=lambda item: item[0] != "Common"))


def applications(tenant: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The applications of a tenant by name."""
    return {
        name: value for name, value in tenant.items() if isinstance(value, dict) and value.get("class") == "Application"
    }


def objects(application: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The objects of an application by name."""
    return {name: value for name, value in application.items() if isinstance(value, dict)}


def errors_of(declaration: Any) -> list[str]:
    """All violations in a declaration, each with its path."""
    return list(_check(declaration))


def _check(adc: Any) -> Iterator[str]:
    if not isinstance(adc, dict):
        yield "(root): should be object"
        return
    for name in ("class", "schemaVersion"):
        if name not in adc:
            yield f"(root): should have required property '{name}'"
    if len(tenants(adc)) > TENANTS_MAX:
        yield f"(root): should NOT have more than {TENANTS_MAX} tenants"
    yield from _parts(adc, "", _ADC, "Tenant", _tenant)


def _tenant(tenant: Mapping[str, Any], path: str) -> Iterator[str]:
    if path == "/Common" and set(applications(tenant)) - {SHARED}:
        yield f"{path}: should have only the application '{SHARED}'"
    yield from _parts(tenant, path, _TENANT, "Application", _application)


def _application(application: Mapping[str, Any], path: str) -> Iterator[str]:
    known = {name: value for name, value in application.items() if name in _APPLICATION}
    yield from fields(_APPLICATION)(known, path)
    wanted = _MAIN.get(str(application.get("template")))
    mains = [application.get(name) for name in ("service", "serviceMain")]
    if wanted and not any(isinstance(each, dict) and each.get("class") in wanted for each in mains):
        yield f"{path}: should have a service of class {wanted[0]} for its template"
    for name, value in application.items():
        if name not in _APPLICATION:
            yield from _object(value, f"{path}/{name}", name)


def _object(value: Any, path: str, name: str) -> Iterator[str]:
    if not isinstance(value, dict) or "class" not in value:
        yield f"{path.rpartition('/')[0]}: should NOT have additional properties ('{name}' is unknown or not emulated)"
    elif value["class"] not in CLASSES:
        yield f"{path}/class: should be equal to one of the allowed values ({', '.join(CLASSES)})"
    elif not is_name(name):
        yield f"{path}: the name should begin with a letter and have only letters, digits, '_', '-' and '.'"
    else:
        yield from CLASSES[value["class"]](value, path)


def _parts(whole: Mapping[str, Any], path: str, own: Mapping[str, Check], kind: str, check: Any) -> Iterator[str]:
    """Check the own properties of a level, and each part of the level below it."""
    for name, value in whole.items():
        where = f"{path}/{name}"
        if name in own:
            yield from own[name](value, where)
        elif not isinstance(value, dict) or value.get("class") != kind:
            yield f"{path or '(root)'}: should NOT have additional properties ('{name}' is unknown or not emulated)"
        elif not is_name(name):
            yield f"{where}: the name should begin with a letter and have only letters, digits, '_', '-' and '.'"
        else:
            yield from check(value, where)
