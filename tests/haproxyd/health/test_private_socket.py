"""Sockets of the daemon: for its user alone, and no other file is concerned."""

import asyncio
import os
import stat
from pathlib import Path
from unittest.mock import Mock

from evenkeel.haproxyd.health.metrics_server import MetricsServer


async def test_servers_that_start_at_once_leave_the_umask_as_it_was(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        paths = [tmp_path / f"metrics-{number}" for number in range(3)]
        servers = [MetricsServer(path, Mock()) for path in paths]
        starting = [asyncio.create_task(server.start()) for server in servers]
        while not all(task.done() for task in starting):
            await asyncio.sleep(0)
            assert os.umask(0o022) == 0o022
        for server, path in zip(servers, paths, strict=True):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            server.close()
    finally:
        os.umask(before)
