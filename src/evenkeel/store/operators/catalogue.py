"""Flavors, availability zones and their profiles.

Foreign keys protect entries in use: a load balancer refers to its flavor and zone as long as its row exists, a flavor
to its profile. So an entry that another controller concurrently begins to use cannot be deleted. A profile's data can
be changed only while nothing refers to it: the change writes the profile's row and then checks, and every new reference
writes that row first, too.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from msgspec.structs import asdict
from sqlalchemy import Column, Connection, Select, Table, bindparam, delete, exists, insert, select, update
from sqlalchemy.exc import IntegrityError

from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.core.kit.names import name_and_id
from evenkeel.core.resources.catalogue import (
    AvailabilityZone,
    AvailabilityZoneProfile,
    CatalogueEntry,
    CatalogueKind,
    Flavor,
    FlavorProfile,
    Offer,
)
from evenkeel.store.engine.base import Database
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import storable_text
from evenkeel.store.engine.operations import query_operation
from evenkeel.store.records import schema
from evenkeel.store.records.listing import list_page
from evenkeel.store.records.rows import Kind
from evenkeel.store.writing.operator_actions import record_operator_action_event


def _catalogue_kind(cls: Any, title: str, table: Table, key: str = "id") -> Kind:
    columns = tuple(table.c[name] for name in cls.__struct_fields__)

    def build_entry(row: Sequence[Any]) -> Any:
        return cls(**dict(zip(cls.__struct_fields__, row, strict=True)))

    return Kind(title, table, columns, build_entry, key=key, order=(key,))


CATALOGUE_KINDS: dict[Any, Kind] = {
    FlavorProfile: _catalogue_kind(FlavorProfile, "Flavor Profile", schema.flavor_profile),
    Flavor: _catalogue_kind(Flavor, "Flavor", schema.flavor),
    AvailabilityZoneProfile: _catalogue_kind(
        AvailabilityZoneProfile, "Availability Zone Profile", schema.availability_zone_profile
    ),
    AvailabilityZone: _catalogue_kind(AvailabilityZone, "Availability Zone", schema.availability_zone, "name"),
}


class _ProfileReference(NamedTuple):
    """Reference of a flavor or zone to its profile: column of the reference, table of the profiles, and their
    column of data.
    """

    reference: Column[Any]
    profile: Table
    data: Column[Any]


_PROFILES: dict[Any, _ProfileReference] = {
    Flavor: _ProfileReference(
        schema.flavor.c.flavor_profile_id, schema.flavor_profile, schema.flavor_profile.c.flavor_data
    ),
    AvailabilityZone: _ProfileReference(
        schema.availability_zone.c.availability_zone_profile_id,
        schema.availability_zone_profile,
        schema.availability_zone_profile.c.availability_zone_data,
    ),
}
_REFERENCING_COLUMNS: dict[Any, Column[Any]] = {
    FlavorProfile: _PROFILES[Flavor].reference,
    AvailabilityZoneProfile: _PROFILES[AvailabilityZone].reference,
}


def _read_entry(connection: Connection, kind: Any, key: str) -> Any:
    """Return a catalogue entry of the class ``kind`` by its id or, for zones, name. Raises :class:`NotFound`."""
    stored = CATALOGUE_KINDS[kind]
    statement = select(*stored.columns).where(stored.table.c[stored.key] == storable_text(key))
    row = connection.execute(statement).first()
    if row is None:
        raise NotFound(stored.title, key)
    return stored.build(row)


def _lock_profile(connection: Connection, profiled: _ProfileReference, profile_id: str) -> None:
    """Lock the profile of a new flavor or zone until the transaction ends, so that the profile cannot change
    or be deleted meanwhile. Raises :class:`Invalid` if it does not exist.
    """
    table = profiled.profile
    # An update that changes nothing locks the row until the reference is stored, and its count shows whether there is
    # one.
    held = connection.execute(update(table).where(table.c.id == storable_text(profile_id)).values(name=table.c.name))
    if held.rowcount == 0:
        raise Invalid(
            f"Invalid input for field/attribute {profiled.reference.name}. Value: '{profile_id}'. There is no such"
            " profile."
        )


def _update_entry(connection: Connection, kind: Any, key: str, changes: Mapping[str, Any]) -> Any:
    stored, reference = CATALOGUE_KINDS[kind], _REFERENCING_COLUMNS.get(kind)
    if changes:
        table = stored.table
        changed = update(table).where(table.c[stored.key] == storable_text(key)).values(dict(changes))
        if connection.execute(changed).rowcount:
            _record_event(connection, stored, key, "changed", details=f": {', '.join(sorted(changes))}")
    # checked after the row was written, so that no other transaction begins to use it meanwhile
    if reference is not None and changes.keys() - {"name"} and _is_entry_used(connection, reference, key):
        raise _in_use_error(stored, key)
    return _read_entry(connection, kind, key)


def _delete_entry(connection: Connection, stored: Kind, key: str) -> None:
    """Delete a catalogue entry, and record the operator's act. Raises :class:`NotFound`, ``IntegrityError``
    while another row refers to the entry.
    """
    statement = delete(stored.table).where(stored.table.c[stored.key] == storable_text(key))
    if not connection.execute(statement).rowcount:
        raise NotFound(stored.title, key)
    _record_event(connection, stored, key, "deleted")


def _record_event(connection: Connection, stored: Kind, key: str, verb: str, name: str = "", details: str = "") -> None:
    record_operator_action_event(
        connection,
        kind=f"{stored.title.lower().replace(' ', '_')}_{verb}",
        done=f"{stored.title.lower()} {name_and_id(name, key)} was {verb}",
        details=details,
    )


def _is_entry_used(connection: Connection, reference: Column[Any], key: str) -> bool:
    return bool(connection.scalar(select(exists().where(reference == storable_text(key)))))


@cache
def _flavor_or_zone_offer_query(kind: Any) -> Select[Any]:
    stored, profiled = CATALOGUE_KINDS[kind], _PROFILES[kind]
    return (
        select(stored.table.c.enabled, profiled.profile.c.provider_name, profiled.data)
        .join(profiled.profile, profiled.profile.c.id == profiled.reference)
        .where(stored.table.c[stored.key] == bindparam("key"))
    )


def _in_use_error(kind: Kind, key: str) -> Conflict:
    return Conflict(f"{kind.title.capitalize()} {key} is in use and cannot be modified.")


def _name_taken_error(kind: Kind, name: str) -> Conflict:
    return Conflict(f"A {kind.title.lower()} of {name} already exists.")


class SqlCatalogue:
    """Implements :class:`evenkeel.core.ports.CatalogueStore`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def list_catalogue(self, kind: CatalogueKind, query: ListQuery) -> Page:
        return await self._db.read(lambda connection: list_page(connection, CATALOGUE_KINDS[kind], query))

    catalogue_entry = query_operation(_read_entry)

    async def add_catalogue_entry(self, entry: CatalogueEntry) -> Any:
        kind = type(entry)
        key = str(getattr(entry, CATALOGUE_KINDS[kind].key))

        def run_transaction(connection: Connection) -> Any:
            if kind in _PROFILES:
                _lock_profile(connection, _PROFILES[kind], getattr(entry, _PROFILES[kind].reference.name))
            connection.execute(insert(CATALOGUE_KINDS[kind].table).values(asdict(entry) | {"created_at": db_now()}))
            _record_event(connection, CATALOGUE_KINDS[kind], key, "added", entry.name)
            return _read_entry(connection, kind, key)

        try:
            return await self._db.write(run_transaction)
        except IntegrityError as error:
            raise _name_taken_error(CATALOGUE_KINDS[kind], entry.name) from error

    async def update_catalogue_entry(self, kind: CatalogueKind, key: str, changes: Mapping[str, Any]) -> Any:
        try:
            return await self._db.write(lambda connection: _update_entry(connection, kind, key, changes))
        except IntegrityError as error:
            raise _name_taken_error(CATALOGUE_KINDS[kind], str(changes.get("name"))) from error

    async def delete_catalogue_entry(self, kind: CatalogueKind, key: str) -> None:
        stored = CATALOGUE_KINDS[kind]
        try:
            await self._db.write(lambda connection: _delete_entry(connection, stored, key))
        except IntegrityError as error:
            raise _in_use_error(stored, key) from error

    async def offer(self, kind: type[Flavor] | type[AvailabilityZone], key: str) -> Offer | None:
        parameters = {"key": storable_text(key)}
        row = await self._db.query(
            lambda connection: connection.execute(_flavor_or_zone_offer_query(kind), parameters).first()
        )
        return None if row is None else Offer(enabled=row[0], provider_name=row[1], data=row[2])
