"""Virtual servers, pools, nodes, SNAT, iRules, data groups."""

from __future__ import annotations

from icontrol_emulator.config.rules.ciphers import CipherGroupRules, CipherRuleRules
from icontrol_emulator.config.rules.data_groups import DataGroupRules
from icontrol_emulator.config.rules.irules import RuleRules
from icontrol_emulator.config.rules.misc import (
    AddressNamedRules,
    SnatPoolRules,
    SnatRules,
)
from icontrol_emulator.config.rules.pool import MemberRules, NodeRules, PoolRules
from icontrol_emulator.config.rules.virtual import AddressRules, AttachedRules, VirtualRules
from icontrol_emulator.config.schema import Ref, TypeSpec, names

BALANCING = names(
    "round-robin ratio-member ratio-node ratio-session ratio-least-connections-member "
    "ratio-least-connections-node least-connections-member least-connections-node least-sessions "
    "dynamic-ratio-member dynamic-ratio-node fastest-app-response fastest-node observed-member observed-node "
    "predictive-member predictive-node weighted-least-connections-member weighted-least-connections-node"
)
TRAFFIC_GROUP = Ref(name="trafficGroup", family="cm/traffic-group")
ON_OFF = names("enabled disabled")
YES_NO = names("yes no")
CONNECTIONS = (0, 2**32 - 1)
SMALL = (0, 65_535)
_ENDPOINT_RANGES = {"connectionLimit": CONNECTIONS, "dynamicRatio": (1, 65_535), "ratio": (1, 65_535)}

VIRTUAL = TypeSpec(
    path="ltm/virtual",
    word="Virtual Server",
    rules=VirtualRules(),
    defaults={
        "addressStatus": "yes", "autoLasthop": "default", "cmpEnabled": "yes", "connectionLimit": 0,
        "evictionProtected": "disabled", "gtmScore": 0, "ipProtocol": "any", "mirror": "disabled",
        "mobileAppTunnel": "disabled", "nat64": "disabled", "rateLimit": "disabled", "rateLimitDstMask": 0,
        "rateLimitMode": "object", "rateLimitSrcMask": 0, "serversslUseSni": "disabled",
        "serviceDownImmediateAction": "none", "sourceAddressTranslation": {"type": "none"},
        "sourcePort": "preserve", "synCookieStatus": "not-activated", "translateAddress": "enabled",
        "translatePort": "enabled",
    },
    optional=names(
        "destination mask source pool rules persist fallbackPersistence vlans lastHopPool clonePools "
        "bwcPolicy trafficClasses auth relatedRules rateClass securityLogProfiles flowEvictionPolicy "
        "internal ipForward l2Forward reject dhcpRelay stateless ipIntelligencePolicy perFlowRequestAccessPolicy "
        "httpMrfRoutingEnabled throughputCapacity transparentNexthop trafficMatchingCriteria serviceIpAddress"
    ),
    read_only=names("creationTime lastModifiedTime vsIndex"),
    choices={
        "sourcePort": names("preserve preserve-strict change"), "mirror": ON_OFF, "translateAddress": ON_OFF,
        "translatePort": ON_OFF, "serviceDownImmediateAction": names("none reset drop"),
        "rateLimitMode": names(
            "object object-source object-destination object-source-destination source destination source-destination"
        ),
    },
    ranges={"connectionLimit": CONNECTIONS, "rateLimitSrcMask": (0, 128), "rateLimitDstMask": (0, 128)},
    flags=(("enabled", "disabled"), ("vlansDisabled", "vlansEnabled")),
    refs=(
        Ref(name="pool", family="ltm/pool"),
        Ref(name="lastHopPool", family="ltm/pool"),
        Ref(name="rules", family="ltm/rule", many=True),
        Ref(name="vlans", family="vlan", many=True),
        Ref(name="bwcPolicy", family="net/bwc/policy"),
        Ref(name="fallbackPersistence", family="persistence"),
        Ref(name="sourceAddressTranslation", family="ltm/snatpool", inner="pool"),
    ),
    subs=("policies", "profiles"),
)  # fmt: skip

