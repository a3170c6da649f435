"""The values between a service definition and a device: what is wanted, what is seen, what is to be done.

Attributes are kept in the form in which iControl REST takes them; :mod:`canonical` knows when two forms of an
attribute mean the same.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from evenkeel.core.certificates import CertificateKind, Secret
from evenkeel.core.service import ServiceDefinition
from evenkeel.core.values import Value
from evenkeel.devices.bigip.naming import Mark

VIRTUAL = "ltm/virtual"
VIRTUAL_ADDRESS = "ltm/virtual-address"
POOL = "ltm/pool"
MEMBER = "ltm/pool/members"
NODE = "ltm/node"
DATA_GROUP = "ltm/data-group/internal"
RULE = "ltm/rule"
CIPHER_RULE = "ltm/cipher/rule"
CIPHER_GROUP = "ltm/cipher/group"
CLIENT_SSL = "ltm/profile/client-ssl"
SERVER_SSL = "ltm/profile/server-ssl"
HTTP2_PROFILE = "ltm/profile/http2"
CERTIFICATE_FILE = "sys/file/ssl-cert"
KEY_FILE = "sys/file/ssl-key"
REVOCATION_FILE = "sys/file/ssl-crl"
FILES = (CERTIFICATE_FILE, KEY_FILE, REVOCATION_FILE)
"""What has no description, so that its name alone says that it is ours, and what several load balancers may share."""
CIPHERS = (CIPHER_RULE, CIPHER_GROUP)
MONITORS = ("ltm/monitor/http", "ltm/monitor/https", "ltm/monitor/tcp", "ltm/monitor/gateway-icmp")
PROFILES = ("ltm/profile/http", "ltm/profile/tcp", "ltm/profile/fastl4", HTTP2_PROFILE, CLIENT_SSL)
PERSISTENCE = ("ltm/persistence/cookie",)

OWNED_TYPES = (
    *FILES,
    *CIPHERS,
    SERVER_SSL,
    *MONITORS,
    *PROFILES,
    *PERSISTENCE,
    RULE,
    VIRTUAL_ADDRESS,
    POOL,
    VIRTUAL,
)
"""Types of the objects we make, in the order in which they are made: what is referred to comes first."""
LIGHT_TYPES = (POOL, VIRTUAL)
"""What a light pass reads: where changes by hand happen and hurt."""


class Key(Value):
    """Which object of a partition. ``pool`` is set for members only."""

    type: str
    name: str
    pool: str = ""


class WantedObject(Value):
    """An object that is to be, with exactly the attributes that we care for.

    ``immutables``: attributes the device cannot change in place; a difference means delete and create. ``members``:
    only of pools; objects of their own, but made together with their pool.
    """

    key: Key
    owner: str
    attributes: Mapping[str, Any]
    immutables: frozenset[str] = frozenset()
    members: tuple["WantedObject", ...] = ()


class ObservedObject(Value):
    """An object as the device shows it. ``mark`` None: not ours, or its mark was removed."""

    key: Key
    attributes: Mapping[str, Any]
    mark: Mark | None = None
    members: Mapping[str, "ObservedObject"] = {}


Observed = dict[Key, ObservedObject]
"""Everything seen in one partition, of the types we use; members stand in their pools."""


class CertificateNeed(Value):
    """A content that objects of a load balancer refer to by the names of files."""

    kind: CertificateKind
    sha256: str


class RenderedObjects(Value):
    """What one service definition comes to. ``problem``: why the device cannot do it; then nothing is touched.

    ``needs``: contents whose files must be on the device. Which files those are is known only where the device or the
    batch is: see :mod:`evenkeel.devices.bigip.reconcile.files`. ``contents``: of files among ``objects``, by key.
    """

    service: ServiceDefinition
    objects: tuple[WantedObject, ...] = ()
    problem: str = ""
    needs: tuple[CertificateNeed, ...] = ()
    contents: Mapping[Key, Secret] = {}
    lacking: tuple[str, ...] = ()
    """Identities (sha256) of contents that it waits for."""


class Verb(StrEnum):
    """What is done to an object."""

    CREATE = "POST"
    MODIFY = "PATCH"
    DELETE = "DELETE"


class ConfigOperation(Value):
    """One change. ``owner`` is the load balancer it is done for; empty for what several may share."""

    verb: Verb
    key: Key
    owner: str
    body: Mapping[str, Any] = {}
    rank: int = 0
    content: Secret | None = None
    """Of a file to be made: it is uploaded before, and ``sourcePath`` added to the body."""
