"""L7 policies of a fully populated create, taken from the tenant's request.

Octavia 19 gives the driver the listeners of such a request with an empty list of policies, and calls neither
``l7policy_create`` nor ``l7rule_create``; what it commits has them. The driver runs inside Pecan's request, whose body
is Octavia's published API. It is used for the check only: what is stored is what Octavia committed. Without a request,
or with one in another form, policies are not checked, and one that the device type can't do ends in ERROR.
"""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Body = dict[str, Any]
_LEFT_OUT = frozenset(("id", "project_id", "tenant_id", "rules", "redirect_pool", "listener_id", "position"))


def body_of_request() -> object:
    """Return the decoded body of the request that this thread answers; None if there is none."""
    try:
        import pecan

        return json.loads(pecan.request.body)
    except (ImportError, AttributeError, ValueError):
        return None


def with_policies(body: Body, requested: object) -> Body:
    """Return a load balancer's body in which listeners that have no L7 policies have those of the tenant's request.

    ``requested``: the body of the request; one that is no populated create adds nothing.
    """
    listeners = {_place(each): each for each in _objects(_object(requested, "loadbalancer"), "listeners")}
    if not listeners:
        return body
    pools = {pool.get("name"): pool["id"] for pool in body.get("pools", ())}
    completed = [_completed(each, listeners.get(_place(each), {}), pools) for each in body.get("listeners", ())]
    return {**body, "listeners": completed} if completed else body


def _completed(listener: Body, requested: Mapping[str, Any], pools: Mapping[Any, str]) -> Body:
    policies = [_policy(each, number, pools) for number, each in enumerate(_objects(requested, "l7policies"), 1)]
    return {**listener, "l7policies": policies} if policies and not listener.get("l7policies") else listener


def _policy(requested: Mapping[str, Any], position: int, pools: Mapping[Any, str]) -> Body:
    policy = {**_plain(requested), "position": position}
    pool = pools.get(_object(requested, "redirect_pool").get("name"))
    if pool is not None:
        policy["redirect_pool_id"] = pool
    rules = [_plain(each) for each in _objects(requested, "rules")]
    return policy | ({"rules": rules} if rules else {})


def _plain(requested: Mapping[str, Any]) -> Body:
    """Return an object's own attributes, with an id of its own: the id that Octavia gave it is not available here."""
    kept = {name: value for name, value in requested.items() if name not in _LEFT_OUT and value not in (None, [])}
    return {**kept, "id": str(uuid.uuid4())}


def _place(listener: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return what no two listeners of a load balancer have in common."""
    return listener.get("protocol"), listener.get("protocol_port")


def _object(body: object, name: str) -> Mapping[str, Any]:
    value = body.get(name) if isinstance(body, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _objects(body: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    values = body.get(name)
    if isinstance(values, Sequence) and not isinstance(values, str):
        yield from (each for each in values if isinstance(each, Mapping))
