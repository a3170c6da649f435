"""How many writes a create costs a BIG-IP: saves of the running configuration are not among them."""

from pathlib import Path

import pytest

from evenkeel.demo.device_kinds.bigip import BigipDevices
from evenkeel.demo.devices import Emulator
from evenkeel.demo.workspace import Workspace

PATHS = ("/mgmt/tm/transaction", "/mgmt/tm/ltm/pool", "/mgmt/tm/sys/config", "/mgmt/tm/transaction/1")


class Logged(Emulator):
    """An emulator that logged a write for each of the paths on the first device."""

    def __init__(self) -> None:
        super().__init__([], ca_file="", control_url="http://emulator", user="", password="")

    def writes(self, after: int) -> list[dict[str, object]]:
        entries = [{"seq": seq, "device": "bigip-1", "path": path} for seq, path in enumerate(PATHS, start=1)]
        return entries[after:]


@pytest.mark.parametrize(("after", "counted"), [(0, 3), (1, 2), (2, 1), (4, 0)])
def test_writes_are_counted_by_device(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, after: int, counted: int
) -> None:
    side = BigipDevices(Workspace(tmp_path))
    monkeypatch.setattr(side, "_emulator", Logged())
    assert side.writes_after(after) == {"bigip-1": counted, "bigip-2": 0}
