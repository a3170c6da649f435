"""Check that the subnets of members exist, as far as the network service can answer."""

from collections.abc import Iterable

from evenkeel.api.common.services import Services
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.model import Member


async def check_subnets(services: Services, project_id: ProjectId | None, members: Iterable[Member]) -> None:
    """Check that members' subnets exist. Raises :class:`NotFound` for a subnet that the project cannot see
    (``project_id`` None: that does not exist), :class:`NetworkUnavailable`. With the built-in network
    nothing is checked: members may be in subnets that it does not contain.
    """
    if services.network.has_ports:
        missing = await missing_subnet(services, project_id, (row.subnet_id for row in members if row.subnet_id))
        if missing is not None:
            raise NotFound("Subnet", missing)


async def missing_subnet(services: Services, project_id: ProjectId | None, subnet_ids: Iterable[str]) -> str | None:
    """Return the first of the subnets that the network service does not show to the project (None: to
    anyone); None if it shows all. Several subnets cost one look-up if all are found. Raises
    :class:`NetworkUnavailable`.
    """
    asked, look_up = tuple(dict.fromkeys(subnet_ids)), services.network.look_up
    # A single subnet is looked up by its id below, without a list of all.
    known = {row["id"] for row in await look_up("subnets", {}, project_id=project_id)} if len(asked) > 1 else set()
    for subnet_id in asked:
        # a network service may list only a part of its subnets
        if subnet_id not in known and not await look_up("subnets", {"id": [subnet_id]}, project_id=project_id):
            return subnet_id
    return None
