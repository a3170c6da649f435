"""Local traffic objects besides virtual servers: NAT, DNS services, generic message routing, large-scale NAT."""

from __future__ import annotations

from typing import Any

from icontrol_emulator.config.schema import Ref, TypeSpec
from icontrol_emulator.config.types.tables import open_type, settings

_VLANS = Ref(name="vlans", family="vlan", many=True)
_TRAFFIC_GROUP = Ref(name="trafficGroup", family="cm/traffic-group")

NAT = open_type(
    "ltm/nat", "NAT", required=("originatingAddress", "translationAddress"),
    optional="originatingAddress translationAddress vlans",
    flags=(("enabled", "disabled"), ("vlansDisabled", "vlansEnabled")),
    refs=(_VLANS, _TRAFFIC_GROUP), arp="enabled", autoLasthop="default", inheritedTrafficGroup="true",
    trafficGroup="/Common/traffic-group-1", unit=1,
)  # fmt: skip

_DNS_CACHE: dict[str, Any] = {
    "allowedQueryTime": 200, "answerDefaultZones": "no", "maxConcurrentQueries": 1024, "maxConcurrentTcp": 20,
    "maxConcurrentUdp": 8192, "msgCacheSize": "1048576", "nameserverCacheCount": 16536, "nameserverTtl": 900,
    "randomizeQueryNameCase": "yes", "routeDomain": "/Common/0", "rrsetCacheSize": "10485760", "rrsetRotate": "none",
    "unwantedQueryReplyThreshold": 0, "useIpv4": "yes", "useIpv6": "yes", "useTcp": "yes", "useUdp": "yes",
}  # fmt: skip
_LSN_POOL: dict[str, Any] = {
    "clientConnectionLimit": 0, "egressInterfacesDisabled": True, "hairpinMode": "disabled", "icmpEcho": "disabled",
    "inboundConnections": "disabled", "mode": "napt", "persistence": {"mode": "none", "timeout": 300},
    "portBlockAllocation": {"blockIdleTimeout": 3600, "blockLifetime": 0, "blockSize": 64, "clientBlockLimit": 1,
                            "zombieTimeout": 0},
    "routeAdvertisement": "disabled", "translationPortRange": "1025-65535",
}  # fmt: skip
_GENERIC = "ltm/message-routing/generic"

_OFF = {"enabled": "false"}
EVICTION = open_type(
    "ltm/eviction-policy", "eviction policy", highWater=95, lowWater=85,
    slowFlow={"enabled": "false", "evictionType": "percent", "gracePeriod": 10, "maximum": 100, "thresholdBps": 32,
              "throttling": "disabled"},
    strategies={
        **{name: {"delay": 0, **_OFF} for name in ("biasBytes", "biasFast", "biasSlow")},
        "biasIdle": {"enabled": "true"}, "biasOldest": {"enabled": "true"},
        **{f"lowPriority{what}": _OFF for what in ("Geographies", "Port", "RouteDomain", "VirtualServer")},
    },
)  # fmt: skip

SPECS = [
    NAT,
    EVICTION,
    settings("ltm/default-node-monitor", rule="none"),
    settings("ltm/persistence/global-settings", destAddrLimitMode="timeout", destAddrMax=2048, proxyGroup=
             "/Common/aol", description="none"),
    settings("ltm/global-settings/traffic-control", acceptIpOptions="disabled", acceptIpSourceRoute="disabled",
             allowIpSourceRoute="disabled", continueMatching="disabled", maxIcmpRate=100, maxRejectRate=250,
             minPathMtu=296, pathMtuDiscovery="enabled", portFindLinear=16, portFindRandom=16),
    open_type("ltm/ifile", "iFile", optional="fileName"),
    open_type("ltm/traffic-class", classification="none", destinationAddress="any6", destinationMask="any6",
              destinationPort="0", protocol="tcp", sourceAddress="any6", sourceMask="any6", sourcePort="0"),
    open_type("ltm/lsn-pool", "LSN pool", **_LSN_POOL),
    open_type("ltm/lsn-log-profile", "LSN log profile"),
    open_type("ltm/dns/nameserver", "DNS nameserver", address="127.0.0.1", port=53, routeDomain="/Common/0",
              tsigKey="none"),
    open_type("ltm/dns/zone", "DNS zone", dnsExpressEnabled="yes", dnsExpressNotifyAction="consume",
              dnsExpressNotifyTsigVerify="yes"),
    open_type("ltm/dns/tsig-key", "TSIG key", algorithm="hmac-sha256"),
    open_type("ltm/dns/cache/resolver", "DNS cache", **_DNS_CACHE),
    open_type("ltm/dns/cache/transparent", "DNS cache", msgCacheSize="1048576", rrsetCacheSize="10485760"),
    open_type("ltm/dns/cache/validating-resolver", "DNS cache", **_DNS_CACHE),
    open_type(f"{_GENERIC}/peer", "message routing peer", autoInitialization="disabled",
              autoInitializationInterval=5000, connectionMode="per-peer", numberConnections=1, pool="none", ratio=1,
              transportConfig="none"),
    open_type(f"{_GENERIC}/protocol", "message routing protocol", family="profile", disableParser="no",
              maxEgressBuffer=32768, maxMessageSize=32768, messageTerminator="%0a", noResponse="no"),
    open_type(f"{_GENERIC}/route", "message routing route", dstAddress="none", peerSelectionMode="sequential",
              srcAddress="none"),
    open_type(f"{_GENERIC}/router", "message routing router", family="profile", ignoreClientPort="no",
              inheritedTrafficGroup="true", maxPendingBytes=23768, maxPendingMessages=64, maxRetries=1,
              mirror="disabled", mirroredMessageSweeperInterval=1000, trafficGroup="/Common/traffic-group-1",
              transactionTimeout=10, useLocalConnection="yes"),
    TypeSpec(path=f"{_GENERIC}/transport-config", word="transport config", subs=("profiles",), open=True,
             defaults={"ipProtocol": "tcp", "sourcePort": 0, "sourceAddressTranslation": {"type": "none"}}),
    TypeSpec(path=f"{_GENERIC}/transport-config/profiles", word="profile", owner=f"{_GENERIC}/transport-config",
             defaults={"context": "all"}),
]  # fmt: skip
