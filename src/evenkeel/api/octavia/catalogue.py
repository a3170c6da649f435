"""Flavors, availability zones and their profiles: one set of handlers for all four kinds.

The device type of a profile's provider must support the profile's data. A flavor determines the provider.
"""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call, as_bool
from evenkeel.api.http.lists import Filters, as_text, links, page_of, parse_list, select_fields
from evenkeel.api.http.routing import Handler
from evenkeel.api.octavia import catalogue_bodies as bodies
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.api.usecases.enhanced_services import flavor_names, offered_services
from evenkeel.core.devices.capabilities import metadata_problems, refuse
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.catalogue import (
    ZONE_GROUP,
    AvailabilityZone,
    AvailabilityZoneProfile,
    CatalogueKind,
    Flavor,
    FlavorProfile,
    metadata,
    zone_group_of,
)

_CHOICE = {"name": as_text, "description": as_text, "enabled": as_bool}
_PROFILE = {"id": as_text, "name": as_text, "provider_name": as_text}
_DEFAULTS: dict[str, Any] = {"description": "", "enabled": True}


class Entry(Value):
    """One kind of catalogue entry, with its names."""

    kind: CatalogueKind
    title: str
    name: str
    """Name of the attribute that wraps one entry."""
    plural: str
    links: str
    """Name of the attribute with links to other pages. Irregular for two kinds, like in Octavia."""
    filters: Filters
    view: type[Any]
    key_length: int = 36


FLAVORS = Entry(
    kind=Flavor,
    title="Flavor",
    name="flavor",
    plural="flavors",
    links="flavors_links",
    filters=Filters(parsers={"id": as_text, **_CHOICE, "flavor_profile_id": as_text}, tagged=False, owned=False),
    view=bodies.FlavorView,
)
FLAVOR_PROFILES = Entry(
    kind=FlavorProfile,
    title="Flavor Profile",
    name="flavorprofile",
    plural="flavorprofiles",
    links="flavorprofile_links",
    filters=Filters(parsers={**_PROFILE, "flavor_data": as_text}, tagged=False, owned=False),
    view=bodies.FlavorProfileView,
)
ZONES = Entry(
    kind=AvailabilityZone,
    title="Availability Zone",
    name="availability_zone",
    plural="availability_zones",
    links="availability_zones_links",
    filters=Filters(parsers={**_CHOICE, "availability_zone_profile_id": as_text}, tagged=False, owned=False),
    view=bodies.ZoneView,
    key_length=255,
)
ZONE_PROFILES = Entry(
    kind=AvailabilityZoneProfile,
    title="Availability Zone Profile",
    name="availability_zone_profile",
    plural="availability_zone_profiles",
    links="availability_zone_profile_links",
    filters=Filters(parsers={**_PROFILE, "availability_zone_data": as_text}, tagged=False, owned=False),
    view=bodies.ZoneProfileView,
)


def view_of_row(entry: Entry, row: Any) -> Any:
    """Return the view of a row."""
    return entry.view(**{name: getattr(row, name) for name in entry.view.__struct_fields__})


def key_of(entry: Entry, call: Call) -> str:
    """Return the id or name in the path. Raises :class:`NotFound` for an impossible one."""
    given = call.params["id"]
    if len(given) > entry.key_length or not given.isprintable():
        raise NotFound(entry.title, given[: entry.key_length] if given.isprintable() else "given")
    return given


def listing(entry: Entry) -> Handler:
    """Return the handler that lists entries of the kind. They belong to no project."""

    async def handle(services: Services, call: Call) -> Answer:
        wanted = parse_list(call, entry.filters, services.limits)
        page = await page_of(wanted, lambda query: services.catalogue.list_catalogue(entry.kind, query))
        rows = [select_fields(view_of_row(entry, row), wanted.fields) for row in page.items]
        return json_answer({entry.plural: rows, entry.links: links(call, page, wanted.query.limit)})

    return handle


def show(entry: Entry) -> Handler:
    """Return the handler that shows one entry."""

    async def handle(services: Services, call: Call) -> Answer:
        fields = call.values("fields")
        row = await services.catalogue.catalogue_entry(entry.kind, key_of(entry, call))
        return json_answer({entry.name: select_fields(view_of_row(entry, row), fields)})

    return handle


