"""Networks below load balancing: VLANs, self addresses, routes, tunnels."""

from __future__ import annotations

from collections.abc import Mapping

from icontrol_emulator.config.rules.domains import DomainRules
from icontrol_emulator.config.rules.misc import BuiltInRules, VlanInterfaceRules
from icontrol_emulator.config.rules.network import (
    ForwardingRules,
    NeighbourRules,
    RouteRules,
    SelfRules,
    TunnelRules,
    VlanRules,
)
from icontrol_emulator.config.schema import Ref, Scope, TypeSpec, names

BRIDGING = "transparent-ethernet-bridging"
"""Key of tunnels by GRE: with it they carry frames."""
VLAN_REF = Ref(name="vlan", family="vlan")

VLAN = TypeSpec(
    path="net/vlan", word="VLAN", family="vlan", rules=VlanRules(),
    defaults={
        "autoLasthop": "default", "cmpHash": "default", "dagRoundRobin": "disabled", "dagTunnel": "outer",
        "failsafe": "disabled", "failsafeAction": "failover-restart-tm", "failsafeTimeout": 90,
        "learning": "enable-forward", "mtu": 1500, "sourceChecking": "disabled",
        "sflow": {"pollInterval": 0, "pollIntervalGlobal": "yes", "samplingRate": 0, "samplingRateGlobal": "yes"},
    },
    optional=names("tag customerTag hardwareSyncookie synFloodRateLimit syncacheThreshold"),
    read_only=names("ifIndex"), subs=("interfaces",),
)  # fmt: skip
VLAN_INTERFACES = TypeSpec(
    path="net/vlan/interfaces", word="VLAN member", owner="net/vlan", scope=Scope.FLAT, rules=VlanInterfaceRules(),
    optional=names("tagMode"), flags=(("untagged", "tagged"),),
)  # fmt: skip
SELF = TypeSpec(
    path="net/self", word="Self IP", rules=SelfRules(),
    defaults={
        "addressSource": "from-user", "floating": "disabled", "inheritedTrafficGroup": "false",
        "trafficGroup": "/Common/traffic-group-local-only", "unit": 0,
    },
    optional=names("address vlan allowService fwEnforcedPolicy"), required=("address", "vlan"),
    refs=(VLAN_REF, Ref(name="trafficGroup", family="cm/traffic-group")),
)  # fmt: skip
ROUTE = TypeSpec(
    path="net/route", word="route", rules=RouteRules(), defaults={"mtu": 0, "network": "default"},
    create_only=names("network"), not_in_modify={"network": "create, list, show"},
    optional=names("gw pool tmInterface blackhole"),
    refs=(Ref(name="pool", family="ltm/pool"), Ref(name="tmInterface", family="vlan")),
)  # fmt: skip
ROUTE_DOMAIN = TypeSpec(
    path="net/route-domain", word="route domain", rules=DomainRules(),
    defaults={"connectionLimit": 0, "strict": "enabled", "throughputCapacity": 0},
    optional=names("id vlans parent bwcPolicy flowEvictionPolicy routingProtocol servicePolicy"),
    refs=(
        Ref(name="vlans", family="vlan", many=True), Ref(name="parent", family="net/route-domain"),
        Ref(name="bwcPolicy", family="net/bwc/policy"),
    ),
)  # fmt: skip
TUNNEL = TypeSpec(
    path="net/tunnels/tunnel", word="tunnel", family="vlan", rules=TunnelRules(),
    defaults={
        "autoLasthop": "default", "idleTimeout": 300, "ifIndex": 112, "key": 0, "mode": "bidirectional", "mtu": 0,
        "profile": "/Common/ipip", "remoteAddress": "any", "secondaryAddress": "any", "tos": "preserve",
        "transparent": "disabled", "usePmtu": "enabled",
    },
    optional=names("localAddress trafficGroup"), refs=(Ref(name="profile", family="tunnel-profile"),),
)  # fmt: skip


def _tunnel_profile(path: str, choices: Mapping[str, frozenset[str]] | None = None, **defaults: object) -> TypeSpec:
    return TypeSpec(
        path=f"net/tunnels/{path}", word="tunnel profile", family="tunnel-profile", rules=BuiltInRules(),
        defaults=defaults, choices=choices or {}, inherits=True, root=f"/Common/{path}",
    )  # fmt: skip


