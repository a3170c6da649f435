"""Values between a service definition and a device: wanted objects, observed objects, operations.

Attributes have the form that iControl REST accepts; :mod:`canonical` decides when two forms of an attribute are equal.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.values import Value
from evenkeel.core.tls.certificates import CertificateKind, Secret
from evenkeel.devices.bigip.naming import Mark

VIRTUAL = "ltm/virtual"
VIRTUAL_ADDRESS = "ltm/virtual-address"
POOL = "ltm/pool"
MEMBER = "ltm/pool/members"
NODE = "ltm/node"
DATA_GROUP = "ltm/data-group/internal"
RULE = "ltm/rule"
POLICY = "ltm/policy"
CIPHER_RULE = "ltm/cipher/rule"
CIPHER_GROUP = "ltm/cipher/group"
CLIENT_SSL = "ltm/profile/client-ssl"
SERVER_SSL = "ltm/profile/server-ssl"
HTTP2_PROFILE = "ltm/profile/http2"
COMPRESSION_PROFILE = "ltm/profile/http-compression"
CERTIFICATE_FILE = "sys/file/ssl-cert"
KEY_FILE = "sys/file/ssl-key"
REVOCATION_FILE = "sys/file/ssl-crl"
FILES = (CERTIFICATE_FILE, KEY_FILE, REVOCATION_FILE)
"""Types without a description: the name alone shows that a file is Even Keel's. Load balancers may share files."""
CIPHERS = (CIPHER_RULE, CIPHER_GROUP)
MONITORS = (
    "ltm/monitor/http",
    "ltm/monitor/https",
    "ltm/monitor/tcp",
    "ltm/monitor/udp",
    "ltm/monitor/gateway-icmp",
)
PROFILES = (
    "ltm/profile/http",
    "ltm/profile/tcp",
    "ltm/profile/fastl4",
    "ltm/profile/udp",
    "ltm/profile/sctp",
    HTTP2_PROFILE,
    COMPRESSION_PROFILE,
    CLIENT_SSL,
)
COOKIE_PERSISTENCE = "ltm/persistence/cookie"
SOURCE_PERSISTENCE = "ltm/persistence/source-addr"
UNIVERSAL_PERSISTENCE = "ltm/persistence/universal"
PERSISTENCE = (COOKIE_PERSISTENCE, SOURCE_PERSISTENCE, UNIVERSAL_PERSISTENCE)

OWNED_TYPES = (
    *FILES,
    *CIPHERS,
    SERVER_SSL,
    *MONITORS,
    *PROFILES,
    DATA_GROUP,
    RULE,
    *PERSISTENCE,
    VIRTUAL_ADDRESS,
    POOL,
    POLICY,
    VIRTUAL,
)
"""Types of objects that Even Keel creates, in creation order: referenced objects come first."""
BANDWIDTH_POLICY = "net/bwc/policy"
FTP_PROFILE = "ltm/profile/ftp"
F5_ONLY_TYPES = (BANDWIDTH_POLICY, FTP_PROFILE)
"""Types that only F5's agent creates, read so that its objects are found in adopted partitions."""
PARTIAL_READ_TYPES = (POOL, VIRTUAL)
"""Types read when a whole read is not due, because manual changes of such objects are likely and harmful."""


ROUTE_DOMAIN = "net/route-domain"
VLAN = "net/vlan"
TUNNEL_PROFILES = ("net/tunnels/vxlan", "net/tunnels/gre")
TUNNEL = "net/tunnels/tunnel"
FORWARDING_TABLE = "net/fdb/tunnel"
"""Forwarding table of a tunnel, which the device makes and removes together with the tunnel."""
SELF_IP = "net/self"
ARP = "net/arp"
NDP = "net/ndp"
NEIGHBOURS = (ARP, NDP)
"""Types of neighbour entries, IPv4 and IPv6, which a device keeps apart."""
SNAT_ADDRESS = "ltm/snat-translation"
SNAT_POOL = "ltm/snatpool"
ROUTE = "net/route"
NETWORK_TYPES = (
    *TUNNEL_PROFILES,
    VLAN,
    TUNNEL,
    FORWARDING_TABLE,
    ROUTE_DOMAIN,
    SELF_IP,
    *NEIGHBOURS,
    SNAT_ADDRESS,
    SNAT_POOL,
    ROUTE,
)
"""Types of objects that several load balancers of a partition share, in creation order."""


class Key(Value):
    """Identity of an object in a partition. ``pool`` is set for pool members only."""

    type: str
    name: str
    pool: str = ""


class WantedObject(Value):
    """An object that should exist, with exactly the attributes that Even Keel sets.

    ``owner``: id of the load balancer. ``immutables``: attributes that the device cannot change in place; a
    difference means delete and create. ``members``: of pools only; each member is an object of its own, but
    is created together with its pool.
    """

    key: Key
    owner: str
    attributes: Mapping[str, Any]
    immutables: frozenset[str] = frozenset()
    members: tuple["WantedObject", ...] = ()
    secrets: Mapping[str, Secret] = {}
    """Attributes that are written when the object is created, and never compared, because a device does not return
    them: another secret needs another name.
    """


class ObservedObject(Value):
    """An object as the device returned it. ``mark`` None: the object is not Even Keel's, or its mark was removed."""

    key: Key
    attributes: Mapping[str, Any]
    mark: Mark | None = None
    members: Mapping[str, "ObservedObject"] = {}


Observed = dict[Key, ObservedObject]
"""All objects of one partition as read from the device, of Even Keel's types; pool members are inside their pools."""


class CertificateNeed(Value):
    """A certificate, key or revocation list that a load balancer's objects refer to by file name."""

    kind: CertificateKind
    sha256: str


class RenderedObjects(Value):
    """The BIG-IP objects for one service definition.

    ``problem``: the reason why the device cannot implement the definition; nothing is changed then. ``needs``: contents
    whose files must be on the device; the files depend on device and batch
    (:mod:`evenkeel.devices.bigip.reconcile.files`). ``contents``: contents of the files among ``objects``, by key.
    """

    service: ServiceDefinition
    objects: tuple[WantedObject, ...] = ()
    problem: str = ""
    needs: tuple[CertificateNeed, ...] = ()
    contents: Mapping[Key, Secret] = {}
    lacking: tuple[str, ...] = ()
    """Digests (sha256) of certificate contents without which the load balancer cannot be written."""
    networks: tuple[WantedObject, ...] = ()
    """Objects of :data:`NETWORK_TYPES`, which other load balancers of the partition may also need."""
    settings: str = ""
    """Digest of the settings that the objects contain and that come from the operator's files."""


class Verb(StrEnum):
    """Effect of an operation on an object of a device."""

    CREATE = "POST"
    MODIFY = "PATCH"
    DELETE = "DELETE"


class ConfigOperation(Value):
    """One change of an object. ``owner`` is the load balancer that needs the change; empty if several may share the
    object.
    """

    verb: Verb
    key: Key
    owner: str
    body: Mapping[str, Any] = {}
    rank: int = 0
    secrets: Mapping[str, Secret] = {}
    """Secret attributes of the body, which no error repeats."""
    content: Secret | None = None
    """Content of a file to create: the content is uploaded first, and ``sourcePath`` is added to the body. None: the
    operation creates no file.
    """
