"""Factory objects that are plain rows: software, agents, log publishers, IPsec."""

from __future__ import annotations

from typing import Any

from icontrol_emulator.config.releases import Release

Row = tuple[str, str, dict[str, Any]]  # type, path, properties

_MEDIA = [{"name": "HD1.1", "defaultBootLocation": True, "media": "hd", "size": "default"}]
_SERVICES = ("bigd", "httpd", "mcpd", "named", "ntpd", "restjavad", "restnoded", "snmpd", "sshd", "tmm")
_PUBLISHERS = {
    "local-db-publisher": ["local-db"], "sys-db-access-publisher": ["local-db", "local-syslog"],
    "sys-ssl-publisher": ["local-syslog"], "sys-sslo-publisher": ["local-syslog"],
}  # fmt: skip


def _log_rows() -> list[Row]:
    rows: list[Row] = [
        ("sys/log-config/destination/alertd", "/Common/alertd", {}),
        ("sys/log-config/destination/local-database", "/Common/local-db", {}),
        ("sys/log-config/destination/local-syslog", "/Common/local-syslog", {}),
    ]
    for name, destinations in _PUBLISHERS.items():
        listed = [{"name": each, "partition": "Common"} for each in destinations]
        rows.append(("sys/log-config/publisher", f"/Common/{name}", {"destinations": listed}))
    return rows


ROWS: list[Row] = [
    *_log_rows(),
    *(("sys/service", name, {}) for name in _SERVICES),
    ("sys/feature-module", "cgnat", {}),
    ("ltm/eviction-policy", "/Common/default-eviction-policy", {}),
    ("sys/disk/logical-disk", "HD1", {}),
    ("sys/management-route", "/Common/default", {"gateway": "192.0.2.1"}),
    ("sys/snmp/communities", "/Common/comm-public", {"communityName": "public", "source": "default"}),
    ("sys/application/template", "/Common/f5.http", {}),
    ("net/dns-resolver", "/Common/f5-aws-dns", {"forwardZones": [{"name": "amazonaws.com", "nameservers": [
        {"name": "8.8.8.8:53"}]}]}),
    ("net/ipsec/ipsec-policy", "/Common/default-ipsec-policy", {}),
    ("net/ipsec/ipsec-policy", "/Common/default-ipsec-policy-interface", {"mode": "interface"}),
    ("net/ipsec/ike-peer", "/Common/anonymous", {"remoteAddress": "any6"}),
    ("net/ipsec/traffic-selector", "/Common/default-traffic-selector-interface", {
        "ipsecPolicy": "/Common/default-ipsec-policy-interface"}),
    ("ltm/message-routing/generic/protocol", "/Common/genericmsg", {}),
    ("ltm/message-routing/generic/router", "/Common/messagerouter", {}),
]  # fmt: skip


def software_rows(release: Release) -> list[Row]:
    """Installed software: the release, and the image that it came from."""
    facts = {"build": release.build, "version": release.version}
    volume = {"active": True, "basebuild": release.build, "media": _MEDIA, **facts}
    return [
        ("sys/software/volume", "HD1.1", volume),
        ("sys/software/image", f"BIGIP-{release.version}-{release.build}.iso", facts),
    ]
