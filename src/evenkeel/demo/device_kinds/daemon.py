"""A client of HAProxy's daemon: its journal, and the content of its partitions."""

import base64
import ssl
import urllib.request
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

import msgspec

from evenkeel.haproxyd import wire

TIMEOUT_SECONDS = 10.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class DaemonProbe:
    """Client of a running daemon, with its own credential.

    All methods block for up to some seconds and raise OSError when the daemon does not answer.
    """

    name: str
    url: str
    ca_file: str
    user: str
    password: str

    def trust(self) -> ssl.SSLContext:
        """TLS context that verifies the daemon's certificate."""
        return ssl.create_default_context(cafile=self.ca_file)

    def about(self) -> wire.About:
        """Versions of the daemon and its HAProxy."""
        return self.read("/v1", wire.About)

    def entries(self, after: int) -> tuple[wire.JournalEntry, ...]:
        """Attempted writes after number ``after``, oldest first."""
        return self.read(f"/v1/journal?after={after}", wire.Journal).entries

    def last_write(self, after: int = 0) -> int:
        """Number of the newest entry in the journal; ``after`` if there is none after that."""
        return max((entry.number for entry in self.entries(after)), default=after)

    def first_write_by(self, agent: str, after: int) -> wire.JournalEntry | None:
        """The agent's first accepted write after journal entry ``after``; None if there is none yet."""
        taken = (entry for entry in self.entries(after) if entry.accepted and entry.agent == agent)
        return next(taken, None)

    def partitions(self) -> list[wire.PartitionConfig]:
        """All partitions with their content."""
        names = [item.name for item in self.read("/v1/partitions", wire.PartitionList).partitions]
        return [self.read(f"/v1/partitions/{quote(name, safe='')}", wire.PartitionConfig) for name in names]

    def read(self, path: str, kind: type[T]) -> T:
        """Decode the response to one GET request."""
        credential = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        headers = {"Authorization": f"Basic {credential}"}
        request = urllib.request.Request(self.url + path, headers=headers)  # noqa: S310  # a daemon of ours: https
        trust = urllib.request.HTTPSHandler(context=self.trust())
        # Proxy settings of the environment are not for a daemon on this host.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), trust)
        with opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
            return msgspec.json.decode(answer.read(MAX_ANSWER_BYTES), type=kind)


def member_addresses(partition: wire.PartitionConfig) -> set[str]:
    """``address:port`` of all servers of a partition."""
    return {
        f"{server.address}:{server.port}"
        for load_balancer in partition.load_balancers
        for backend in load_balancer.backends
        for server in backend.servers
    }
