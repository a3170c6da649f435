"""A parent with two workers: real processes, and signals."""

import asyncio
import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.cmd.systemd import Systemd
from tests.services.process import free_port
from tests.waiting import eventually

CONFIGURATION = """
[DEFAULT]
transport_url = embedded://{folder}/bus.db
environments = dev:noop
workers = 2
health_file = {folder}/health
[database]
connection = sqlite:///{folder}/evenkeel.db
[api]
bind_port = {port}
endpoint_file = {folder}/url
[metrics]
bind_port = {metrics_port}
"""
START_SECONDS = 240.0
pytestmark = pytest.mark.timeout(900)
UP = ("evenkeel_controller_worker_up", "evenkeel_database_up")
"""Metrics that are 1 when a worker works."""


class Controller:
    """A parent, its log and its workers."""

    def __init__(self, folder: Path, systemd: Systemd | None = None, *, port: int = 0) -> None:
        self.folder = folder
        self.metrics_port = free_port()
        self.config = folder / "controller.ini"
        self.config.write_text(CONFIGURATION.format(folder=folder, port=port, metrics_port=self.metrics_port))
        self._environment = dict(os.environ)
        if systemd is not None:
            self._environment |= {"NOTIFY_SOCKET": systemd.address, "WATCHDOG_USEC": "9000000"}

    @contextmanager
    def running(self) -> Iterator["subprocess.Popen[bytes]"]:
        command = [sys.executable, "-m", "evenkeel.cmd.controller", "--config-file", str(self.config)]
        with (self.folder / "log").open("w") as log:
            process = subprocess.Popen(command, env=self._environment, stderr=log, start_new_session=True)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    @property
    def url(self) -> str:
        return (self.folder / "url").read_text().strip()

    def serving(self, worker: int) -> list[int]:
        """Process ids with which the worker has served."""
        return [int(pid) for pid in re.findall(rf'event="worker serves" worker={worker} pid=(\d+)', self.log)]

    def logged(self, *texts: str) -> int:
        """Lines with all of the texts."""
        return sum(all(text in line for text in texts) for line in self.log.splitlines())


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Systemd]:
    made = Systemd(str(tmp_path / "notify"))
    yield made
    made.close()


async def test_one_port_one_configuration_and_workers_that_are_started_again(systemd: Systemd, tmp_path: Path) -> None:
    controller = Controller(tmp_path, systemd)
    with controller.running() as process:

        async def is_so(*texts: str, count: int) -> None:
            await eventually(
                lambda: controller.logged(*texts) >= count or process.poll() is not None, within_seconds=START_SECONDS
            )
            assert process.poll() is None, controller.log

        await is_so("worker serves", count=2)
        assert "READY=1" in systemd.heard()
        async with aiohttp.ClientSession() as http:
            await eventually(lambda: _both_are_seen(http, controller))
            await eventually(lambda: _metrics_are_of_all(controller))

            os.kill(controller.serving(1)[0], signal.SIGKILL)
            await is_so("worker ended; it is started again", "worker=1", "code=-9", count=1)
            async with http.get(f"{controller.url}/v2/lbaas/loadbalancers") as answer:  # by the other one
                assert answer.status == 200
            await eventually(lambda: len(controller.serving(1)) >= 2, within_seconds=START_SECONDS)
            await eventually(lambda: _both_are_seen(http, controller))

        os.kill(controller.serving(2)[0], signal.SIGSTOP)
        await is_so("a worker hangs; it is killed", "worker=2", count=1)
        await eventually(lambda: len(controller.serving(2)) >= 2, within_seconds=START_SECONDS)

        controller.config.write_text(controller.config.read_text().replace("[DEFAULT]", "[DEFAULT]\ndebug = true"))
        process.send_signal(signal.SIGHUP)
        for place in ("process=controller", "worker=1", "worker=2"):
            await is_so("configuration reloaded", "changed=['debug']", place, count=1)
        controller.config.write_text("[DEFAULT]\ndebug = perhaps\n")
        process.send_signal(signal.SIGHUP)
        await is_so("configuration not reloaded", count=1)

        process.send_signal(signal.SIGTERM)
        # settled: what a process has logged is complete when it has ended
        await eventually(lambda: process.poll() is not None)
        assert process.returncode == 0, controller.log
        assert controller.logged("configuration not reloaded") == 1, "the parent alone tells it"
        told = [line for line in systemd.heard() if line.endswith("=1")]
        assert "WATCHDOG=1" in told and [line for line in told if line != "WATCHDOG=1"] == ["READY=1", "STOPPING=1"]
        assert (tmp_path / "health").exists()


async def _both_are_seen(http: aiohttp.ClientSession, controller: Controller) -> bool:
    async with http.get(f"{controller.url}/evenkeel/v1/controllers") as answer:
        seen = (await answer.json())["controllers"]
    return [row["host"].rpartition(" worker ")[2] for row in seen if row["alive"]] == ["1", "2"]


def _scrape(port: int, accept: bytes) -> str:
    """The exposition for a scraper whose Accept header has these bytes, which no text encoding needs to have."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", "/metrics", headers={"Accept": accept.decode("latin-1")})
        answer = connection.getresponse()
        assert answer.status == 200
        return answer.read().decode()


async def _metrics_are_of_all(controller: Controller) -> bool:
    text = await asyncio.to_thread(_scrape, controller.metrics_port, b"\xff\xfe")
    assert text.count("# TYPE evenkeel_api_requests_total counter") == 1
    started = (f'process_start_time_seconds{{worker="{who}"}}' for who in ("parent", "1", "2"))
    up = (f'{name}{{worker="{number}"}} 1.0' for name in UP for number in (1, 2))
    return all(line in text for line in (*started, *up))


async def test_workers_end_when_their_parent_is_gone(tmp_path: Path) -> None:
    controller = Controller(tmp_path)
    with controller.running() as process:
        await eventually(lambda: controller.serving(1) and controller.serving(2), within_seconds=START_SECONDS)
        workers = controller.serving(1) + controller.serving(2)
        process.kill()
        await eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


async def test_invalid_configuration_is_refused_once_by_the_parent(tmp_path: Path) -> None:
    controller = Controller(tmp_path)
    controller.config.write_text(
        controller.config.read_text().replace("[DEFAULT]", "[DEFAULT]\ndefault_provider = elsewhere")
    )
    with controller.running() as process:
        await eventually(lambda: process.poll() is not None, within_seconds=START_SECONDS)
    assert process.returncode == 2
    assert controller.logged("configuration refused", "default_provider", "elsewhere") == 1, controller.log


async def test_a_port_that_is_taken_is_refused_without_a_worker(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        controller = Controller(tmp_path, port=other.getsockname()[1])
        with controller.running() as process:
            await eventually(lambda: process.poll() is not None, within_seconds=START_SECONDS)
    assert process.returncode == 2
    assert controller.logged("configuration refused", "api.bind_port") == 1, controller.log
