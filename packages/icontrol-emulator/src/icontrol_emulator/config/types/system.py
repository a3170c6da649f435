"""Partitions, users, files, settings and the cluster's own objects."""

from __future__ import annotations

from icontrol_emulator.config.rules.files import FILE_FACTS, CertRules, CrlRules, CryptoRules, KeyRules
from icontrol_emulator.config.rules.misc import BuiltInRules, DbRules, FixedRules, UserRules
from icontrol_emulator.config.rules.partition import FolderRules, PartitionRules
from icontrol_emulator.config.schema import Ref, Scope, TypeSpec, names
from icontrol_emulator.config.types.tables import settings

PARTITION = TypeSpec(
    path="auth/partition", word="auth partition", scope=Scope.FLAT, rules=PartitionRules(),
    defaults={"defaultRouteDomain": 0},
)  # fmt: skip
USER = TypeSpec(
    path="auth/user", word="user", scope=Scope.FLAT, rules=UserRules(),
    defaults={"shell": "none", "sessionLimit": -1}, read_only=names("encryptedPassword"),
    optional=names("password partitionAccess role"),
)  # fmt: skip
FOLDER = TypeSpec(
    path="sys/folder", word="folder", rules=FolderRules(),
    defaults={
        "deviceGroup": "none", "hidden": "false", "inheritedDevicegroup": "true", "inheritedTrafficGroup": "true",
        "noRefCheck": "false", "trafficGroup": "/Common/traffic-group-1",
    },
    refs=(Ref(name="trafficGroup", family="cm/traffic-group"), Ref(name="deviceGroup", family="cm/device-group")),
)  # fmt: skip
PROVISION = TypeSpec(
    path="sys/provision", word="provisioned module", scope=Scope.FLAT, creatable=False,
    defaults={"cpuRatio": 0, "diskRatio": 0, "level": "none", "memoryRatio": 0},
    choices={"level": names("none minimum nominal dedicated")},
)  # fmt: skip
DB = TypeSpec(
    path="sys/db", word="db variable", scope=Scope.FLAT, creatable=False, rules=DbRules(),
    defaults={"defaultValue": "", "scfConfig": "true", "value": "", "valueRange": "string"},
    read_only=names("defaultValue scfConfig valueRange"),
)  # fmt: skip


SINGLES = [
    settings("sys/global-settings", awsApiMaxConcurrency=1, consoleInactivityTimeout=0, guiSetup="disabled",
            hostname="bigip.localdomain", hostAddrMode="management", lcdDisplay="enabled", mgmtDhcp="enabled",
            netReboot="disabled", passwordPrompt="Password", quietBoot="enabled", usernamePrompt="Username",
            guiSecurityBanner="enabled", guiSecurityBannerText="Welcome to the BIG-IP Configuration Utility."),
    settings("sys/httpd", authPamIdleTimeout=1200, fastcgiTimeout=300, maxClients=10, sslPort=443),
    settings("sys/ntp", subs=("restrict",), timezone="UTC"),
    settings("sys/dns", nameServers=[], search=["localdomain"]),
    settings("sys/sshd", banner="disabled", inactivityTimeout=0, login="enabled", port=22),
    settings("sys/snmp", subs=("communities", "traps", "users"), agentAddresses=["tcp6:161", "udp6:161"],
             agentTrap="enabled", allowedAddresses=["127.0.0.0/8"], authTrap="disabled", bigipTraps="enabled",
             l2forwardVlan="default", snmpv1="enable", snmpv2c="enable", sysContact=
             "Customer Name <admin@customer.com>", sysLocation="Network Closet 1", sysServices=78,
             trapCommunity="none", trapSource="none"),
    settings("sys/syslog", authPrivFrom="notice", consoleLog="enabled"),
    settings("ltm/global-settings/general", maxReqDelay=0),
    settings("ltm/global-settings/connection", adaptiveReaperHiwater=95, adaptiveReaperLowater=85,
            autoLastHop="enabled"),
]  # fmt: skip

