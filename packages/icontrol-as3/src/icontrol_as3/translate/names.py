"""Paths of a declaration's objects on the device, and references between them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from icontrol_as3.schema.declaration import SHARED

COMMON = "Common"


class BadReference(Exception):
    """A declaration refers to an object that it does not have."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One configuration object that the declaration requires."""

    type: str
    """Type path, such as `ltm/pool`."""
    path: str
    body: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None
    """The content of a file object."""
    kept: bool = False
    """Whether it stays when no declaration requires it any more, and is not changed if it exists."""


@dataclass(frozen=True, slots=True)
class Place:
    """An object of the declaration: its tenant, application and name."""

    declaration: Mapping[str, Any]
    tenant: str
    application: str
    name: str

    @property
    def path(self) -> str:
        return f"/{self.tenant}/{self.application}/{self.name}"

    @property
    def item(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.declaration[self.tenant][self.application][self.name]
        return found

    @property
    def top(self) -> str:
        """Folder of nodes and virtual addresses: the partition, in /Common its folder of AS3."""
        return f"/{COMMON}/{SHARED}" if self.tenant == COMMON else f"/{self.tenant}"

    @property
    def route_domain(self) -> str:
        """`%5` in a tenant whose default route domain is 5, empty in one without."""
        number = self.declaration[self.tenant].get("defaultRouteDomain", 0)
        return f"%{number}" if number else ""

    def find(self, property_name: str, value: Any, *classes: str) -> Place | str:
        """The object of one of the classes that a property refers to, or the path of one on the device."""
        if isinstance(value, Mapping) and "bigip" in value:
            return str(value["bigip"])
        name = str(value["use"] if isinstance(value, Mapping) else value)
        for candidate in self._candidates(name):
            found = self._at(candidate)
            if found is not None and found.item.get("class") in classes:
                return found
        if name.startswith(f"/{COMMON}/") and name.count("/") == 2:
            return name
        raise BadReference(f"{self.path}/{property_name}: contains path to non-existent object {name}")

    def refer(self, property_name: str, value: Any, *classes: str, suffix: str = "") -> str:
        """Path on the device of what a property refers to."""
        found = self.find(property_name, value, *classes)
        return found if isinstance(found, str) else f"{found.path}{suffix}"

    def _candidates(self, name: str) -> Iterator[tuple[str, ...]]:
        if name.startswith("/"):
            yield tuple(name.strip("/").split("/"))
            return
        pieces = tuple(name.split("/"))
        yield (self.tenant, self.application, *pieces)
        yield (self.tenant, *pieces)

    def _at(self, pieces: tuple[str, ...]) -> Place | None:
        if len(pieces) != 3:
            return None
        found: Any = self.declaration
        for piece in pieces:
            found = found.get(piece) if isinstance(found, Mapping) else None
        return Place(self.declaration, *pieces) if isinstance(found, Mapping) else None


def described(item: Mapping[str, Any]) -> dict[str, Any]:
    """The description that an object gets from its remark."""
    return {"description": item["remark"]} if item.get("remark") else {}


def shortest(address: str) -> str:
    """An IP address in its shortest form; route domain 0 is not written."""
    host, _, domain = address.partition("%")
    text = str(ipaddress.ip_address(host))
    return f"{text}%{domain}" if domain not in ("", "0") else text


def endpoint(host: str, port: int | str) -> str:
    return f"{host}{'.' if ':' in host else ':'}{port}"


def on_off(value: bool) -> str:
    return "enabled" if value else "disabled"
