"""What processes and the database take with so many load balancers: ``python -m benchmarks.sizing --count 1000``.

One controller (SQLite, embedded bus) and one agent of the ``noop`` driver, as processes; each load balancer has one
listener, one pool and ten members, ten of them to a project. Memory is the proportional set size that the kernel tells.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

START_SECONDS = 120.0
MEMBERS = 10
PER_PROJECT = 10
CONTROLLER = """[DEFAULT]
transport_url = embedded://{folder}/bus.db
environments = lab:noop
[database]
connection = sqlite:///{folder}/evenkeel.db
[api]
bind_port = 0
endpoint_file = {folder}/endpoint
"""
AGENT = """[DEFAULT]
transport_url = embedded://{folder}/bus.db
environment_prefix = lab
device_driver = noop
host = agent-1
"""


def ask(url: str, body: Any = None) -> Any:
    """A request, as anybody may send it without authentication."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


def body_of(number: int, subnet_id: str) -> Any:
    """A fully populated load balancer."""
    members = [{"address": f"203.0.{number % 250}.{at + 1}", "protocol_port": 80} for at in range(MEMBERS)]
    pool = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": members}
    listener = {"protocol": "HTTP", "protocol_port": 80, "default_pool": pool}
    project = f"{number // PER_PROJECT:032x}"
    found = {"name": f"lb-{number}", "project_id": project, "vip_subnet_id": subnet_id, "listeners": [listener]}
    return {"loadbalancer": found}


def mebibytes(pid: int) -> float:
    """Of memory, of one process."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(map(int, re.findall(r"(?m)^Pss:\s+(\d+) kB", rollup))) / 1024


@contextmanager
def processes(folder: Path) -> Iterator[tuple[str, dict[str, int]]]:
    """URL of the API, and process ids by name, while they run."""
    started = {}
    for name, text in (("controller", CONTROLLER), ("agent", AGENT)):
        file = folder / f"{name}.ini"
        file.write_text(text.format(folder=folder))
        with (folder / f"{name}.log").open("wb") as log:
            command = [sys.executable, "-m", f"evenkeel.cmd.{name}", "--config-file", str(file)]
            started[name] = subprocess.Popen(command, stderr=log, stdout=log)
    try:
        wait_for((folder / "endpoint").exists)
        url = (folder / "endpoint").read_text().strip()
        wait_for(lambda: ask(f"{url}/evenkeel/v1/status")["status"]["agents"]["up"])
        yield url, {name: process.pid for name, process in started.items()}
    finally:
        for process in started.values():
            process.terminate()
            process.wait(60)


def wait_for(so: Any, seconds: float = START_SECONDS) -> None:
    """Until it is true. Raises :class:`TimeoutError`."""
    end = time.monotonic() + seconds
    while not so():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.2)


def all_active(url: str, count: int) -> bool:
    """Whether so many load balancers are ACTIVE."""
    return bool(ask(url)["status"]["load_balancers"]["ACTIVE"] == count)


def main() -> None:
    """Create, and print a row before and after."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="Load balancers (default: %(default)s).")
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as name, processes(Path(name)) as (url, pids):
        subnet = ask(f"{url}/evenkeel/v1/subnets", {"subnet": {"name": "vips", "cidr": "198.18.0.0/15"}})["subnet"][
            "id"
        ]
        status = f"{url}/evenkeel/v1/status"
        print("| load balancers | controller, MiB | agent, MiB | database, MiB |\n|---|---|---|---|")
        for wanted in (0, count):
            for number in range(wanted):
                ask(f"{url}/v2/lbaas/loadbalancers", body_of(number, subnet))
            wait_for(partial(all_active, status, wanted), 3600)
            stored = sum(file.stat().st_size for file in Path(name).glob("evenkeel.db*")) / 2**20
            used = " | ".join(f"{mebibytes(pid):.0f}" for pid in pids.values())
            print(f"| {wanted} | {used} | {stored:.1f} |", flush=True)


if __name__ == "__main__":
    main()
