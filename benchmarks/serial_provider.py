"""A plain provider for comparison: its agent takes one operation after the other, with two calls of octavia-lib each.

It runs in Octavia's Python environment, and imports nothing of this repository.
"""

import json
import os
import socket
import time
from typing import Any

from octavia_lib.api.drivers import driver_lib, provider_base
from oslo_config import cfg

SOCKET = "EVENKEEL_BENCHMARK_SERIAL"
"""Environment variable with the path of the agent's socket."""
DEVICE_SECONDS = 0.05


class SerialDriver(provider_base.ProviderDriver):  # type: ignore[misc]
    """Hands each new load balancer's id to the agent."""

    def loadbalancer_create(self, loadbalancer: Any) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
            client.sendto(json.dumps(loadbalancer.loadbalancer_id).encode(), os.environ[SOCKET])


def agent(exit_event: Any) -> None:
    """Set each load balancer ACTIVE."""
    paths = cfg.CONF.driver_agent
    library = driver_lib.DriverLibrary(paths.status_socket_path, paths.stats_socket_path, paths.get_socket_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(os.environ[SOCKET])
        server.settimeout(1.0)
        while not exit_event.is_set():
            try:
                id = json.loads(server.recv(1000))
            except TimeoutError:
                continue
            time.sleep(DEVICE_SECONDS)
            if library.get_loadbalancer(id) is not None:
                active = {"id": id, "provisioning_status": "ACTIVE", "operating_status": "ONLINE"}
                library.update_loadbalancer_status({"loadbalancers": [active]})
