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
    """Client of a running daemon, with its own credential. ``ca_file``: certificate that verifies the daemon.

    All methods block for up to some seconds and raise OSError when the daemon does not answer.
    """

    name: str
    url: str
    ca_file: str
    user: str
    password: str

    def tls_context(self) -> ssl.SSLContext:
        """Return a TLS context that verifies the daemon's certificate."""
        return ssl.create_default_context(cafile=self.ca_file)

    def read_versions(self) -> wire.About:
        """Read the versions of the daemon and its HAProxy."""
        return self.read_json("/v1", wire.About)

    def journal_entries(self, after: int) -> tuple[wire.JournalEntry, ...]:
        """Read the journal's entries after number ``after``, oldest first; each is an attempted write."""
        return self.read_json(f"/v1/journal?after={after}", wire.Journal).entries

    def last_write(self, after: int = 0) -> int:
        """Return the number of the newest entry in the journal; ``after`` if there is no later one."""
        return max((entry.number for entry in self.journal_entries(after)), default=after)

    def first_write_by(self, agent: str, after: int) -> wire.JournalEntry | None:
        """Return the agent's first accepted write after journal entry ``after``; None if there is none yet."""
        taken = (entry for entry in self.journal_entries(after) if entry.accepted and entry.agent == agent)
        return next(taken, None)

    def partitions(self) -> list[wire.PartitionConfig]:
        """Read all partitions with their content."""
        names = [item.name for item in self.read_json("/v1/partitions", wire.PartitionList).partitions]
        return [self.read_json(f"/v1/partitions/{quote(name, safe='')}", wire.PartitionConfig) for name in names]

    def read_json(self, path: str, kind: type[T]) -> T:
        """Send one GET request to the daemon, and decode the response as ``kind``."""
        credential = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        headers = {"Authorization": f"Basic {credential}"}
        request = urllib.request.Request(self.url + path, headers=headers)  # noqa: S310  # a daemon of ours: https
        trust = urllib.request.HTTPSHandler(context=self.tls_context())
        # Proxy settings of the environment are not for a daemon on this host.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), trust)
        with opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
            return msgspec.json.decode(answer.read(MAX_ANSWER_BYTES), type=kind)


def member_addresses(partition: wire.PartitionConfig) -> set[str]:
    """Return ``address:port`` of all servers of a partition."""
    return {
        f"{server.address}:{server.port}"
        for load_balancer in partition.load_balancers
        for backend in load_balancer.backends
        for server in backend.servers
    }
