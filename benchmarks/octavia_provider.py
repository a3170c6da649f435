"""How fast a stock Octavia creates load balancers with our provider, a plain serial one, and its own no-op driver.

    python -m benchmarks.octavia_provider [--callers 16] [--seconds 30] [--report-by database] [--prepared]

Starts MariaDB, Octavia (gunicorn, two workers), driver-agent, a controller and an agent with no-op devices. Each caller
creates a load balancer and waits until it is ACTIVE; of the no-op driver, which never reports, the request alone is
measured. All providers are driven in one run on one Octavia, one after the other; compare ratios, not figures. CPU is
that of Octavia's processes, and of ours, per load balancer. Run it in the repository's root.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.api.stack import GREEN, PROVIDER, Stack
from tests.services.mariadb import MariaDB
from tests.services.octavia import Octavia, installed

POLL_SECONDS = 0.1
SERIAL = {
    "octavia.api.drivers": {"serial": "serial_provider:SerialDriver"},
    "octavia.driver_agent.provider_agents": {"serial_agent": "serial_provider:agent"},
}


class Outcome(NamedTuple):
    """What one provider did."""

    provider: str
    requests: list[float]
    """Seconds of each request."""
    active: list[float]
    """Seconds from the request to ACTIVE."""
    seconds: float
    cpu: Mapping[str, float]
    """CPU seconds by part."""


@contextmanager
def started(folder: Path, report_by: str, *, is_prepared: bool) -> Iterator[tuple[Octavia, Stack]]:
    """Everything, until the block ends; ``report_by``: the option of the provider agent."""
    with ExitStack() as stack:
        database = MariaDB()
        stack.callback(database.close)
        database.start()
        controllers = stack.enter_context(Stack.started(folder))
        os.environ["EVENKEEL_BENCHMARK_SERIAL"] = str(folder / "serial")
        octavia = Octavia(
            installed(),
            database.create_database(),
            environments={"evenkeel": PROVIDER},
            options={"controllers": controllers.url, "report_by": report_by},
            agent="evenkeel_agent, serial_agent",
            more_drivers=("serial", "noop_driver"),
            entry_points=SERIAL,
            python_path=Path(__file__).parent,
            variables={"EVENKEEL_BENCHMARK_SERIAL": str(folder / "serial")},
        )
        stack.callback(octavia.close)
        octavia.is_prepared = is_prepared
        octavia.start()
        yield octavia, controllers


def measured(octavia: Octavia, provider: str, *, callers: int, seconds: float) -> Outcome:
    """Let callers create load balancers for some time."""
    before, began = cpu_seconds(), time.monotonic()
    requests: list[float] = []
    active: list[float] = []

    def call() -> None:
        while time.monotonic() < began + seconds:
            asked = time.monotonic()
            body = {"loadbalancer": {"provider": provider, "vip_subnet_id": GREEN.id, "vip_address": address()}}
            status, answer = octavia.request("POST", "/loadbalancers", body)
            assert status == 201, answer
            requests.append(time.monotonic() - asked)
            if provider == "noop_driver":
                continue
            path = f"/loadbalancers/{answer['loadbalancer']['id']}"
            while octavia.request("GET", path)[1]["loadbalancer"]["provisioning_status"] != "ACTIVE":
                time.sleep(POLL_SECONDS)
            active.append(time.monotonic() - asked)

    with ThreadPoolExecutor(callers) as threads:
        for done in [threads.submit(call) for _ in range(callers)]:
            done.result()
    took = time.monotonic() - began
    cpu = {part: spent - before.get(part, 0.0) for part, spent in cpu_seconds().items()}
    return Outcome(provider, requests, active, took, cpu)


_numbers = iter(range(10**6))


def address() -> str:
    """Another address of the subnet for each load balancer."""
    number = next(_numbers)
    return f"10.11.{number // 180 + 1}.{number % 180 + 10}"


def cpu_seconds() -> dict[str, float]:
    """CPU seconds of this process's descendants by part, ended children included."""
    titles: dict[int, str] = {}
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            title = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            fields = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(path.name)
        titles[pid], parents[pid], ticks[pid] = title, int(fields[1]), sum(map(int, fields[11:15]))
    spent: dict[str, float] = {}
    for pid, title in titles.items():
        if _descends(pid, parents) and (part := _part(title)):
            spent[part] = spent.get(part, 0.0) + ticks[pid] / os.sysconf("SC_CLK_TCK")
    return spent


def _descends(pid: int, parents: Mapping[int, int]) -> bool:
    while pid not in (0, os.getpid()):
        pid = parents.get(pid, 0)
    return pid != 0


def _part(title: str) -> str:
    names = {
        "serve_octavia": "API",
        "evenkeel_agent": "provider agent",
        "driver-agent": "driver-agent",
        "driver_agent": "driver-agent",
        "evenkeel.cmd.controller": "controller",
        "evenkeel.cmd.agent": "agent",
        "mariadbd": "MariaDB",
    }
    return next((part for text, part in names.items() if text in title), "")


def print_table(outcomes: list[Outcome]) -> None:
    """Print the results as markdown."""
    print("| provider | request, ms (median) | create to ACTIVE, s (median) | a second | CPU ms each |")
    print("|---|---|---|---|---|")
    for each in outcomes:
        count = len(each.requests)
        wait = f"{statistics.median(each.active):.2f}" if each.active else ""
        cpu = ", ".join(f"{part} {1000 * spent / count:.0f}" for part, spent in sorted(each.cpu.items()) if spent > 0)
        rate = len(each.active or each.requests) / each.seconds
        print(f"| {each.provider} | {1000 * statistics.median(each.requests):.0f} | {wait} | {rate:.1f} | {cpu} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--callers", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--report-by", choices=("driver-agent", "database"), default="driver-agent")
    parser.add_argument("--prepared", action="store_true", help="driver-agent by 'evenkeel-octavia driver-agent'")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        started(Path(folder), given.report_by, is_prepared=given.prepared) as (octavia, _),
    ):
        providers = ("noop_driver", "serial", "evenkeel")
        for each in providers:
            # the first requests of each worker load modules and compile statements
            measured(octavia, each, callers=4, seconds=1.0)
        for callers in (1, given.callers):
            print(f"\n{callers} callers", flush=True)
            print_table([measured(octavia, each, callers=callers, seconds=given.seconds) for each in providers])


if __name__ == "__main__":
    main()
