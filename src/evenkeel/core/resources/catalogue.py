"""Flavors and availability zones, which operators offer to tenants. The profile of each entry names a
provider and holds the entry's settings for that provider. Attribute names and texts are Octavia's.
"""

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import DataPath, VnicType

ZONE_GROUP = "environment_group_number"
"""Key in the data of an availability zone; its value is the number of the provider's device group for the zone's load
balancers.
"""


class FlavorProfile(Value):
    """The settings of a flavor for one provider."""

    id: str
    name: str
    provider_name: str
    flavor_data: str
    """Settings as a JSON object, in the spelling of the request."""
    created_at: float = 0.0


class Flavor(Value):
    """A set of options for load balancers, offered to tenants."""

    id: str
    name: str
    flavor_profile_id: str
    description: str = ""
    enabled: bool = True
    """False: tenants cannot choose the flavor for new load balancers."""
    created_at: float = 0.0


class AvailabilityZoneProfile(Value):
    """The settings of an availability zone for one provider."""

    id: str
    name: str
    provider_name: str
    availability_zone_data: str
    """Settings as a JSON object, in the spelling of the request."""
    created_at: float = 0.0


class AvailabilityZone(Value):
    """A location for load balancers, offered to tenants and identified by its name."""

    name: str
    availability_zone_profile_id: str
    description: str = ""
    enabled: bool = True
    """False: tenants cannot choose the zone for new load balancers."""
    created_at: float = 0.0

    @property
    def id(self) -> str:
        """Key after which the next page of a list continues: the name."""
        return self.name


CatalogueEntry = FlavorProfile | Flavor | AvailabilityZoneProfile | AvailabilityZone
CatalogueKind = type[FlavorProfile] | type[Flavor] | type[AvailabilityZoneProfile] | type[AvailabilityZone]


class Offer(Value):
    """A flavor or availability zone, and whether tenants may choose it, with the data of its profile (a JSON
    object as text).
    """

    enabled: bool
    provider_name: str
    data: str


def parse_profile_data(field: str, text: str) -> dict[str, Any]:
    """Parse the JSON object of a profile's data. Raises :class:`Invalid`, naming ``field``, if the text is not a JSON
    object.
    """
    try:
        found: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeError, RecursionError):
        raise Invalid(f"{text} is not a valid option for {field}: it should be a JSON object.") from None
    return found


def zone_group_of(data: dict[str, Any]) -> int | None:
    """Return the number of the device group that the data of an availability zone names; None if they name
    none. Raises :class:`Invalid` if the value is no group number.
    """
    number = data.get(ZONE_GROUP)
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 2_147_483_647:
        raise Invalid(
            f"{number} is not a valid option for availability_zone_data: {ZONE_GROUP} should be the number of a"
            " device group, 1 or greater."
        )
    return number


DATA_PATH = "data_path"
"""Key in a flavor profile's data; its value says whether a proxy or the kernel of the devices forwards connections."""


def data_path_of(flavor: Mapping[str, Any]) -> DataPath:
    """Return the data path of load balancers with this flavor data, ``proxy`` or ``kernel``; ``proxy`` if the
    data name none. Raises :class:`Invalid` for another value.
    """
    found: DataPath = flavor.get(DATA_PATH, "proxy")
    if found not in get_args(DataPath):
        allowed = ", ".join(get_args(DataPath))
        raise Invalid(f"{found} is not a valid option for flavor_data: {DATA_PATH} should be one of {allowed}.")
    return found


ACME_AUTHORITY = "acme_authority"
"""Key in a flavor profile's data; its value names the authority of certificates that listeners request by names."""
ACME_AUTHORITY_MEANING = "The certificate authority of listeners' references acme://…; default: that of the project."


def acme_authority_of(flavor: Mapping[str, Any]) -> str:
    """Return the name of the certificate authority in this flavor data; empty if the data name none. Raises
    :class:`Invalid` for a value that is no text.
    """
    found = flavor.get(ACME_AUTHORITY, "")
    if not isinstance(found, str):
        raise Invalid(f"{found} is not a valid option for flavor_data: {ACME_AUTHORITY} should be a text.")
    return found


def vip_vnic_type(flavor: Mapping[str, Any]) -> VnicType:
    """Return the VNIC type of the VIP's port by this flavor data: ``direct`` if ``sriov_vip`` is true, as in
    Octavia, else ``normal``.
    """
    return "direct" if flavor.get("sriov_vip") is True else "normal"
