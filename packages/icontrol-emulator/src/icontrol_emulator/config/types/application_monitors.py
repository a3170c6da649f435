"""Health monitors of application protocols. Defaults as recorded from 14.1.2.1 in CiscoTestAutomation/genieparser.

They accept properties that are not listed; the data plane does not probe with them.
"""

from __future__ import annotations

from typing import Any

from icontrol_emulator.config.rules.monitor import TIMES, MonitorRules
from icontrol_emulator.config.schema import TypeSpec

_TIMES = {"interval": 10, "manualResume": "disabled", "timeUntilUp": 0, "timeout": 31, "upInterval": 0}
_PLAIN = {**_TIMES, "debug": "no", "destination": "*:*"}
_SHORT = {**_PLAIN, "interval": 5, "timeout": 16}
_DATABASE = {**_PLAIN, "count": "0", "interval": 30, "timeout": 91}
_SNMP = {"community": "public", "interval": 10, "timeUntilUp": 0, "timeout": 30, "version": "v1"}


def _monitor(path: str, root: str, defaults: dict[str, Any]) -> TypeSpec:
    return TypeSpec(
        path=f"ltm/monitor/{path}", word="monitor", family="monitor", rules=MonitorRules(), defaults=defaults,
        inherits=True, root=f"/Common/{root}", open=True,
        ranges={name: limits for name, limits in TIMES.items() if name in defaults},
    )  # fmt: skip


SPECS = [
    _monitor("diameter", "diameter", {**_TIMES, "originRealm": "f5.com", "productName":
             "F5 BIGIP Diameter Health Monitoring", "vendorId": "3375"}),
    _monitor("firepass", "firepass", {"cipherlist": "HIGH:!ADH", "concurrencyLimit": 95, "destination": "*:*",
             "interval": 5, "maxLoadAverage": 12, "timeUntilUp": 0, "timeout": 16, "upInterval": 0,
             "username": "gtmuser"}),
    _monitor("imap", "imap", {**_PLAIN, "folder": "INBOX"}),
    _monitor("module-score", "module_score", {"debug": "no", "interval": 10, "snmpCommunity": "public", "snmpPort":
             161, "snmpVersion": "v2c", "timeUntilUp": 0, "timeout": 30, "upInterval": 0}),
    _monitor("mqtt", "mqtt", {**_SHORT, "mqttVersion": "3.1.1"}),
    _monitor("mssql", "mssql", _DATABASE),
    _monitor("nntp", "nntp", _SHORT),
    _monitor("oracle", "oracle", {**_DATABASE, "database": "%node_ip%:%node_port%:"}),
    _monitor("pop3", "pop3", _SHORT),
    _monitor("radius-accounting", "radius_accounting", _PLAIN),
    _monitor("rpc", "rpc", {**_PLAIN, "mode": "tcp"}),
    _monitor("sasp", "sasp", {"interval": "auto", "mode": "push", "protocol": "tcp", "service": "3860",
                              "timeUntilUp": 0}),
    _monitor("scripted", "scripted", _PLAIN),
    _monitor("smb", "smb", _PLAIN),
    _monitor("snmp-dca", "snmp_dca", {**_SNMP, "agentType": "UCD", "cpuCoefficient": "1.5", "cpuThreshold": "80",
             "diskCoefficient": "2.0", "diskThreshold": "90", "memoryCoefficient": "1.0", "memoryThreshold": "70"}),
    _monitor("snmp-dca-base", "snmp_dca_base", _SNMP),
    _monitor("soap", "soap", {**_SHORT, "expectFault": "no", "protocol": "http"}),
    _monitor("virtual-location", "virtual_location", {"debug": "no", "interval": 5, "timeUntilUp": 0, "timeout": 16,
                                                      "upInterval": 0}),
    _monitor("wap", "wap", _PLAIN),
    _monitor("wmi", "wmi", {"agent": "Mozilla/4.0 (compatible: MSIE 5.0; Windows NT)", "destination": "*:80",
             "interval": 5, "method": "POST", "metrics":
             "LoadPercentage, DiskUsage, PhysicalMemoryUsage:1.5, VirtualMemoryUsage:2.0", "post": "RespFormat=HTML",
             "timeUntilUp": 0, "timeout": 16, "tmCommand": "GetCPUInfo, GetDiskInfo, GetOSInfo", "url":
             "/scripts/F5Isapi.dll"}),
    _monitor("none", "none", {}),
]  # fmt: skip

ROOTS = {spec.root: spec.path for spec in SPECS}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {}
