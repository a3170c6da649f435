"""DNS zones in which controllers prove names of projects by dns-01 (RFC 8555, 8.4). Pure."""

import base64
import hashlib
from collections.abc import Mapping, Sequence

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.tls.acme.names import WILDCARD, without_wildcard
from evenkeel.core.tls.acme.values import Authorization, TxtRecord

LABEL = "_acme-challenge"


class ZoneScope(Value):
    """A DNS zone whose server controllers can change, and the projects to which its names belong."""

    zone: str
    """Name of the zone in lower case, without a dot at the end."""
    projects: tuple[ProjectId, ...]


def find_zone(project_id: ProjectId, name: str, scopes: Sequence[ZoneScope]) -> str | None:
    """Return the zone in which the project may prove the name, with or without a wildcard; None if there is
    none.

    Only the most specific zone that contains the name counts: it does not belong to the projects of the zone
    around it.
    """
    bare = without_wildcard(name)
    found = [each for each in scopes if bare == each.zone or bare.endswith(f".{each.zone}")]
    if not found:
        return None
    nearest = max(found, key=lambda each: len(each.zone))
    return nearest.zone if project_id in nearest.projects else None


def find_zones(project_id: ProjectId, names: Sequence[str], scopes: Sequence[ZoneScope]) -> Mapping[str, str]:
    """Return {name: its zone} for the names that the project may prove by dns-01; the others are left out."""
    return {name: zone for name in names if (zone := find_zone(project_id, name, scopes)) is not None}


def wildcards_without_zone(project_id: ProjectId, names: Sequence[str], scopes: Sequence[ZoneScope]) -> list[str]:
    """Return the wildcards out of ``names`` that cannot be proven, because no zone of the project contains
    them.
    """
    return [name for name in names if name.startswith(WILDCARD) and find_zone(project_id, name, scopes) is None]


def challenge_record_name(name: str) -> str:
    """Return the name of the TXT records that prove a name, with or without a wildcard."""
    return f"{LABEL}.{without_wildcard(name)}"


def challenge_record(authorization: Authorization, zone: str) -> TxtRecord:
    """Return the TXT record in ``zone`` that proves the name of the authorization (RFC 8555, 8.4)."""
    digest = hashlib.sha256(authorization.key_authorization.encode("ascii")).digest()
    value = base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")
    return TxtRecord(zone=zone, name=challenge_record_name(authorization.name), value=value)
