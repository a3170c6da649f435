"""The dashboard over 10,000 load balancers and 100 agents: answers, first paint, event to screen, the controller's CPU.

    python -m benchmarks.dashboard [--load-balancers N] [--agents N] [--dashboards N] [--seconds S]

Starts PostgreSQL from Debian's package and a controller, fills the database with synthetic rows (device groups of four
agents with two devices, ten load balancers of each tenant), and opens dashboards in a headless Chromium. Prints a
markdown table. Run it in the repository's root; it needs Debian's packages postgresql and chromium.
"""

import argparse
import asyncio
import os
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from playwright.sync_api import Browser, Page, expect, sync_playwright

from evenkeel.core.control.environments import Environment
from evenkeel.core.resources.model import LoadBalancer, Vip
from evenkeel.core.resources.statuses import OperatingStatus, ProvisioningStatus
from evenkeel.demo.workspace import Workspace, written_file_condition
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from evenkeel.store.records.rows import row_from_resource
from evenkeel.store.sql_store import open_store
from tests.services.postgres import PostgreSQL

GROUP_AGENTS = 4
TENANT_LOAD_BALANCERS = 10
REQUESTS = 30
EVENTS = 10
LIVE_SECONDS = 86_400.0
ENVIRONMENT = "prod"
BATCH = 500
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


def number_id(kind: int, number: int) -> str:
    """A UUID of its own for each row."""
    return str(UUID(int=(kind << 96) + number))


