"""Which device type serves what, and what that type can do: asked by almost every write, so remembered.

What serves a load balancer never changes, hence it is remembered for as long as there is room. What an environment's
device driver is may change (it can be removed and made again with another), so that is for a moment only.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from evenkeel.core.capabilities import EVERYTHING, Capabilities, refuse
from evenkeel.core.control import ServedBy
from evenkeel.core.errors import Invalid
from evenkeel.core.ids import ProjectId
from evenkeel.core.model import LoadBalancer, one_family
from evenkeel.core.ports import OperatorStore, TenantStore

PROVIDERS_REMEMBERED_SECONDS = 2.0
OBJECTS_REMEMBERED = 10_000


class ServedObject:
    """A load balancer's provider and what it can do."""

    __slots__ = ("by", "table")

    def __init__(self, by: ServedBy, table: Capabilities) -> None:
        self.by = by
        self.table = table

    def refuse(self, problems: Iterable[str]) -> None:
        """Raises :class:`Unsupported` if there is a problem."""
        refuse(self.by.provider, problems)


class ProviderLookup:
    """The environments and what they serve, as this process knows them."""

    def __init__(
        self, operators: OperatorStore, tenants: TenantStore, capabilities: Mapping[str, Capabilities]
    ) -> None:
        self._operators = operators
        self._tenants = tenants
        self._capabilities = capabilities
        self._drivers: dict[str, str] = {}
        self._drivers_until = 0.0
        self._served: OrderedDict[tuple[type[Any], str], ServedBy] = OrderedDict()

    def forget_providers(self) -> None:
        """An environment was removed."""
        self._drivers = {}

    def table_of(self, device_driver: str) -> Capabilities:
        """What the device type can do; everything if it does not say."""
        return self._capabilities.get(device_driver, EVERYTHING)

    async def device_driver_of(self, provider: str) -> str:
        """Raises :class:`Invalid` unless an environment has that name. Known ones are remembered for a while: a load
        balancer accepted for one that another controller removed meanwhile waits, and says why."""
        now = asyncio.get_running_loop().time()
        if provider not in self._drivers or now >= self._drivers_until:
            self._drivers = {row.name: row.device_driver for row in await self._operators.environments()}
            self._drivers_until = now + PROVIDERS_REMEMBERED_SECONDS
        if provider not in self._drivers:
            known = ", ".join(sorted(self._drivers)) or "none"
            raise Invalid(f"Provider '{provider}' is not enabled. Enabled providers: {known}.", code="provider_unknown")
        return self._drivers[provider]

    async def of(self, kind: type[Any], object_id: str, scope: ProjectId | None) -> ServedObject:
        """What serves the object, as far as the caller may see it. One query, unless it is remembered.

        Raises :class:`NotFound`.
        """
        found = self._served.get((kind, object_id))
        if found is None or scope not in (None, found.project_id):
            found = await self._tenants.served_by(kind, object_id, project_id=scope)
        self._keep((kind, object_id), found)
        return ServedObject(found, self.table_of(found.device_driver))

    def remember(self, root: LoadBalancer, device_driver: str) -> None:
        """A load balancer was made: what follows is mostly about it."""
        found = ServedBy(
            load_balancer_id=root.id,
            project_id=root.project_id,
            provider=root.provider,
            device_driver=device_driver,
            vip_address=None
            if root.vip is None or root.root_pool_id is not None
            else one_family(root.vip.address, (vip.address for vip in root.additional_vips)),
        )
        self._keep((LoadBalancer, root.id), found)

    def _keep(self, key: tuple[type[Any], str], found: ServedBy) -> None:
        self._served[key] = found
        self._served.move_to_end(key)
        if len(self._served) > OBJECTS_REMEMBERED:
            self._served.popitem(last=False)
