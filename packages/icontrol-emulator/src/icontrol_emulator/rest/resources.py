"""The device's resources: memory, processors, traffic managers; and its open connections.

Shapes as recorded from 14.1.2.1 in CiscoTestAutomation/genieparser. Figures are those of a small idle device.
"""

from __future__ import annotations

from typing import Any

from icontrol_emulator.cluster import Cluster
from icontrol_emulator.device import Device

BASE = "https://localhost/mgmt/tm"
PROCESSORS = 2
_MEMORY_BYTES = 8 * 1024**3
_TMM_BYTES = 4 * 1024**3
_SPANS = ("fiveSecAvg", "oneMinAvg", "fiveMinAvg")
_USES = {"Idle": 95, "Iowait": 0, "Irq": 0, "Niced": 0, "Ratio": 5, "Softirq": 0, "Stolen": 0, "System": 2, "User": 3}


def _numbers(values: dict[str, int]) -> dict[str, Any]:
    return {name: {"value": value} for name, value in values.items()}


def _level(entries: dict[str, Any]) -> dict[str, Any]:
    return {"nestedStats": {"entries": entries}}


def memory(device: Device, cluster: Cluster) -> dict[str, Any]:
    host = {
        "memoryFree": _MEMORY_BYTES // 2, "memoryTotal": _MEMORY_BYTES, "memoryUsed": _MEMORY_BYTES // 2,
        "otherMemoryFree": _TMM_BYTES // 2, "otherMemoryTotal": _TMM_BYTES, "otherMemoryUsed": _TMM_BYTES // 2,
        "swapFree": 1024**3, "swapTotal": 1024**3, "swapUsed": 0, "tmmMemoryFree": _TMM_BYTES * 9 // 10,
        "tmmMemoryTotal": _TMM_BYTES, "tmmMemoryUsed": _TMM_BYTES // 10,
    }  # fmt: skip
    entry = _level({"hostId": {"description": "0"}, **_numbers(host)})
    return {f"{BASE}/sys/memory/memory-host": _level({f"{BASE}/sys/memory/memory-host/0": entry})}


def processors(device: Device, cluster: Cluster) -> dict[str, Any]:
    uses = {f"{span}{use}": value for span in _SPANS for use, value in _USES.items()}
    each = {
        f"{BASE}/sys/cpu/0/cpuInfo/{number}": _level(_numbers({"cpuId": number, **uses, "usageRatio": 5}))
        for number in range(PROCESSORS)
    }
    inside = {
        "kind": "tm:sys:cpu:cpustats", "selfLink": f"{BASE}/sys/cpu/0?ver={device.renderer.version}",
        "entries": {f"{BASE}/sys/cpu/0/cpuInfo": _level(each), "hostId": {"description": "0"}},
    }  # fmt: skip
    return {f"{BASE}/sys/cpu/0": {"nestedStats": inside}}


def traffic_managers(device: Device, cluster: Cluster) -> dict[str, Any]:
    def one(number: int) -> dict[str, Any]:
        values = {
            "cpu": number, "fiveMinAvgUsageRatio": 1, "fiveSecAvgUsageRatio": 1, "memoryTotal": _TMM_BYTES // 2,
            "memoryUsed": _TMM_BYTES // 20, "npus": PROCESSORS, "oneMinAvgUsageRatio": 1, "tmid": number,
            "tmmPid": 9762 + number,
        }  # fmt: skip
        return _level({**_numbers(values), "tmmId": {"description": f"0.{number}"}})

    return {f"{BASE}/sys/tmm-info/0.{number}": one(number) for number in range(PROCESSORS)}


def connections(device: Device, cluster: Cluster) -> dict[str, Any]:
    """None is listed: which are open stands in the statistics of virtual servers."""
    return {}
