"""How many requests a create costs a BIG-IP: what agents' looks at the devices request is not among them."""

from pathlib import Path

import pytest

from evenkeel.demo.device_kinds import bigip
from evenkeel.demo.device_kinds.bigip import BigipSide
from evenkeel.demo.devices import Emulator
from evenkeel.demo.workspace import Workspace

CREATE = {"reads": 9, "writes": 4, "stats": 0}


class Counted(Emulator):
    """An emulator whose counters are these, one after the other, and at last the last."""

    def __init__(self, *counters: dict[str, int]) -> None:
        super().__init__([], ca_file="", control_url="http://emulator", user="", password="")
        self._counters = list(counters)

    def counters(self) -> dict[str, dict[str, int]]:
        return {"bigip-1": self._counters.pop(0) if len(self._counters) > 1 else self._counters[0]}


@pytest.mark.parametrize(
    ("counters", "told"),
    [
        ([CREATE], {"bigip-1": 13}),
        ([CREATE | {"stats": 1}], {}),
        ([CREATE | {"reads": 12}, CREATE | {"reads": 12}, CREATE | {"reads": 12, "stats": 1}], {}),
    ],
    ids=["no look", "a look", "a look that has only begun"],
)
async def test_requests_are_counted_if_nobody_looked_at_the_devices(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, counters: list[dict[str, int]], told: dict[str, int]
) -> None:
    monkeypatch.setattr(bigip, "QUIET_SECONDS", 0.0)
    side = BigipSide(Workspace(tmp_path))
    monkeypatch.setattr(side, "_emulator", Counted(*counters))
    assert await side.end_count() == told
