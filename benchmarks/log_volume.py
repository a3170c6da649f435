"""How much processes log while nothing happens, and without the database: ``python -m benchmarks.log_volume``.

One controller (PostgreSQL, embedded bus), one agent and one ``evenkeel-haproxyd`` with real HAProxys, as processes. The
result is scaled to a day, and to an hour of outage.
"""

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.sizing import all_active, ask, wait_for
from tests.haproxyd.daemonworld import PASSWORD, Daemon
from tests.services.postgres import PostgreSQL

PER_PROJECT = 10
DAY_SECONDS, HOUR_SECONDS = 86_400, 3_600
PORT = 28_080
CONTROLLER = """[DEFAULT]
transport_url = embedded://{folder}/bus.db
environments = lab:haproxy
[database]
connection = {database}
[api]
bind_port = 0
endpoint_file = {folder}/endpoint
allow_loopback_addresses = true
"""
AGENT = """[DEFAULT]
transport_url = embedded://{folder}/bus.db
environment_prefix = lab
device_driver = haproxy
host = agent-1
[haproxy]
haproxyd_url = {daemon}
haproxyd_username = agent-1
haproxyd_password = {password}
ca_file = {authority}
"""


@contextmanager
def processes(folder: Path, database: str, daemon: Daemon) -> Iterator[str]:
    """URL of the API, while controller and agent run."""
    url = daemon.endpoint_file.read_text().strip()
    texts = {
        "controller": CONTROLLER.format(folder=folder, database=database),
        "agent": AGENT.format(folder=folder, daemon=url, password=PASSWORD, authority=daemon.files.authority),
    }
    with ExitStack() as stack:
        for name, text in texts.items():
            file = folder / f"{name}.ini"
            file.write_text(text)
            log = stack.enter_context((folder / f"{name}.log").open("wb"))
            command = [sys.executable, "-m", f"evenkeel.cmd.{name}", "--config-file", str(file)]
            started = subprocess.Popen(command, stderr=log, stdout=log)
            stack.callback(started.wait, 60)
            stack.callback(started.terminate)
        wait_for((folder / "endpoint").exists)
        api = (folder / "endpoint").read_text().strip()
        wait_for(lambda: ask(f"{api}/evenkeel/v1/status")["status"]["agents"]["up"])
        yield api


def create(url: str, count: int) -> None:
    """Load balancers with a listener and a pool of two members; returns when all are ACTIVE."""
    subnet = ask(f"{url}/evenkeel/v1/subnets", {"subnet": {"name": "vips", "cidr": "127.90.0.0/16"}})["subnet"]["id"]
    for number in range(count):
        members = [{"address": f"127.91.0.{at}", "protocol_port": 80} for at in (1, 2)]
        pool = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": members}
        listener = {"protocol": "HTTP", "protocol_port": PORT, "default_pool": pool}
        project = f"{number // PER_PROJECT:032x}"
        body = {"name": f"lb-{number}", "project_id": project, "vip_subnet_id": subnet, "listeners": [listener]}
        ask(f"{url}/v2/lbaas/loadbalancers", {"loadbalancer": body})
    wait_for(lambda: all_active(f"{url}/evenkeel/v1/status", count), 600)


def answers(url: str) -> bool:
    """Whether it does, by now."""
    try:
        return bool(ask(url))
    except urllib.error.HTTPError:
        return False


def logged(files: dict[str, Path], seconds: float, scale_seconds: int) -> dict[str, float]:
    """What each process logs in so many seconds from now, scaled, MB."""
    before = {name: file.stat().st_size for name, file in files.items()}
    time.sleep(seconds)
    return {name: (file.stat().st_size - before[name]) * scale_seconds / seconds / 1e6 for name, file in files.items()}


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="Load balancers (default: %(default)s).")
    parser.add_argument("--seconds", type=float, default=300.0, help="Of each phase (default: %(default)s).")
    arguments = parser.parse_args()
    folder, server = Path(tempfile.mkdtemp(prefix="ek")), PostgreSQL()
    server.start()
    (folder / "d").mkdir()
    daemon = Daemon(folder / "d")
    try:
        asyncio.run(daemon.start())
        files = {
            "controller": folder / "controller.log",
            "agent": folder / "agent.log",
            "haproxyd": folder / "d" / "log",
        }
        with processes(folder, server.create_database(), daemon) as url:
            create(url, arguments.count)
            time.sleep(10.0)  # what follows the last change is not the quiet system
            quiet = logged(files, arguments.seconds, DAY_SECONDS)
            server.stop()
            outage = logged(files, arguments.seconds, HOUR_SECONDS)
            server.start()
            wait_for(lambda: answers(f"{url}/evenkeel/v1/status"), 600)
        print("| process | a quiet day, MB | an hour without the database, MB |\n|---|---|---|")
        for name in files:
            print(f"| {name} | {quiet[name]:.2f} | {outage[name]:.3f} |")
    finally:
        daemon.clean_up()
        server.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
