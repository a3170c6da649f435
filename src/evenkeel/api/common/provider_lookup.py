"""Device types of load balancers and their capabilities: needed by almost every write, so cached.

The environment of a load balancer changes only when an operator moves the load balancer. The device driver of
an environment changes only when the environment is deleted and created again. So both are cached for some
seconds.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from evenkeel.core.control.environments import Environment, LoadBalancerProviderFacts
from evenkeel.core.devices.capabilities import ALL_CAPABILITIES, Capabilities, raise_first_problem
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.networking.vip_networks import VipNetworks
from evenkeel.core.ports import OperatorStore, TenantStore
from evenkeel.core.resources.enhanced_services import EnhancedService, usable_services
from evenkeel.core.resources.model import LoadBalancer, address_of_single_family

PROVIDERS_REMEMBERED_SECONDS = 2.0
OBJECTS_REMEMBERED = 10_000
OBJECTS_REMEMBERED_SECONDS = 10.0


class ServedObject:
    """The load balancer and provider that serve an object (``by``), and what that provider supports
    (``table``).
    """

    __slots__ = ("by", "table")

    def __init__(self, by: LoadBalancerProviderFacts, table: Capabilities) -> None:
        self.by = by
        self.table = table

    def raise_first_problem(self, problems: Iterable[str]) -> None:
        """Raise :class:`Unsupported` for the first of the problems; return if there is none."""
        raise_first_problem(self.by.provider, problems)


class ProviderLookup:
    """Cache, per process, of environments and of the providers that serve load balancers."""

    def __init__(
        self, operators: OperatorStore, tenants: TenantStore, capabilities: Mapping[str, Capabilities]
    ) -> None:
        self._operators = operators
        self._tenants = tenants
        self._capabilities = capabilities
        self._environments: dict[str, Environment] = {}
        self._environments_until = 0.0
        self._enhanced: dict[str, Mapping[str, EnhancedService]] = {}
        self._enhanced_until = 0.0
        self._served: OrderedDict[tuple[type[Any], str], tuple[LoadBalancerProviderFacts, float]] = OrderedDict()
        """``{(kind, object id): (provider, time, by the event loop's clock, at which the entry expires)}``."""

    def forget_providers(self) -> None:
        """Clear the cache of environments, after one was changed or deleted."""
        self._environments = {}

    def capabilities_of(self, device_driver: str) -> Capabilities:
        """Return the capabilities that the device driver declares; every capability for an unknown driver."""
        return self._capabilities.get(device_driver, ALL_CAPABILITIES)

    async def device_driver_of(self, provider: str) -> str:
        """Return the device driver of an environment. Raises :class:`Invalid` unless an environment has that name."""
        return (await self._environment_of_provider(provider)).device_driver

    async def vip_networks_of(self, provider: str) -> VipNetworks:
        """Return the networks that new VIPs of an environment may be on. Raises :class:`Invalid` unless an environment
        has that name.
        """
        return (await self._environment_of_provider(provider)).vip_networks

    async def _environment_of_provider(self, provider: str) -> Environment:
        """Return the environment, cached for :data:`PROVIDERS_REMEMBERED_SECONDS`. Raises :class:`Invalid`
        for an unknown one.

        If another controller has deleted the environment meanwhile, a load balancer accepted for it stays
        unplaced, with a reason.
        """
        now = asyncio.get_running_loop().time()
        if provider not in self._environments or now >= self._environments_until:
            self._environments = {row.name: row for row in await self._operators.environments()}
            self._environments_until = now + PROVIDERS_REMEMBERED_SECONDS
        if provider not in self._environments:
            known = ", ".join(sorted(self._environments)) or "none"
            raise Invalid(f"Provider '{provider}' is not enabled. Enabled providers: {known}.", code="provider_unknown")
        return self._environments[provider]

    async def enhanced_services_of(self, provider: str) -> Mapping[str, EnhancedService]:
        """Return the usable enhanced services of a provider by name, sorted by name; of agents that differ,
        the definition of one. Cached for :data:`PROVIDERS_REMEMBERED_SECONDS`.
        """
        now = asyncio.get_running_loop().time()
        if now >= self._enhanced_until:
            self._enhanced, self._enhanced_until = {}, now + PROVIDERS_REMEMBERED_SECONDS
        if provider not in self._enhanced:
            agents = await self._operators.enhanced_services(provider)
            usable = {one.name: one for agent in agents for one in usable_services(agent.services)}
            self._enhanced[provider] = dict(sorted(usable.items()))
        return self._enhanced[provider]

    async def find_served_object(self, kind: type[Any], object_id: str, scope: ProjectId | None) -> ServedObject:
        """Return the load balancer and provider that serve an object, with what the provider supports; one
        query, unless cached. ``scope`` None: of any project. Raises :class:`NotFound`, also for an object
        outside of ``scope``.
        """
        found, until = self._served.get((kind, object_id), (None, 0.0))
        # another project's object: the store raises the same error as for an unknown one
        if found is None or scope not in (None, found.project_id) or asyncio.get_running_loop().time() >= until:
            found = await self._tenants.served_by(kind, object_id, project_id=scope)
            self._remember_found((kind, object_id), found)
        return ServedObject(found, self.capabilities_of(found.device_driver).for_data_path(found.data_path))

    def remember_load_balancer(self, root: LoadBalancer, device_driver: str) -> None:
        """Cache the provider of a new load balancer, because the next requests mostly concern this load balancer."""
        found = LoadBalancerProviderFacts(
            load_balancer_id=root.id,
            project_id=root.project_id,
            provider=root.provider,
            device_driver=device_driver,
            vip_address=None
            if root.vip is None or root.root_pool_id is not None
            else address_of_single_family(root.vip.address, (vip.address for vip in root.additional_vips)),
            data_path=root.data_path,
        )
        self._remember_found((LoadBalancer, root.id), found)

    def _remember_found(self, key: tuple[type[Any], str], found: LoadBalancerProviderFacts) -> None:
        self._served[key] = found, asyncio.get_running_loop().time() + OBJECTS_REMEMBERED_SECONDS
        self._served.move_to_end(key)
        if len(self._served) > OBJECTS_REMEMBERED:
            self._served.popitem(last=False)
