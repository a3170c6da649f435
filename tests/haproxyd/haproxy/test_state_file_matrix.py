"""Every old state of a server, under every change of its configuration: a real HAProxy that loads the file that the
daemon writes has the columns of one that has just been started, and the health that the rules give it.

All servers are at a port that accepts connections and never answers, so that checks have no result and change nothing.
"""

import itertools
import socket
from collections.abc import Iterator

import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.runtime.runtime_commands import RuntimeCommands
from evenkeel.haproxyd.haproxy.runtime.worker_state import MAINTENANCE_BITS, SHOW_SERVERS_STATE, table_rows
from tests.haproxyd.world import World, errors, free_vip, load_balancer, world

CHECKED = ("check", "inter", "60s")
TLS = ("ssl", "verify", "none")
ARGUMENTS = {
    "plain": (),
    "checked": CHECKED,
    "tls": TLS,
    "checked-tls": (*CHECKED, *TLS),
    "checked-elsewhere": (*CHECKED, "addr", "127.0.0.9", "port", "9"),
}
STATES = {
    "up": (),
    "down": ("health down",),
    "maintained": ("state maint",),
    "drained": ("state drain",),
    "disabled": (),
    "disabled-ready": ("state ready",),
    "weighed": ("weight 77",),
    "clear-text": ("ssl off",),
    "elsewhere": ("check-port 8",),
    "unchecked": (),
}
"""By name: commands that are given by hand, where HAProxy accepts them; ``disabled`` ones begin in maintenance."""
CHANGES = {
    **{name: {"arguments": arguments} for name, arguments in ARGUMENTS.items()},
    "other-weight": {"weight": 9},
    "admin-down": {"admin_up": False},
    "moved": {"address": "127.0.0.2"},
}
COMPARED = (
    "srv_addr", "srv_uweight", "srv_iweight", "srv_fqdn", "srv_port", "srvrecord", "srv_use_ssl", "srv_check_port",
    "srv_check_addr",
)  # fmt: skip
CHECK_BITS, BY_CONFIGURATION = 0x06, 0x04


@pytest.fixture
def silent() -> Iterator[int]:
    """A port at which connections are made and nothing is answered."""
    with socket.socket() as listening:
        listening.bind(("0.0.0.0", 0))
        listening.listen(4096)
        yield listening.getsockname()[1]


def combinations(port: int) -> Iterator[tuple[wire.BackendServer, str, wire.BackendServer]]:
    """Each server before, its state, and the server afterwards."""
    for arguments, state, change in itertools.product(ARGUMENTS, STATES, CHANGES):
        before = wire.BackendServer(
            name=f"{arguments}.{state}.{change}",
            address="127.0.0.1",
            port=port,
            admin_up=not state.startswith("disabled"),
            arguments=ARGUMENTS[arguments],
        )
        yield before, state, msgspec.structs.replace(before, **{"admin_up": True, **CHANGES[change]})


def is_down(before: wire.BackendServer, state: str, after: wire.BackendServer) -> bool:
    """Whether a server that is in service afterwards begins down."""
    if state in ("maintained", "disabled") or "check" not in after.arguments:
        return False
    return state == "down" or before.address != after.address


async def rows(site: World, partition: str) -> dict[str, dict[str, str]]:
    found = table_rows(await site.partitions.get(partition).cli.command(SHOW_SERVERS_STATE))
    return {row["srv_name"]: dict(row) for row in found if row["be_name"] == "lb_b"}


def configured(row: dict[str, str]) -> tuple[str | int, ...]:
    """All that a configuration decides."""
    admin, checks = int(row["srv_admin_state"]) & ~BY_CONFIGURATION, int(row["srv_check_state"]) & CHECK_BITS
    return (admin, checks, *(row[column] for column in COMPARED))


async def test_a_worker_has_the_new_configuration_and_the_health_of_the_old_one(
    silent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def repairs_nothing(self: RuntimeCommands, running: object) -> tuple[tuple[()], frozenset[object]]:
        return (), frozenset()

    monkeypatch.setattr(RuntimeCommands, "repair_servers", repairs_nothing)
    every = list(combinations(silent))
    lines = "option httpchk", "timeout check 600s"
    vip, other = free_vip(), free_vip()
    async with world() as site:
        await site.put("p", load_balancer("lb", vip, *(before for before, _, _ in every), backend_lines=lines))
        cli = site.partitions.get("p").cli
        commands = [
            f"set server lb_b/{before.name} {command}" for before, state, _ in every for command in STATES[state]
        ]
        await cli.commands(commands)
        await cli.commands([f"disable health lb_b/{one.name}" for one, state, _ in every if state == "unchecked"])
        wanted = [after for _, _, after in every]
        receipt = await site.patch("p", load_balancer("lb", vip, *wanted, revision=2, backend_lines=lines))
        assert (receipt.how, errors(receipt)) == ("reload", {})
        assert errors(await site.put("q", load_balancer("lb", other, *wanted, backend_lines=lines))) == {}
        found, fresh = await rows(site, "p"), await rows(site, "q")
        assert {name: configured(row) for name, row in found.items()} == {
            name: configured(row) for name, row in fresh.items()
        }
        in_service = {name: row for name, row in found.items() if not int(row["srv_admin_state"]) & MAINTENANCE_BITS}
        assert {name for name, row in in_service.items() if row["srv_op_state"] == "0"} == {
            after.name for before, state, after in every if after.admin_up and is_down(before, state, after)
        }
