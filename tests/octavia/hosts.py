"""Clients of an Octavia with two API hosts, one of which is lost or frozen."""

import contextlib
import itertools
import threading
import urllib.error
from collections.abc import Iterator, Sequence
from typing import Any

from tests.octavia.tenants import Tenant
from tests.services.octavia import Octavia


class Hosts:
    """Several hosts of an Octavia behind a load balancer: each request goes to the next one."""

    def __init__(self, hosts: Sequence[Octavia]) -> None:
        self.hosts = tuple(hosts)
        self._numbers = itertools.count()
        self._change = threading.Condition()
        self._left_out: set[Octavia] = set()
        self._under_way: dict[Octavia, int] = dict.fromkeys(hosts, 0)

    def request(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Answer of one host. A host that does not accept the connection is left for the next one."""
        with self._change:
            usable = [host for host in self.hosts if host not in self._left_out]
            host = usable[next(self._numbers) % len(usable)]
            self._under_way[host] += 1
        try:
            return host.request(method, path, body)
        finally:
            with self._change:
                self._under_way[host] -= 1
                self._change.notify_all()

    @contextlib.contextmanager
    def without(self, host: Octavia) -> Iterator[None]:
        """Send no requests to a host until the block ends; it begins when the host has answered all."""
        with self._change:
            self._left_out.add(host)
            assert self._change.wait_for(lambda: self._under_way[host] == 0, timeout=120.0)
        try:
            yield
        finally:
            with self._change:
                self._left_out.discard(host)

    def logs(self) -> str:
        """Logs of all hosts."""
        return "\n".join(host.logs() for host in self.hosts)


class Client:
    """A tenant that works in a thread, and compares after each of its operations what ACTIVE promises."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.operations = 0
        self.differences: list[str] = []
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """End after the operation under way. Raises the error that has ended the thread."""
        self._ended.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                self.tenant.operate()
                self.differences += self.tenant.differences_when_active()
                self.operations += 1
        except (AssertionError, urllib.error.URLError, OSError, ValueError) as error:
            self._failure = error
