"""File of the servers that health checks found down, for the next daemon, which then expects the kernel's
table as it was left.

The file is a hint. Without it every server is taken as up until HAProxy reports otherwise, within an
observation.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import structlog

from evenkeel.core.kit.values import Wire
from evenkeel.haproxyd.disk.files import StorageBroken, read_json_file, write_file
from evenkeel.haproxyd.layer4.ruleset import ServerKey

log = structlog.get_logger(__name__)


class DownServersFile(Wire):
    """Content of the file of servers that are down: (backend, server) of each, by partition."""

    down: dict[str, tuple[ServerKey, ...]] = {}


class DownServersStorage:
    """File with the datagram servers that are down. Failures are logged and never raised."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, frozenset[ServerKey]]:
        """Return ``{partition: (backend, server) of each server that was down}``; empty if the file is
        missing or unreadable. Blocks.
        """
        try:
            found = read_json_file(self._path, DownServersFile) or DownServersFile()
        except (OSError, StorageBroken) as error:
            log.warning("health of datagram servers not known", reason=str(error))
            return {}
        return {name: frozenset(servers) for name, servers in found.down.items()}

    def write(self, down: Mapping[str, frozenset[ServerKey]]) -> None:
        """Replace the file's content by ``down``, ``{partition: (backend, server) of each server that is
        down}``. Blocks.
        """
        content = DownServersFile(down={name: tuple(sorted(servers)) for name, servers in down.items() if servers})
        try:
            write_file(self._path, msgspec.json.encode(content))
        except OSError as error:
            log.warning("health of datagram servers not saved", reason=str(error))
