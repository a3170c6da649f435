"""What a controller's process has from those that run it: a service manager, or the parent of several workers."""

import socket
from typing import NamedTuple

from evenkeel.cmd.service_manager import ServiceManager
from evenkeel.cmd.workers.line import ParentLine


class ProcessContext(NamedTuple):
    """``listening``: the API's socket. ``worker``: number among those that share the socket, from 1; 0: the only one.
    ``parent``: of a worker; it announces the API's URL and serves ``/metrics``."""

    listening: socket.socket
    service_manager: ServiceManager
    worker: int = 0
    parent: ParentLine | None = None

    def place(self, host: str) -> str:
        """How operators see the process."""
        return f"{host} worker {self.worker}" if self.worker else host
