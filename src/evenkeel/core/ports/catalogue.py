"""Store port for flavors and availability zones."""

from collections.abc import Mapping
from typing import Any, Protocol

from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.resources.catalogue import AvailabilityZone, CatalogueEntry, CatalogueKind, Flavor, Offer


class CatalogueStore(Protocol):
    """Store port for flavors, availability zones (identified by name) and their profiles."""

    async def list_catalogue(self, kind: CatalogueKind, query: ListQuery) -> Page:
        """Return a page of catalogue entries of one kind. Raises the errors of :meth:`TenantStore.list`."""
        ...

    async def catalogue_entry(self, kind: CatalogueKind, key: str) -> Any:
        """Return one catalogue entry by its key: the id, or an availability zone's name. Raises :class:`NotFound` if
        there is none.
        """
        ...

    async def add_catalogue_entry(self, entry: CatalogueEntry) -> Any:
        """Store a new catalogue entry. Raises :class:`Conflict` if the name is taken, :class:`Invalid` if its profile
        does not exist.
        """
        ...

    async def update_catalogue_entry(self, kind: CatalogueKind, key: str, changes: Mapping[str, Any]) -> Any:
        """Change attributes of a catalogue entry.

        Raises :class:`NotFound`; :class:`Conflict` if the name is taken, or for a change of anything but the name of a
        profile in use.
        """
        ...

    async def delete_catalogue_entry(self, kind: CatalogueKind, key: str) -> None:
        """Delete a catalogue entry. Raises :class:`NotFound`, :class:`Conflict` while it is in use."""
        ...

    async def offer(self, kind: type[Flavor] | type[AvailabilityZone], key: str) -> Offer | None:
        """Return a flavor or availability zone with the data of its profile; None if it does not exist. One query."""
        ...
