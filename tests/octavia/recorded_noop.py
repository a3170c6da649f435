"""``python -m tests.octavia.recorded_noop --config-file FILE.ini``: an agent of a no-op device that records in
``FILE.held`` what the device holds after each batch. Nothing outside of its process could read that.
"""

import sys
from pathlib import Path
from typing import Any

import msgspec

from evenkeel.cmd.agent import main
from evenkeel.core.devices.device import PartitionBatch, PartitionOutcome
from evenkeel.devices.noop import NoopGroup, NoopMemory

SUFFIX = ".held"


class Recording:
    """Replacement of the driver's ``apply``."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._apply = NoopGroup.apply

    def install(self) -> None:
        async def apply(group: NoopGroup, batch: PartitionBatch) -> PartitionOutcome:
            try:
                return await self._apply(group, batch)
            finally:
                self._write(group._memory)

        NoopGroup.apply = apply  # type: ignore[method-assign]

    def _write(self, memory: NoopMemory) -> None:
        held: dict[str, Any] = {}
        for _, partition in memory.tenants():
            held |= partition.holds
        written = self._file.with_suffix(".new")
        written.write_bytes(msgspec.json.encode(held))
        written.replace(self._file)


if __name__ == "__main__":
    Recording(Path(sys.argv[-1]).with_suffix(SUFFIX)).install()
    sys.exit(main())
