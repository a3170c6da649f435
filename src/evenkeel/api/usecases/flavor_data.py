"""Reads the data of the flavor that an existing load balancer has."""

from collections.abc import Mapping
from typing import Any

from evenkeel.api.common.services import Services
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.resources.catalogue import Flavor, parse_profile_data
from evenkeel.core.resources.model import LoadBalancer


async def flavor_data_of(services: Services, load_balancer_id: LoadBalancerId) -> Mapping[str, Any]:
    """Return the data of the load balancer's flavor; empty without a flavor, or if the flavor is gone. Raises
    :class:`NotFound` for the load balancer.
    """
    root: LoadBalancer = await services.tenants.get(LoadBalancer, load_balancer_id, project_id=None)
    offer = None if root.flavor_id is None else await services.catalogue.offer(Flavor, root.flavor_id)
    return {} if offer is None else parse_profile_data("flavor_data", offer.data)