TUNNEL_PROFILES = [
    _tunnel_profile(
        "vxlan", {"floodingType": names("none multicast multipoint replicator")},
        encapsulationType="vxlan", floodingType="multicast", port=4789,
    ),
    _tunnel_profile(
        "gre", {"encapsulation": names(f"standard nvgre {BRIDGING}"), "floodingType": names("none multipoint")},
        encapsulation="standard", floodingType="none", rxCsum="disabled", txCsum="disabled",
    ),
    _tunnel_profile("ipip", dsLite="disabled", proto="IPv4"),
    _tunnel_profile("etherip"),
    _tunnel_profile("ppp"),
    _tunnel_profile("geneve", floodingType="none", port=6081),
]  # fmt: skip
TUNNEL_VARIANTS: dict[str, tuple[str, dict[str, object]]] = {
    "ip4ip4": ("ipip", {"description": "IPv4 in IPv4"}),
    "ip4ip6": ("ipip", {"description": "IPv4 in IPv6"}),
    "ip6ip4": ("ipip", {"description": "IPv6 in IPv4", "proto": "IPv6"}),
    "ip6ip6": ("ipip", {"description": "IPv6 in IPv6", "proto": "IPv6"}),
    "dslite": ("ipip", {"defaultsFrom": "/Common/ip4ip6", "description": "Dual-stack lite IPv4 in IPv6", "dsLite":
                        "enabled"}),
    "nvgre": ("gre", {"encapsulation": "nvgre"}),
    "vxlan-gpe": ("vxlan", {"encapsulationType": "vxlan-gpe", "floodingType": "multipoint", "port": 4790}),
    "vxlan-multipoint": ("vxlan", {"floodingType": "multipoint"}),
    "vxlan-ovsdb": ("vxlan", {"floodingType": "replicator"}),
    "vxlan-ovsdb-multipoint": ("vxlan", {"floodingType": "multipoint"}),
    "vxlan-ovsdb-no-flooding": ("vxlan", {"floodingType": "none"}),
}  # fmt: skip
"""The factory's profiles beside those that have their kind's name, as CiscoTestAutomation/genieparser recorded them
from 14.1.2.1."""
FDB_TUNNEL = TypeSpec(path="net/fdb/tunnel", word="FDB tunnel", creatable=False, subs=("records",))
FDB_TUNNEL_RECORDS = TypeSpec(
    path="net/fdb/tunnel/records", word="FDB tunnel record", owner="net/fdb/tunnel", scope=Scope.FLAT,
    rules=ForwardingRules(), optional=names("endpoint endpoints"),
)  # fmt: skip
FDB_VLAN = TypeSpec(path="net/fdb/vlan", word="FDB vlan", creatable=False, subs=("records",))
FDB_VLAN_RECORDS = TypeSpec(
    path="net/fdb/vlan/records", word="FDB vlan record", owner="net/fdb/vlan", scope=Scope.FLAT,
    rules=ForwardingRules(), optional=names("interface trunk"),
)  # fmt: skip
ARP = TypeSpec(
    path="net/arp", word="static ARP entry", rules=NeighbourRules(4), optional=names("ipAddress macAddress"),
)  # fmt: skip
NDP = TypeSpec(
    path="net/ndp", word="static NDP entry", rules=NeighbourRules(6), optional=names("ipAddress macAddress"),
)  # fmt: skip
INTERFACE = TypeSpec(
    path="net/interface", word="interface", scope=Scope.FLAT, creatable=False,
    defaults={
        "bundle": "not-supported", "bundleSpeed": "not-supported", "flowControl": "tx-rx", "forceGigabitFiber":
        "disabled", "forwardErrorCorrection": "not-supported", "lldpAdmin": "txonly", "lldpTlvmap": 130943,
        "mediaActive": "10000T-FD", "mediaFixed": "auto", "mediaMax": "10000T-FD", "mediaSfp": "auto",
        "mtu": 9198, "portFwdMode": "l3", "preferPort": "sfp", "qinqEthertype": "0x8100", "serial": " ",
        "stp": "enabled", "stpAutoEdgePort": "enabled", "stpEdgePort": "true", "stpLinkType": "auto",
    },
    optional=names("ifIndex macAddress"), flags=(("enabled", "disabled"),),
)  # fmt: skip

SPECS = [VLAN, VLAN_INTERFACES, SELF, ROUTE, ROUTE_DOMAIN, TUNNEL, *TUNNEL_PROFILES, FDB_TUNNEL, FDB_TUNNEL_RECORDS,
         FDB_VLAN, FDB_VLAN_RECORDS, ARP, NDP, INTERFACE]  # fmt: skip
