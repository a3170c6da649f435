"""One virtual server over backends, and what is seen of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from emulator_tests.client import Backend, Client, fetch, free_port

VIP = "127.0.8.1"
Start = Callable[..., Awaitable[Backend]]


async def site(device: Client, backends: list[Backend], profiles: list[str], **virtual: Any) -> int:
    """A virtual server /P/v over the backends; its port."""
    port = free_port(VIP)
    members = [{"name": f"{each.host}:{each.port}"} for each in backends]
    await device.post("ltm/pool", {"name": "p", "partition": "P", "members": members})
    body = {"name": "v", "partition": "P", "destination": f"{VIP}:{port}", "pool": "p", "profiles": profiles}
    await device.post("ltm/virtual", {**body, **virtual})
    return port


async def stats(device: Client, path: str) -> dict[str, Any]:
    [entry] = (await device.get(f"{path}/stats"))["entries"].values()
    return {name: next(iter(value.values())) for name, value in entry["nestedStats"]["entries"].items()}


async def count(port: int, requests: int) -> Counter[str]:
    return Counter([(await fetch(VIP, port))[1] for _ in range(requests)])


async def member_is(device: Client, server: Backend, state: str) -> bool:
    member = await device.get(f"ltm/pool/~P~p/members/~P~{server.host}:{server.port}")
    return bool(member["state"] == state)