def delete(entry: Entry) -> Handler:
    """Return the handler that deletes one entry."""

    async def handle(services: Services, call: Call) -> Answer:
        await services.catalogue.delete_catalogue_entry(entry.kind, key_of(entry, call))
        return NO_CONTENT

    return handle


def create(entry: Entry, new: Callable[[Services, Any], Any]) -> Handler:
    """Return the handler that creates the object that ``new`` makes from the body."""

    async def handle(services: Services, call: Call, body: Any) -> Answer:
        row = new(services, getattr(body, entry.name))
        await check_profile(services, row)
        return json_answer({entry.name: view_of_row(entry, await services.catalogue.add_catalogue_entry(row))}, 201)

    return handle


def change(entry: Entry) -> Handler:
    """Return the handler that changes one entry; null means the default."""

    async def handle(services: Services, call: Call, body: Any) -> Answer:
        key, wanted = key_of(entry, call), getattr(body, entry.name)
        given = {name: getattr(wanted, name) for name in wanted.__struct_fields__}
        changes = {
            name: _DEFAULTS[name] if value is None else value for name, value in given.items() if value is not UNSET
        }
        if changes.keys() - {"name", *_DEFAULTS}:
            current = await services.catalogue.catalogue_entry(entry.kind, key)
            # as a whole: the allowed data depends on the provider, and a change may contain only one of them
            await check_profile(services, replace(current, **changes))
        row = await services.catalogue.update_catalogue_entry(entry.kind, key, changes)
        return json_answer({entry.name: view_of_row(entry, row)})

    return handle


async def check_profile(services: Services, row: Any) -> None:
    """Check the data of a profile; other kinds of entries are not checked. Raises :class:`Invalid` for an unknown
    provider or data that is not a JSON object, :class:`Unsupported` for data that the provider's device type does not
    support.
    """
    if isinstance(row, FlavorProfile):
        field, data = "flavor_data", metadata("flavor_data", row.flavor_data)
    elif isinstance(row, AvailabilityZoneProfile):
        field, data = "availability_zone_data", metadata("availability_zone_data", row.availability_zone_data)
        zone_group_of(data)
    else:
        return
    table = services.providers.capabilities_of(await services.providers.device_driver_of(row.provider_name))
    known = table.flavor_metadata if field == "flavor_data" else table.availability_zone_metadata
    if field != "flavor_data":
        # Zones of every device type may name a device group, so the tables of the device types do not.
        data = {name: value for name, value in data.items() if name != ZONE_GROUP}
    refuse(row.provider_name, metadata_problems(field, None if table.other_metadata else known, data))
    if isinstance(row, FlavorProfile) and table.enhanced_services:
        offered = await offered_services(services, row.provider_name, table)
        offered.check_flavor(flavor_names(row.flavor_data))


def new_flavor(services: Services, body: bodies.FlavorNew) -> Flavor:
    """Convert a requested flavor."""
    return Flavor(
        id=services.new_id(),
        name=body.name,
        flavor_profile_id=body.flavor_profile_id,
        description=body.description or "",
        enabled=body.enabled is not False,
    )


def new_flavor_profile(services: Services, body: bodies.FlavorProfileNew) -> FlavorProfile:
    """Convert a requested flavor profile."""
    return FlavorProfile(
        id=services.new_id(), name=body.name, provider_name=body.provider_name, flavor_data=body.flavor_data
    )


def new_zone(services: Services, body: bodies.ZoneNew) -> AvailabilityZone:
    """Convert a requested availability zone."""
    return AvailabilityZone(
        name=body.name,
        availability_zone_profile_id=body.availability_zone_profile_id,
        description=body.description or "",
        enabled=body.enabled is not False,
    )


def new_zone_profile(services: Services, body: bodies.ZoneProfileNew) -> AvailabilityZoneProfile:
    """Convert a requested availability zone profile."""
    return AvailabilityZoneProfile(
        id=services.new_id(),
        name=body.name,
        provider_name=body.provider_name,
        availability_zone_data=body.availability_zone_data,
    )
