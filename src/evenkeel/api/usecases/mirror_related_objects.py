"""Read what is stored around an object that another system is about to store.

What an object may be depends on its load balancer (the data path of its flavor, the IP versions of its VIPs), and on
the pool or listeners that it is used with. A load balancer that is not mirrored yet has nothing around its objects.
"""

from typing import Any, NamedTuple

from evenkeel.api.common.provider_lookup import ServedObject
from evenkeel.api.common.services import Services
from evenkeel.api.usecases.mirror_requests import MirrorCheck
from evenkeel.core.control.lists import ListQuery
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.resources.model import L7Policy, Listener, LoadBalancer, Pool

_PARENTS: tuple[tuple[str, type[Any]], ...] = (
    ("loadbalancer_id", LoadBalancer),
    ("listener_id", Listener),
    ("pool_id", Pool),
    ("l7policy_id", L7Policy),
)
"""Attributes of a check that name an object of the load balancer, with its class."""
_TARGET_ATTRIBUTES = {"listener": "default_pool_id", "l7policy": "redirect_pool_id"}
"""{kind: attribute with the id of the pool to which objects of the kind send}."""


class RelatedObjects(NamedTuple):
    """Stored objects around a checked one. ``served``: provider of its load balancer; None: the load balancer
    is not known. ``pool``: the pool of members or of a health monitor, or to which a listener or L7 policy
    sends; None: not known. ``listeners``: listeners whose default pool is the checked pool, or the
    listener that the check names.
    """

    served: ServedObject | None = None
    pool: Pool | None = None
    listeners: tuple[Listener, ...] = ()


async def read_related_objects(services: Services, check: MirrorCheck, body: Any) -> RelatedObjects:
    """Read the stored objects around the object that is checked; without any if its load balancer is unknown
    or another provider's. ``body``: the object, decoded.
    """
    served = await _find_served(services, check)
    if served is None:
        return RelatedObjects()
    pool_id = check.pool_id or getattr(body, _TARGET_ATTRIBUTES.get(check.kind, ""), None)
    return RelatedObjects(
        served,
        await _read_stored(services, Pool, pool_id),
        await _read_listeners(services, check, getattr(body, "id", None)),
    )


async def _find_served(services: Services, check: MirrorCheck) -> ServedObject | None:
    named = [(kind, id_) for name, kind in _PARENTS if (id_ := getattr(check, name)) is not None]
    for kind, id_ in named:
        try:
            found = await services.providers.find_served_object(kind, id_, None)
        except NotFound:
            continue
        return found if found.by.provider == check.provider else None
    return None


async def _read_listeners(services: Services, check: MirrorCheck, id_: str | None) -> tuple[Listener, ...]:
    if check.kind == "pool" and check.operation == "update" and id_ is not None:
        page = await services.tenants.list(Listener, ListQuery(filters={"default_pool_id": (id_,)}))
        return tuple(page.items)
    found = await _read_stored(services, Listener, check.listener_id)
    return () if found is None else (found,)


async def _read_stored(services: Services, kind: type[Any], id_: str | None) -> Any:
    """Return the stored object of any project; None if ``id_`` is None or there is no such object."""
    if id_ is None:
        return None
    try:
        return await services.tenants.get(kind, id_, project_id=None)
    except NotFound:
        return None
