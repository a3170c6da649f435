"""A request to iControl REST, and a sequence of them sent to a device."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, NamedTuple

from emulator_tests.client import Client
from icontrol_emulator import Emulator

COMMON = "Common"


class Request(NamedTuple):
    """``path`` is below ``/mgmt/tm``."""

    method: str
    path: str
    body: Mapping[str, Any] = MappingProxyType({})


def path_of(kind: str, partition: str, name: str, below: str = "") -> str:
    """Path of an object, or of something ``below`` it."""
    return f"{kind}/~{partition}~{name}".replace("%", "%25") + (f"/{below}" if below else "")


def create(kind: str, partition: str, name: str, **body: Any) -> Request:
    return Request("POST", kind, {"name": name, "partition": partition, **body})


def change(kind: str, partition: str, name: str, **body: Any) -> Request:
    """The agent's library repeats the name in the body of a change."""
    return Request("PATCH", path_of(kind, partition, name), {"name": name, "partition": partition, **body})


def remove(kind: str, partition: str, name: str, below: str = "") -> Request:
    return Request("DELETE", path_of(kind, partition, name, below))


async def replay(emulator: Emulator, requests: Iterable[Request], device: str = "bigip-1") -> None:
    """Send the requests in order; the test fails at the first that the device refuses."""
    client = Client(emulator.devices[device].url, emulator.ca_file)
    try:
        for each in requests:
            answer = await client.send(each.method, each.path, dict(each.body) if each.method != "DELETE" else None)
            assert answer.status == HTTPStatus.OK, f"{each}: {answer}"
    finally:
        await client.close()
