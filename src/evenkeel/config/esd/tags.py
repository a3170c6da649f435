"""Tags of enhanced service definitions, of F5's agent and of its later forks.

Sources: F5's documentation "Enhanced Service Definitions"; the tag tables of f5-openstack-agent 9.9 and of
sapcc/octavia-f5-provider-driver.
"""

from collections.abc import Mapping
from typing import NamedTuple

PERSISTENCE_TYPES = (
    "ltm/persistence/cookie",
    "ltm/persistence/dest-addr",
    "ltm/persistence/source-addr",
    "ltm/persistence/hash",
    "ltm/persistence/msrdp",
    "ltm/persistence/sip",
    "ltm/persistence/ssl",
    "ltm/persistence/universal",
)
ADDRESS_PERSISTENCE = frozenset({"ltm/persistence/source-addr", "ltm/persistence/dest-addr"})

TAG_PREFIX = "lbaas_"
"""Beginning of all tags' names, also of unknown ones that another fork of F5's agent may have."""
CLIENT_TCP, SERVER_TCP, UDP, FAST_L4 = "lbaas_ctcp", "lbaas_stcp", "lbaas_cudp", "lbaas_fastl4"
CLIENT_TLS, SERVER_TLS = "lbaas_cssl_profile", "lbaas_sssl_profile"
HTTP, ONE_CONNECT, COMPRESSION = "lbaas_http_profile", "lbaas_oneconnect_profile", "lbaas_http_compression"
RULES, POLICIES = "lbaas_irule", "lbaas_policy"
PERSISTENCE, FALLBACK = "lbaas_persist", "lbaas_fallback_persist"


class Tag(NamedTuple):
    """Values that a tag of an enhanced service definition accepts."""

    types: tuple[str, ...]
    """Types on the device that the tag's object may have."""
    many: bool = False
    """True if the value is a list of names."""
    removable: bool = False
    """True if an empty text as the value removes the profile that the tag would set."""


TAGS: Mapping[str, Tag] = {
    CLIENT_TCP: Tag(("ltm/profile/tcp",)),
    SERVER_TCP: Tag(("ltm/profile/tcp",)),
    UDP: Tag(("ltm/profile/udp",)),
    FAST_L4: Tag(("ltm/profile/fastl4",), removable=True),
    CLIENT_TLS: Tag(("ltm/profile/client-ssl",)),
    SERVER_TLS: Tag(("ltm/profile/server-ssl",)),
    HTTP: Tag(("ltm/profile/http",)),
    ONE_CONNECT: Tag(("ltm/profile/one-connect",), removable=True),
    COMPRESSION: Tag(("ltm/profile/http-compression",), removable=True),
    RULES: Tag(("ltm/rule",), many=True),
    POLICIES: Tag(("ltm/policy",), many=True),
    PERSISTENCE: Tag(PERSISTENCE_TYPES),
    FALLBACK: Tag(PERSISTENCE_TYPES),
}
OTHER_NAMES: Mapping[str, str] = {"lbaas_http": HTTP, "lbaas_one_connect": ONE_CONNECT}
"""Names that other forks have for a tag, each with the tag's name here."""