VIRTUAL_PROFILES = TypeSpec(
    path="ltm/virtual/profiles", word="profile", owner="ltm/virtual", rules=AttachedRules("profile"),
    defaults={"context": "all"}, choices={"context": names("all clientside serverside")},
)  # fmt: skip
VIRTUAL_POLICIES = TypeSpec(
    path="ltm/virtual/policies", word="policy", owner="ltm/virtual", rules=AttachedRules("ltm/policy"),
)  # fmt: skip

VIRTUAL_ADDRESS = TypeSpec(
    path="ltm/virtual-address",
    word="Virtual Address",
    rules=AddressRules(),
    defaults={
        "arp": "enabled", "autoDelete": "true", "connectionLimit": 0, "enabled": "yes", "floating": "enabled",
        "icmpEcho": "enabled", "inheritedTrafficGroup": "false", "routeAdvertisement": "disabled",
        "serverScope": "any", "spanning": "disabled", "trafficGroup": "/Common/traffic-group-1", "unit": 1,
    },
    optional=names("address mask"),
    create_only=names("address"),
    choices={
        "arp": ON_OFF, "autoDelete": names("true false"), "enabled": YES_NO, "serverScope": names("any all none"),
        "icmpEcho": names("enabled disabled selective any all always"),
        "routeAdvertisement": names("enabled disabled selective any all always"),
    },
    ranges={"connectionLimit": CONNECTIONS},
    refs=(TRAFFIC_GROUP,),
)  # fmt: skip

POOL = TypeSpec(
    path="ltm/pool",
    word="Pool",
    rules=PoolRules(),
    defaults={
        "allowNat": "yes", "allowSnat": "yes", "ignorePersistedWeight": "disabled",
        "ipTosToClient": "pass-through", "ipTosToServer": "pass-through", "linkQosToClient": "pass-through",
        "linkQosToServer": "pass-through", "loadBalancingMode": "round-robin", "minActiveMembers": 0,
        "minUpMembers": 0, "minUpMembersAction": "failover", "minUpMembersChecking": "disabled",
        "queueDepthLimit": 0, "queueOnConnectionLimit": "disabled", "queueTimeLimit": 0, "reselectTries": 0,
        "serviceDownAction": "none", "slowRampTime": 10,
    },
    optional=names("monitor profiles gatewayFailsafeDevice"),
    choices={
        "loadBalancingMode": BALANCING,
        "serviceDownAction": names("none reset drop reselect"),
        "allowNat": YES_NO, "allowSnat": YES_NO, "queueOnConnectionLimit": ON_OFF, "ignorePersistedWeight": ON_OFF,
    },
    ranges={
        "minActiveMembers": SMALL, "minUpMembers": SMALL, "queueDepthLimit": CONNECTIONS, "queueTimeLimit": CONNECTIONS,
        "reselectTries": SMALL, "slowRampTime": (0, 86_400),
    },
    subs=("members",),
)  # fmt: skip

_ENDPOINT = {
    "connectionLimit": 0, "dynamicRatio": 1, "ephemeral": "false", "logging": "disabled", "monitor": "default",
    "rateLimit": "disabled", "ratio": 1,
}  # fmt: skip

_ADDRESS = {"address": "create, edit, list"}

MEMBERS = TypeSpec(
    path="ltm/pool/members",
    word="Pool Member",
    owner="ltm/pool",
    rules=MemberRules(),
    defaults={
        **_ENDPOINT, "fqdn": {"autopopulate": "disabled"}, "inheritProfile": "enabled", "priorityGroup": 0,
    },
    optional=names("address session state profiles parent"),
    create_only=names("address"),
    not_in_modify=_ADDRESS,
    ranges={**_ENDPOINT_RANGES, "priorityGroup": SMALL},
)  # fmt: skip