CERT = TypeSpec(
    path="sys/file/ssl-cert", word="Certificate File", rules=CertRules(),
    defaults={"certificateKeyCurveName": "none", "isBundle": "false", "keyType": "rsa-public", "mode": 33188,
              "version": 3},
    optional=names("content sourcePath systemPath certValidationOptions issuerCert"),
    read_only=FILE_FACTS | names("certificateKeyCurveName certificateKeySize expirationDate expirationString "
                                  "fingerprint isBundle issuer keyType mode serialNumber subject version "
                                  "subjectAlternativeName"),
)  # fmt: skip
KEY = TypeSpec(
    path="sys/file/ssl-key", word="Certificate Key File", rules=KeyRules(),
    defaults={"curveName": "none", "keySize": 2048, "keyType": "rsa-private", "mode": 33184,
              "securityType": "normal"},
    optional=names("content sourcePath systemPath passphrase"),
    read_only=FILE_FACTS | names("curveName keySize keyType mode"),
)  # fmt: skip
CRL = TypeSpec(
    path="sys/file/ssl-crl", word="Certificate Revocation List File", rules=CrlRules(), defaults={"mode": 33188},
    optional=names("content sourcePath systemPath"), read_only=FILE_FACTS | names("mode"),
)  # fmt: skip
CRYPTO_CERT = TypeSpec(
    path="sys/crypto/cert", word="Certificate", rules=CryptoRules("sys/file/ssl-cert"), open=True, creatable=False,
)  # fmt: skip
CRYPTO_KEY = TypeSpec(
    path="sys/crypto/key", word="Key", rules=CryptoRules("sys/file/ssl-key"), open=True, creatable=False,
)  # fmt: skip

DEVICE = TypeSpec(
    path="cm/device", word="device", rules=FixedRules(), creatable=False, open=True,
    defaults={
        "activeModules": ["LTM, Base, VE GBB"], "build": "0.0.18", "edition": "Point Release 2",
        "configsyncIp": "none", "haCapacity": 0, "marketingName": "BIG-IP Virtual Edition", "mirrorIp": "any6",
        "mirrorSecondaryIp": "any6", "multicastInterface": "eth0", "multicastIp": "any6", "multicastPort": 0,
        "platformId": "Z100", "product": "BIG-IP", "timeZone": "UTC", "version": "16.1.2",
    },
)  # fmt: skip
DEVICE_GROUP = TypeSpec(
    path="cm/device-group", word="device group", rules=BuiltInRules(),
    defaults={
        "asmSync": "disabled", "autoSync": "disabled", "fullLoadOnSync": "false",
        "incrementalConfigSyncSizeMax": 1024, "networkFailover": "enabled", "saveOnAutoSync": "false",
        "type": "sync-only",
    },
    choices={"type": names("sync-only sync-failover"), "autoSync": names("enabled disabled")},
    subs=("devices",),
)  # fmt: skip
DEVICE_GROUP_DEVICES = TypeSpec(
    path="cm/device-group/devices", word="device", owner="cm/device-group",
    defaults={"setSyncLeader": False}, optional=names("setSyncLeader"),
)  # fmt: skip
TRAFFIC_GROUP = TypeSpec(
    path="cm/traffic-group", word="traffic group", rules=BuiltInRules(),
    defaults={
        "autoFailbackEnabled": "false", "autoFailbackTime": 60, "failoverMethod": "ha-order", "haLoadFactor": 1,
        "isFloating": "true", "mac": "none", "monitor": {}, "unitId": 1,
    },
    optional=names("haOrder haGroup defaultDevice"),
)  # fmt: skip
TRUST_DOMAIN = TypeSpec(
    path="cm/trust-domain", word="trust domain", rules=FixedRules(), creatable=False,
    defaults={"status": "standalone"}, optional=names("caCert caDevices caKey guid trustGroup"), open=True,
)  # fmt: skip

SPECS = [
    PARTITION, USER, FOLDER, PROVISION, DB, *SINGLES, CERT, KEY, CRL, CRYPTO_CERT, CRYPTO_KEY, DEVICE, DEVICE_GROUP,
    DEVICE_GROUP_DEVICES, TRAFFIC_GROUP, TRUST_DOMAIN,
]  # fmt: skip
