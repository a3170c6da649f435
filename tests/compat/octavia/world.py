"""What both sides have: who calls, networks, and one story after another, each on an empty database."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from evenkeel.store.options import StoreOptions
from tests.compat.compare import ANY
from tests.compat.octavia.stock import RESET
from tests.compat.ours import our_api, subnet
from tests.compat.replay import Replay
from tests.compat.table import Answer, Line


def _who(user: str, project: str, roles: str) -> dict[str, str]:
    return {"X-User-Id": user, "X-Project-Id": project, "X-Roles": roles}


PERSONAS = {
    "member": _who("member", "proj-a", "member,reader"),
    "reader": _who("reader", "proj-a", "reader"),
    "stranger": _who("stranger", "proj-b", "member,reader"),
    "nobody": _who("nobody", "proj-a", "other"),
    "admin": _who("admin", "operations", "admin,manager,member,reader"),
}
KNOWN = {
    "subnet": "0d1e2f3a-0000-4000-8000-00000000000a",
    "subnet2": "0d1e2f3a-0000-4000-8000-00000000000b",
    "network": "0d1e2f3a-0000-4000-8000-0000000000aa",
}
SUBNETS = (
    subnet(KNOWN["subnet"], KNOWN["network"], "198.51.0.0/16"),
    subnet(KNOWN["subnet2"], KNOWN["network"], "203.0.0.0/16"),
)
"""So large that an address that is chosen at random is hardly ever one that a later request names."""
CHOSEN = "198.0.2.5"
"""The VIP address that Octavia's no-op driver always chooses."""
EXTRAS = {
    **dict.fromkeys(("loadbalancer", "loadbalancers"), frozenset({"status_reason"})),
    **dict.fromkeys(("listener", "listeners"), frozenset({"rate_limit_policies"})),
    **dict.fromkeys(("pool", "pools"), frozenset({"healthmonitor_id"})),
}
"""What only we have, as ``docs/reference/differences.md`` says."""


async def our_answers(directory: Path, lines: Iterable[Line]) -> list[Answer]:
    """Of a new API of ours to one story."""
    options = StoreOptions(strict_immutability=True)
    async with our_api(directory, SUBNETS, ("noop", "other"), options) as client:
        return await Replay(client, PERSONAS, KNOWN).answers(lines)


async def stock_answers(url: str, lines: Iterable[Line]) -> list[Answer]:
    """Of a stock Octavia to one story."""
    async with httpx.AsyncClient(base_url=url, timeout=60.0) as client:
        (await client.get(RESET)).raise_for_status()
        answers = await Replay(client, PERSONAS, KNOWN).answers(lines)
    return [replace(answer, body=_without_network(answer.body)) for answer in answers]


def without_addresses(body: Any) -> Any:
    """Our own: they are chosen at random."""
    if isinstance(body, list):
        return [without_addresses(item) for item in body]
    if not isinstance(body, dict):
        return body
    chosen = ("vip_address", "ip_address")
    return {name: ANY if name in chosen else without_addresses(value) for name, value in body.items()}


def _without_network(body: Any) -> Any:
    """Addresses, networks and ports that no request named are what the network service chooses."""
    if isinstance(body, list):
        return [_without_network(item) for item in body]
    if not isinstance(body, dict):
        return body
    return {name: ANY if _is_networks(name, value) else _without_network(value) for name, value in body.items()}


def _is_networks(name: str, value: Any) -> bool:
    if name in ("vip_network_id", "vip_port_id"):
        return True
    return (name == "vip_address" and value == CHOSEN) or (name == "vip_subnet_id" and value == "{uuid}")
