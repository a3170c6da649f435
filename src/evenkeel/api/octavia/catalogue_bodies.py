"""Request and response bodies of quotas, flavors, availability zones and their profiles."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from evenkeel.api.common.views import View
from evenkeel.api.http.bodies import Request
from evenkeel.api.http.fields import NO_NUL, ObjectId, ProviderName, Text
from evenkeel.core.resources.quota import MAX_QUOTA, UNLIMITED

Name = Annotated[str, Meta(min_length=1, max_length=255, pattern=NO_NUL)]
ZoneName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=255,
        pattern=r"^[^\x00-\x1f/?#]+$(?!\n)",
        description="A name that can stand in a path: 1 to 255 characters without /, ?, # and control characters",
    ),
]
ProfileData = Annotated[str, Meta(max_length=4096, pattern=NO_NUL)]
Quota = Annotated[int, Meta(ge=UNLIMITED, le=MAX_QUOTA)]
QuotaChange = Quota | UnsetType | None


# -- quotas


class QuotaSet(Request):
    """Limits to set, under either name; -1: no limit, null: the default, absent: unchanged."""

    loadbalancer: QuotaChange = UNSET
    load_balancer: QuotaChange = UNSET
    listener: QuotaChange = UNSET
    member: QuotaChange = UNSET
    pool: QuotaChange = UNSET
    healthmonitor: QuotaChange = UNSET
    health_monitor: QuotaChange = UNSET
    l7policy: QuotaChange = UNSET
    l7rule: QuotaChange = UNSET


class QuotaSetBody(Request):
    """Body of PUT /quotas/{project_id}."""

    quota: QuotaSet


class QuotaView(View, kw_only=True):
    """Limits of a project, each under both of its names; -1: no limit."""

    loadbalancer: int
    load_balancer: int
    listener: int
    member: int
    pool: int
    healthmonitor: int
    health_monitor: int
    l7policy: int
    l7rule: int


class ProjectQuotaView(QuotaView, kw_only=True):
    """The limits of a project, with its id under both names."""

    tenant_id: str
    project_id: str


# -- flavors


class FlavorProfileNew(Request):
    """A new flavor profile: settings of flavors for one provider. ``flavor_data`` is a JSON object as text."""

    name: Name
    provider_name: ProviderName
    flavor_data: ProfileData


class FlavorProfileChange(Request):
    """Changes of a flavor profile: absent attributes stay unchanged. Only the name can change while a flavor
    refers to it.
    """

    name: Name | UnsetType = UNSET
    provider_name: ProviderName | UnsetType = UNSET
    flavor_data: ProfileData | UnsetType = UNSET


class FlavorNew(Request):
    """A new flavor for tenants. Null or absent attributes: the default."""

    name: Name
    flavor_profile_id: ObjectId
    description: Text | None = None
    enabled: bool | None = None


class FlavorChange(Request):
    """Changes of a flavor: absent attributes stay unchanged, null sets the default."""

    name: Name | UnsetType = UNSET
    description: Text | UnsetType | None = UNSET
    enabled: bool | UnsetType | None = UNSET


class FlavorProfileNewBody(Request):
    """Body of POST /flavorprofiles."""

    flavorprofile: FlavorProfileNew


class FlavorProfileChangeBody(Request):
    """Body of PUT /flavorprofiles/{id}."""

    flavorprofile: FlavorProfileChange


class FlavorNewBody(Request):
    """Body of POST /flavors."""

    flavor: FlavorNew


class FlavorChangeBody(Request):
    """Body of PUT /flavors/{id}."""

    flavor: FlavorChange


class FlavorProfileView(View, kw_only=True):
    """A flavor profile: settings of flavors for one provider."""

    id: str
    name: str
    provider_name: str
    flavor_data: str


class FlavorView(View, kw_only=True):
    """A flavor: a set of options for load balancers."""

    id: str
    name: str
    description: str
    enabled: bool
    flavor_profile_id: str


# -- availability zones


class ZoneProfileNew(Request):
    """A new availability zone profile: settings of zones for one provider. ``availability_zone_data`` is a
    JSON object as text.
    """

    name: Name
    provider_name: ProviderName
    availability_zone_data: ProfileData


class ZoneProfileChange(Request):
    """Changes of an availability zone profile: absent attributes stay unchanged. Only the name can change
    while an availability zone refers to it.
    """

    name: Name | UnsetType = UNSET
    provider_name: ProviderName | UnsetType = UNSET
    availability_zone_data: ProfileData | UnsetType = UNSET


class ZoneNew(Request):
    """A new availability zone. Null or absent attributes: the default."""

    name: ZoneName
    availability_zone_profile_id: ObjectId
    description: Text | None = None
    enabled: bool | None = None


class ZoneChange(Request):
    """Changes of an availability zone: absent attributes stay unchanged, null sets the default."""

    description: Text | UnsetType | None = UNSET
    enabled: bool | UnsetType | None = UNSET


class ZoneProfileNewBody(Request):
    """Body of POST /availabilityzoneprofiles."""

    availability_zone_profile: ZoneProfileNew


class ZoneProfileChangeBody(Request):
    """Body of PUT /availabilityzoneprofiles/{id}."""

    availability_zone_profile: ZoneProfileChange


class ZoneNewBody(Request):
    """Body of POST /availabilityzones."""

    availability_zone: ZoneNew


class ZoneChangeBody(Request):
    """Body of PUT /availabilityzones/{name}."""

    availability_zone: ZoneChange


class ZoneProfileView(View, kw_only=True):
    """A profile of availability zones."""

    id: str
    name: str
    provider_name: str
    availability_zone_data: str


class ZoneView(View, kw_only=True):
    """An availability zone: a location for load balancers."""

    name: str
    description: str
    enabled: bool
    availability_zone_profile_id: str
