"""The device itself: software, management addresses, agents, applications. Defaults from memory unless noted."""

from __future__ import annotations

from icontrol_emulator.config.rules.application import ApplicationServiceRules
from icontrol_emulator.config.schema import Scope
from icontrol_emulator.config.types.tables import open_type, settings

_FLAT = Scope.FLAT
FEATURES = ("cgnat",)
SERVICES = ("bigd", "httpd", "mcpd", "named", "ntpd", "restjavad", "restnoded", "snmpd", "sshd", "tmm")

SPECS = [
    # as recorded from 14.1.2.1 in CiscoTestAutomation/genieparser
    open_type("sys/software/volume", "software volume", scope=_FLAT, creatable=False, apiRawValues={},
              product="BIG-IP", status="complete"),
    open_type("sys/software/image", "software image", scope=_FLAT, build="0.0.18", fileSize="2276 MB",
              product="BIG-IP", verified="yes", version="16.1.2"),
    open_type("sys/software/hotfix", "software hotfix", scope=_FLAT, product="BIG-IP", verified="yes"),
    open_type("sys/software/block-device-image", "software image", scope=_FLAT, creatable=False),
    open_type("sys/software/block-device-hotfix", "software hotfix", scope=_FLAT, creatable=False),
    settings("sys/software/update", autoCheck="enabled", autoPhonehome="enabled", frequency="weekly"),
    open_type("sys/management-ip", "management address", scope=_FLAT),
    open_type("sys/management-route", "management route", mtu=0, network="default"),
    open_type("sys/smtp-server", "SMTP server", authenticationEnabled=False, encryptedConnection="none",
              smtpServerPort=25),
    open_type("sys/ha-group", "HA group", scope=_FLAT, activeBonus=10, enabled=True),
    open_type("sys/cluster", scope=_FLAT, creatable=False),
    open_type("sys/disk/logical-disk", "logical disk", scope=_FLAT, creatable=False, mode="mixed", size=73728,
              vgFree=30720, vgInUse=43008, vgReserved=3072),
    open_type("sys/feature-module", scope=_FLAT, creatable=False, disabled=True),
    open_type("sys/service", scope=_FLAT, creatable=False),
    open_type("sys/application/service", "application service", deviceGroup="none", inheritedDevicegroup="true",
              inheritedTrafficGroup="true", strictUpdates="enabled", templateModified="no",
              trafficGroup="/Common/traffic-group-1", rules=ApplicationServiceRules()),
    open_type("sys/application/template", "application template", ignoreVerification="false", totalSigningStatus=
              "not-all-signed", verificationStatus="none"),
    open_type("sys/application/apl-script", "APL script"),
    open_type("sys/application/custom-stat", "custom statistics"),
    open_type("sys/ntp/restrict", "NTP restriction", scope=_FLAT, defaultEntry="disabled", ignore="disabled"),
    open_type("sys/snmp/communities", "SNMP community", access="ro", ipv6="disabled"),
    open_type("sys/snmp/traps", "SNMP trap", network="management", port=162, version="2c"),
    open_type("sys/snmp/users", "SNMP user", access="ro", authProtocol="sha", privacyProtocol="aes",
              securityLevel="auth-privacy"),
    open_type("sys/crypto/cert-validator/ocsp", "OCSP validator", cacheErrorTimeout=3600, cacheTimeout="indefinite",
              clockSkew=300, concurrentConnectionsLimit=50, connectionTimeout=8, routeDomain="/Common/0",
              signHash="sha256", statusAge=0, strictRespCertCheck="disabled"),
    open_type("sys/crypto/csr", "certificate signing request"),
    open_type("sys/url-db/url-category", "URL category", defaultAction="allow"),
]  # fmt: skip