NODE = TypeSpec(
    path="ltm/node",
    word="Node",
    rules=NodeRules(),
    defaults={
        **_ENDPOINT,
        "fqdn": {"addressFamily": "ipv4", "autopopulate": "disabled", "downInterval": 5, "interval": "3600"},
    },
    optional=names("address session state"),
    create_only=names("address"),
    not_in_modify=_ADDRESS,
    ranges=_ENDPOINT_RANGES,
)

SNATPOOL = TypeSpec(
    path="ltm/snatpool", word="snatpool", rules=SnatPoolRules(), optional=names("members"),
    refs=(Ref(name="members", family="ltm/snat-translation", many=True),),
)  # fmt: skip
SNAT_TRANSLATION = TypeSpec(
    path="ltm/snat-translation",
    word="SNAT Translation Address",
    rules=AddressNamedRules(),
    defaults={
        "arp": "enabled", "connectionLimit": 0, "inheritedTrafficGroup": "true", "ipIdleTimeout": "indefinite",
        "tcpIdleTimeout": "indefinite", "trafficGroup": "/Common/traffic-group-1",
        "udpIdleTimeout": "indefinite", "unit": 1,
    },
    optional=names("address"),
    flags=(("enabled", "disabled"),),
    choices={"arp": ON_OFF},
    ranges={"connectionLimit": CONNECTIONS},
    refs=(TRAFFIC_GROUP,),
)  # fmt: skip
SNAT = TypeSpec(
    path="ltm/snat", word="SNAT", rules=SnatRules(),
    defaults={"autoLasthop": "default", "mirror": "disabled", "sourcePort": "preserve"},
    optional=names("automap origins snatpool translation vlans"),
    flags=(("vlansDisabled", "vlansEnabled"),),
    refs=(Ref(name="snatpool", family="ltm/snatpool"), Ref(name="vlans", family="vlan", many=True)),
)  # fmt: skip

RULE = TypeSpec(
    path="ltm/rule", word="iRule", rules=RuleRules(), defaults={"apiAnonymous": ""},
    optional=names("ignoreVerification apiRawValues"),
    # the listener's id, which F5's agent for OpenStack (l7policy_adapter.py) sends with each rule
    read_only=names("listener"),
)  # fmt: skip
DATA_GROUP = TypeSpec(
    path="ltm/data-group/internal", word="value list", family="ltm/data-group", rules=DataGroupRules(),
    required=("type",), create_only=names("type"), not_in_modify={"type": "create, edit, list"},
    optional=names("records type"),
    choices={"type": names("integer ip string")},
)  # fmt: skip
DATA_GROUP_EXTERNAL = TypeSpec(
    path="ltm/data-group/external", word="value list", family="ltm/data-group",
    optional=names("externalFileName type"),
)  # fmt: skip

CIPHER_RULE = TypeSpec(
    path="ltm/cipher/rule", word="cipher rule", rules=CipherRuleRules(),
    defaults={"cipher": "DEFAULT", "dhGroups": "DEFAULT", "signatureAlgorithms": "DEFAULT"},
)  # fmt: skip
CIPHER_GROUP = TypeSpec(
    path="ltm/cipher/group", word="cipher group", rules=CipherGroupRules(), defaults={"ordering": "default"},
    optional=names("allow require exclude"),
    choices={"ordering": names("default fips hardware performance speed strength")},
)  # fmt: skip

SPECS = [
    CIPHER_RULE, CIPHER_GROUP, VIRTUAL, VIRTUAL_PROFILES, VIRTUAL_POLICIES, VIRTUAL_ADDRESS, POOL, MEMBERS, NODE,
    SNATPOOL, SNAT_TRANSLATION, SNAT, RULE, DATA_GROUP, DATA_GROUP_EXTERNAL,
]  # fmt: skip
