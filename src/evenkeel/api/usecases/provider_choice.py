"""Choice of provider and device group of a new load balancer, by its flavor and availability zone."""

from msgspec.structs import replace

from evenkeel.api.common.services import Services
from evenkeel.api.responses.errors import invalid_input
from evenkeel.api.usecases.enhanced_services import flavor_names
from evenkeel.api.usecases.mirror_requests import ImportedLoadBalancer
from evenkeel.api.usecases.requests import LoadBalancerNew
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.catalogue import (
    AvailabilityZone,
    Flavor,
    Offer,
    acme_authority_of,
    data_path_of,
    parse_profile_data,
    vip_vnic_type,
    zone_group_of,
)
from evenkeel.core.resources.model import DataPath, LoadBalancerTree, VnicType


class ProviderChoice(Value):
    """Provider, flavor and availability zone for one new load balancer, and what follows from their data.
    ``zone_group_number`` None: any device group.
    """

    provider: str
    flavor_id: str | None = None
    availability_zone: str | None = None
    zone_group_number: int | None = None
    flavor_enhanced_services: tuple[str, ...] = ()
    vnic_type: VnicType = "normal"
    data_path: DataPath = "proxy"
    acme_authority: str = ""
    """Authority of references ``acme://…`` by the flavor; empty: that of the project."""

    def fill_tree(self, tree: LoadBalancerTree) -> LoadBalancerTree:
        """Return the new load balancer with the chosen flavor and availability zone and what follows from
        their data; unchanged if there is neither. Provider and certificate authority are not set.
        """
        if self.flavor_id is None and self.availability_zone is None:
            return tree
        root = replace(
            tree.load_balancer,
            flavor_id=self.flavor_id,
            availability_zone=self.availability_zone,
            zone_group_number=self.zone_group_number,
            flavor_enhanced_services=self.flavor_enhanced_services,
            vip_vnic_type=self.vnic_type,
            data_path=self.data_path,
        )
        return replace(tree, load_balancer=root)


async def choose_provider_and_zone(
    services: Services, wanted: LoadBalancerNew | ImportedLoadBalancer
) -> ProviderChoice:
    """Choose the provider that the request names, else its flavor's, else the default one; with flavor and
    availability zone. Raises :class:`Invalid` for a flavor or zone that does not exist, is disabled, or is
    of another provider, and without any provider.
    """
    choice = await _flavor_choice(services, wanted)
    if wanted.availability_zone is None:
        return choice
    name = wanted.availability_zone
    zone = _enabled_offer("availability_zone", name, await services.catalogue.offer(AvailabilityZone, name))
    if zone.provider_name != choice.provider:
        raise Invalid(f"Availability zone '{name}' is not compatible with provider '{choice.provider}'")
    group_number = zone_group_of(parse_profile_data("availability_zone_data", zone.data))
    return replace(choice, availability_zone=name, zone_group_number=group_number)


async def _flavor_choice(services: Services, wanted: LoadBalancerNew | ImportedLoadBalancer) -> ProviderChoice:
    if wanted.flavor_id is not None:
        return await choose_flavor(services, wanted.flavor_id, wanted.provider)
    provider = wanted.provider or services.default_provider
    if not provider:
        raise invalid_input("provider", None, "Mandatory field missing: there is no default provider.")
    return ProviderChoice(provider=provider)


async def choose_flavor(services: Services, flavor_id: str, provider: str | None) -> ProviderChoice:
    """Choose a flavor of the provider, or the flavor's provider if none is given. Raises :class:`Invalid` for a flavor
    that does not exist, is disabled, or is of another provider.
    """
    flavor = _enabled_offer("flavor", flavor_id, await services.catalogue.offer(Flavor, flavor_id))
    if provider and flavor.provider_name != provider:
        raise Invalid(f"Flavor '{flavor_id}' is not compatible with provider '{provider}'")
    data = parse_profile_data("flavor_data", flavor.data)
    return ProviderChoice(
        provider=flavor.provider_name,
        flavor_id=flavor_id,
        vnic_type=vip_vnic_type(data),
        data_path=data_path_of(data),
        acme_authority=acme_authority_of(data),
        flavor_enhanced_services=flavor_names(flavor.data),
    )


def _enabled_offer(option: str, value: str, offer: Offer | None) -> Offer:
    if offer is None:
        called = "flavor_id" if option == "flavor" else "availability zone"
        raise Invalid(f"Validation failure: Invalid {called}. Value: '{value}'.", code=f"{option}_unknown")
    if not offer.enabled:
        raise Invalid(f"The selected {option} is not allowed in this deployment: {value}")
    return offer