async def fill(url: str, load_balancers: int, agents: int) -> None:
    """Synthetic rows: all agents alive, all load balancers ACTIVE but one in a thousand."""
    store = open_store(url)
    await store.start()
    await store.operators.add_environment(Environment(name=ENVIRONMENT, device_driver="noop"))
    groups = -(-agents // GROUP_AGENTS)
    tenants = -(-load_balancers // TENANT_LOAD_BALANCERS)
    devices = [
        f'[{{"name": "192.0.2.{group}1", "reachable": true, "version": "17.1.1", "failover_state": "active",'
        f' "sync_state": "In Sync"}}, {{"name": "192.0.2.{group}2", "reachable": true, "version": "17.1.1",'
        ' "failover_state": "standby", "sync_state": "In Sync"}]'
        for group in range(groups)
    ]
    group_rows = [
        {
            "environment": ENVIRONMENT,
            "number": number + 1,
            "device_driver": "noop",
            "ha_type": "pair",
            "reschedule": "control",
            "endpoints": "[]",
            "created_at": time.time(),
        }
        for number in range(groups)
    ]
    agent_rows = [
        {
            "id": number_id(1, number),
            "environment": ENVIRONMENT,
            "group_number": number // GROUP_AGENTS + 1,
            "host": f"net-{number:03d}",
            "device_driver": "noop",
            "ha_type": "pair",
            "session_id": number_id(2, number),
            "session_started_at": time.time(),
            "session_expires_at": time.time() + LIVE_SECONDS,
            "session_ttl_seconds": LIVE_SECONDS,
            "reported_at": time.time(),
            "reachable_devices": 2,
            "devices": devices[number // GROUP_AGENTS],
            "created_at": time.time(),
        }
        for number in range(agents)
    ]
    shard_rows = [
        {
            "id": number_id(3, number),
            "environment": ENVIRONMENT,
            "group_number": number % agents // GROUP_AGENTS + 1,
            "project_id": number_id(4, number),
            "home_agent_id": number_id(1, number % agents),
            "acting_agent_id": number_id(1, number % agents),
            "epoch": 1 + number % 7,
            "created_at": time.time(),
        }
        for number in range(tenants)
    ]
    roots = [_load_balancer(number) for number in range(load_balancers)]
    root_rows = [row_from_resource(root) for root in roots]
    tag_rows = [{"tag": tag, "load_balancer_id": root.id} for root in roots for tag in root.tags]

    for table, rows in (
        (schema.device_group, group_rows),
        (schema.agent, agent_rows),
        (schema.shard, shard_rows),
        (schema.load_balancer, root_rows),
        (schema.load_balancer_tag, tag_rows),
    ):
        for begin in range(0, len(rows), BATCH):
            part = rows[begin : begin + BATCH]
            await store.database.write(
                lambda connection, table=table, part=part: connection.execute(table.insert(), part)
            )
    await store.database.write(
        lambda connection: connection.execute(
            schema.event.insert().values(at=db_now(), kind="filled", text="filled", environment=ENVIRONMENT)
        )
    )
    await store.close()


def _load_balancer(number: int) -> LoadBalancer:
    tenant = number // TENANT_LOAD_BALANCERS
    broken = number % 1000 == 999
    return LoadBalancer(
        id=number_id(5, number),
        project_id=number_id(4, tenant),
        name=f"lb-{number:05d}",
        provider=ENVIRONMENT,
        vip=Vip(
            address=f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}",
            subnet_id=number_id(6, 0),
            network_id=number_id(7, 0),
            port_id=number_id(8, number),
        ),
        shard_id=number_id(3, tenant),
        provisioning_status=ProvisioningStatus.ERROR if broken else ProvisioningStatus.ACTIVE,
        operating_status=OperatingStatus.ONLINE,
        tags=(f"team-{tenant}", "even") if number % 2 == 0 else (f"team-{tenant}",),
        status_reason="the device has no room" if broken else "",
        revision=1,
        applied_revision=1,
        change_id=number_id(9, number),
        created_at=time.time(),
    )


async def start_controller(
    directory: Path, url: str, more: dict[str, dict[str, object]] | None = None
) -> tuple[Workspace, str, int]:
    """A controller that asks nobody for a login, but for ``more`` sections; its URL and process id."""
    workshop = Workspace(directory, start_seconds=120.0)
    file = workshop.announcement_path("controller.url")
    sections: dict[str, dict[str, object]] = {
        "DEFAULT": {
            "transport_url": f"embedded://{workshop.directory}/bus.db",
            "environments": f"{ENVIRONMENT}:noop",
            "suspicion_interval": 0.0,
        },
        "database": {"connection": url},
        "api": {"bind_port": 0, "endpoint_file": file},
        **(more or {}),
    }
    process = workshop.create_process("controller", "evenkeel.cmd.controller", sections)
    await workshop.run(process, written_file_condition(file), "its URL")
    return workshop, file.read_text().strip(), process.pid


def cpu_seconds(pid: int) -> float:
    """Of a process and its ended children, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def python_child(pid: int) -> int:
    """The process that runs Python: the one that was started may be its parent."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else pid


def timed(ask: Callable[[], Any], times: int) -> list[float]:
    """Milliseconds of each."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - began) * 1000)
    return taken


def answers(url: str) -> list[tuple[str, str]]:
    """Of the requests that views begin with."""
    rows = []
    with httpx.Client(base_url=url, timeout=60.0) as client:
        for path in (
            "/evenkeel/v1/status",
            "/evenkeel/v1/topology",
            "/evenkeel/v1/agents",
            "/evenkeel/v1/activity",
            "/v2/lbaas/loadbalancers?limit=50",
        ):

            def ask(path: str = path) -> None:
                client.get(path).raise_for_status()

            ask()
            taken = timed(ask, REQUESTS)
            size = len(client.get(path).content) / 1000
            told = f"{statistics.median(taken):.0f} ms, slowest {max(taken):.0f} ms, {size:.0f} kB"
            rows.append((f"`GET {path}`", told))
    return rows


def first_paint(browser: Browser, url: str) -> str:
    paints, counts = [], []
    for _ in range(5):
        context = browser.new_context()
        page = context.new_page()
        began = time.perf_counter()
        page.goto(f"{url}/ui/")
        expect(page.locator(".cards").first).to_be_visible(timeout=60_000)
        counts.append((time.perf_counter() - began) * 1000)
        paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        context.close()
    return f"{statistics.median(paints):.0f} ms; with all counts {statistics.median(counts):.0f} ms"


def event_to_screen(page: Page, url: str) -> str:
    taken = []
    page.goto(f"{url}/ui/#/events")
    expect(page.locator("ol.events")).to_be_visible(timeout=60_000)
    agent = number_id(1, 0)
    with httpx.Client(base_url=url, timeout=60.0) as client:
        for number in range(EVENTS):
            count = page.locator("ol.events li").count()
            client.put(f"/evenkeel/v1/agents/{agent}/{'undrain' if number % 2 else 'drain'}").raise_for_status()
            began = time.perf_counter()
            expect(page.locator("ol.events li")).not_to_have_count(count, timeout=60_000)
            taken.append((time.perf_counter() - began) * 1000)
    return f"{statistics.median(taken):.0f} ms, slowest {max(taken):.0f} ms"


def dashboards_cpu(browser: Browser, url: str, pid: int, dashboards: int, seconds: float) -> list[tuple[str, str]]:
    """Half of them on the overview, half on the topology, all visible; first without events, then with one each 5 s."""
    contexts = [browser.new_context() for _ in range(dashboards)]
    for number, context in enumerate(contexts):
        context.new_page().goto(f"{url}/ui/#/{'topology' if number % 2 else ''}")
    time.sleep(15)
    rows = []
    agent = number_id(1, 0)
    for title, eventful in (("nothing happens", False), ("an event each 5 s", True)):
        began, cpu = time.perf_counter(), cpu_seconds(pid)
        with httpx.Client(base_url=url, timeout=60.0) as client:
            number = 0
            while time.perf_counter() - began < seconds:
                if eventful:
                    client.put(f"/evenkeel/v1/agents/{agent}/{'undrain' if number % 2 else 'drain'}").raise_for_status()
                number += 1
                time.sleep(5)
        share = (cpu_seconds(pid) - cpu) / (time.perf_counter() - began) * 100
        rows.append((f"controller's CPU, {dashboards} dashboards, {title}", f"{share:.1f} % of a core"))
    for context in contexts:
        context.close()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load-balancers", type=int, default=10_000)
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--dashboards", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    server = PostgreSQL()
    server.start()
    try:
        url = server.create_database()
        asyncio.run(fill(url, options.load_balancers, options.agents))
        with tempfile.TemporaryDirectory(prefix="evenkeel-dashboard-") as directory:
            workshop, api, pid = asyncio.run(start_controller(Path(directory), url))
            try:
                pid = python_child(pid)
                began, cpu = time.perf_counter(), cpu_seconds(pid)
                time.sleep(10)
                idle = (cpu_seconds(pid) - cpu) / (time.perf_counter() - began) * 100
                rows = answers(api)
                with (
                    sync_playwright() as playwright,
                    closing(
                        playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(ARGUMENTS))
                    ) as browser,
                ):
                    rows.append(("first paint", first_paint(browser, api)))
                    rows.append(
                        (
                            "event to screen, from the answer to the request",
                            event_to_screen(browser.new_page(), api),
                        )
                    )
                    rows.append(("controller's CPU, no dashboard", f"{idle:.1f} % of a core"))
                    rows += dashboards_cpu(browser, api, pid, options.dashboards, options.seconds)
            finally:
                for process in workshop.processes.values():
                    process.stop()
    finally:
        server.stop()
    print(f"{options.load_balancers:,} load balancers, {options.agents} agents, on {socket.gethostname()}\n")
    print("| what | measured |\n|---|---|")
    for what, measured in rows:
        print(f"| {what} | {measured} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
