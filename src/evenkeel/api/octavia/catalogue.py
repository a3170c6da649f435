"""Flavors, availability zones and their profiles: read and written alike for all four kinds.

The device type of a profile's provider must support the profile's data. A flavor determines the provider.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from evenkeel.api.common.declared import ApiFunctions
from evenkeel.api.common.resources import Resource
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call, parse_bool
from evenkeel.api.http.lists import (
    FIELDS_PARAMETER,
    PAGE_PARAMETERS,
    Filters,
    page_links,
    parse_list,
    parse_text,
    read_page,
    select_fields,
)
from evenkeel.api.http.routing import Handler
from evenkeel.api.octavia import catalogue_bodies as bodies
from evenkeel.api.octavia.resources import list_page_type
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.usecases.acme_references import check_authority
from evenkeel.api.usecases.enhanced_services import flavor_names, offered_services
from evenkeel.core.devices.capabilities import data_path_problems, metadata_problems, raise_first_problem
from evenkeel.core.resources.catalogue import (
    ZONE_GROUP,
    AvailabilityZone,
    AvailabilityZoneProfile,
    CatalogueKind,
    Flavor,
    FlavorProfile,
    acme_authority_of,
    data_path_of,
    parse_profile_data,
    zone_group_of,
)

_CHOICE_FILTERS = {"name": parse_text, "description": parse_text, "enabled": parse_bool}
_PROFILE_FILTERS = {"id": parse_text, "name": parse_text, "provider_name": parse_text}
_DEFAULTS: dict[str, Any] = {"description": "", "enabled": True}


class CatalogueResource(Resource, kw_only=True):
    """One kind of catalogue entry, with its names."""

    kind: CatalogueKind
    links: str
    """Name of the attribute with links to other pages; for two kinds it is irregular, like in Octavia."""


def _view_function(view: type[Any]) -> Callable[[Any], Any]:
    """Return the function that converts a stored entry to a view by the attributes of the same names."""
    return lambda row: view(**{name: getattr(row, name) for name in view.__struct_fields__})


FLAVORS = CatalogueResource(
    kind=Flavor,
    title="Flavor",
    called="flavor",
    name="flavor",
    plural="flavors",
    links="flavors_links",
    filters=Filters(
        parsers={"id": parse_text, **_CHOICE_FILTERS, "flavor_profile_id": parse_text}, tagged=False, owned=False
    ),
    view=_view_function(bodies.FlavorView),
)
FLAVOR_PROFILES = CatalogueResource(
    kind=FlavorProfile,
    title="Flavor Profile",
    called="flavor profile",
    name="flavorprofile",
    plural="flavorprofiles",
    rule="flavor-profile",
    links="flavorprofile_links",
    filters=Filters(parsers={**_PROFILE_FILTERS, "flavor_data": parse_text}, tagged=False, owned=False),
    view=_view_function(bodies.FlavorProfileView),
)
ZONES = CatalogueResource(
    kind=AvailabilityZone,
    title="Availability Zone",
    called="availability zone",
    name="availability_zone",
    plural="availability_zones",
    path="availabilityzones",
    rule="availability-zone",
    links="availability_zones_links",
    filters=Filters(parsers={**_CHOICE_FILTERS, "availability_zone_profile_id": parse_text}, tagged=False, owned=False),
    view=_view_function(bodies.ZoneView),
    id_length=255,
)
ZONE_PROFILES = CatalogueResource(
    kind=AvailabilityZoneProfile,
    title="Availability Zone Profile",
    called="availability zone profile",
    name="availability_zone_profile",
    plural="availability_zone_profiles",
    path="availabilityzoneprofiles",
    rule="availability-zone-profile",
    links="availability_zone_profile_links",
    filters=Filters(parsers={**_PROFILE_FILTERS, "availability_zone_data": parse_text}, tagged=False, owned=False),
    view=_view_function(bodies.ZoneProfileView),
)


def _listing_handler(entry: CatalogueResource) -> Handler:
    """Return the handler that lists a page of entries of the kind, which belong to no project. It raises
    :class:`InvalidQuery`, and :class:`Invalid` for an unknown filter.
    """

    async def handle_list(services: Services, call: Call) -> Answer:
        wanted = parse_list(call, entry.filters, services.limits)
        page = await read_page(wanted, lambda query: services.catalogue.list_catalogue(entry.kind, query))
        rows = [select_fields(entry.view(row), wanted.fields) for row in page.items]
        return json_answer({entry.plural: rows, entry.links: page_links(call, page, wanted.query.limit)})

    return handle_list


async def _find_entry(entry: CatalogueResource, services: Services, call: Call) -> Any:
    return await services.catalogue.catalogue_entry(entry.kind, entry.id_in_path(call))


async def _remove_entry(entry: CatalogueResource, services: Services, _call: Call, key: str) -> None:
    await services.catalogue.delete_catalogue_entry(entry.kind, key)


CATALOGUE = ApiFunctions(
    listing=_listing_handler,
    parameters=(*PAGE_PARAMETERS, FIELDS_PARAMETER),
    page=lambda entry, view: list_page_type(entry.plural, view, entry.links),
    find=_find_entry,
    select=select_fields,
    remove=_remove_entry,
)


def create_use_case(new: Callable[[Services, Any], Any]) -> Callable[..., Awaitable[Any]]:
    """Return the use case that checks and stores the entry that ``new`` makes from a request. It raises the
    errors of :func:`check_profile` and of the store.
    """

    async def make_entry(services: Services, _call: Call, wanted: Any) -> Any:
        row = new(services, wanted)
        await check_profile(services, row)
        return await services.catalogue.add_catalogue_entry(row)

    return make_entry


def change_use_case(entry: CatalogueResource) -> Callable[..., Awaitable[Any]]:
    """Return the use case that changes one entry; null means the default. It raises :class:`NotFound`, and
    the errors of :func:`check_profile` and of the store.
    """

    async def change_entry(services: Services, _call: Call, key: str, wanted: Any) -> Any:
        given = {name: getattr(wanted, name) for name in wanted.__struct_fields__}
        changes = {
            name: _DEFAULTS[name] if value is None else value for name, value in given.items() if value is not UNSET
        }
        if changes.keys() - {"name", *_DEFAULTS}:
            current = await services.catalogue.catalogue_entry(entry.kind, key)
            # as a whole: the allowed data depends on the provider, and a change may contain only one of them
            await check_profile(services, replace(current, **changes))
        return await services.catalogue.update_catalogue_entry(entry.kind, key, changes)

    return change_entry


async def check_profile(services: Services, row: Any) -> None:
    """Check the data of a profile; other kinds of entries are not checked. Raises :class:`Invalid` for an
    unknown provider, authority or enhanced service, for data that is not a JSON object, or a bad device
    group; :class:`Unsupported` for data that the provider's device type does not support.
    """
    if isinstance(row, FlavorProfile):
        field, data = "flavor_data", parse_profile_data("flavor_data", row.flavor_data)
    elif isinstance(row, AvailabilityZoneProfile):
        field, data = "availability_zone_data", parse_profile_data("availability_zone_data", row.availability_zone_data)
        zone_group_of(data)
    else:
        return
    table = services.providers.capabilities_of(await services.providers.device_driver_of(row.provider_name))
    known = table.flavor_metadata if field == "flavor_data" else table.availability_zone_metadata
    if field != "flavor_data":
        # Zones of every device type may name a device group, so the tables of the device types do not.
        data = {name: value for name, value in data.items() if name != ZONE_GROUP}
    raise_first_problem(row.provider_name, metadata_problems(field, None if table.other_metadata else known, data))
    if isinstance(row, FlavorProfile):
        raise_first_problem(row.provider_name, data_path_problems(table, data_path_of(data)))
        check_authority(services, acme_authority_of(data))
    if isinstance(row, FlavorProfile) and table.offers_services:
        offered = await offered_services(services, row.provider_name, table.for_data_path(data_path_of(data)))
        offered.check_flavor(flavor_names(row.flavor_data))


def new_flavor(services: Services, body: bodies.FlavorNew) -> Flavor:
    """Convert a requested flavor, with a new id; enabled unless the request disables it."""
    return Flavor(
        id=services.new_id(),
        name=body.name,
        flavor_profile_id=body.flavor_profile_id,
        description=body.description or "",
        enabled=body.enabled is not False,
    )


def new_flavor_profile(services: Services, body: bodies.FlavorProfileNew) -> FlavorProfile:
    """Convert a requested flavor profile, with a new id; its data is not checked."""
    return FlavorProfile(
        id=services.new_id(), name=body.name, provider_name=body.provider_name, flavor_data=body.flavor_data
    )


def new_zone(services: Services, body: bodies.ZoneNew) -> AvailabilityZone:
    """Convert a requested availability zone, which has its name as its id; enabled unless the request
    disables it.
    """
    return AvailabilityZone(
        name=body.name,
        availability_zone_profile_id=body.availability_zone_profile_id,
        description=body.description or "",
        enabled=body.enabled is not False,
    )


def new_zone_profile(services: Services, body: bodies.ZoneProfileNew) -> AvailabilityZoneProfile:
    """Convert a requested availability zone profile, with a new id; its data is not checked."""
    return AvailabilityZoneProfile(
        id=services.new_id(),
        name=body.name,
        provider_name=body.provider_name,
        availability_zone_data=body.availability_zone_data,
    )
