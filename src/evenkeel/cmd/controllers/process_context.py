"""Context of a controller's process: its service manager, or the parent process of several workers."""

import socket
from typing import NamedTuple

from evenkeel.cmd.controllers.workers.connection import ParentConnection
from evenkeel.cmd.process.service_manager import ServiceManager


class ProcessContext(NamedTuple):
    """Context of a controller's process.

    ``listening``: the API's socket. ``worker``: number among the workers that share the socket, from 1; 0 without
    workers. ``parent``: connection to a worker's parent, which announces the API's URL and serves ``/metrics``.
    """

    listening: socket.socket
    service_manager: ServiceManager
    worker: int = 0
    parent: ParentConnection | None = None

    def process_name(self, host: str) -> str:
        """Return the name of this process for operators: the host's, with the worker's number if it has one."""
        return f"{host} worker {self.worker}" if self.worker else host
