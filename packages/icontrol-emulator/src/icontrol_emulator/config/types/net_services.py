"""Network objects besides VLANs, self addresses and routes. Global settings as recorded from 14.1.2.1 in
CiscoTestAutomation/genieparser, the rest from memory."""

from __future__ import annotations

from typing import Any

from icontrol_emulator.config.schema import Scope, TypeSpec, names
from icontrol_emulator.config.types.tables import open_type, settings

TRUNK = TypeSpec(
    path="net/trunk", word="trunk", scope=Scope.FLAT,
    defaults={
        "distributionHash": "dst-mac", "lacp": "disabled", "lacpMode": "active", "lacpTimeout": "long",
        "linkSelectPolicy": "auto", "qinqEthertype": "0x8100", "stp": "enabled",
    },
    optional=frozenset({"interfaces", "description"}),
)  # fmt: skip

# Attributes as F5's API description lists them; defaults from memory.
BANDWIDTH_POLICY = TypeSpec(
    path="net/bwc/policy", word="bwc policy",
    defaults={
        "dynamic": "disabled", "ipTos": "pass-through", "linkQos": "pass-through", "logPeriod": 2048,
        "maxRate": 0, "maxUserRate": 0, "maxUserRatePps": 0, "measure": "disabled",
    },
    optional=names("description categories logPublisher"),
    choices={"dynamic": names("enabled disabled"), "measure": names("enabled disabled")},
)  # fmt: skip

_RESOLVER: dict[str, Any] = {
    "answerDefaultZones": "no", "cacheSize": 5767168, "randomizeQueryNameCase": "yes", "routeDomain":
    "/Common/0", "useIpv4": "yes", "useIpv6": "yes", "useTcp": "yes", "useUdp": "yes",
}  # fmt: skip
_IKE_PEER: dict[str, Any] = {
    "dpdDelay": 30, "generatePolicy": "off", "lifetime": 1440, "mode": "main", "myIdType": "address", "natTraversal":
    "off", "passive": "false", "peersIdType": "address", "phase1AuthMethod": "rsa-signature",
    "phase1EncryptAlgorithm": "3des", "phase1HashAlgorithm": "sha256", "phase1PerfectForwardSecrecy": "modp1024",
    "prf": "sha256", "proxySupport": "enabled", "replayWindowSize": 64, "state": "enabled", "verifyCert": "false",
    "version": ["v1"],
}  # fmt: skip
_IPSEC_POLICY: dict[str, Any] = {
    "ikePhase2AuthAlgorithm": "aes-gcm128", "ikePhase2EncryptAlgorithm": "aes-gcm128", "ikePhase2Lifetime": 1440,
    "ikePhase2LifetimeKilobytes": 0, "ikePhase2PerfectForwardSecrecy": "modp1024", "ipcomp": "none",
    "mode": "transport", "protocol": "esp", "tunnelLocalAddress": "any6", "tunnelRemoteAddress": "any6",
}  # fmt: skip
_SELECTOR: dict[str, Any] = {
    "action": "protect", "destinationAddress": "any", "destinationPort": 0, "direction": "both",
    "ipProtocol": 255, "ipsecPolicy": "/Common/default-ipsec-policy", "order": 0, "sourceAddress": "any",
    "sourcePort": 0,
}  # fmt: skip

SPECS = [
    TRUNK,
    settings("net/dag-globals", dagIpv6PrefixLen=128, icmpHash="icmp", roundRobinMode="global"),
    settings("net/lldp-globals", disabled=True, maxNeighborsPerPort=10, reinitDelay=2, txDelay=2, txHold=4,
             txInterval=30),
    settings("net/multicast-globals", maxPendingPackets=16, maxPendingRoutes=256, rateLimit="enabled",
             routeLookupTimeout=2),
    settings("net/stp-globals", configRevision=0, fwdDelay=15, helloTime=2, maxAge=20, maxHops=20, mode="passthru",
             transmitHold=6),
    settings("net/self-allow", defaults=["igmp:0", "ospf:0", "pim:0", "tcp:161", "tcp:22", "tcp:4353", "tcp:443",
                                         "tcp:53", "udp:1026", "udp:161", "udp:4353", "udp:520", "udp:53"]),
    open_type("net/dns-resolver", "DNS resolver", **_RESOLVER),
    open_type("net/timer-policy"),
    open_type("net/service-policy"),
    open_type("net/port-list"),
    open_type("net/address-list"),
    open_type("net/packet-filter"),
    BANDWIDTH_POLICY,
    open_type("net/ipsec/ike-peer", "IKE peer", **_IKE_PEER),
    open_type("net/ipsec/ipsec-policy", "IPsec policy", **_IPSEC_POLICY),
    open_type("net/ipsec/traffic-selector", **_SELECTOR),
]  # fmt: skip
