"""Store port for flavors and availability zones."""

from collections.abc import Mapping
from typing import Any, Protocol

from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.resources.catalogue import AvailabilityZone, CatalogueEntry, CatalogueKind, Flavor, Offer


class CatalogueStore(Protocol):
    """Store port for flavors, availability zones (identified by name) and their profiles. Every method may
    raise :class:`StoreUnavailable`; every write records the act as an event.
    """

    async def list_catalogue(self, kind: CatalogueKind, query: ListQuery) -> Page:
        """Return a page of catalogue entries of one kind. Raises :class:`Invalid` for unknown filter or sort
        names and markers.
        """
        ...

    async def catalogue_entry(self, kind: CatalogueKind, key: str) -> Any:
        """Return one catalogue entry by its key: the id, or an availability zone's name. Raises :class:`NotFound` if
        there is none.
        """
        ...

    async def add_catalogue_entry(self, entry: CatalogueEntry) -> Any:
        """Store a new catalogue entry, and return it with its time of creation. Raises :class:`Conflict` if
        the name is taken, :class:`Invalid` if its profile does not exist.
        """
        ...

    async def update_catalogue_entry(self, kind: CatalogueKind, key: str, changes: Mapping[str, Any]) -> Any:
        """Change attributes of a catalogue entry ({attribute: new value}), and return the entry. ``key``: the
        id, or an availability zone's name.

        Raises :class:`NotFound`; :class:`Conflict` if the name is taken, or for a change of anything but the
        name of a profile in use.
        """
        ...

    async def delete_catalogue_entry(self, kind: CatalogueKind, key: str) -> None:
        """Delete a catalogue entry. ``key``: the id, or an availability zone's name. Raises
        :class:`NotFound`; :class:`Conflict` while a load balancer, flavor or zone refers to it.
        """
        ...

    async def offer(self, kind: type[Flavor] | type[AvailabilityZone], key: str) -> Offer | None:
        """Return a flavor (by id) or availability zone (by name) with the data of its profile; None if it
        does not exist. One query.
        """
        ...
