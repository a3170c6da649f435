"""Checks of the networks that an environment's VIPs may be on."""

from collections.abc import Collection, Mapping
from typing import Any

from evenkeel.api.common.services import Services
from evenkeel.api.usecases.parents import without_duplicates
from evenkeel.core.control.environments import Environment
from evenkeel.core.kit.errors import Invalid

FIELDS = ("vip_networks_allowed", "vip_networks_denied")
"""Attributes of an environment that are lists of ids of networks and subnets."""


def changed_network_lists(changes: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return ``{attribute: ids without duplicates}`` of the lists of networks that a request changes."""
    return {name: without_duplicates(changes[name]) for name in FIELDS if name in changes}


async def check_networks_exist(
    services: Services, lists: Mapping[str, Collection[str]], before: Environment | None = None
) -> None:
    """Check that networks or subnets have these ids, given by attribute, because a misspelt one would deny
    nothing. Ids that ``before`` has are not looked up: their networks may be gone. Raises
    :class:`Invalid`, :class:`NetworkUnavailable`.
    """
    new = {name: set(ids) - set(() if before is None else getattr(before, name)) for name, ids in lists.items()}
    wanted = set().union(*new.values())
    if not wanted:
        return
    filters = {"id": sorted(wanted)}
    for kind in ("networks", "subnets"):
        wanted -= {str(row["id"]) for row in await services.network.look_up(kind, filters, project_id=None)}
    for name, ids in new.items():
        if unknown := sorted(ids & wanted):
            raise Invalid(
                f"Invalid input for field/attribute {name}. Value: '{unknown[0]}'. "
                "Value should be the id of a network or subnet, and there is none.",
                code="network_not_found",
            )
